import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeyman.train.aggregation import token_weights

# Episode a: 3 sampled tokens in one sample and 1 in another; episode b: 2 tokens; episode c: none.
MASKS = [[0, 1, 1, 1], [0, 1, 1], [0, 1], [0, 0]]
EPISODES = ["a", "b", "a", "c"]


def weights(kind: str, max_length: int | None = None) -> list[list[float]]:
    return [one.tolist() for one in token_weights(MASKS, EPISODES, kind, max_length)]


def test_token_mean_by_hand() -> None:
    sixth = 1 / 6
    assert weights("token_mean") == [[0, sixth, sixth, sixth], [0, sixth, sixth], [0, sixth], [0, 0]]


def test_seq_mean_token_mean_by_hand() -> None:
    # Two episodes have tokens: ½ each, over 4 tokens and over 2.
    assert weights("seq_mean_token_mean") == [[0, 1 / 8, 1 / 8, 1 / 8], [0, 1 / 4, 1 / 4], [0, 1 / 8], [0, 0]]


def test_seq_mean_token_sum_norm_by_hand() -> None:
    assert weights("seq_mean_token_sum_norm", 5) == [[0, 0.1, 0.1, 0.1], [0, 0.1, 0.1], [0, 0.1], [0, 0]]


def test_a_long_and_a_short_episode() -> None:
    """Eight tokens with loss 1 and two with loss 6: the token mean is 20 / 10, the mean of the episodes' means 7 / 2."""
    masks, losses = [[1] * 8, [1] * 2], [np.full(8, 1.0), np.full(2, 6.0)]

    def loss(kind: str, max_length: int | None = None) -> float:
        made = token_weights(masks, ["long", "short"], kind, max_length)
        return float(sum((weight * value).sum() for weight, value in zip(made, losses, strict=True)))

    assert loss("token_mean") == pytest.approx(2.0)
    assert loss("seq_mean_token_mean") == pytest.approx(3.5)
    assert loss("seq_mean_token_sum_norm", 10) == pytest.approx(1.0)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.lists(st.integers(0, 1), min_size=1, max_size=12)), min_size=1, max_size=8
    ),
    st.data(),
)
def test_laws(samples: list[tuple[int, list[int]]], data: st.DataObject) -> None:
    masks, episodes = [mask for _, mask in samples], [f"e{episode}" for episode, _ in samples]
    tokens = sum(map(sum, masks))
    for kind in ("token_mean", "seq_mean_token_mean"):
        made = token_weights(masks, episodes, kind)
        assert sum(one.sum() for one in made) == pytest.approx(1.0 if tokens else 0.0)
        for mask, one in zip(masks, made, strict=True):
            assert not one[np.array(mask) == 0].any()
    # Cutting a sample in two changes no token's weight: what counts is the episode.
    index = data.draw(st.integers(0, len(masks) - 1))
    cut = data.draw(st.integers(0, len(masks[index])))
    split = [*masks[:index], masks[index][:cut], masks[index][cut:], *masks[index + 1 :]]
    split_episodes = [*episodes[: index + 1], *episodes[index:]]
    for kind, length in (("token_mean", None), ("seq_mean_token_mean", None), ("seq_mean_token_sum_norm", 7)):
        whole = np.concatenate(token_weights(masks, episodes, kind, length))
        np.testing.assert_allclose(
            np.concatenate(token_weights(split, split_episodes, kind, length)), whole, rtol=1e-12
        )


def test_what_is_missing_is_refused() -> None:
    with pytest.raises(ValueError, match="max_length None"):
        token_weights(MASKS, EPISODES, "seq_mean_token_sum_norm")
    with pytest.raises(ValueError, match="no aggregation 'mean'"):
        token_weights(MASKS, EPISODES, "mean")

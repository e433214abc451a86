from hypothesis import given
from hypothesis import strategies as st

from journeyman.train.draw import Draw


@given(st.integers(1, 12), st.integers(0, 10**6), st.integers(0, 4))
def test_each_epoch_draws_every_index_once(size: int, seed: int, epoch: int) -> None:
    assert sorted(Draw(size, seed).take(epoch * size, size)) == list(range(size))


@given(st.integers(1, 9), st.integers(0, 40), st.integers(0, 10))
def test_position_is_the_whole_state(size: int, position: int, count: int) -> None:
    walked = Draw(size, 3)
    walked.take(0, position)
    assert walked.take(position, count) == Draw(size, 3).take(position, count)


def test_epochs_and_seeds_differ() -> None:
    draw = Draw(50, 1)
    assert draw.take(0, 50) != draw.take(50, 50)
    assert draw.take(0, 50) != Draw(50, 2).take(0, 50)

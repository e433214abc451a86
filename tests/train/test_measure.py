"""Numbers of a step, worked out by hand."""

from __future__ import annotations

import msgspec
from making import SEGMENT, episode, group

from journeyman.episode import Message, Usage
from journeyman.train.measure import batch_counters, episode_metrics, reward_histogram, sampled_turns, update_metrics
from journeyman.train.method import Batch


def test_every_key_of_an_update_is_merged_by_what_it_is() -> None:
    reports = [
        {
            "loss": 1.0,
            "grad_norm": 4.0,
            "adapter_norm": 7.0,
            "ratio_mean": 1.5,
            "ratio_max": 1.5,
            "entropy": 2.0,
            "kl_reference": 0.5,
            "tokens": 10.0,
            "tokens_computed": 5.0,
            "sequence_tokens": 100.0,
            "seconds": 2.0,
        },
        {
            "loss": 3.0,
            "grad_norm": 1.0,
            "adapter_norm": 6.5,
            "ratio_mean": 0.5,
            "ratio_max": 1.25,
            "entropy": 1.0,
            "tokens": 30.0,
            "tokens_computed": 15.0,
            "sequence_tokens": 200.0,
            "seconds": 1.0,
        },
    ]
    assert update_metrics(reports) == {
        "loss": 2.5,  # (10 · 1 + 30 · 3) / 40
        "grad_norm": 2.5,  # of two steps, whatever their size
        "grad_norm_max": 4.0,
        "adapter_norm": 6.5,  # after the last
        "ratio_mean": 0.75,  # (5 · 1.5 + 15 · 0.5) / 20
        "ratio_max": 1.5,
        "entropy": 1.25,  # (5 · 2 + 15 · 1) / 20
        "kl_reference": 0.5,  # of the one that has it
        "tokens_trained": 40.0,
        "tokens_computed": 20.0,
        "sequence_tokens": 300.0,
        "update_seconds": 3.0,
    }


def test_an_update_of_which_nothing_was_computed_has_no_weight() -> None:
    empty = {"entropy": 0.0, "tokens": 10.0, "tokens_computed": 0.0, "seconds": 0.0}
    full = {"entropy": 1.5, "tokens": 10.0, "tokens_computed": 4.0, "seconds": 0.0}
    assert update_metrics([empty, full])["entropy"] == 1.5
    assert update_metrics([empty, empty])["entropy"] == 0.0


def test_the_histogram_has_fixed_edges() -> None:
    made = group([0.0, 0.05, 0.1, 0.3, 0.4, 0.6, 0.99, 1.0]).episodes
    assert reward_histogram(made) == [2, 1, 0, 1, 1, 0, 1, 0, 0, 2]
    assert reward_histogram(group([-0.5, 1.5]).episodes) == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert sum(reward_histogram(group([1.0, 0.5], failures={0: "infrastructure"}).episodes)) == 1


def test_turns_and_tokens_by_role() -> None:
    said = [Message("assistant", "a"), Message("tool", "b"), Message("assistant", "c")]
    plain = episode()
    # Sampled twice; a third assistant message is the trace's that it goes on from.
    going_on = msgspec.structs.replace(
        plain,
        messages=[Message("assistant", "past"), *said],
        usage={"policy": Usage(100, 6, 2), "user": Usage(40, 8, 1)},
        segments=[SEGMENT, SEGMENT],
    )
    assert (sampled_turns(plain), sampled_turns(going_on)) == (1, 2)
    assert sampled_turns(msgspec.structs.replace(plain, usage={}, segments=[], messages=said)) == 2
    found = episode_metrics([plain, going_on])
    assert (found["turns_mean"], found["turns_max"], found["sampled_tokens_mean"]) == (1.5, 2, 3.0)
    assert found["tokens_per_turn"] == 2.0  # 6 tokens in 3 turns
    assert {key: value for key, value in found.items() if key.startswith(("tokens_input", "tokens_output"))} == {
        "tokens_input_policy": 110,
        "tokens_output_policy": 8,
        "tokens_input_user": 40,
        "tokens_output_user": 8,
    }


def test_every_sampled_episode_is_counted_once() -> None:
    """Trained, without signal, too old, or waste of a group that age took the signal from."""
    kept, flat, aged, halved = (group([1.0, 0.0, 0.5], f"rl/0000/000{number}") for number in range(4))
    batch = Batch(
        groups=[kept, msgspec.structs.replace(halved, episodes=halved.episodes[1:])],
        played=[kept, flat, aged, halved],
        position=4,
        overage=[*aged.episodes[:2], halved.episodes[0]],
    )
    trained = [one.id for one in (*kept.episodes, *halved.episodes[1:])]
    counts = batch_counters(batch, trained)
    assert (counts["groups_sampled"], counts["groups_trained"], counts["groups_without_signal"]) == (4, 2, 1)
    assert (counts["episodes_sampled"], counts["episodes_trained"]) == (12, 5)
    assert (counts["episodes_wasted"], counts["episodes_overage"]) == (4, 3)
    assert (counts["tokens_sampled"], counts["tokens_wasted"], counts["tokens_overage"]) == (24, 8, 6)
    assert counts["turns_sampled"] == 12


def test_nothing_has_no_numbers() -> None:
    assert update_metrics([]) == {}
    assert episode_metrics([]) == {}
    assert reward_histogram([]) == [0] * 10

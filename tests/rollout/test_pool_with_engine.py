"""The pool over the real engine with the tiny model: neighbours change nothing that was drawn."""

from __future__ import annotations

import pytest
from test_pool import pool, specs

from journeyman.episode import Episode, SamplingSettings
from journeyman.recipe import Limits, Model
from journeyman.rollout.chatml import ChatMLRenderer
from journeyman.rollout.loop import PlaySettings
from journeyman.rollout.policy import TokenPolicy

SETTINGS = PlaySettings(
    limits=Limits(turns=5, tokens=150), sampling=SamplingSettings(context_limit=1500, max_tokens=40)
)


class Curt(ChatMLRenderer):
    """A random model hardly ever draws the stop token: here every fourth token of the vocabulary ends a turn."""

    @property
    def stop_ids(self) -> frozenset[int]:
        return frozenset(range(2, 1024, 4))


def play_all(concurrency: int) -> list[Episode]:
    from journeyman.engine.local import load_engine
    from journeyman.engine.tokenizer import load_tokenizer

    engine = load_engine(Model(name="tiny-random", dtype="float32", device="cpu", slots=8, lora_rank=4), seed=0)
    try:
        policy = TokenPolicy(engine, Curt(load_tokenizer("tiny-random")))
        return pool(specs(8), policy, concurrency=concurrency, settings=SETTINGS)
    finally:
        engine.close()


def test_interleaving_changes_nothing_that_was_drawn_and_repeats_exactly() -> None:
    pytest.importorskip("torch")
    serial, interleaved, again = play_all(1), play_all(5), play_all(5)
    assert max(episode.usage["policy"].requests for episode in serial) >= 4
    assert {episode.ended for episode in serial} >= {"left", "final"}
    for alone, among in zip(serial, interleaved, strict=True):
        assert alone.messages == among.messages
        assert alone.calls == among.calls
        for one, other in zip(alone.segments, among.segments, strict=True):
            assert (one.token_ids, one.mask, one.versions) == (other.token_ids, other.mask, other.versions)
            # A batch of another size adds in another order: equal up to rounding, not bit for bit.
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    assert [episode.digest for episode in interleaved] == [episode.digest for episode in again]

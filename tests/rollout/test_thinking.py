"""Thinking on or off: what the sampling settings say is what the model is shown."""

from __future__ import annotations

import asyncio

import pytest
from fakes import FakeSampler, bare_context
from tokenizers_for_tests import qwen3, smollm2

from journeyman.episode import Message, SamplingSettings
from journeyman.errors import EngineError
from journeyman.rollout.policy import TokenPolicy
from journeyman.rollout.render import make_renderer


def test_thinking_is_switched_by_the_settings_that_are_recorded() -> None:
    plain, thinking = make_renderer("auto", qwen3()), make_renderer("auto", qwen3(), thinking=True)
    closed = qwen3().encode("<think>\n\n</think>\n\n", add_special_tokens=False).ids
    for wanted in (False, True):
        sampler = FakeSampler(lambda _: [qwen3().token_to_id("<|im_end|>")])
        context = bare_context(sampling=SamplingSettings(thinking=wanted))
        actor = TokenPolicy(sampler, plain, thinking=thinking).begin(context)
        asyncio.run(actor.act([Message("system", "Be brief."), Message("user", "Hi.")]))
        prompt = sampler.requests[0].prompt_ids
        assert (prompt[-len(closed) :] == closed) is not wanted


def test_a_model_without_a_switch_for_thinking_says_so() -> None:
    with pytest.raises(EngineError, match="thinking"):
        make_renderer("auto", smollm2(), thinking=True)

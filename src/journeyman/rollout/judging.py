"""After the episode: a judge rules on what only a judge can, and the reward is settled anew."""

from __future__ import annotations

import time
from dataclasses import dataclass

import msgspec

from journeyman.engine.chat import KeyRefused
from journeyman.episode import Episode, Usage
from journeyman.grading.judge import Judge, Judgement, Ruling, questions_of, ruled
from journeyman.grading.reward import reward
from journeyman.recipe import Limits, Reward
from journeyman.rollout.policy import EpisodeSpec

ROLE = "judge"
"""Under this role a judge's tokens and seconds are counted."""


@dataclass(frozen=True)
class EpisodeJudge:
    """What `run_pool` does afterwards where a recipe names a judge."""

    judge: Judge
    reward: Reward
    limits: Limits

    async def __call__(self, spec: EpisodeSpec, episode: Episode) -> Episode:
        """The episode, judged and sealed again; as it was where its task has nothing to judge.

        A ruling moves the reward inside its band. Neither `passed` nor the band can change.

        Raises:
            KeyRefused: the judge's endpoint does not serve its key.
        """
        questions = questions_of(spec.task)
        if episode.verdict is None or not questions:
            return episode
        since = time.perf_counter()
        try:
            judgement = await self.judge.decide(questions, episode.messages)
        except KeyRefused:
            raise
        except Exception as error:
            # Whatever breaks in a judge, the attempt and its outcome stand.
            broken = Ruling(None, why=f"the judge broke ({type(error).__name__})")
            judgement = Judgement({one.id: broken for one in questions})
        verdict = ruled(spec.task, episode.verdict, judgement.rulings)
        earned = reward(
            spec.task,
            verdict,
            self.reward,
            ended=episode.ended,
            sampled_tokens=episode.usage.get("policy", Usage()).output,
            token_limit=self.limits.tokens,
        )
        spent = {ROLE: judgement.usage} if judgement.usage.requests else {}
        seconds = time.perf_counter() - since
        return msgspec.structs.replace(
            episode,
            verdict=verdict,
            reward=earned,
            usage={**episode.usage, **spent},
            timing={**episode.timing, ROLE: seconds, "total": episode.timing.get("total", 0.0) + seconds},
        ).sealed()

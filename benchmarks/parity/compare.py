"""This project's objectives against verl's and TRL's, on the same float64 inputs: values, gradients, weights.

    ENVIRONMENT/bin/python benchmarks/parity/compare.py [--peer verl|trl] [--json]

README.md beside this file says how ENVIRONMENT is made. Prints {objective: {"peer", "max_abs_diff"}}, the largest difference over the
loss and its derivatives by every token's log-probability (or over the advantages, factors, penalties). Exit code 1 if any is above 1e-6.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import numpy as np
import torch
from case import Case, Floats, make_case, our_loss

from journeyman.engine.base import LossSettings
from journeyman.train.advantage import bounded, grpo, leave_one_out, mean_centred
from journeyman.train.correction import correct
from journeyman.train.credit import kl_in_advantage
from journeyman.train.shaping import overlong_penalty

LIMIT = 1e-6
WIDE = 1e12
MAX_LENGTH = 40
LENGTHS = [0, 1, 59, 60, 61, 75, 99, 100]
AGGREGATIONS = {
    "token_mean": "token-mean",
    "seq_mean_token_mean": "seq-mean-token-mean",
    "seq_mean_token_sum_norm": "seq-mean-token-sum-norm",
}

Row = tuple[str, str, Floats, Floats]
"""Objective, the peer's function, ours, theirs."""


def ours_by_group(case: Case, function: object, **settings: float) -> Floats:
    """Advantages (B,) of all groups."""
    groups = [case.rewards_B[case.groups_B == group] for group in np.unique(case.groups_B)]
    return np.concatenate([function(rewards, **settings) for rewards in groups])  # type: ignore[operator]


def our_factors(case: Case, kind: str, low: float, high: float) -> list[Floats]:
    """The correction's factors by episode."""
    return correct(kind, case.old_BT, case.sampler_BT, case.masks, case.episode_ids, (low, high)).factors  # type: ignore[arg-type]


def against_verl(case: Case) -> Iterator[Row]:
    """Every objective that verl has too."""
    import verl_peer as verl

    yield "advantage.grpo", "grpo", ours_by_group(case, grpo), verl.advantages(case, "grpo")
    yield "advantage.mean_centred", "grpo, no std", ours_by_group(case, mean_centred), verl.advantages(case, "dr_grpo")
    yield "advantage.leave_one_out", "rloo", ours_by_group(case, leave_one_out), verl.advantages(case, "rloo")
    clipped = np.clip(verl.advantages(case, "dr_grpo"), -1, 1)
    yield "advantage.bounded", "grpo, no std; clipped to ±1 by us", ours_by_group(case, bounded), clipped

    wide, plain = LossSettings("importance_sampling"), LossSettings("ppo_clip", 0.8, 1.28)
    yield (
        "loss.importance_sampling",
        "vanilla, open bounds",
        our_loss(case, wide),
        verl.policy_loss(case, "vanilla", 0, WIDE),
    )
    reinforce = verl.policy_loss(case, "bypass_mode", 0.8, 1.2)
    yield "loss.importance_sampling, gradient", "bypass_mode reinforce", our_loss(case, wide)[1:], reinforce[1:]
    yield "loss.ppo_clip", "vanilla", our_loss(case, plain), verl.policy_loss(case, "vanilla", 0.8, 1.28)
    dual = LossSettings("ppo_clip", 0.8, 1.28, dual_clip=1.4)
    theirs = verl.policy_loss(case, "vanilla", 0.8, 1.28, dual_clip=1.4)
    yield "loss.ppo_clip, dual_clip", "vanilla, clip_ratio_c", our_loss(case, dual), theirs
    for low, high in ((0.8, 1.28), (0.0, 4.0)):
        theirs = verl.policy_loss(case, "cispo", low, high)
        yield f"loss.cispo [{low:g}, {high:g}]", "cispo", our_loss(case, LossSettings("cispo", low, high)), theirs
    gspo = LossSettings("gspo", 0.9, 1.1)
    for mode, name in AGGREGATIONS.items():
        length = MAX_LENGTH if mode == "seq_mean_token_sum_norm" else None
        theirs = verl.policy_loss(case, "gspo", 0.9, 1.1, name, max_length=length)
        yield f"loss.gspo, {mode}", f"gspo, {name}", our_loss(case, gspo, mode, max_length=length), theirs
        theirs = verl.policy_loss(case, "vanilla", 0.8, 1.28, name, max_length=length, kl=0.1)
        with_kl = LossSettings("ppo_clip", 0.8, 1.28, kl_coefficient=0.1)
        yield (
            f"aggregation.{mode}, with kl.loss",
            f"{name}, low_var_kl",
            our_loss(case, with_kl, mode, max_length=length),
            theirs,
        )

    yield (
        "kl.advantage",
        "compute_rewards (k1)",
        kl_in_advantage(case.advantages_BT, case.old_BT, case.reference_BT, 0.1).ravel(),
        verl.k1_reward(case, 0.1),
    )
    yield from corrections_against_verl(case)
    ours = np.array([overlong_penalty(length, 100, 40, 0.7) for length in LENGTHS[1:]])
    yield "shaping.overlong", "DAPO reward manager", ours, verl.overlong(LENGTHS[1:], 100, 40, 0.7)


def corrections_against_verl(case: Case) -> Iterator[Row]:
    """Factors, and the loss under them, with and without a KL."""
    import verl_peer as verl

    settings = LossSettings("ppo_clip", 0.8, 1.28)
    kinds = {
        "truncated": (0.0, 1.2, {"rollout_is": "token", "rollout_is_threshold": 1.2}),
        "masked": (0.8, 1.25, {"rollout_is": "token", "rollout_is_threshold": "0.8_1.25"}),
        # verl bounds the inverse, exp(mean log π_sampler − log π_prox).
        "geometric": (
            0.94,
            1.06,
            {"rollout_rs": "seq_mean_k1", "rollout_rs_threshold": f"{1 / 1.06:.17g}_{1 / 0.94:.17g}"},
        ),
    }
    for kind, (low, high, theirs) in kinds.items():
        factors = our_factors(case, kind, low, high)
        weights, mask = verl.correction(case, **theirs)
        found = (mask if weights is None else weights).double().numpy()
        assert kind == "truncated" or not found[case.mask_BT > 0].all(), "nothing was dropped"
        name = ", ".join(map(str, theirs.values()))
        yield f"correction.{kind}, factors", name, np.stack(factors).ravel(), found.ravel()
        loss = verl.policy_loss(case, "vanilla", 0.8, 1.28, weights=weights, mask=mask.double())
        yield f"correction.{kind}, loss", name, our_loss(case, settings, factors=factors), loss


def against_trl(case: Case) -> Iterator[Row]:
    """Every objective that TRL has too."""
    from trl_peer import GivenTrainer, overlong

    def theirs(**settings: object) -> Floats:
        return GivenTrainer(case, **settings).loss()

    scaled = GivenTrainer(case, scale_rewards="group").scored()["advantages"].numpy()
    yield "advantage.grpo, epsilon 1e-4", "scale_rewards group", ours_by_group(case, grpo, epsilon=1e-4), scaled
    centred = GivenTrainer(case, scale_rewards="none").scored()["advantages"].numpy()
    yield "advantage.mean_centred", "scale_rewards none", ours_by_group(case, mean_centred), centred

    wide, plain = LossSettings("importance_sampling"), LossSettings("ppo_clip", 0.8, 1.28)
    yield (
        "loss.importance_sampling",
        "bnpo, open bounds",
        our_loss(case, wide),
        theirs(epsilon_low=1.0, epsilon_high=WIDE),
    )
    yield "loss.ppo_clip", "bnpo", our_loss(case, plain), theirs()
    dual = LossSettings("ppo_clip", 0.8, 1.28, dual_clip=1.4)
    yield "loss.ppo_clip, dual_clip", "bnpo, delta", our_loss(case, dual), theirs(delta=1.4)
    for high in (1.28, 4.0):
        ours = our_loss(case, LossSettings("cispo", 0.0, high))
        yield f"loss.cispo [0, {high:g}]", "cispo, epsilon_high", ours, theirs(loss_type="cispo", epsilon_high=high)
    gspo = LossSettings("gspo", 0.9, 1.1)
    for mode, kind in (("token_mean", "bnpo"), ("seq_mean_token_mean", "grpo")):
        found = theirs(loss_type=kind, importance_sampling_level="sequence", epsilon_low=0.1, epsilon_high=0.1)
        yield f"loss.gspo, {mode}", f"{kind}, sequence level", our_loss(case, gspo, mode), found

    with_kl = LossSettings("ppo_clip", 0.8, 1.28, kl_coefficient=0.1)
    modes = {
        "bnpo": "token_mean",
        "dapo": "token_mean",
        "grpo": "seq_mean_token_mean",
        "dr_grpo": "seq_mean_token_sum_norm",
    }
    for kind, mode in modes.items():
        length = MAX_LENGTH if kind == "dr_grpo" else None
        found = theirs(loss_type=kind, beta=0.1, max_completion_length=MAX_LENGTH)
        yield (
            f"aggregation.{mode}, with kl.loss ({kind})",
            f"{kind}, beta",
            our_loss(case, with_kl, mode, max_length=length),
            found,
        )

    for kind, low, high in (("truncated", None, 1.2), ("masked", 0.8, 1.25)):
        factors = our_factors(case, kind, low or 0.0, high)
        corrected = {
            "use_vllm": True,
            "vllm_importance_sampling_mode": {"truncated": "token_truncate", "masked": "token_mask"}[kind],
            "vllm_importance_sampling_clip_min": low,
            "vllm_importance_sampling_clip_max": high,
        }
        ratio = GivenTrainer(case, **corrected).scored()["importance_sampling_ratio"].numpy() * case.mask_BT
        name = str(corrected["vllm_importance_sampling_mode"])
        yield f"correction.{kind}, factors", name, np.stack(factors).ravel(), ratio.ravel()
        yield f"correction.{kind}, loss", name, our_loss(case, plain, factors=factors), theirs(**corrected)
        # Ours weighs the KL as it does the loss; TRL leaves it as it is.
        ours = our_loss(case, with_kl, factors=factors, kl_factors=[np.ones_like(one) for one in factors])
        yield f"correction.{kind}, loss and kl, mapped", f"{name}, beta", ours, theirs(beta=0.1, **corrected)

    ours = np.array([overlong_penalty(length, 100, 40, 1.0) for length in [*LENGTHS, 130]])
    yield "shaping.overlong", "soft overlong punishment", ours, overlong([*LENGTHS, 130], 100, 40)


def main() -> int:
    """Compare on several cases, print, and tell whether all agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=["verl", "trl"], help="only this one (default: both)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    found: dict[str, dict[str, str | float]] = {}
    for peer, rows in (("verl", against_verl), ("trl", against_trl)):
        if arguments.peer not in (None, peer):
            continue
        for seed in range(3):
            for objective, function, ours, theirs in rows(make_case(seed, spread=0.3, mismatch=0.2)):
                assert ours.shape == theirs.shape, objective
                entry = found.setdefault(
                    f"{objective} ({peer})", {"peer": f"{peer} {version(peer)}: {function}", "max_abs_diff": 0.0}
                )
                entry["max_abs_diff"] = max(float(entry["max_abs_diff"]), float(np.abs(ours - theirs).max()))
    if arguments.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        for objective, entry in found.items():
            print(f"{objective:58} {entry['max_abs_diff']:.1e}  {entry['peer']}")
    return int(any(float(entry["max_abs_diff"]) > LIMIT for entry in found.values()))


if __name__ == "__main__":
    sys.exit(main())

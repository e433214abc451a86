"""verl's own functions on a `Case`: each returns what the project's counterpart returns. verl's bounds are distances from 1."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from case import Case, Floats
from verl import DataProto
from verl.trainer.config import RolloutCorrectionConfig
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_rejection_mask
from verl.workers.config import ActorConfig, PolicyLossConfig
from verl.workers.reward_manager.dapo import DAPORewardManager

WIDE = 1e12
"""A bound that bounds nothing."""


def advantages(case: Case, kind: str) -> Floats:
    """(B,): `grpo`, `dr_grpo` or `rloo`."""
    scores = torch.zeros_like(torch.tensor(case.mask_BT))
    for row, reward in enumerate(case.rewards_B):
        scores[row, int(case.mask_BT[row].nonzero()[0][-1])] = reward
    mask = torch.tensor(case.mask_BT)
    if kind == "rloo":
        found, _ = core_algos.compute_rloo_outcome_advantage(scores, mask, case.groups_B)
    else:
        found, _ = core_algos.compute_grpo_outcome_advantage(
            scores, mask, case.groups_B, norm_adv_by_std_in_grpo=kind == "grpo"
        )
    return found[:, 0].numpy()


def policy_loss(
    case: Case,
    kind: str,
    low: float,
    high: float,
    aggregation: str = "token-mean",
    *,
    dual_clip: float = WIDE,
    max_length: int | None = None,
    weights: torch.Tensor | None = None,
    mask: torch.Tensor | None = None,
    kl: float = 0.0,
) -> Floats:
    """Value and gradient of the policy loss `kind` (as verl registers it), with bounds given absolutely, (1 + B·T,).

    Args:
        dual_clip: verl always has one.
        weights: of its rollout correction. `mask`: the response mask that its rejection left.
        kl: coefficient of its k3 KL loss.
    """
    full = torch.tensor(case.mask_BT)
    # As verl's trainer hands them down; from the full mask, so that rejected tokens stay in the normaliser, as here.
    info: dict[str, Any] = {
        "dp_size": 1,
        "batch_num_tokens": full.sum(),
        "global_batch_size": len(full),
        "loss_scale_factor": max_length,
    }
    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio_low=1 - low,
        clip_ratio_high=high - 1,
        clip_ratio_c=dual_clip,
        global_batch_info=info,
        policy_loss=PolicyLossConfig(
            rollout_correction=RolloutCorrectionConfig(
                bypass_mode=True, loss_type="reinforce", rollout_is="token", rollout_is_threshold=WIDE, rollout_rs=None
            )
        ),
    )
    new = torch.tensor(case.new_BT, requires_grad=True)
    mask = full if mask is None else mask
    loss, _ = core_algos.get_policy_loss_fn(kind)(
        old_log_prob=torch.tensor(case.old_BT),
        log_prob=new,
        advantages=torch.tensor(case.advantages_BT),
        response_mask=mask,
        loss_agg_mode=aggregation,
        config=config,
        rollout_is_weights=weights,
    )
    if kl:
        penalty = core_algos.kl_penalty(new, torch.tensor(case.reference_BT), "low_var_kl")
        loss = loss + kl * core_algos.agg_loss(penalty, mask, aggregation, **info)
    return _with_gradient(loss, new)


def correction(case: Case, **settings: Any) -> tuple[torch.Tensor | None, torch.Tensor]:
    """Weights and response mask (both (B, T)) of verl's rollout correction, `settings` as its function names them."""
    found, mask, _ = compute_rollout_correction_and_rejection_mask(
        torch.tensor(case.old_BT), torch.tensor(case.sampler_BT), torch.tensor(case.mask_BT), **settings
    )
    return (None if found is None else found.batch["rollout_is_weights"]), mask


def k1_reward(case: Case, coefficient: float) -> Floats:
    """Advantages less coefficient · (log π − log π_ref), (B·T,), by the function that verl takes a KL from its rewards with."""
    found = core_algos.compute_rewards(
        torch.tensor(case.advantages_BT), torch.tensor(case.old_BT), torch.tensor(case.reference_BT), coefficient
    )
    return found.numpy().ravel()


def overlong(lengths: list[int], limit: int, buffer: int, penalty: float) -> Floats:
    """What verl's DAPO reward manager adds to a score of 0, by length."""
    score: Callable[..., float] = lambda **_: 0.0  # noqa: E731
    tokenizer = SimpleNamespace(decode=lambda ids, skip_special_tokens: "", eos_token="</s>")
    settings = SimpleNamespace(enable=True, len=buffer, penalty_factor=penalty, log=False)
    manager = DAPORewardManager(tokenizer, 0, compute_score=score, max_resp_len=limit, overlong_buffer_cfg=settings)
    width = max(lengths)
    mask = torch.tensor([[1] + [1] * length + [0] * (width - length) for length in lengths])
    data = DataProto.from_dict(
        tensors={
            "prompts": torch.zeros(len(lengths), 1, dtype=torch.long),
            "responses": torch.zeros(len(lengths), width, dtype=torch.long),
            "attention_mask": mask,
        },
        non_tensors={
            "reward_model": np.array([{"ground_truth": ""} for _ in lengths], dtype=object),
            "data_source": np.array(["made"] * len(lengths), dtype=object),
            "extra_info": np.array([{} for _ in lengths], dtype=object),
        },
    )
    return manager(data).sum(1).double().numpy()


def _with_gradient(loss: torch.Tensor, new: torch.Tensor) -> Floats:
    (gradient,) = torch.autograd.grad(loss, new)
    return np.concatenate([[loss.item()], gradient.numpy().ravel()])

"""TRL's own GRPOTrainer on a `Case`: its methods run as they are, on a model that answers with given log-probabilities.

The trainer is made without its `__init__`, which would load a model and a data set; what its methods read is set here. Sampling and
reward functions are overridden, for they are inputs; log-probabilities come through its model, as they would.
"""

from __future__ import annotations

from collections import defaultdict, deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from case import GROUP, Case, Floats
from trl.rewards import get_soft_overlong_punishment
from trl.trainer.grpo_trainer import GRPOTrainer


class GivenModel(torch.nn.Module):
    """A model whose log-probabilities are given, (B, T); one prompt token precedes them."""

    is_gradient_checkpointing = False

    def __init__(self, logprobs: torch.Tensor) -> None:
        super().__init__()
        self.logprobs = logprobs

    def forward(self, **_: Any) -> Any:
        """As a causal model with a fused head answers: of all positions, the prompt's included."""
        whole = torch.cat([torch.zeros(len(self.logprobs), 1), self.logprobs], dim=1)
        return SimpleNamespace(log_probs=whole, entropy=torch.zeros_like(whole).detach())


class GivenTrainer(GRPOTrainer):
    """GRPOTrainer over a `Case`, whose sampling and reward functions are given."""

    def __init__(self, case: Case, **settings: Any) -> None:
        self.case = case
        plain: dict[str, Any] = {
            "accelerator": Accelerator(cpu=True),
            "args": SimpleNamespace(
                delta=settings.pop("delta", None),
                use_bias_correction_kl=False,
                steps_per_generation=1,
                gradient_accumulation_steps=1,
                per_device_train_batch_size=len(case.rewards_B),
                gradient_checkpointing_kwargs=None,
            ),
            "loss_type": "bnpo",
            "importance_sampling_level": "token",
            "beta": 0.0,
            "epsilon_low": 0.2,
            "epsilon_high": 0.28,
            "max_completion_length": case.mask_BT.shape[1],
            "scale_rewards": "group",
            "use_vllm": False,
            "vllm_importance_sampling_correction": True,
            "vllm_importance_sampling_mode": "token_truncate",
            "vllm_importance_sampling_clip_min": None,
            "vllm_importance_sampling_clip_max": None,
            # What follows is off, or has one value only.
            "model": GivenModel(torch.tensor(case.old_BT)),
            "ref_model": GivenModel(torch.tensor(case.reference_BT)),
            "aux_loss_enabled": False,
            "top_entropy_quantile": 1.0,
            "off_policy_mask_threshold": None,
            "_entropy_bonus_enabled": False,
            "current_gradient_accumulation_steps": 1,
            "steps_per_generation": 1,
            "num_iterations": 1,
            "num_generations": GROUP,
            "multi_objective_aggregation": "sum_then_normalize",
            "reward_weights": torch.ones(1),
            "reward_funcs": [len],
            "reward_func_names": ["given"],
            "environment_factories": None,
            "environments": None,
            "tools": None,
            "_is_vlm": False,
            "log_multimodal": False,
            "mask_truncated_completions": False,
            "pad_to_multiple_of": None,
            "eos_token_ids": [0],
            "_tokenizer": SimpleNamespace(pad_token_id=0),
            "_metrics": {"train": defaultdict(list), "eval": defaultdict(list)},
            "_logs": {
                "prompt": deque(),
                "completion": deque(),
                "rewards": defaultdict(deque),
                "advantages": deque(),
                "extra": defaultdict(deque),
                "images": deque(),
            },
            "_pending_extra_logs": defaultdict(list),
            "_pending_metrics": defaultdict(list),
        }
        for name, value in (plain | settings).items():
            object.__setattr__(self, name, value)

    def _generate(self, prompts: list[Any]) -> Any:
        count, width = self.case.mask_BT.shape
        masks = [[int(flag) for flag in row] for row in self.case.mask_BT]
        logprobs = self.case.sampler_BT.tolist()
        return [[1]] * count, [[2] * width] * count, masks, [""] * count, logprobs, {}, None, [None] * count

    def _calculate_rewards(self, *_: Any) -> torch.Tensor:
        return torch.tensor(self.case.rewards_B)[:, None]

    def scored(self) -> dict[str, torch.Tensor]:
        """The inputs of the loss, by the trainer's own hand: advantages, normaliser, correction, reference."""
        return self._generate_and_score_completions([{"prompt": ""}] * len(self.case.rewards_B))

    def loss(self) -> Floats:
        """Value and gradient of the loss with the case's advantages, (1 + B·T,)."""
        inputs = self.scored()
        inputs["old_per_token_logps"] = torch.tensor(self.case.old_BT)
        inputs["advantages"] = torch.tensor(self.case.advantages_B)
        new = torch.tensor(self.case.new_BT, requires_grad=True)
        loss = self._compute_loss(GivenModel(new), inputs)
        (gradient,) = torch.autograd.grad(loss, new)
        return np.concatenate([[loss.item()], gradient.numpy().ravel()])


def overlong(lengths: list[int], limit: int, buffer: int) -> Floats:
    """TRL's soft overlong punishment by length."""
    return np.array(get_soft_overlong_punishment(limit, buffer)([[0] * length for length in lengths]))

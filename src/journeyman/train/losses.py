"""From a recipe's objective and optimizer to the settings of the engine's updates."""

from __future__ import annotations

from journeyman.engine.base import LossSettings
from journeyman.recipe import Objective, Optimizer


def sft_loss(optimizer: Optimizer) -> LossSettings:
    """Negative log-likelihood."""
    return LossSettings(
        kind="sft",
        optimizer=optimizer.kind,
        learning_rate=optimizer.learning_rate,
        betas=optimizer.betas,
        weight_decay=optimizer.weight_decay,
        max_grad_norm=optimizer.max_grad_norm,
    )


def objective_loss(objective: Objective, optimizer: Optimizer) -> LossSettings:
    """The objective's loss with its absolute bounds; a KL in the advantage is no part of it."""
    ratio_min, ratio_max = objective.ratio_bounds
    return LossSettings(
        kind=objective.loss,
        ratio_min=ratio_min,
        ratio_max=ratio_max,
        dual_clip=objective.dual_clip,
        kl_coefficient=objective.kl_coefficient if objective.kl == "loss" else 0.0,
        optimizer=optimizer.kind,
        learning_rate=optimizer.learning_rate,
        betas=optimizer.betas,
        weight_decay=optimizer.weight_decay,
        max_grad_norm=optimizer.max_grad_norm,
    )

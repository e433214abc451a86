"""What two processes do together in the test beside this file; each runs `work` in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import small_engine as small
import torch

from journeyman import recipe
from journeyman.engine.base import LossSettings
from journeyman.errors import EngineError

KINDS = {"lora": "ppo_clip", "full": "gspo"}
"""What is trained, and the loss: that of whole episodes needs numbers of both processes before any gradient."""


def settings(train: str, lanes: int = 1) -> recipe.Model:
    return recipe.Model(
        **{key: getattr(small.TINY, key) for key in small.TINY.__struct_fields__ if key not in ("train", "lanes")},
        train=train,  # type: ignore[arg-type]
        lanes=lanes,
    )


def losses(train: str) -> list[LossSettings]:
    """One that changes nothing and does not clip, so that its gradients stay, and three steps."""
    kind: Any = KINDS[train]
    bounds = {"ratio_min": 0.5, "ratio_max": 2.0}
    still = LossSettings(kind, **bounds, learning_rate=0.0, max_grad_norm=float("inf"))
    return [still, *(LossSettings(kind, **bounds, learning_rate=1e-3, max_grad_norm=0.5) for _ in range(3))]


def samples(made: Any) -> list[Any]:
    """Some whose behaviour policy is near the engine's, so that ratios lie within their bounds."""
    found = small.mixed_samples()
    for item, row in zip(found, made.logprobs(found), strict=True):
        item.logprobs = [
            value + 0.1 * (place % 3 - 1) * flag for place, (value, flag) in enumerate(zip(row, item.mask, strict=True))
        ]
    return found


def drive(made: Any, local: Any, train: str, folder: Path) -> dict[str, Any]:
    """The updates, on whichever engine: gradients of the first, metrics of all, weights of the last, all by flat buffers."""
    if train == "lora":
        small.disturb_adapter(local)
    eaten = samples(made)
    first, *steps = losses(train)
    metrics = [made.update(eaten, first)]
    found = {"gradients": local._trained.gradients.clone()}
    metrics += [made.update(eaten, loss) for loss in steps]
    made.publish()
    made.remember("here")
    made.save(folder)
    found |= {"weights": local._trained.values.detach().clone(), "version": made.version}
    found["logprobs"] = made.logprobs(eaten, of="here")
    found["answer"] = small.ask(made, small.request("a", small.tokens(20, 1), 6))[0].token_ids
    made.reset_optimizer()
    made.load(folder)
    found["again"] = made.update(eaten, steps[0])["grad_norm"]
    return found | {"metrics": [{key: value for key, value in one.items() if key != "seconds"} for one in metrics]}


def refusals(made: Any, folder: Path) -> list[str]:
    """A command that fails in all processes leaves them working."""
    told = []
    for action in (lambda: made.load(folder / "nowhere"), lambda: made.update([], LossSettings("sft"))):
        try:
            action()
        except EngineError as error:
            told.append(str(error))
    return told


def work(rank: int, port: int, train: str, folder: str) -> None:
    """One of two processes; the first writes what it found into the folder."""
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    torch.set_num_threads(1)
    from journeyman.engine import distributed

    if rank:
        own: list[Any] = []
        join = distributed._join

        def joined(*given: Any) -> Any:
            own.append(join(*given))
            if train == "lora":
                small.disturb_adapter(own[0])
            return own[0]

        distributed._join = joined
        distributed.follow(settings(train), seed=1)
        torch.save(own[0]._trained.values.detach().clone(), Path(folder) / "other.pt")
        return
    made = distributed.open_engine(settings(train), seed=1)
    assert isinstance(made, distributed.LeadingEngine)
    checkpoint = Path(folder) / "checkpoint"
    checkpoint.mkdir()
    found = drive(made, made.local, train, checkpoint)
    found["refused"] = refusals(made, Path(folder))
    found["last"] = made.local._trained.values.detach().clone()
    made.close()
    torch.save(found, Path(folder) / "found.pt")

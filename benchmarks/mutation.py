"""Does grading notice? Each expected row, fact and criterion of random tasks is perturbed once.

    python benchmarks/mutation.py --json

prints {"seed", "tasks", "mutants", "caught", "score", "score_without_equivalents", "parts": {part: [caught, all]},
"survivors": {class of reasons: [mutants]}}. A mutant is caught where the oracle's run no longer passes with reward 1.0 (rows
and facts), or where the oracle's verdict on the criterion changes or its witness no longer violates it (criteria).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from typing import Any

from journeyman.codec import seed_of
from journeyman.curriculum.lint_bench import Bench
from journeyman.curriculum.mutation import Mutant, mutate
from journeyman.worlds import WORLDS, load_world


def measure(names: list[str], count: int, seed: int) -> list[Mutant]:
    """The mutants of `count` tasks drawn from all tasks of the worlds."""
    worlds = [load_world(name) for name in names]
    every = [(world, task) for world in worlds for task in world.tasks()]
    drawn = random.Random(seed).sample(every, min(count, len(every)))
    with asyncio.Runner() as runner:
        return [
            mutant
            for world, task in drawn
            for mutant in mutate(Bench(world, task, runner), random.Random(seed_of(seed, task.id)))
        ]


def summary(mutants: list[Mutant], seed: int) -> dict[str, Any]:
    """The figures, and the survivors by the class of their reasons."""
    survivors: dict[str, list[str]] = {}
    parts: dict[str, list[int]] = {}
    for one in mutants:
        counts = parts.setdefault(one.part, [0, 0])
        counts[0] += one.caught
        counts[1] += 1
        if not one.caught:
            survivors.setdefault(one.reason, []).append(f"{one.task} {one.part} {one.name}: {one.change}")
    caught = sum(one.caught for one in mutants)
    telling = sum(not one.equivalent for one in mutants)
    return {
        "seed": seed,
        "tasks": len({one.task for one in mutants}),
        "mutants": len(mutants),
        "caught": caught,
        "score": round(caught / len(mutants), 4) if mutants else 0.0,
        "score_without_equivalents": round(caught / telling, 4) if telling else 0.0,
        "parts": parts,
        "survivors": survivors,
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("worlds", nargs="*", default=list(WORLDS), help="names or package.module:WORLD (default: all)")
    parser.add_argument("--tasks", type=int, default=100, help="tasks drawn (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw and of the perturbations")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = parser.parse_args()
    found = summary(measure(chosen.worlds, chosen.tasks, chosen.seed), chosen.seed)
    if chosen.json:
        json.dump(found, sys.stdout, indent=2)
        print()
        return
    print(
        f"{found['caught']} of {found['mutants']} mutants of {found['tasks']} tasks caught: {found['score']:.2%}",
        end="",
    )
    print(f" ({found['score_without_equivalents']:.2%} without equivalents)")
    for reason, survivors in found["survivors"].items():
        print(f"{reason}: {len(survivors)}")
        for survivor in survivors:
            print(f"  {survivor}")


if __name__ == "__main__":
    main()

"""What a plan takes in hours and money. Nothing is guessed: rates are those that an earlier run measured, or they are unknown."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from journeyman.errors import RunFolderError
from journeyman.planning.stages import StagePlan
from journeyman.recipe import Recipe, Sft
from journeyman.train.runfolder import RunFolder, phase_of


class Rates(Struct, frozen=True):
    """What a run measured: means over all of it. They hold for another only with the same model, device, limits and world.

    Args:
        playing: seconds of sampling per episode.
        training: seconds per episode that fed an update of RL; None where there was none.
        imitating: seconds per trace; None where there was none.
        usage: tokens per episode by role, (input, output); traces of scripted teachers have none.
    """

    playing: float | None
    training: float | None
    imitating: float | None
    usage: dict[str, tuple[float, float]]


class Amount(Struct, frozen=True):
    """Between `least` and `most` of something, both None where it is unknown; `missing`: what is not in it, and why."""

    least: float | None
    most: float | None
    missing: list[str]


def measured_rates(run: RunFolder) -> Rates:
    """The rates of a run.

    Raises:
        RunFolderError: it played nothing.
    """
    seconds = {"playing": 0.0, "training": 0.0, "imitating": 0.0}
    counts = {"playing": 0.0, "training": 0.0, "imitating": 0.0}
    for line in run.metrics():
        if line["kind"] in ("train", "evaluate", "monitor") and line.get("episodes"):
            seconds["playing"] += line["seconds_sampling"]
            counts["playing"] += line["episodes"]
        if line["kind"] == "train":
            kind = "imitating" if line["method"] == "sft" else "training"
            seconds[kind] += line["seconds_training"]
            counts[kind] += line["episodes_trained"]
    scan = run.scan()
    scripted = {stage.name for stage in run.recipe.stage if isinstance(stage, Sft)}
    played = sum(phase_of(name) not in scripted for name in scan.entries)
    if not played:
        raise RunFolderError(str(run.path), "", "played nothing, so it tells no rate: name a run that did.")
    usage = {role: (used.input / played, used.output / played) for role, used in scan.usage.items()}
    rates = {kind: seconds[kind] / counts[kind] if counts[kind] else None for kind in seconds}
    return Rates(rates["playing"], rates["training"], rates["imitating"], usage)


def hours_of(stage: StagePlan, rates: Rates | None) -> Amount:
    """Device-hours of a stage."""
    if rates is None:
        return Amount(None, None, ["hours: no rate is known (name a run that measured one: --like RUN)"])
    least = most = 0.0
    rate = rates.imitating if stage.kind == "sft" else rates.training
    if stage.trained:
        if rate is None:
            return Amount(None, None, [f"hours: the run named by --like trained no stage like {stage.name}"])
        least = most = stage.trained * rate
    if stage.episodes.most or stage.monitor_episodes:
        if rates.playing is None:
            return Amount(None, None, ["hours: the run named by --like sampled nothing"])
        least += (stage.episodes.least + stage.monitor_episodes) * rates.playing
        most += (stage.episodes.most + stage.monitor_episodes) * rates.playing
    return Amount(least / 3600, most / 3600, [])


def total(amounts: Sequence[Amount]) -> Amount:
    """The sum, unknown where a part is."""
    missing = list(dict.fromkeys(reason for one in amounts for reason in one.missing))
    known = [(one.least, one.most) for one in amounts if one.least is not None and one.most is not None]
    if len(known) < len(amounts):
        return Amount(None, None, missing)
    return Amount(sum(least for least, _ in known), sum(most for _, most in known), missing)


def money_of(recipe: Recipe, stages: Sequence[StagePlan], hours: Amount, rates: Rates | None) -> Amount:
    """Cost in `prices.currency`: device-hours, and tokens of the roles that have a price. What cannot be known is left out and
    named in `missing`."""
    prices = recipe.prices
    missing: list[str] = []
    least = most = 0.0
    priced = {*prices.input_per_million, *prices.output_per_million}
    if not priced and not prices.device_hour:
        return Amount(None, None, ["cost: nothing has a price (set [prices])"])
    if prices.device_hour:
        if hours.least is None or hours.most is None:
            missing += [reason.replace("hours:", "cost of the device:") for reason in hours.missing]
        else:
            least, most = hours.least * prices.device_hour, hours.most * prices.device_hour
    for role in sorted(priced):
        per_role = _of_role(role, recipe, stages, rates)
        if per_role is None:
            missing.append(f"cost of the {role}: its tokens are unknown (name a run that measured them: --like RUN)")
            continue
        least, most = least + per_role[0], most + per_role[1]
    return Amount(least, most, missing)


def _of_role(role: str, recipe: Recipe, stages: Sequence[StagePlan], rates: Rates | None) -> tuple[float, float] | None:
    """(least, most) money of a role's tokens; None where nothing tells how many there are."""
    read = recipe.prices.input_per_million.get(role, 0.0) / 1e6
    written = recipe.prices.output_per_million.get(role, 0.0) / 1e6
    if getattr(getattr(recipe, role, None), "endpoint", None) is None and role != "policy":
        return (0.0, 0.0) if role != "teacher" else None
    if rates is not None:
        tokens = rates.usage.get(role, (0.0, 0.0))
        each = read * tokens[0] + written * tokens[1]
        return (
            each * sum(one.episodes.least + one.monitor_episodes for one in stages),
            each * sum(one.episodes.most + one.monitor_episodes for one in stages),
        )
    if role != "policy" or any(one.expected_sampled is None for one in stages):
        return None
    least = most = 0.0
    for one in stages:
        assert one.expected_sampled is not None
        assert one.lengths is not None
        fresh = one.lengths.stream - one.lengths.sampled  # what is read once: the cache keeps it
        least += read * fresh * (one.episodes.least + one.monitor_episodes) + written * one.expected_sampled.least
        most += read * fresh * (one.episodes.most + one.monitor_episodes) + written * one.expected_sampled.most
    return least, most

"""Plans against counts worked out by hand, and every setting that a dry run refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from journeyman import cli
from journeyman.engine.estimate import KNOWN, model_sizes
from journeyman.errors import RecipeError, RunFolderError
from journeyman.planning.cost import Amount, Rates, hours_of, measured_rates, money_of, total
from journeyman.planning.recipe import chosen_dtype, plan_recipe
from journeyman.planning.stages import Lengths, Range, StagePlan, longest_answer, plan_stages
from journeyman.recipe import Model, Recipe, TaskFilter, parse_recipe
from journeyman.task import Task
from journeyman.train.runfolder import RunFolder
from journeyman.worlds import load_world

HEAD = """
name = "plan"
world = "telecom"
[model]
name = "tiny-random"
device = "cpu"
dtype = "float32"
[sampling.train]
max_tokens = 50
context_limit = 1000
[sampling.eval]
max_tokens = 40
context_limit = 1000
[limits]
turns = 8
calls = 8
tokens = 300
"""
STARTERS = 'families = ["starter_line_features", "starter_billing"]'
BRIEF = Lengths(played=4, solved=4, prompt=100.0, sampled=10.0, stream=150.0, turns=3.0)


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return load_world("telecom").tasks()


def recipe(*stages: str, head: str = HEAD) -> Recipe:
    return parse_recipe(head + "".join(f"\n[[stage]]\n{stage}\n" for stage in stages), "plan.toml")


def planned(tasks: list[Task], stage: str, lengths: Lengths | None = BRIEF) -> StagePlan:
    measure = None if lengths is None else lambda _: lengths
    return plan_stages(recipe(stage), tasks, [], measure)[-1]


# Counts


def test_an_evaluation(tasks: list[Task]) -> None:
    plan = planned(tasks, 'kind = "evaluate"\nname = "e"\ntrials = 3\ntasks = [{ families = ["late_fee"], limit = 7 }]')
    assert (plan.tasks, plan.episodes, plan.updates, plan.steps) == (7, Range(21, 21), 0, Range(0, 0))
    # 21 episodes of at most 300 tokens (8 turns of 40 would be 320), or of 10 each.
    assert (plan.sampled_tokens, plan.expected_sampled) == (6300, Range(210, 210))
    assert (plan.trained_tokens, plan.expected_trained) == (0, 0)


def test_grpo_counts_what_is_sampled_not_what_is_kept(tasks: list[Task]) -> None:
    plan = planned(
        tasks,
        f'kind = "grpo"\ntasks = {{ {STARTERS}, per_family = 20 }}\nsteps = 10\ngroups = 4\ngroup_size = 5\n'
        f"updates_per_sync = 2\nrefill_rounds = 2\nevaluate_every = 4\nmonitor_trials = 3\n"
        f"monitor = {{ {STARTERS}, per_family = 4 }}",
    )
    assert plan.tasks == 2 * (20 - 4)
    assert (plan.steps, plan.updates) == (Range(10, 10), 20)
    assert plan.groups == Range(40, 120)
    assert plan.episodes == Range(200, 600)
    assert plan.monitor_episodes == 2 * 8 * 3
    assert plan.epochs == (40 / 32, 120 / 32)
    assert plan.trained == 200
    assert plan.sampled_tokens == (600 + 48) * 300
    assert plan.trained_tokens == 200 * 300
    assert plan.expected_sampled == Range((200 + 48) * 10, (600 + 48) * 10)
    assert (plan.expected_trained, plan.expected_computed, plan.expected_scored) == (2000, 30_000, 0)


def test_a_reference_and_a_teacher_read_what_is_trained(tasks: list[Task]) -> None:
    kl = 'objective = { kl = "loss", kl_coefficient = 0.1 }'
    assert planned(tasks, f'kind = "grpo"\nsteps = 2\ngroups = 3\ngroup_size = 4\n{kl}').expected_scored == 24 * 150
    stages = (
        'kind = "sft"',
        f'kind = "opd"\nsteps = 2\ngroups = 3\ngroup_size = 4\nteacher = {{ stage = "sft" }}\n{kl}',
    )
    plan = plan_stages(recipe(*stages), tasks, [], lambda _: BRIEF)[-1]
    assert plan.expected_scored == 2 * 24 * 150


def test_sft_counts_traces_of_all_teachers_and_epochs_of_those_kept(tasks: list[Task]) -> None:
    common = f'kind = "sft"\ntasks = {{ {STARTERS}, per_family = 10 }}\nteachers = ["oracle", "terse", "formal"]\n'
    plan = planned(tasks, f"{common}traces_per_task = 4\nepochs = 2.0\nbatch = 16")
    # ceil(4 / 3) = 2 attempts of each of three teachers at each of 20 tasks; at most 4 of the 6 are kept: 80, twice, 16 a step.
    assert (plan.traces, plan.steps, plan.updates, plan.epochs) == (120, Range(10, 10), 10, (2.0, 2.0))
    assert (plan.trained, plan.trained_tokens, plan.expected_trained) == (160, 160 * 1000, 1600)
    assert (plan.episodes, plan.sampled_tokens) == (Range(0, 0), 0)
    plan = planned(tasks, f"{common}steps = 5\nbatch = 6")
    assert (plan.traces, plan.trained, plan.epochs) == (60, 30, (1.5, 1.5))


def test_a_bridge_may_end_at_its_first_monitoring(tasks: list[Task]) -> None:
    plan = planned(
        tasks,
        f'kind = "sft"\ntasks = {{ {STARTERS}, per_family = 12 }}\ntraces_per_task = 1\nsteps = 20\nbatch = 2\n'
        f"bridge = {{ share = 0.1 }}\nevaluate_every = 5\nmonitor = {{ {STARTERS}, per_family = 2 }}",
    )
    assert (plan.traces, plan.steps) == (20, Range(5, 20))
    assert plan.epochs == (5.0, 20.0)  # 2 of the 20 traces, 2 a step
    assert plan.monitor_episodes == 4 * 4


def test_pivots_are_profiled_turn_by_turn(tasks: list[Task]) -> None:
    stage = f'kind = "pivot"\ntasks = {{ {STARTERS}, per_family = 5 }}\nsteps = 3\ngroups = 4\ngroup_size = 6\n'
    plan = planned(tasks, f"{stage}updates_per_sync = 1\nrefill_rounds = 0\nprofile_size = 8")
    assert plan.traces == 10
    # 3 x 4 x 6 continuations; at most 10 traces x 3 turns x 8 for the profile. One turn samples at most 50 tokens.
    assert plan.episodes == Range(72, 72 + 240)
    assert (plan.sampled_tokens, plan.trained_tokens) == (312 * 50, 72 * 50)
    assert plan.expected_trained == 240  # a third of 10 tokens each
    whole = planned(tasks, f'{stage}updates_per_sync = 1\nrefill_rounds = 0\ncontinuation = "episode"')
    assert whole.trained_tokens == 72 * 300


def test_without_lengths_nothing_is_expected(tasks: list[Task]) -> None:
    plan = planned(tasks, 'kind = "grpo"', None)
    assert plan.expected_sampled is plan.expected_trained is plan.expected_computed is plan.lengths is None
    assert plan.sampled_tokens > 0


def test_the_longest_answer_is_the_tightest_limit() -> None:
    one = recipe('kind = "grpo"')
    settings = one.sampling.train
    assert longest_answer(one, settings) == 300
    assert longest_answer(one, msgspec.structs.replace(settings, max_tokens=20)) == 8 * 20
    short = msgspec.structs.replace(settings, context_limit=200)
    assert longest_answer(one, short) == 200
    assert longest_answer(one, msgspec.structs.replace(short, thinking=True)) == 300


def test_a_filter_takes_the_first_of_each_family(tasks: list[Task]) -> None:
    from journeyman.curriculum.pools import select

    chosen = select(tasks, [TaskFilter(families=["late_fee", "port_in"], per_family=2)], "test")
    assert [task.family for task in chosen] == ["late_fee"] * 2 + ["port_in"] * 2
    both = [TaskFilter(families=["late_fee", "port_in"], per_family=2, skip=1, limit=2)]
    assert select(tasks, both, "test") == chosen[1:3]


# Hours and money


def stage_plan(**changes: object) -> StagePlan:
    plan = StagePlan(
        name="rl", kind="grpo", tasks=1, steps=Range(1, 1), updates=1, groups=Range(1, 2), episodes=Range(100, 200),
        traces=0, monitor_episodes=20, epochs=(1.0, 2.0), sampled_tokens=0, trained=100, trained_tokens=0,
        expected_sampled=Range(1200, 2200), expected_trained=0, expected_computed=0, expected_scored=0, lengths=BRIEF,
    )  # fmt: skip
    return msgspec.structs.replace(plan, **changes)


def test_hours_are_unknown_unless_a_run_measured_them() -> None:
    assert hours_of(stage_plan(), None).least is None
    rates = Rates(playing=3.0, training=6.0, imitating=None, usage={})
    found = hours_of(stage_plan(), rates)
    assert (found.least, found.most) == ((120 * 3 + 600) / 3600, (220 * 3 + 600) / 3600)
    imitated = hours_of(stage_plan(kind="sft"), rates)
    assert imitated.least is None
    assert "trained no stage like rl" in imitated.missing[0]
    assert total([found, imitated]) == Amount(None, None, imitated.missing)
    assert total([found, found]) == Amount(2 * (found.least or 0), 2 * (found.most or 0), [])


def test_money_is_of_what_is_known() -> None:
    prices = "[prices]\ndevice_hour = 2.0\noutput_per_million = { policy = 1000000.0 }\ninput_per_million = { policy = 10000.0 }\n"
    priced = recipe('kind = "grpo"', head=HEAD + prices)
    # Tokens written cost 1 each, read 0.01 each: (150 - 10) of every episode.
    least, most = 1200 + 0.01 * 140 * 120, 2200 + 0.01 * 140 * 220
    unknown = hours_of(stage_plan(), None)
    found = money_of(priced, [stage_plan()], unknown, None)
    assert (found.least, found.most) == (pytest.approx(least), pytest.approx(most))
    assert found.missing == [unknown.missing[0].replace("hours:", "cost of the device:")]
    found = money_of(priced, [stage_plan()], Amount(1.0, 2.0, []), None)
    assert (found.least, found.most) == (pytest.approx(least + 2), pytest.approx(most + 4))
    rates = Rates(playing=1.0, training=1.0, imitating=1.0, usage={"policy": (100.0, 5.0)})
    found = money_of(priced, [stage_plan()], Amount(1.0, 2.0, []), rates)
    assert (found.least, found.most) == (pytest.approx(2 + 120 * 6.0), pytest.approx(4 + 220 * 6.0))
    assert money_of(recipe('kind = "grpo"'), [stage_plan()], unknown, None).least is None


class MadeRun:
    """What `measured_rates` reads of a run folder."""

    path = Path("runs/made")
    recipe = recipe('kind = "sft"', 'kind = "grpo"')

    def metrics(self) -> list[dict[str, object]]:
        train = {
            "kind": "train",
            "episodes": 8,
            "episodes_trained": 4,
            "seconds_sampling": 16.0,
            "seconds_training": 2.0,
        }
        traces = {
            "kind": "train",
            "method": "sft",
            "episodes_trained": 10,
            "seconds_sampling": 0.0,
            "seconds_training": 5.0,
        }
        return [
            {"kind": "traces", "played": 5, "seconds_sampling": 99.0},
            traces,
            train | {"method": "cispo"},
            {"kind": "monitor", "episodes": 2, "seconds_sampling": 4.0},
            {"kind": "evaluate", "episodes": 10, "seconds_sampling": 10.0},
        ]

    def scan(self) -> object:
        from journeyman.episode import Usage
        from journeyman.train.runfolder import Scan

        names = ["sft/0000/0000/00", *(f"grpo/0000/0000/{trial:02d}" for trial in range(4))]
        return Scan(dict.fromkeys(names), {"user": Usage(input=400, output=40)}, 0, 0.0)  # type: ignore[arg-type]


def test_rates_are_means_over_a_run() -> None:
    rates = measured_rates(MadeRun())  # type: ignore[arg-type]
    assert rates == Rates(playing=30 / 20, training=0.5, imitating=0.5, usage={"user": (100.0, 10.0)})


def test_a_run_that_played_nothing_tells_no_rate(tmp_path: Path) -> None:
    class Empty(MadeRun):
        def metrics(self) -> list[dict[str, object]]:
            return []

        def scan(self) -> object:
            return msgspec.structs.replace(super().scan(), entries={})  # type: ignore[type-var]

    with pytest.raises(RunFolderError, match="played nothing"):
        measured_rates(Empty())  # type: ignore[arg-type]
    with pytest.raises(RunFolderError):
        measured_rates(RunFolder(tmp_path))


# What is refused


@pytest.mark.parametrize(
    ("old", "new", "key", "remedy"),
    [
        ("[sampling.train]\nmax_tokens = 50\ncontext_limit = 1000", "[sampling.train]\nmax_tokens = 50\ncontext_limit = 5000",
         "sampling.train.context_limit", "set at most 4096"),
        ("[sampling.eval]\nmax_tokens = 40\ncontext_limit = 1000", "[sampling.eval]\nmax_tokens = 40\ncontext_limit = 9999",
         "sampling.eval.context_limit", "set at most 4096"),
        ("max_tokens = 50", "max_tokens = 1000", "sampling.train.max_tokens", "lower it, or raise context_limit"),
        ("tokens = 300", "tokens = 45", "limits.tokens", "raise the one, or lower the other"),
        ("calls = 8", "calls = 1", "stage grpo: limits", "raise limits.turns and limits.calls"),
        ('name = "tiny-random"', 'name = "models/none"', "model.name", "no config.json there"),
        ("context_limit = 1000", "context_limit = 90", "sampling.train.context_limit", "Raise it"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_refused_by_key_and_remedy(old: str, new: str, key: str, remedy: str) -> None:
    assert old in HEAD
    stage = f'kind = "grpo"\ntasks = {{ {STARTERS}, limit = 2 }}'
    # A context of 90 tokens leaves room for calls of fewer.
    head = HEAD.replace(old, new).replace("max_tokens = 50", "max_tokens = 30" if "= 90" in new else "max_tokens = 50")
    with pytest.raises(RecipeError) as caught:
        plan_recipe(recipe(stage, head=head), "plan.toml")
    assert caught.value.exit_code == 2
    assert key in f"{caught.value.where}: {caught.value.key}".replace("plan.toml: ", "")
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("stage", "key"),
    [
        ('kind = "grpo"\nsteps = 3\nevaluate_every = 4\nmonitor = { per_family = 1 }', "stage grpo: evaluate_every"),
        ('kind = "grpo"\nkeep = "best"', "stage grpo: keep"),
        ('kind = "grpo"\ngroups = 1\nupdates_per_sync = 2', "stage grpo: updates_per_sync"),
        ('kind = "grpo"\nmax_staleness = 1', "stage grpo: objective.correction"),
        ('kind = "grpo"\ntasks = { limit = 3 }\nmonitor = { limit = 3 }', "monitor"),
        ('kind = "grpo"\ntasks = { families = ["starter_plan"] }', "tasks"),
        ('kind = "opd"\nteacher = { kind = "model", model = "Qwen3-0.6B" }', "stage opd: teacher.model"),
        ('kind = "opd"\nteacher = { kind = "endpoint", endpoint = "far" }', "teacher.endpoint"),
    ],
)
def test_stages_that_cannot_be_run_are_refused(stage: str, key: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan_recipe(recipe(stage), "plan.toml")
    assert key in caught.value.key


def test_a_device_that_is_too_small_names_the_largest_part() -> None:
    large = recipe(
        'kind = "grpo"', head=HEAD.replace("tiny-random", "models/Qwen3-8B").replace("device", 'train = "full"\ndevice')
    )
    with pytest.raises(RecipeError, match=r"model\.train: needs .* largest part is trained .*lora") as caught:
        plan_recipe(large, "plan.toml", device_memory=80.0)
    assert caught.value.key == "model.train"
    assert "has 80.0" in caught.value.remedy
    plan = plan_recipe(large, "plan.toml", device_memory=1000.0)
    assert plan.device is not None
    assert plan.device.parameters == plan.device.trained == KNOWN["Qwen3-8B"].parameters
    assert plan.device.total == sum(plan.device.memory.values())
    # Values, their gradients in both lanes; float32 weights are the values themselves.
    assert plan.device.memory["trained"] == 3 * 4 * plan.device.trained
    assert plan.device.memory["weights"] == 0
    assert any("is not there yet" in note for note in plan.notes)
    assert any("tokenizer.json" in note for note in plan.notes)


def test_a_long_stream_is_a_micro_batch_by_itself() -> None:
    def activations(limit: int) -> int:
        head = HEAD.replace("tiny-random", "Qwen3-0.6B").replace(
            "max_tokens = 50\ncontext_limit = 1000", f"max_tokens = 50\ncontext_limit = {limit}"
        )
        plan = plan_recipe(recipe('kind = "grpo"', head=head), "plan.toml", device_memory=1000.0)
        assert plan.device is not None
        return plan.device.memory["activations"]

    # 2,048 rows of float32 by default, in two lanes of 1,024; from there on each lane holds a whole stream.
    assert activations(1000) == activations(1024)
    assert activations(2048) == 2 * activations(1024)


def test_all_weights_cannot_be_sent_to_a_server() -> None:
    server = '[vllm]\nurl = "http://127.0.0.1:8000"\nadapter_folder = "adapters"\n'
    head = HEAD.replace("device", 'train = "full"\ndevice') + server
    with pytest.raises(RecipeError, match=r"model\.train"):
        plan_recipe(recipe('kind = "grpo"', head=head), "plan.toml")
    plan = plan_recipe(recipe(f'kind = "grpo"\ntasks = {{ {STARTERS}, limit = 2 }}', head=HEAD + server), "plan.toml")
    assert plan.device is not None
    assert plan.device.memory["cache"] == plan.device.memory["sampler"] == 0


def test_checkpoints_that_are_kept() -> None:
    stage = f'kind = "grpo"\ntasks = {{ {STARTERS}, limit = 8 }}\nsteps = 6'
    rank = KNOWN["tiny-random"].adapter(32)
    plain = plan_recipe(recipe(stage), "plan.toml")
    assert plain.disk == 3 * 12 * rank  # the last two and the end of the stage; values and two moments in float32
    more = f"{stage}\nkeep_references = [2, 4]\nevaluate_every = 2\nmonitor = {{ {STARTERS}, per_family = 1 }}"
    assert plan_recipe(recipe(more), "plan.toml").disk == 6 * 12 * rank
    small = stage + '\noptimizer = { kind = "adafactor" }'
    assert plan_recipe(recipe(small), "plan.toml").disk == 3 * 4 * rank


# The model's sizes, and the command


def test_sizes_and_dtype_are_those_that_the_engine_finds(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from journeyman.engine.weights import choose_dtype, extract, load_model

    for dtype in ("auto", "float32", "bfloat16"):
        chosen = choose_dtype(dtype, torch.device("cpu"))
        assert str(chosen).removeprefix("torch.") == chosen_dtype(Model(device="cpu", dtype=dtype))
    weights = extract(load_model(Model(name="tiny-random"), torch.device("cpu"), torch.float32), "tiny")
    sizes = model_sizes("tiny-random")
    assert (len(weights.layers), weights.hidden, weights.intermediate, weights.heads, weights.kv_heads) == (
        sizes.layers, sizes.hidden, sizes.intermediate, sizes.heads, sizes.kv_heads,
    )  # fmt: skip
    assert (weights.head_dim, weights.vocabulary, weights.context) == (sizes.head_dim, sizes.vocabulary, sizes.context)


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["journeyman", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    code = caught.value.code
    return code if isinstance(code, int) else 0


SMALL = f"""
[[stage]]
kind = "grpo"
steps = 2
groups = 3
group_size = 4
refill_rounds = 1
tasks = {{ {STARTERS}, per_family = 3 }}
"""


def test_a_dry_run_prints_the_plan_and_makes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "plan.toml"
    file.write_text(HEAD + SMALL, encoding="utf-8")
    assert command(monkeypatch, "train", "plan.toml", "--dry-run", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    (stage,) = plan["stages"]
    assert (stage["tasks"], stage["groups"], stage["episodes"]) == (
        6,
        {"least": 6, "most": 12},
        {"least": 24, "most": 48},
    )
    lengths = stage["lengths"]
    assert lengths["played"] == lengths["solved"] == 6
    assert lengths["prompt"] < lengths["stream"] - lengths["sampled"]
    assert stage["expected_trained"] == pytest.approx(24 * lengths["sampled"], abs=1)
    assert plan["hours"]["least"] is None
    assert plan["device"]["total"] == sum(plan["device"]["memory"].values())
    assert command(monkeypatch, "train", "plan.toml", "--dry-run") == 0
    printed = capsys.readouterr().out
    assert "24–48" in printed
    assert "device hours: unknown" in printed
    assert {path.name for path in tmp_path.iterdir()} == {"plan.toml"}


def test_the_command_line_refuses_with_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(HEAD.replace("tokens = 300", "tokens = 20") + SMALL, encoding="utf-8")
    assert command(monkeypatch, "train", str(file), "--dry-run") == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith(f"error: {file}: limits.tokens: allows an episode 20 tokens")
    assert command(monkeypatch, "train", str(file), "--device-memory", "8") == 2
    assert "--device-memory: goes with --dry-run" in capsys.readouterr().err


def test_planning_needs_no_torch() -> None:
    import subprocess

    code = (
        "import sys; from journeyman.planning.recipe import plan_recipe; from journeyman.planning.text import render_plan; "
        "assert not {'torch', 'transformers', 'peft'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

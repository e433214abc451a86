"""The sections of a recipe that speak of endpoints, the keys it knows, and what is said before a run begins."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from journeyman.errors import RecipeError
from journeyman.parts import evaluation_recipe
from journeyman.preflight import check_room
from journeyman.recipe import Evaluate, Grpo, Recipe, TaskFilter, checked, parse_recipe
from journeyman.remote import is_loopback
from journeyman.rollout.policy import TokenPolicy
from journeyman.rollout.render import make_renderer
from journeyman.train.provenance import Provenance
from journeyman.train.runwriter import open_run

sys.path.insert(0, str(Path(__file__).parent / "rollout"))

import corner_shop

HEAD = 'name = "r"\nworld = "telecom"\n'
EVALUATE = '[[stage]]\nkind = "evaluate"\nname = "e"\n'


def endpoint(line: str = "", url: str = "http://127.0.0.1:8000/v1") -> str:
    return f'[endpoints.a]\nurl = "{url}"\nmodel = "m"\n{line}\n'


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (endpoint(url="https://host.example/v1"), 'host.example is not this machine, and run.network = "none"'),
        (endpoint(url="https://localhost.evil.example/v1"), "is not this machine"),
        (endpoint(url="http://0.0.0.0:8000/v1"), "is not this machine"),
        (endpoint(url="ftp://127.0.0.1/v1"), "must be an http or https URL"),
        (endpoint(url="127.0.0.1:8000"), "must be an http or https URL"),
        (endpoint(url="http://127.0.0.1:x/v1"), "is no URL"),
        (endpoint(url="http://me:secret@127.0.0.1/v1"), "must not hold a user or password"),
        (endpoint(url="http://127.0.0.1/v1?key=secret"), "must not hold a query"),
        (endpoint('api_key_env = "sk-secret"'), "matching regex"),
        (endpoint('api_key_env = "hf_secret"'), "matching regex"),
        (endpoint('headers = { Authorization = "secret" }'), "Authorization could carry a key"),
        (endpoint('headers = { X-Api-Key = "secret" }'), "X-Api-Key could carry a key"),
        (endpoint('headers = { "a b" = "c" }'), "letters, digits and dashes"),
        (endpoint('headers = { a = "b\\nc: d" }'), "printable ASCII"),
        (endpoint('headers = { Host = "evil.example" }'), "Host is set by the client itself"),
        (endpoint('headers = { content-length = "5" }'), "content-length is set by the client itself"),
        (endpoint('headers = { Transfer-Encoding = "chunked" }'), "Transfer-Encoding is set by the client itself"),
        (endpoint('headers = { Accept-Encoding = "br" }'), "Accept-Encoding is set by the client itself"),
        (endpoint('headers = { Content-Type = "text/plain" }'), "Content-Type is set by the client itself"),
        (endpoint('headers = { Connection = "close" }'), "Connection is set by the client itself"),
        (endpoint('headers = { Proxy-Connection = "close" }'), "Proxy-Connection is set by the client itself"),
        (endpoint('headers = { X-Title = "a", x-title = "b" }'), "is there twice"),
        (endpoint("retries = 21"), "<= 20"),
        (endpoint("timeout_seconds = inf"), "<="),
        (endpoint("max_concurrency = 0"), ">= 1"),
        ('[policy]\nkind = "endpoint"\n', "policy.endpoint"),
        ('[policy]\nendpoint = "a"\n', "policy.kind"),
        ('[user]\nkind = "llm"\n', "user.endpoint"),
        ('[judge]\nendpoint = "b"\n' + endpoint(), "there is no [endpoints.b]; known: a"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_one_clear_error(text: str, wanted: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(HEAD + text + EVALUATE, "r.toml")
    assert str(caught.value).startswith("r.toml: ")
    assert wanted in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_endpoint_may_be_asked_where_the_network_is_open() -> None:
    text = HEAD + '[run]\nnetwork = "endpoints"\n' + endpoint(url="https://host.example/v1") + EVALUATE
    assert parse_recipe(text, "r.toml").endpoints["a"].retries == 4
    assert [is_loopback(f"http://{host}/v1") for host in ("localhost:1", "127.9.9.9", "[::1]:8", "10.0.0.1")] == [
        *(True, True, True, False)
    ]


VLLM = '[vllm]\nurl = "{url}"\nadapter_folder = "adapters"\n'


def vllm(line: str = "", url: str = "http://127.0.0.1:8000") -> str:
    return VLLM.format(url=url) + line + "\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (vllm(url="https://host.example"), 'vllm.url: host.example is not this machine, and run.network = "none"'),
        (vllm(url="http://0.0.0.0:8000"), "is not this machine"),
        (vllm(url="http://127.0.0.1:8000/v1"), "vllm.url: is the server's address without /v1"),
        (vllm(url="127.0.0.1:8000"), "vllm.url: must be an http or https URL: write it as http://127.0.0.1:8000."),
        (vllm(url="http://me:secret@127.0.0.1"), "vllm.url: must not hold a user or password"),
        (vllm(url="http://127.0.0.1?key=secret"), "vllm.url: must not hold a query"),
        (vllm('api_key_env = "sk-secret"'), "matching regex"),
        (vllm("adapters = 1"), "known: url, adapter_folder, server_folder, model, api_key_env, max_concurrency, "),
        (vllm("retries = 21"), "<= 20"),
        (vllm("canaries = 0"), ">= 1"),
        (vllm("canary_tokens = 4"), ">= 8"),
        (vllm("mean_tolerance = 0.0"), "> 0"),
        (vllm("timeout_seconds = inf"), "<="),
        (vllm("mean_tolerance = 2.0"), "vllm.mean_tolerance: is larger than max_tolerance"),
        ('[vllm]\nurl = "http://127.0.0.1:8000"\n', "adapter_folder"),
        (vllm() + '[model]\ntrain = "full"\n', 'model.train: must be "lora" where [vllm] samples'),
        (vllm() + endpoint() + '[policy]\nkind = "endpoint"\nendpoint = "a"\n', "vllm: serves the recipe's own model"),
    ],
)
def test_a_sampling_server_that_cannot_be_used_is_one_clear_error(text: str, wanted: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(HEAD + text + EVALUATE, "r.toml")
    assert wanted in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_server_may_sample_where_the_recipe_says_so() -> None:
    assert parse_recipe(HEAD + EVALUATE, "r.toml").vllm is None
    recipe = parse_recipe(HEAD + vllm() + EVALUATE, "r.toml")
    assert recipe.vllm is not None
    assert (recipe.vllm.url, recipe.vllm.retries) == ("http://127.0.0.1:8000", 6)
    far = HEAD + '[run]\nnetwork = "endpoints"\n' + vllm(url="https://host.example") + EVALUATE
    assert checked(parse_recipe(far, "r.toml"), "again").vllm is not None


def test_an_endpoint_cannot_be_trained() -> None:
    text = HEAD + endpoint() + '[policy]\nkind = "endpoint"\nendpoint = "a"\n'
    assert parse_recipe(text + EVALUATE, "r.toml").policy.endpoint == "a"
    for kind in ("sft", "grpo"):
        with pytest.raises(RecipeError, match="an endpoint gives no token ids"):
            parse_recipe(f'{text}[[stage]]\nkind = "{kind}"\n', "r.toml")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("colour = 1\n" + EVALUATE, "top level: Object contains unknown field `colour`; known: name, world, stage, "),
        ('[[stage]]\nkind = "grpo"\nsize = 1', "known: kind, name, tasks, start, steps, "),
        ('[[stage]]\nkind = "grpo"\nmonitor = { kind = 1 }', "known: families, split, per_family, limit, skip"),
        ('[[stage]]\nkind = "sft"\noptimizer = { lr = 1 }', "known: kind, learning_rate, betas, weight_decay, "),
        (EVALUATE + "tasks = [{}, { family = 1 }]", "known: families, split, per_family, limit, skip"),
        ("[sampling.eval]\ntemp = 1\n" + EVALUATE, "known: temperature, top_p, max_tokens, context_limit, thinking"),
        (endpoint("key = 1") + EVALUATE, "known: url, model, api_key_env, "),
    ],
)
def test_an_unknown_key_is_answered_with_the_known_ones(text: str, known: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(HEAD + text, "r.toml")
    assert known in str(caught.value)


def test_evaluations_are_held_out_unless_they_say_otherwise() -> None:
    text = HEAD + EVALUATE + 'tasks = [{ families = ["x"] }, { split = "train" }]\n[[stage]]\nkind = "grpo"\n'
    recipe = parse_recipe(text + "monitor = { limit = 3 }", "r.toml")
    first, second = recipe.stage
    assert isinstance(first, Evaluate)
    assert [one.split for one in first.tasks] == ["heldout", "train"]
    assert isinstance(second, Grpo)
    assert second.monitor is not None
    # Monitoring chooses among checkpoints: it must not see what the result is measured on.
    assert (second.tasks.split, second.monitor.split) == ("train", "train")
    assert checked(recipe, "again") == recipe


def test_a_prompt_that_fills_the_context_is_refused_by_name() -> None:
    pytest.importorskip("tokenizers")
    from journeyman.engine.tokenizer import load_tokenizer

    policy = TokenPolicy(None, make_renderer("auto", load_tokenizer("tiny-random")))  # type: ignore[arg-type]
    stage = Evaluate(name="e", tasks=(TaskFilter(families=["cancel", "total"]),))
    tasks = corner_shop.WORLD.tasks()

    def check(limit: int) -> None:
        recipe = Recipe(name="r", world="shop", stage=[stage])
        settings = msgspec.structs.replace(recipe.sampling.eval, context_limit=limit)
        sampling = msgspec.structs.replace(recipe.sampling, eval=settings)
        check_room(msgspec.structs.replace(recipe, sampling=sampling), corner_shop.WORLD, policy, tasks)

    check(4_000)
    with pytest.raises(RecipeError, match=r"stage e: sampling\.eval\.context_limit: is 50 tokens") as caught:
        check(50)
    assert "cancel " in str(caught.value)
    assert "total " in str(caught.value)


def test_an_adapter_is_evaluated_with_the_settings_of_its_run(tmp_path: Path) -> None:
    trained = parse_recipe(
        HEAD + '[model]\nname = "tiny-random"\nlora_rank = 8\n[sampling.eval]\ncontext_limit = 2048\n'
        "[run]\nmax_cost = 1.0\n[prices]\ndevice_hour = 1.0\n[[stage]]\nkind = \"sft\"\n",
        "r.toml",
    )  # fmt: skip
    provenance = Provenance("", "telecom", "1", [], 0, "", "")
    open_run(tmp_path / "run", trained, provenance, resume=False).close()
    checkpoint = tmp_path / "run" / "checkpoints" / "step-000001"
    checkpoint.mkdir(parents=True)
    for adapter in (tmp_path / "run", checkpoint):
        found = evaluation_recipe(None, adapter, None, None)
        assert (found.model, found.sampling) == (trained.model, trained.sampling)
        assert found.run.max_cost is None
    changed = evaluation_recipe(None, checkpoint, "other", 99)
    assert (changed.model.name, changed.model.lora_rank, changed.sampling.eval.context_limit) == ("other", 8, 99)
    assert evaluation_recipe(trained, tmp_path / "nowhere", None, None) == trained
    assert evaluation_recipe(None, tmp_path / "nowhere", None, None).model.lora_rank == 32

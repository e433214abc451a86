"""A small server that answers as vLLM does: same paths, fields and errors, real weights, real adapters, and every fault.

    with StandIn() as server:
        server.misbehave("cut", times=1)
        ...  # server.url

It computes with the tiny model through transformers (not through the engine's own forward pass), and reads adapters from
the PEFT files that were pushed. It speaks HTTP by hand, so that it can break off anywhere.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from journeyman import recipe
from journeyman.engine.vllm_delivery import TEMPERATURE
from journeyman.engine.weights import load_model

BASE = "tiny"
_EOS = 2
Value = dict[str, Any]


@dataclass
class Reply:
    """One answer. `manner`: `whole`, `reset` (no answer), `cut` (half of it) or `hang`."""

    value: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    manner: str = "whole"
    text: str | None = None

    def body(self) -> bytes:
        return (self.text if self.text is not None else json.dumps(self.value)).encode()


def _error(status: int, message: str, kind: str = "BadRequestError", param: str | None = None) -> Reply:
    return Reply({"error": {"message": message, "type": kind, "param": param, "code": status}}, status)


def _of_choice(change: Callable[[Value], Any]) -> Callable[[Reply], None]:
    def alter(reply: Reply) -> None:
        change(reply.value["choices"][0])

    return alter


def _becomes(status: int, **headers: str) -> Callable[[Reply], None]:
    def alter(reply: Reply) -> None:
        made = _error(status, "it was told to", "InternalServerError")
        reply.status, reply.value = status, made.value
        reply.headers |= {name.replace("_", "-"): text for name, text in headers.items()}

    return alter


def _in_manner(manner: str) -> Callable[[Reply], None]:
    def alter(reply: Reply) -> None:
        reply.manner = manner

    return alter


def _append_id(choice: Value) -> None:
    choice["token_ids"].append(7)


def _double_token(choice: Value) -> None:
    """As a stream that was resumed one token too early."""
    ids = choice["token_ids"]
    choice["token_ids"] = [ids[0], *ids[:-1]] if len(ids) > 1 else ids * 2


def _past_the_end(choice: Value) -> None:
    for entry, more in (("token_ids", 9), ("token_logprobs", -1.0), ("tokens", "token_id:9")):
        (choice if entry == "token_ids" else choice["logprobs"])[entry].append(more)


def _only_text(choice: Value) -> None:
    choice["token_ids"] = choice["prompt_token_ids"] = None


def _set(key: str, value: Any) -> Callable[[Value], None]:
    def change(choice: Value) -> None:
        choice[key] = value

    return change


def _first_logprob(value: Any) -> Callable[[Value], None]:
    def change(choice: Value) -> None:
        choice["logprobs"]["token_logprobs"][0] = value

    return change


def _usage(reply: Reply) -> None:
    reply.value["usage"]["completion_tokens"] += 1


def _say(text: str) -> Callable[[Reply], None]:
    def alter(reply: Reply) -> None:
        reply.text = text

    return alter


def _model(reply: Reply) -> None:
    reply.value["model"] = BASE


def _choices(reply: Reply) -> None:
    reply.value["choices"] = []


PASSING: dict[str, Callable[[Reply], None]] = {
    "hang": _in_manner("hang"),
    "cut": _in_manner("cut"),
    "reset": _in_manner("reset"),
    "429": _becomes(429, retry_after="2"),
    "500": _becomes(500),
    "503": _becomes(503),
}
"""Faults after which another try may succeed."""
WRONG: dict[str, Callable[[Reply], None]] = {
    "an id too many": _of_choice(_append_id),
    "an id too few": _of_choice(lambda choice: choice["token_ids"].pop()),
    "a token twice": _of_choice(_double_token),
    "ids past the end": _of_choice(_past_the_end),
    "an unknown id": _of_choice(lambda choice: choice["token_ids"].__setitem__(0, 10**6)),
    "no ids but text": _of_choice(_only_text),
    "another prompt": _of_choice(lambda choice: choice["prompt_token_ids"].pop(0)),
    "no logprobs": _of_choice(_set("logprobs", None)),
    "a logprob too few": _of_choice(lambda choice: choice["logprobs"]["token_logprobs"].pop()),
    "NaN": _of_choice(_first_logprob(float("nan"))),
    "null": _of_choice(_first_logprob(None)),
    "minus infinity": _of_choice(_first_logprob(-9999.0)),
    "a positive logprob": _of_choice(_first_logprob(0.3)),
    "aborted": _of_choice(_set("finish_reason", "abort")),
    "another usage": _usage,
    "another model": _model,
    "no choice": _choices,
    "no JSON": _say('{"choices": ['),
    "a web page": _say("<html>hello</html>"),
}
"""Answers with status 200 that are none."""


@functools.cache
def _base_model() -> Any:
    return load_model(recipe.Model(name="tiny-random"), torch.device("cpu"), torch.float32)


class StandIn:
    """The server, in a thread of its own while the `with` block lasts.

    Args:
        processed: `--logprobs-mode processed_logprobs`.
        updating: `VLLM_ALLOW_RUNTIME_LORA_UPDATING`.
        lora: `--enable-lora`.
        prefix_caching: what `/metrics` says of it; None: nothing.
        key: `--api-key`.
        healthy: what `/health` says.
        scale: multiplies what adapters add: 1 as it should be.
    """

    def __init__(
        self,
        *,
        processed: bool = True,
        updating: bool = True,
        lora: bool = True,
        max_lora_rank: int = 16,
        max_model_len: int = 4096,
        prefix_caching: bool | None = True,
        key: str = "",
        scale: float = 1.0,
        healthy: bool = True,
    ) -> None:
        self.processed, self.updating, self.lora = processed, updating, lora
        self.max_lora_rank, self.max_model_len = max_lora_rank, max_model_len
        self.prefix_caching, self.key, self.scale, self.healthy = prefix_caching, key, scale, healthy
        self.stale = self.unlisted = False
        self.stale_for = ""  # adapters with this in their names are served as the weights before them
        self.requests: list[tuple[str, Value]] = []
        self.url = ""
        self._faults: list[list[Any]] = []
        self._base = _base_model()
        self._models: dict[str, Any] = {BASE: self._base}
        self._paths: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def misbehave(self, fault: str, times: int = 1_000_000, path: str = "", skip: int = 0) -> None:
        """Let requests meet a fault: sampling ones (but canaries), or those of a path; the first `skip` of them do not."""
        self._faults.append([(PASSING | WRONG)[fault], times, path, skip])

    def behave(self) -> None:
        """No more faults."""
        self._faults.clear()

    def forget(self) -> None:
        """Restart: the adapters are gone."""
        self._models, self._paths = {BASE: self._base}, {}

    @property
    def adapters(self) -> list[str]:
        """Names of those that are loaded."""
        return list(self._paths)

    def asked(self, path: str) -> list[Value]:
        """The bodies that came to a path, in order."""
        return [body for where, body in self.requests if where == path]

    def sampled(self) -> list[Value]:
        """The bodies of the requests that asked for a continuation."""
        return [body for body in self.asked("/v1/completions") if "prompt_logprobs" not in body]

    def __enter__(self) -> StandIn:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._open: set[asyncio.Task[Any]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 24)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the other side hung up, or the test is over
        finally:
            writer.close()
            self._open.discard(task)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        body = json.loads(raw) if raw else {}
        self.requests.append((path, body))
        if self.key and path.startswith("/v1") and headers.get("authorization") != f"Bearer {self.key}":
            reply = Reply({"error": "Unauthorized"}, 401)
        else:
            reply = self._answer(method, path, body)
        self._spoil(path, body, reply)
        return await _send(reply, writer)

    def _spoil(self, path: str, body: Value, reply: Reply) -> None:
        for fault in self._faults:
            alter, times, wanted, skip = fault
            samples = path == "/v1/completions" and "prompt_logprobs" not in body and body["temperature"] != TEMPERATURE
            if not times or (path != wanted if wanted else not samples or reply.status != 200):
                continue
            if skip:
                fault[3] -= 1
                continue
            fault[1] -= 1
            alter(reply)
            return

    def _answer(self, method: str, path: str, body: Value) -> Reply:
        routes: dict[tuple[str, str], Callable[[Value], Reply]] = {
            ("GET", "/health"): lambda _: Reply(None, 200 if self.healthy else 503, text=""),
            ("GET", "/version"): lambda _: Reply({"version": "0.32.0"}),
            ("GET", "/metrics"): lambda _: Reply(None, text=self._metrics()),
            ("GET", "/v1/models"): lambda _: Reply(self._listed()),
            ("POST", "/v1/completions"): self._complete,
        }
        if self.updating:
            routes["POST", "/v1/load_lora_adapter"] = self._load
            routes["POST", "/v1/unload_lora_adapter"] = self._unload
        found = routes.get((method, path))
        return _error(404, "Not Found", "Not Found") if found is None else found(body)

    def _metrics(self) -> str:
        text = "# HELP vllm:num_requests_running Number of requests\n"
        if self.prefix_caching is not None:
            text += f'vllm:cache_config_info{{block_size="16",enable_prefix_caching="{self.prefix_caching}",engine="0"}} 1.0\n'
        return text

    def _listed(self) -> Value:
        def card(name: str, root: str, parent: str | None, context: int | None) -> Value:
            shown = {"id": name, "object": "model", "created": 0, "owned_by": "vllm", "root": root, "parent": parent}
            return shown | {"max_model_len": context, "permission": []}

        cards = [card(BASE, "/models/tiny", None, self.max_model_len)]
        if not self.unlisted:
            cards += [card(name, path, BASE, None) for name, path in self._paths.items()]
        return {"object": "list", "data": cards}

    def _load(self, body: Value) -> Reply:
        name, path = body["lora_name"], Path(body["lora_path"])
        if name in self._paths:
            told = f"The lora adapter '{name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True."
            return _error(400, told, "InvalidUserInput")
        if not self.lora:
            return _error(500, "LoRA is not enabled. Use --enable-lora to enable LoRA.", "InternalServerError")
        if not (path / "adapter_config.json").is_file():
            return _error(404, f"Loading lora {name} failed: No adapter found for {path}", "NotFoundError")
        settings = json.loads((path / "adapter_config.json").read_text())
        if settings["r"] > self.max_lora_rank:
            told = f"LoRA rank {settings['r']} is greater than max_lora_rank {self.max_lora_rank}."
            return _error(500, told, "InternalServerError")
        old = self._models[list(self._models)[-1]]
        stale = self.stale or (self.stale_for != "" and self.stale_for in name)
        self._models[name] = old if stale else self._with_adapter(path, settings)
        self._paths[name] = str(path)
        return Reply(None, text=f"Success: LoRA adapter '{name}' added successfully.")

    def _unload(self, body: Value) -> Reply:
        name = body["lora_name"]
        if self._paths.pop(name, None) is None:
            return _error(404, f"The lora adapter '{name}' cannot be found.", "NotFoundError")
        del self._models[name]
        return Reply(None, text=f"Success: LoRA adapter '{name}' removed successfully.")

    def _with_adapter(self, path: Path, settings: Value) -> Any:
        """A copy of the base model with the adapter added to its matrices: W + alpha / r · B A."""
        tensors = load_file(path / "adapter_model.safetensors")
        made = copy.deepcopy(self._base)
        modules = dict(made.named_modules())
        used = 0
        for name, a in tensors.items():
            if ".lora_A." not in name:
                continue
            module = modules[name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")]
            b = tensors[name.replace(".lora_A.", ".lora_B.")]
            module.weight.data = module.weight.data + self.scale * settings["lora_alpha"] / settings["r"] * (b @ a)
            used += 2
        assert used == len(tensors) > 0
        return made

    def _complete(self, body: Value) -> Reply:
        model = self._models.get(body["model"])
        if model is None:
            return _error(404, f"The model `{body['model']}` does not exist.", "NotFoundError", "model")
        prompt = body["prompt"]
        if len(prompt) >= self.max_model_len:
            told = f"This model's maximum context length is {self.max_model_len} tokens. However, you requested more."
            return _error(400, told, param="input_tokens")
        with torch.inference_mode():
            ids, logprobs, finish, rows = self._generate(model, body)
        choice: Value = {
            "index": 0,
            "text": "~" * len(ids),
            "logprobs": None,
            "finish_reason": finish,
            "stop_reason": ids[-1] if finish == "stop" and ids[-1] in body.get("stop_token_ids", []) else None,
            "token_ids": ids if body.get("return_token_ids") else None,
            "prompt_logprobs": rows,
            "prompt_token_ids": prompt if body.get("return_token_ids") else None,
            "routed_experts": None,
        }
        if body.get("logprobs") is not None:
            named = [f"token_id:{token}" if body.get("return_tokens_as_token_ids") else "~" for token in ids]
            tops = [{name: value} for name, value in zip(named, logprobs, strict=True)]
            choice["logprobs"] = {
                "text_offset": list(range(len(ids))),
                "token_logprobs": logprobs,
                "tokens": named,
                "top_logprobs": tops,
            }
        usage = {"prompt_tokens": len(prompt), "total_tokens": len(prompt) + len(ids), "completion_tokens": len(ids)}
        value = {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": body["model"], "choices": [choice]}
        return Reply(value | {"usage": usage | {"prompt_tokens_details": None}})

    def _generate(self, model: Any, body: Value) -> tuple[list[int], list[float], str, list[Any] | None]:
        prompt = body["prompt"]
        out = model(torch.tensor([prompt]), use_cache=True)
        rows: list[Any] | None = None
        if body.get("prompt_logprobs") is not None:
            # Of the plain distribution, whatever the temperature and the mode.
            scores = out.logits[0].log_softmax(-1)
            rows = [None]
            for place, token in enumerate(prompt[1:]):
                entry = {"logprob": float(scores[place, token]), "rank": 1, "decoded_token": "~"}
                rows.append({str(token): entry})
        stops = set(body.get("stop_token_ids", ())) | (set() if body.get("ignore_eos") else {_EOS})
        generator = torch.Generator().manual_seed(body["seed"] % 2**63)
        ids: list[int] = []
        logprobs: list[float] = []
        room = min(body["max_tokens"], self.max_model_len - len(prompt))
        while len(ids) < room:
            logits = out.logits[0, -1].float()
            tempered = _within(logits / body["temperature"], body["top_p"]).log_softmax(-1)
            exponential = torch.empty_like(tempered).exponential_(generator=generator)
            token = int((tempered.exp() / exponential).argmax())
            ids.append(token)
            logprobs.append(float((tempered if self.processed else logits.log_softmax(-1))[token]))
            if token in stops:
                return ids, logprobs, "stop", rows
            if len(ids) < room:
                out = model(torch.tensor([[token]]), past_key_values=out.past_key_values, use_cache=True)
        return ids, logprobs, "length", rows


def _within(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """The logits of the nucleus, minus infinity elsewhere."""
    if top_p >= 1:
        return logits
    values, order = logits.softmax(-1).sort(descending=True)
    kept = order[values.cumsum(-1) - values < top_p]
    found = torch.full_like(logits, float("-inf"))
    found[kept] = logits[kept]
    return found


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Send it in its manner. Returns whether the connection goes on."""
    if reply.manner == "reset":
        writer.transport.abort()
        return False
    if reply.manner == "hang":
        await asyncio.sleep(60)
        return False
    body = reply.body()
    lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {text}" for name, text in reply.headers.items())]
    writer.write("\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode())
    writer.write(body[: len(body) // 2] if reply.manner == "cut" else body)
    await writer.drain()
    return reply.manner == "whole"

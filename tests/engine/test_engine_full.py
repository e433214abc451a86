"""Training all weights: gradients against torch's autograd through the Hugging Face model, optimizers, masters, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import small_engine as small
import torch
from test_engine_models import write_model

from journeyman.engine import whole
from journeyman.engine.base import LossSettings
from journeyman.engine.local import LocalEngine
from journeyman.engine.tokenizer import load_tokenizer
from journeyman.engine.whole import WholeWeights
from journeyman.episode import Sample
from journeyman.errors import EngineError

SFT = LossSettings("sft", learning_rate=1e-3, max_grad_norm=float("inf"))


def full(**changes: Any) -> LocalEngine:
    return small.engine(disturb=False, train="full", **changes)


def whole_of(made: LocalEngine) -> WholeWeights:
    assert isinstance(made._trained, WholeWeights)
    return made._trained


def gradients(made: LocalEngine, samples: list[Sample]) -> dict[str, torch.Tensor]:
    """By parameter, of an update that changes nothing."""
    made.update(samples, LossSettings("sft", learning_rate=0.0, max_grad_norm=float("inf")))
    return {name: slot.clone() for name, _, slot in made._trained.pieces(matrices=True)}


def samples_within(vocabulary: int) -> list[Sample]:
    made = small.mixed_samples()
    for item in made:
        item.token_ids = [token % vocabulary for token in item.token_ids]
    return made


def plain_gradients(folder: str | Path | None, model: Any, samples: list[Sample]) -> dict[str, torch.Tensor]:
    """Of the mean of −log π over all masked-in tokens, by autograd, one sample at a time."""
    if folder is not None:
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    model.requires_grad_(True)
    count = sum(sum(item.mask) for item in samples)
    total: Any = 0.0
    for item in samples:
        logits = model(torch.tensor([item.token_ids])).logits[0, :-1] / item.temperature
        chosen = torch.log_softmax(logits, -1).gather(1, torch.tensor(item.token_ids[1:])[:, None])[:, 0]
        total = total - (chosen * torch.tensor(item.mask[1:])).sum() / count
    names, parameters = zip(*model.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(total, parameters), strict=True))


@pytest.mark.parametrize(("kind", "count"), [("Llama", 28), ("Qwen2", 27), ("Qwen3", 24)])
def test_every_gradient_equals_autograd_through_transformers(tmp_path: Path, kind: str, count: int) -> None:
    """Llama with biases and a tied head, Qwen2 with biases of q, k, v and a head of its own, Qwen3 with norms of heads.

    Counted by hand. Of a layer: 7 matrices, 2 norms; biases 4 + 0 (Llama: attention only), 3 (Qwen2), norms 2 (Qwen3). Two layers;
    embedding and last norm; Qwen2's head."""
    made = full(name=str(write_model(tmp_path, kind)))
    samples = samples_within(300)
    expected = plain_gradients(tmp_path, None, samples)
    found = gradients(made, samples)
    assert found.keys() == expected.keys()
    assert len(found) == count
    largest = max(float(value.abs().max()) for value in expected.values())
    for name, value in found.items():
        # The bias of keys has no gradient at all (it moves all scores of a query alike): rounding is all there is.
        scale = largest if name.endswith("k_proj.bias") else float(expected[name].abs().max())
        assert float((value - expected[name]).abs().max()) < 1e-5 * scale, name


def test_the_head_and_the_embedding_add_up_to_one_gradient() -> None:
    made = full()
    samples = small.mixed_samples()
    name = "model.embed_tokens.weight"
    found = gradients(made, samples)[name]
    expected = plain_gradients(None, made.peft_model, samples)[name]
    made.peft_model.requires_grad_(False)
    assert small.relative(found, expected) < 1e-5
    # Rows of tokens that no sample holds get a gradient as well, from the head.
    read = {token for item in samples for token in item.token_ids}
    unread = [token for token in range(made.weights.vocabulary) if token not in read]
    assert float(found[unread].abs().max()) > 0


@pytest.mark.parametrize("kind", ["adamw", "adafactor"])
def test_steps_are_those_of_torch_on_each_weight(kind: Any) -> None:
    made = full(lanes=1)
    loss = LossSettings("sft", learning_rate=1e-2, weight_decay=0.1, max_grad_norm=float("inf"), optimizer=kind)
    twins = {name: torch.nn.Parameter(value.clone()) for name, value, _ in made._trained.pieces(matrices=True)}
    plain: torch.optim.Optimizer
    if kind == "adamw":
        plain = torch.optim.AdamW(twins.values(), lr=1e-2, betas=(0.9, 0.99), weight_decay=0.1)
    else:
        plain = torch.optim.Adafactor(twins.values(), lr=1e-2, weight_decay=0.1)
    for _step in range(3):
        before = {name: value.clone() for name, value, _ in made._trained.pieces(matrices=True)}
        made.update(small.mixed_samples(), loss)
        for name, _, slot in made._trained.pieces(matrices=True):
            twins[name].grad = slot.clone()
        plain.step()
        for name, value, _ in made._trained.pieces(matrices=True):
            assert torch.equal(value, twins[name].detach()), name
            assert not torch.equal(value, before[name]), name
    # What the optimizer keeps: two numbers each, or a row and a column of each matrix (a vector's own length for a vector).
    kept = sum(tensor.numel() for tensor in made._stepper.state().values())
    if kind == "adamw":
        assert kept == 2 * made._trained.values.numel()
    else:
        assert kept == sum(sum(twin.shape) for twin in twins.values())
        assert kept < made._trained.values.numel() / 20


def test_adafactor_steps_the_adapter_by_matrices() -> None:
    made = small.engine(lanes=1)
    pieces = made._trained.pieces(matrices=True)
    assert sum(value.numel() for _, value, _ in pieces) == made._trained.values.numel()
    twins = [torch.nn.Parameter(value.detach().clone()) for _, value, _ in pieces]
    made.update(small.mixed_samples(), LossSettings("sft", learning_rate=1e-2, optimizer="adafactor"))
    for twin, (_, _, slot) in zip(twins, pieces, strict=True):
        twin.grad = slot.clone()
    torch.optim.Adafactor(twins, lr=1e-2).step()
    for twin, (name, value, _) in zip(twins, pieces, strict=True):
        assert torch.equal(twin.detach(), value.detach()), name


def test_bfloat16_weights_follow_float32_masters() -> None:
    made = full(dtype="bfloat16")
    trained = whole_of(made)
    before, computed = trained.values.clone(), trained._computed.clone()
    # One step of AdamW is as long as the rate: 1e-5. Next to 0.1, numbers of bfloat16 lie 0.0005 apart.
    made.update(small.mixed_samples()[:2], LossSettings("sft", learning_rate=1e-5))
    moved = (trained.values - before).abs()
    large = before.abs() > 0.1
    assert float(moved[large].median()) == pytest.approx(1e-5, rel=0.05)
    assert float((trained._computed == computed)[large].float().mean()) > 0.9
    assert torch.equal(trained._computed, trained.values.to(torch.bfloat16))
    for name, value in made.peft_model.named_parameters():
        assert value.dtype == torch.bfloat16, name


def test_what_samples_changes_when_it_is_published_and_not_before() -> None:
    made = full()
    prompt = small.tokens(20, 1)

    def answer() -> tuple[list[int], list[float], int]:
        made.reset()
        (found,) = small.ask(made, small.request("a", prompt, 5))
        return found.token_ids, found.logprobs, found.version

    before = answer()
    with torch.no_grad():
        exact = torch.log_softmax(made.peft_model(torch.tensor([prompt])).logits[0, -1], -1)
    assert before[1][0] == pytest.approx(float(exact[before[0][0]]), abs=1e-4)
    made.update(small.mixed_samples(), LossSettings("sft", learning_rate=1e-2))
    assert answer() == before
    assert made.publish() == 1
    after = answer()
    assert after[2] == 1
    with torch.no_grad():
        now = torch.log_softmax(made.peft_model(torch.tensor([prompt])).logits[0, -1], -1)
    assert after[1][0] == pytest.approx(float(now[after[0][0]]), abs=1e-4)
    assert float((now - exact).abs().max()) > 1e-2


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(("kind", "files"), [("adamw", 1), ("adafactor", 3)])
def test_save_and_load_are_exact_and_transformers_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, files: int
) -> None:
    from transformers import AutoModelForCausalLM

    first = full()
    if files > 1:
        monkeypatch.setattr(whole, "_SHARD_BYTES", first._trained.values.numel() * 4 * 2 // 5)
    samples = small.mixed_samples()
    loss = LossSettings("sft", learning_rate=1e-3, optimizer=kind)
    first.update(samples, loss)
    assert first.publish() == 1
    first.save(tmp_path)
    assert len(list(tmp_path.glob("model*.safetensors"))) == files
    plain = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert plain.dtype == torch.float32
    ids = torch.tensor([samples[0].token_ids])
    with torch.no_grad():
        torch.testing.assert_close(plain(ids).logits, first.peft_model(ids).logits)
    assert load_tokenizer(str(tmp_path)).to_str() == load_tokenizer("tiny-random").to_str()
    named = small.engine(disturb=False, name=str(tmp_path))
    for ours, theirs in zip(named.logprobs(samples), first.logprobs(samples), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-5)
    second = small.engine(seed=7, disturb=False, train="full")
    second.update(samples[:2], LossSettings("sft", learning_rate=1e-2))
    second.load(tmp_path)
    assert second.version == 1
    assert torch.equal(first._trained.values, second._trained.values)
    assert small.ask(first, small.request("a", [5, 6, 7], 9))[0].logprobs == (
        small.ask(second, small.request("a", [5, 6, 7], 9))[0].logprobs
    )
    for made in (first, second):
        made.update(samples, loss)
    assert torch.equal(first._trained.values, second._trained.values)


def test_a_checkpoint_of_the_other_kind_or_a_torn_one_is_refused(tmp_path: Path) -> None:
    made = full()
    made.save(tmp_path)
    with pytest.raises(EngineError, match="another model or LoRA setting"):
        small.engine(disturb=False).load(tmp_path)
    before = made._trained.values.clone()
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(EngineError, match="cannot be read"):
        made.load(tmp_path)
    from safetensors.torch import save_file

    save_file({"model.norm.weight": torch.ones(64)}, tmp_path / "model.safetensors")
    with pytest.raises(EngineError, match="is missing"):
        made.load(tmp_path)
    assert torch.equal(made._trained.values, before)


def test_the_untouched_model_and_remembered_ones_can_be_asked() -> None:
    made = full()
    samples = small.mixed_samples()[:3]
    start = made.logprobs(samples)
    made.update(samples, LossSettings("sft", learning_rate=1e-2))
    made.remember("middle")
    middle = made.logprobs(samples)
    made.update(samples, LossSettings("sft", learning_rate=1e-2))
    assert made.logprobs(samples, of="base") == start
    assert made.logprobs(samples, of="middle") == middle
    assert len({str(found) for found in (start, middle, made.logprobs(samples))}) == 3
    made.restart()
    assert made.logprobs(samples) == start

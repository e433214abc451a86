"""Attention of sampler and trainer: against plain attention in float64, and where shared prefixes are put."""

from __future__ import annotations

import dataclasses

import pytest
import small_engine as small
import torch

from journeyman.engine.attention import CachedAttention, _attend, _buckets
from journeyman.engine.cache import KeyValueCache, Prefix, Slot
from journeyman.engine.local import LocalEngine
from journeyman.engine.packing import Node
from journeyman.engine.tree_attention import TreeAttention
from journeyman.engine.weights import Product


@pytest.fixture(scope="module")
def shared() -> LocalEngine:
    return small.engine()


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def plain(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """(queries, heads, dim) over (places, kv_heads, dim) by the definition, in float64; `seen` (queries, places)."""
    groups = q.shape[1] // k.shape[1]
    k, v = (tensor.repeat_interleave(groups, dim=1).double() for tensor in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.double(), k) / q.shape[-1] ** 0.5
    return torch.einsum("hqk,khd->qhd", scores.masked_fill(~seen, float("-inf")).softmax(-1), v)


def test_tree_attention_and_its_gradient(shared: LocalEngine) -> None:
    # A trunk of 150 with two branches, one of them branching again, and a sequence of its own; blocks of queries are 128.
    nodes = [Node(0, 150, 0, ()), Node(150, 290, 150, (0,)), Node(290, 300, 290, (0, 1)), Node(300, 340, 150, (0,))]
    nodes.append(Node(340, 480, 0, ()))
    w = shared.weights
    q = random(480, w.heads, w.head_dim, seed=1).requires_grad_()
    k, v = (random(480, w.kv_heads, w.head_dim, seed=seed).requires_grad_() for seed in (2, 3))
    outer = random(480, w.heads * w.head_dim, seed=4)
    found = TreeAttention(w, nodes)(0, q, k, v)
    outs = []
    for node in nodes:
        rows = [r for i in node.ancestors for r in range(nodes[i].first, nodes[i].end)]
        count, rows = node.end - node.first, rows + list(range(node.first, node.end))
        seen = torch.ones(count, len(rows), dtype=torch.bool).tril(len(rows) - count)
        outs.append(plain(q[node.first : node.end], k[rows], v[rows], seen))
    wanted = torch.cat(outs).flatten(1)
    torch.testing.assert_close(found.double(), wanted, atol=1e-5, rtol=1e-5)
    for ours, exact in zip(
        torch.autograd.grad(found, (q, k, v), outer),
        torch.autograd.grad(wanted, (q, k, v), outer.double()),
        strict=True,
    ):
        assert small.relative(ours, exact) < 1e-5


def test_log_sum_exp_beside_the_attention() -> None:
    q, k, v = (random(2, 3, count, 16, seed=count).double().float() for count in (4, 7, 7))
    mask = torch.zeros(2, 1, 4, 7)
    mask[1, :, :, 5:] = float("-inf")
    out, sums = _attend(q, k, v, mask, 0.25)
    scores = q @ k.transpose(-1, -2) * 0.25 + mask
    torch.testing.assert_close(sums, scores.logsumexp(-1))
    torch.testing.assert_close(out, scores.softmax(-1) @ v)


def test_cached_attention_over_prefixes_runs_and_chunks(shared: LocalEngine) -> None:
    """Slots 0 to 3 read one prefix, 5 another and only part of it, 6 none; 7 is fed a chunk behind the first prefix."""
    w = dataclasses.replace(shared.weights, layers=shared.weights.layers[:1])
    cache = KeyValueCache(w, 8)
    cache.reserve(100)
    size = cache.keys.shape
    cache.keys, cache.values = random(*size, seed=1), random(*size, seed=2)
    bases = {0: (8, 40), 1: (8, 40), 2: (8, 40), 3: (8, 40), 5: (9, 33), 6: (0, 0), 7: (8, 40)}
    for index, (row, base) in bases.items():
        slot = cache.slots[index]
        slot.tokens = [0] * (base + 3 + index)
        slot.prefix, slot.base = (Prefix(row, 40), base) if base else (None, 0)
    plan = [(cache.slots[index], at, at + 1) for at, index in enumerate((0, 1, 2, 3, 5, 6))] + [(cache.slots[7], 6, 10)]
    q = random(10, w.heads, w.head_dim, seed=3)
    k, v = (random(10, w.kv_heads, w.head_dim, seed=seed) for seed in (4, 5))
    found = CachedAttention(cache, plan)(0, q, k, v)
    for slot, first, end in plan:
        stored = []
        for tensor, fresh in ((cache.keys[0], k), (cache.values[0], v)):
            own = tensor[slot.index, :, : slot.own].transpose(0, 1)
            assert torch.equal(own[slot.own - (end - first) :], fresh[first:end])
            row = slot.prefix.index if slot.prefix else 0
            stored.append(torch.cat([tensor[row, :, : slot.base].transpose(0, 1), own]))
        seen = torch.ones(end - first, len(slot.tokens), dtype=torch.bool).tril(len(slot.tokens) - (end - first))
        wanted = plain(q[first:end], stored[0], stored[1], seen).flatten(1)
        torch.testing.assert_close(found[first:end].double(), wanted, atol=1e-5, rtol=1e-5)


def test_prefixes_read_by_alike_many_attend_together() -> None:
    def reader(index: int, row: int) -> tuple[Slot, int]:
        return Slot(index, prefix=Prefix(row, 50), base=50), index

    rows = [8] * 3 + [9] * 2 + [11] * 1 + [12] * 9
    found = _buckets([reader(index, row) for index, row in enumerate(rows)] + [(Slot(20), 20)])
    # 8 and 9 fill 6 places for 5 queries; with 11 (and 10 between, read by none) it would be 12 for 6.
    assert [[len(group) for group in bucket] for bucket in found] == [[3, 2], [1], [9]]


def test_sharing_moves_what_is_common_to_a_prefix(shared: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("journeyman.engine.cache._WORTH_SHARING", 32)
    cache = KeyValueCache(shared.weights, 4)
    cache.reserve(100)
    first, second, third = cache.slots[:3]
    first.tokens = list(range(60))
    marks = torch.arange(60.0)[None, None, :, None].expand(cache.keys[:, 0, :, :60].shape)
    cache.keys[:, 0, :, :60] = marks

    def held(slot: Slot) -> list[float]:
        own = cache.keys[0, slot.index, 0, : slot.own, 0].tolist()
        return (cache.keys[0, slot.prefix.index, 0, : slot.base, 0].tolist() if slot.prefix else []) + own

    cache.share(first, second, 50)
    assert (first.base, first.own, second.base, second.own) == (50, 10, 50, 0)
    assert first.prefix is second.prefix
    # 5 tokens more are not worth a prefix: they are copied. Less than the prefix is a part of it.
    cache.share(first, third, 55)
    assert (third.base, third.own) == (50, 5)
    cache.share(first, cache.slots[3], 20)
    assert (cache.slots[3].base, cache.slots[3].own) == (20, 0)
    for slot in cache.slots:
        assert held(slot) == list(range(len(slot.tokens)))
    cache.reserve(cache.capacity + 1)
    second.keep(30)
    for slot in cache.slots:
        assert held(slot) == list(range(len(slot.tokens)))
    # With every prefix row taken, what is common is copied.
    cache._rows = len(cache.slots)
    second.tokens, second.prefix, second.base = list(range(40)), None, 0
    cache.share(second, third, 40)
    assert (third.prefix, third.own) == (None, 40)


def test_products_in_parts_are_nearly_float32() -> None:
    weight, x = random(96, 64, seed=1).bfloat16(), random(8, 64, seed=2).bfloat16()
    exact = x.double() @ weight.double().t()
    coarse, fine = Product(weight).in_parts(x)
    if fine is None:
        pytest.skip("this processor has no fused bfloat16 products")
    assert float((coarse.double() - exact).abs().max()) > 1e-2
    assert float((coarse.double() + fine.double() - exact).abs().max()) < 5e-4

"""Attention of packed samples to themselves and their shared prefixes, with its gradient.

Each node of the pack attends causally to itself and fully to its ancestors. On the CPU the forward pass is torch's flash
attention; the backward pass is made of matrix products by blocks of queries. Two extra columns carry the subtractions into the
products, where sums are kept in float32: [q, −L] [k, 1]ᵀ is the logarithm of a probability, [dy, −δ] [v, 1]ᵀ the gradient
before it is weighted (Dao et al. 2022, appendix B.2: L is the log-sum-exp, δ = dy · y). What is rounded to bfloat16 is thus
small where it matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from journeyman.engine.packing import Node
from journeyman.engine.weights import Weights

_QUERIES = 128
"""Queries whose probabilities exist at once."""


class TreeAttention:
    """`forward.Attend` over the nodes of a pack."""

    def __init__(self, weights: Weights, nodes: Sequence[Node]) -> None:
        self.scale = 1 / math.sqrt(weights.head_dim)
        self.nodes = nodes
        self.masks: list[Tensor | None] = []
        for node in nodes:
            mask = None
            if node.ancestors:
                count = node.end - node.first
                hidden = torch.ones(count, node.position + count, dtype=torch.bool).triu_(node.position + 1)
                mask = torch.zeros(hidden.shape, dtype=weights.dtype).masked_fill_(hidden, float("-inf"))
                mask = mask.to(weights.device)
            self.masks.append(mask)

    def __call__(self, _layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """See `forward.Attend`."""
        if q.device.type == "cpu":
            out: Tensor = _CpuAttention.apply(q, k, v, self)  # type: ignore[no-untyped-call]
        else:
            out = self._by_autograd(q, k, v)
        return out.flatten(1)

    def path(self, tensor: Tensor, node: Node) -> Tensor:
        """Rows of `tensor` (heads, rows, dim) that `node` sees: its ancestors' and its own."""
        if not node.ancestors:
            return tensor[:, node.first : node.end]
        stretches = [*(self.nodes[index] for index in node.ancestors), node]
        return torch.cat([tensor[:, other.first : other.end] for other in stretches], dim=1)

    def _by_autograd(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        by_head = [tensor.transpose(0, 1) for tensor in (q, k, v)]
        outs = []
        for node, mask in zip(self.nodes, self.masks, strict=True):
            out = functional.scaled_dot_product_attention(
                by_head[0][None, :, node.first : node.end],
                self.path(by_head[1], node)[None],
                self.path(by_head[2], node)[None],
                attn_mask=mask,
                is_causal=mask is None,
                scale=self.scale,
                enable_gqa=True,
            )
            outs.append(out[0].transpose(0, 1))
        return torch.cat(outs)


class _CpuAttention(torch.autograd.Function):
    """(rows, heads, dim), (rows, kv_heads, dim) twice → (rows, heads, dim)."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, tree: TreeAttention) -> Tensor:
        out = torch.empty(q.shape, dtype=q.dtype)
        sums = torch.empty(q.shape[:2])
        by_head = [tensor.transpose(0, 1) for tensor in (q, k, v)]
        for node, mask in zip(tree.nodes, tree.masks, strict=True):
            rows = slice(node.first, node.end)
            found, found_sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                by_head[0][None, :, rows],
                tree.path(by_head[1], node)[None],
                tree.path(by_head[2], node)[None],
                0.0,
                mask is None,
                attn_mask=mask,
                scale=tree.scale,
            )
            out[rows] = found[0].transpose(0, 1)
            sums[rows] = found_sums[0].transpose(0, 1)
        ctx.tree = tree
        ctx.save_for_backward(q, k, v, out, sums)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        q, k, v, out, sums = ctx.saved_tensors
        rows, kv_heads, dim = k.shape
        grouped = (rows, kv_heads, -1)
        dy = grads[0].view(q.shape)
        delta = torch.linalg.vecdot(dy.float(), out.float())
        # (kv_heads, query heads of it, rows, dim + 2)
        queries = _with_columns((q * ctx.tree.scale).view(*grouped, dim), sums.view(grouped))
        outer = _with_columns(dy.view(*grouped, dim), delta.view(grouped))
        ones = k.new_ones(rows, kv_heads, 2)
        keys, values = (torch.cat([tensor, ones], dim=-1).transpose(0, 1).contiguous() for tensor in (k, v))
        d_queries = queries.new_empty(*queries.shape[:-1], dim)
        d_keys, d_values = torch.zeros(kv_heads, rows, dim), torch.zeros(kv_heads, rows, dim)
        for node in ctx.tree.nodes:
            seen = (ctx.tree.path(keys, node), ctx.tree.path(values, node))
            _node_gradient(ctx.tree, node, queries, outer, seen, (d_queries, d_keys, d_values))
        d_q = d_queries.permute(2, 0, 1, 3).reshape(q.shape).mul_(ctx.tree.scale)
        return d_q, d_keys.transpose(0, 1).to(k.dtype), d_values.transpose(0, 1).to(v.dtype), None


def _with_columns(matrix: Tensor, subtracted: Tensor) -> Tensor:
    """(rows, kv_heads, groups, dim) and (rows, kv_heads, groups) float32 → (kv_heads, groups, rows, dim + 2): the negated numbers
    stand behind as a coarse and a fine part, which together are as good as float32 in products."""
    coarse = subtracted.to(matrix.dtype)
    fine = (subtracted - coarse).to(matrix.dtype)
    columns = torch.stack([coarse, fine], dim=-1).neg_()
    return torch.cat([matrix, columns], dim=-1).permute(1, 2, 0, 3).contiguous()


def _node_gradient(
    tree: TreeAttention,
    node: Node,
    queries: Tensor,
    outer: Tensor,
    seen: tuple[Tensor, Tensor],
    gradients: tuple[Tensor, Tensor, Tensor],
) -> None:
    """Write the node's part of dq, and add what it gives to dk and dv of all it sees."""
    heads, groups, _, wide = queries.shape
    dim, keys, values = wide - 2, *seen
    d_queries, d_keys, d_values = gradients
    sums = [torch.zeros(heads, keys.shape[1], dim) for _ in range(2)]
    for first in range(node.first, node.end, _QUERIES):
        last = min(first + _QUERIES, node.end)
        begin, end = node.position + first - node.first, node.position + last - node.first
        # The queries of all heads that read a key head are one matrix.
        q, dy = (tensor[:, :, first:last].flatten(1, 2) for tensor in (queries, outer))
        k, v = keys[:, :end], values[:, :end]
        probabilities = torch.bmm(q, k.transpose(1, 2)).exp_()
        probabilities.view(heads, groups, last - first, end)[..., begin:].tril_()
        d_scores = torch.bmm(dy, v.transpose(1, 2)).mul_(probabilities)
        sums[1][:, :end] += torch.bmm(probabilities.transpose(1, 2), dy[..., :dim])
        sums[0][:, :end] += torch.bmm(d_scores.transpose(1, 2), q[..., :dim])
        d_queries[:, :, first:last] = torch.bmm(d_scores, k[..., :dim]).view(heads, groups, last - first, dim)
    start = 0
    for other in (*(tree.nodes[index] for index in node.ancestors), node):
        stop = start + other.end - other.first
        for total, part in zip((d_keys, d_values), sums, strict=True):
            total[:, other.first : other.end] += part[:, start:stop]
        start = stop

"""Drawing tokens: one uniform per token from a counter, the inverse of the distribution function, its log-probability."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_BLOCK = 256
"""Tokens summed in float32 before the sums go on in float64: one pass over the vocabulary, no loss that matters."""
_ROWS_IN_CACHE = 8
"""Rows worked on together on the CPU, so that their weights stay in its cache."""
_NUCLEUS = 256
"""Most likely tokens looked at first for top-p; where they do not suffice, all are sorted."""


def uniform(seed: int, position: int) -> float:
    """The uniform in [0, 1) that draws the token at `position` of a stream: SplitMix64's mixing function
    (Steele, Lea, Flood 2014), applied to the seed and then to the seed's hash plus position · golden ratio; top 53 bits."""
    return (_mix(_mix(seed & _MASK) + position * _GOLDEN) >> 11) * 2.0**-53


def _mix(value: int) -> int:
    value = (value + _GOLDEN) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def draw(
    logits: Tensor,
    temperatures: Sequence[float],
    top_ps: Sequence[float],
    uniforms: Sequence[float],
) -> tuple[list[int], list[float]]:
    """One token per row of `logits` (rows, vocabulary).

    Returns:
        Token ids, and their natural log-probabilities under softmax(logits / temperature), before top-p.
    """
    device = logits.device
    step = _ROWS_IN_CACHE if device.type == "cpu" else max(len(logits), 1)
    padded = -(-logits.shape[1] // _BLOCK) * _BLOCK
    weights = torch.zeros(min(step, len(logits)), padded, device=device)
    found: tuple[list[int], list[float]] = ([], [])
    for start in range(0, len(logits), step):
        some = slice(start, start + step)
        part = logits[some]
        filled = weights[: len(part), : logits.shape[1]]
        temperature = torch.tensor(temperatures[some], dtype=torch.float32, device=device)[:, None]
        torch.div(part, temperature, out=filled)
        tokens, logprobs = _draw(filled, weights[: len(part)], top_ps[some], uniforms[some])
        found[0].extend(tokens.tolist())
        found[1].extend(logprobs.tolist())
    return found


def _draw(filled: Tensor, weights: Tensor, top_ps: Sequence[float], uniforms: Sequence[float]) -> tuple[Tensor, Tensor]:
    """`draw` of a few rows: `filled` holds their tempered logits and is overwritten; it is the front of `weights`, whose
    columns make whole blocks and are 0 behind it."""
    filled.sub_(filled.amax(dim=-1, keepdim=True)).exp_()
    blocks = weights.view(len(weights), -1, _BLOCK).sum(-1).double()
    totals = blocks.sum(-1, keepdim=True)
    target = torch.tensor(uniforms, dtype=torch.float64, device=weights.device)[:, None]
    tokens = _invert(weights, blocks, target * totals)
    for row, top_p in enumerate(top_ps):
        if top_p < 1.0:
            tokens[row] = _nucleus(filled[row], float(totals[row]), top_p, uniforms[row])
    chosen = weights.gather(1, tokens[:, None]).double()
    return tokens, (chosen.log() - totals.log())[:, 0]


def _invert(weights: Tensor, blocks: Tensor, target: Tensor) -> Tensor:
    """The first token whose cumulative weight exceeds `target` (rows, 1): first its block, then within."""
    edges = blocks.cumsum(-1)
    block = torch.searchsorted(edges, target, right=True).clamp_max_(blocks.shape[1] - 1)
    before = (edges - blocks).gather(1, block)
    inside = weights.view(len(weights), -1, _BLOCK)[
        torch.arange(len(weights), device=weights.device), block[:, 0]
    ].double()
    inner_edges = inside.cumsum(-1)
    within = torch.searchsorted(inner_edges, target - before, right=True)
    # Rounding may put the target a hair beyond the block's last edge: the last token with any weight is meant then.
    last = torch.searchsorted(inner_edges, inner_edges[:, -1:].contiguous())
    return (block * _BLOCK + torch.minimum(within, last))[:, 0]


def _nucleus(weights: Tensor, total: float, top_p: float, point: float) -> int:
    """Draw from the smallest set of most likely tokens whose probability reaches `top_p`, most likely first."""
    for count in (min(_NUCLEUS, len(weights)), len(weights)):
        values, order = torch.topk(weights, count)
        edges = values.double().cumsum(0)
        if float(edges[-1]) >= top_p * total or count == len(weights):
            break
    size = min(int(torch.searchsorted(edges, top_p * total)) + 1, count)
    index = int(torch.searchsorted(edges[:size].contiguous(), point * float(edges[size - 1]), right=True))
    return int(order[min(index, size - 1)])

"""Ten training steps in NumPy's double precision, written from the formulas alone: the losses that
training_step_test.cpp compares the kernels' with.

  tests/kernels/training_step_reference.py    writes training_step_losses.hpp
"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
HEADER = HERE / "training_step_losses.hpp"
SEQ, HIDDEN, HEADS, LAYERS, VOCABULARY, STEPS = 16, 32, 2, 2, 40, 10
MASK = (1 << 64) - 1
Weights = dict[str, np.ndarray]


def random_bits(seed: int, count: int) -> list[int]:
    """harness/contents/random.hpp."""
    found = []
    for index in range(count):
        z = (seed * 0x9E3779B97F4A7C15 + index * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        found.append(z ^ (z >> 31))
    return found


def shapes() -> dict[str, tuple[int, int]]:
    """In the order of memory: as a backward pass completes the gradients."""
    found = {"output": (VOCABULARY, HIDDEN)}
    for layer in reversed(range(LAYERS)):
        found |= {
            f"mlp_out{layer}": (HIDDEN, 4 * HIDDEN),
            f"mlp_in{layer}": (4 * HIDDEN, HIDDEN),
            f"projection{layer}": (HIDDEN, HIDDEN),
            f"qkv{layer}": (3 * HIDDEN, HIDDEN),
        }
    return found | {"embedding": (VOCABULARY, HIDDEN)}


def initial_weights() -> Weights:
    sizes = [rows * columns for rows, columns in shapes().values()]
    bits = np.array([b >> 40 for b in random_bits(1, sum(sizes))], dtype=float)
    numbers = (bits / 2.0**23 - 1) * 0.034641016151377546
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    return {name: p.reshape(s) for (name, s), p in zip(shapes().items(), parts, strict=True)}


def norm(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scale = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(1e-5).astype(float))
    return x * scale, scale


def norm_backward(x: np.ndarray, scale: np.ndarray, d: np.ndarray) -> np.ndarray:
    y = x * scale
    return scale * (d - y * (d * y).mean(axis=1, keepdims=True))


def gelu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The value and the slope."""
    root = np.sqrt(2 / np.pi)
    t = np.tanh(root * (x + 0.044715 * x**3))
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x)
    return 0.5 * x * (1 + t), slope


def heads_of(rows: np.ndarray) -> np.ndarray:
    return rows.reshape(SEQ, HEADS, HIDDEN // HEADS).transpose(1, 0, 2)


def rows_of(heads: np.ndarray) -> np.ndarray:
    return heads.transpose(1, 0, 2).reshape(SEQ, HIDDEN)


def step(w: Weights, tokens: np.ndarray, targets: np.ndarray) -> tuple[float, Weights]:
    """The loss and the gradients."""
    x, kept, root = w["embedding"][tokens], [], np.sqrt(HIDDEN // HEADS)
    for layer in range(LAYERS):
        first, first_scale = norm(x)
        q, k, v = (heads_of(part) for part in np.split(first @ w[f"qkv{layer}"].T, 3, axis=1))
        scores = q @ k.transpose(0, 2, 1) / root
        scores[:, np.triu(np.ones((SEQ, SEQ), bool), 1)] = -np.inf
        p = np.exp(scores - scores.max(axis=2, keepdims=True))
        p /= p.sum(axis=2, keepdims=True)
        attended = rows_of(p @ v)
        middle = x + attended @ w[f"projection{layer}"].T
        second, second_scale = norm(middle)
        activated, slope = gelu(second @ w[f"mlp_in{layer}"].T)
        inside = (p, attended, middle, second, second_scale, activated, slope)
        kept.append((x, first, first_scale, q, k, v, *inside))
        x = middle + activated @ w[f"mlp_out{layer}"].T
    last, last_scale = norm(x)
    logits = last @ w["output"].T
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    at = np.arange(SEQ)
    loss = float(-np.log(p[at, targets]).mean())
    p[at, targets] -= 1
    g = {"output": (p / SEQ).T @ last}
    d = norm_backward(x, last_scale, p / SEQ @ w["output"])
    for layer in reversed(range(LAYERS)):
        x, first, first_scale, q, k, v, *inside = kept[layer]
        p, attended, middle, second, second_scale, activated, slope = inside
        g[f"mlp_out{layer}"] = d.T @ activated
        d_inner = d @ w[f"mlp_out{layer}"] * slope
        g[f"mlp_in{layer}"] = d_inner.T @ second
        d = d + norm_backward(middle, second_scale, d_inner @ w[f"mlp_in{layer}"])
        g[f"projection{layer}"] = d.T @ attended
        d_heads = heads_of(d @ w[f"projection{layer}"])
        d_p = d_heads @ v.transpose(0, 2, 1)
        d_scores = p * (d_p - (d_p * p).sum(axis=2, keepdims=True)) / root
        d_q, d_k = d_scores @ k, d_scores.transpose(0, 2, 1) @ q
        d_v = p.transpose(0, 2, 1) @ d_heads
        d_qkv = np.hstack([rows_of(part) for part in (d_q, d_k, d_v)])
        g[f"qkv{layer}"] = d_qkv.T @ first
        d = d + norm_backward(x, first_scale, d_qkv @ w[f"qkv{layer}"])
    g["embedding"] = np.zeros_like(w["embedding"])
    np.add.at(g["embedding"], tokens, d)
    return loss, g


def losses() -> list[float]:
    w = initial_weights()
    m, v = ({name: np.zeros_like(one) for name, one in w.items()} for _ in range(2))
    tokens, targets = (
        np.array([bits % VOCABULARY for bits in random_bits(seed, SEQ)]) for seed in (2, 3)
    )
    found = []
    for number in range(1, STEPS + 1):
        loss, gradients = step(w, tokens, targets)
        found.append(loss)
        for name, g in gradients.items():
            m[name] = 0.9 * m[name] + 0.1 * g
            v[name] = 0.95 * v[name] + 0.05 * g * g
            rate = 1e-3 * (m[name] / (1 - 0.9**number))
            w[name] = w[name] * (1 - 1e-3 * 0.1)
            w[name] = w[name] - rate / (np.sqrt(v[name] / (1 - 0.95**number)) + 1e-8)
    return found


def header() -> str:
    numbers = "".join(f"    {loss!r},\n" for loss in losses())
    return f"""// Written by training_step_reference.py.
#pragma once

// clang-format off
namespace training_step_losses {{

inline constexpr unsigned seq = {SEQ}, hidden = {HIDDEN}, heads = {HEADS}, layers = {LAYERS},
                          vocabulary = {VOCABULARY};
inline constexpr double of_steps[] = {{
{numbers}}};

}}  // namespace training_step_losses
// clang-format on
"""


if __name__ == "__main__":
    HEADER.write_text(header())

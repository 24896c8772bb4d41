"""The sentence model all-MiniLM-L6-v2 in numpy: texts become vectors whose product says how alike their meaning is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pflow.planning.semantic.tokens import tokenize
from pflow.planning.semantic.weights import read_weights

Array = np.ndarray

_LAYERS, _HEADS, _WIDTH = 6, 12, 384
_PARTS = (
    "attention.output.dense.bias",
    "attention.output.LayerNorm.weight",
    "attention.output.LayerNorm.bias",
    "intermediate.dense.bias",
    "output.dense.bias",
    "output.LayerNorm.weight",
    "output.LayerNorm.bias",
)
_AT_ONCE = 16
"""Texts that go through the model together; more take more memory and no less time."""


class Encoder:
    """Makes vectors of length 1 out of texts."""

    def __init__(self, path: Path) -> None:
        weights = read_weights(path)
        own = "inner.embeddings"
        self._words = weights[f"{own}.word_embeddings.weight_q"]
        self._scales = weights[f"{own}.word_embeddings.weight_scale"]
        places = weights[f"{own}.position_embeddings.weight_q"] * weights[f"{own}.position_embeddings.weight_scale"]
        self._places = places + weights[f"{own}.token_type_embeddings.weight"][0]
        self._norm = weights[f"{own}.LayerNorm.weight"], weights[f"{own}.LayerNorm.bias"]
        # The matrices have numbers for names, in the order in which they are used.
        names = [name for name in weights if name.startswith("val_") and name.endswith("_q")]
        matrices = [weights[name] * weights[f"{name[:-2]}_scale"] for name in names]
        self._layers = [
            _layer(weights, f"inner.encoder.layer.{n}", matrices[6 * n : 6 * n + 6]) for n in range(_LAYERS)
        ]

    def encode(self, texts: Sequence[str]) -> list[Array]:
        """A vector for each text, in their order."""
        tokens = [tokenize(text) for text in texts]
        # Texts of one length go together: they need no padding, which would have to be hidden from the others.
        order = sorted(range(len(texts)), key=lambda index: len(tokens[index]))
        found: dict[int, Array] = {}
        while len(found) < len(order):
            rest = order[len(found) : len(found) + _AT_ONCE]
            group = [index for index in rest if len(tokens[index]) == len(tokens[rest[0]])]
            vectors = self._forward(np.array([tokens[index] for index in group]))
            found |= dict(zip(group, vectors, strict=True))
        return [found[index] for index in range(len(texts))]

    def _forward(self, ids: np.ndarray) -> Array:
        count, length = ids.shape
        x = _normalize(self._words[ids] * self._scales[ids] + self._places[:length], *self._norm)
        for joined, joined_bias, out, up, down, out_bias, gain, shift, up_bias, down_bias, last, end in self._layers:
            parts = (x @ joined + joined_bias).reshape(count, length, 3, _HEADS, -1)
            query, key, value = parts.transpose(2, 0, 3, 1, 4)
            weight = query @ key.swapaxes(-1, -2) / np.float32((_WIDTH // _HEADS) ** 0.5)
            weight = np.exp(weight - weight.max(-1, keepdims=True))
            weight /= weight.sum(-1, keepdims=True)
            heard = (weight @ value).swapaxes(1, 2).reshape(count, length, _WIDTH)
            x = _normalize(x + heard @ out + out_bias, gain, shift)
            wide = x @ up + up_bias
            wide *= 0.5 * (1 + np.tanh(0.79788456 * (wide + 0.044715 * (wide * wide * wide))))  # GELU
            x = _normalize(x + wide @ down + down_bias, last, end)
        pooled = x.mean(1)
        return pooled / np.sqrt((pooled * pooled).sum(-1, keepdims=True))


def _layer(weights: dict[str, Array], own: str, matrices: Sequence[Array]) -> tuple[Array, ...]:
    query, key, value, *others = matrices
    biases = [weights[f"{own}.attention.self.{part}.bias"] for part in ("query", "key", "value")]
    rest = [weights[f"{own}.{part}"] for part in _PARTS]
    return (np.concatenate([query, key, value], axis=1), np.concatenate(biases), *others, *rest)


def _normalize(x: Array, gain: Array, shift: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-12)) * gain + shift

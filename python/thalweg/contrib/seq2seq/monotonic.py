# SPDX-License-Identifier: Apache-2.0
"""Monotonic attention (Raffel 2017): the place that is read never goes back."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes, layers
from thalweg.contrib.seq2seq.attention import MemoryAttention, bahdanau_score, bahdanau_variables, luong_score
from thalweg.control import functional_ops
from thalweg.graph import graph
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops, random_ops
from thalweg.variables import init_ops
from thalweg.variables.variable_scopes import get_variable, variable_scope

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import DTypeLike, TensorLike
    from thalweg.graph.tensor import Tensor


def safe_cumprod(x: TensorLike, *args: object, **kwargs: object) -> Tensor:
    """cumprod through logarithms, of numbers in [0, 1], which differentiates well near 0."""
    with graph.name_scope("SafeCumprod"):
        x = convert_to_tensor(x, name="x")
        tiny = convert_to_tensor(np.finfo(x.dtype.as_numpy_dtype).tiny, dtype=x.dtype)
        one = convert_to_tensor(1, dtype=x.dtype)
        bounded = apply("Minimum", [apply("Maximum", [x, tiny]), one])
        return apply("Exp", [math_ops.cumsum(apply("Log", [bounded]), *args, **kwargs)])


def monotonic_attention(p_choose_i: TensorLike, previous_attention: TensorLike, mode: str) -> Tensor:
    """Probabilities [batch, steps] of reading each place, from those of stopping there and the ones of the step before; `mode`:
    "recursive", "parallel" (a closed form) or "hard" (stops at the first place whose probability is 1)."""
    p = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        shifted = array_ops.concat([array_ops.ones([array_ops.shape(p)[0], 1], p.dtype), 1 - p[:, :-1]], 1)
        steps = functional_ops.scan(lambda x, y: y[0] * x + y[1],
                                    [array_ops.transpose(shifted), array_ops.transpose(previous)],
                                    initializer=array_ops.zeros([array_ops.shape(p)[0]], p.dtype))
        attention = p * array_ops.transpose(steps)
    elif mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        bounded = apply("Minimum", [apply("Maximum", [passed, convert_to_tensor(1e-10, dtype=p.dtype)]),
                                    convert_to_tensor(1.0, dtype=p.dtype)])
        attention = p * passed * math_ops.cumsum(previous / bounded, axis=1)
    elif mode == "hard":
        p = p * math_ops.cumsum(previous, axis=1)
        attention = p * math_ops.cumprod(1 - p, axis=1, exclusive=True)
    else:
        raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")
    attention.set_shape(previous.shape)
    return attention


class _Monotonic(MemoryAttention):
    def __init__(self, query_layer, memory, lengths, memory_layer, score_mask_value, noise, noise_seed, mode, name):
        def probability(score, previous):
            if noise > 0:
                score = score + noise * random_ops.random_normal(array_ops.shape(score), dtype=score.dtype, seed=noise_seed)
            p = math_ops.cast(score > 0, score.dtype) if mode == "hard" else math_ops.sigmoid(score)
            return monotonic_attention(p, previous, mode)
        super().__init__(query_layer, memory, probability, lengths, memory_layer, score_mask_value=score_mask_value, name=name)

    def initial_alignments(self, batch_size, dtype):
        """All on the first place."""
        return array_ops.one_hot(array_ops.zeros([batch_size], dtypes.int32), self._steps, dtype=dtype)

    def _bias(self, query):
        return get_variable("attention_score_bias", dtype=query.dtype, shape=(),
                            initializer=init_ops.constant_initializer(self._bias_init))


class BahdanauMonotonicAttention(_Monotonic):
    """Attention that never goes back, with the scores of BahdanauAttention."""
    def __init__(self, num_units: int, memory: TensorLike, memory_sequence_length: TensorLike | None = None,
                 normalize: bool = False, score_mask_value: float | None = None, sigmoid_noise: float = 0.0,
                 sigmoid_noise_seed: int | None = None, score_bias_init: float = 0.0, mode: str = "parallel",
                 dtype: DTypeLike | None = None, name: str = "BahdanauMonotonicAttention") -> None:
        dtype = dtype or dtypes.float32
        super().__init__(layers.Dense(num_units, name="query_layer", use_bias=False, dtype=dtype), memory, memory_sequence_length,
                         layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype), score_mask_value,
                         sigmoid_noise, sigmoid_noise_seed, mode, name)
        self._units, self._normalize, self._bias_init = num_units, normalize, score_bias_init

    def __call__(self, query: Tensor, state: Any) -> tuple[Tensor, Any]:
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            query = self.query_layer(query)
            score = bahdanau_score(query, self.keys, *bahdanau_variables(self._units, query.dtype, self._normalize))
            return self._attend(score + self._bias(query), state)


class LuongMonotonicAttention(_Monotonic):
    """Attention that never goes back, with the scores of LuongAttention."""
    def __init__(self, num_units: int, memory: TensorLike, memory_sequence_length: TensorLike | None = None, scale: bool = False,
                 score_mask_value: float | None = None, sigmoid_noise: float = 0.0, sigmoid_noise_seed: int | None = None,
                 score_bias_init: float = 0.0, mode: str = "parallel", dtype: DTypeLike | None = None,
                 name: str = "LuongMonotonicAttention") -> None:
        super().__init__(None, memory, memory_sequence_length,
                         layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or dtypes.float32),
                         score_mask_value, sigmoid_noise, sigmoid_noise_seed, mode, name)
        self._scale, self._bias_init = scale, score_bias_init

    def __call__(self, query: Tensor, state: Any) -> tuple[Tensor, Any]:
        with variable_scope(None, "luong_monotonic_attention", [query]):
            scale = get_variable("attention_g", dtype=query.dtype, initializer=init_ops.ones_initializer(),
                                 shape=()) if self._scale else None
            return self._attend(luong_score(query, self.keys, scale) + self._bias(query), state)

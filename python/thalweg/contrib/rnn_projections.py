# SPDX-License-Identifier: Apache-2.0
"""Cells around a cell that change its inputs or outputs by a matrix of their own."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.graph.ops import is_dense
from thalweg.nn.rnn_cell_base import RNNCell, check_cell
from thalweg.operations import math_ops
from thalweg.operations.array_ops import concat, reshape
from thalweg.variables import init_ops
from thalweg.variables.variable_scopes import get_variable, get_variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import Activation, Initializer
    from thalweg.graph.tensor import Tensor


def linear(inputs: Sequence[Tensor], size: int) -> Tensor:
    """inputs side by side times a matrix, plus a bias: the variables kernel and bias of the scope."""
    inputs = inputs if isinstance(inputs, list) else [inputs]
    width = sum(x.shape._size(1) for x in inputs)
    dtype = inputs[0].dtype.base_dtype
    kernel = get_variable("kernel", [width, size], dtype)
    product = math_ops.matmul(inputs[0] if len(inputs) == 1 else concat(inputs, 1), kernel)
    return nn.bias_add(product, get_variable("bias", [size], dtype,
                                             initializer=init_ops.constant_initializer(0.0, dtype=dtype)))


class _Around(RNNCell):
    def __init__(self, cell, reuse=None):
        check_cell("cell", cell)
        super().__init__()
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_Around):
    """A cell of symbols: the vectors are rows of the variable `embedding`."""

    def __init__(self, cell: RNNCell, embedding_classes: int, embedding_size: int, initializer: Initializer | None = None,
                 reuse: bool | None = None) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}.")
        self._shape, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        initializer = self._initializer or get_variable_scope().initializer
        if initializer is None:
            initializer = init_ops.random_uniform_initializer(-math.sqrt(3), math.sqrt(3))
        first = state
        while isinstance(first, tuple):
            first = first[0]
        table = get_variable("embedding", self._shape, first.dtype.base_dtype if is_dense(first) else None, initializer)
        return self._cell(nn.embedding_lookup(table, reshape(inputs, [-1])), state)


class OutputProjectionWrapper(_Around):
    """A cell whose output goes through a matrix."""

    def __init__(self, cell: RNNCell, output_size: int, activation: Activation | None = None, reuse: bool | None = None) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._size, self._activation = output_size, activation

    @property
    def output_size(self) -> Any:
        return self._size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        output, state = self._cell(inputs, state)
        projected = linear(output, self._size)
        return (self._activation(projected) if self._activation else projected), state


class InputProjectionWrapper(_Around):
    """A cell whose input goes through a matrix."""

    def __init__(self, cell: RNNCell, num_proj: int, activation: Activation | None = None, input_size: int | None = None,
                 reuse: bool | None = None) -> None:
        super().__init__(cell, reuse)
        self._size, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        projected = linear(inputs, self._size)
        return self._cell(self._activation(projected) if self._activation else projected, state)

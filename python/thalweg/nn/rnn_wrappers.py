# SPDX-License-Identifier: Apache-2.0
"""Cells around other cells: dropout, residual connections, devices."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.graph import graph
from thalweg.graph.ops import apply
from thalweg.graph.shapes import as_shape
from thalweg.nn import activations
from thalweg.nn.rnn_cell_base import LSTMStateTuple, RNNCell, check_cell, map_sizes
from thalweg.operations import math_ops
from thalweg.operations.random_ops import random_uniform

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import Device, DTypeLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variable_scopes import VariableScope
    from thalweg.variables.variables import Variable


class CellWrapper(RNNCell):
    """A cell around another: its variables are the other's, without a scope between."""

    def __init__(self, cell: RNNCell) -> None:
        check_cell("cell", cell)
        super().__init__()
        self._cell = cell

    @property
    def wrapped_cell(self) -> RNNCell:
        """The cell within."""
        return self._cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    @property
    def variables(self) -> list[Variable]:
        return self._cell.variables

    @property
    def weights(self) -> list[Variable]:
        """The inner cell's variables."""
        return self._cell.variables

    @property
    def trainable_variables(self) -> list[Variable]:
        return self._cell.trainable_variables

    @property
    def trainable_weights(self) -> list[Variable]:
        """The inner cell's variables that are trained."""
        return self._cell.trainable_variables

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        with graph.name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class DropoutWrapper(CellWrapper):
    """Dropout of a cell's inputs, state and output.

    Parameters
    ----------
    cell : RNNCell
        The cell within.
    input_keep_prob, output_keep_prob, state_keep_prob : float or Tensor
        The share of elements that stay, in (0, 1].
    variational_recurrent : bool
        Whether the same places are dropped in every step of a run.
    input_size : int or structure of int, optional
        Size of the inputs; needed to drop the same places of these.
    dtype : DType, optional
        Type of inputs, state and output; needed to drop the same places.
    seed : int, optional
        Seed of what is drawn.
    dropout_state_filter_visitor : callable, optional
        Says of a state which parts are dropped; all but the memory of an LSTM by default.

    Raises
    ------
    TypeError
        If `cell` is no cell.
    ValueError
        If a share lies outside (0, 1], or `variational_recurrent` lacks `dtype` or `input_size`.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.DropoutWrapper(tw.nn.rnn_cell.GRUCell(3), output_keep_prob=0.5, seed=1)
    >>> output, state = cell(tw.ones([2, 4]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list()
    [2, 3]
    """

    def __init__(self, cell: RNNCell, input_keep_prob: float | Tensor = 1.0, output_keep_prob: float | Tensor = 1.0,
                 state_keep_prob: float | Tensor = 1.0, variational_recurrent: bool = False, input_size: object = None,
                 dtype: DTypeLike | None = None, seed: int | None = None,
                 dropout_state_filter_visitor: Callable[[Any], Any] | None = None) -> None:
        super().__init__(cell)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _all_but_memory
        for what, value in (("input", input_keep_prob), ("state", state_keep_prob), ("output", output_keep_prob)):
            if isinstance(value, (int, float)) and not 0 < value <= 1:
                raise ValueError(f"Parameter {what}_keep_prob must be between 0 and 1: {value:d}" if isinstance(value, int)
                                 else f"Parameter {what}_keep_prob must be between 0 and 1: {value}")
        self._keep = dict(input=input_keep_prob, state=state_keep_prob, output=output_keep_prob)
        self._seed, self._noise = seed, None
        if variational_recurrent:
            self._noise = self._fixed_noise(input_size, dtype)

    def _fixed_noise(self, input_size, dtype):
        """Random numbers for each place of inputs, state and output, drawn once in a run."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        noise = {"state": nest.flatten(map_sizes(lambda s: s, self._cell.state_size)),
                 "output": nest.flatten(self._cell.output_size), "input": []}
        if self._drops("input"):
            if input_size is None:
                raise ValueError("When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                                 "provided")
            noise["input"] = nest.flatten(input_size)
        return {what: [random_uniform([1, *([s] if isinstance(s, int) else as_shape(s).as_list())], dtype=dtype,
                                      seed=_derived_seed(self._seed, what, i)) for i, s in enumerate(sizes)]
                for what, sizes in noise.items()}

    def _drops(self, what):
        return not isinstance(self._keep[what], (int, float)) or self._keep[what] < 1

    def _drop(self, what, values, shallow=None):
        if not self._drops(what):
            return values
        flat = nest.flatten(values)
        wanted = [True] * len(flat) if shallow is None else nest.flatten(shallow)
        dropped = []
        for i, (value, drop) in enumerate(zip(flat, wanted)):
            if not drop:
                dropped.append(value)
            elif self._noise is None:
                dropped.append(activations.dropout(value, keep_prob=self._keep[what], seed=_derived_seed(self._seed, what, i)))
            else:
                kept = math_ops.cast(apply("Floor", [self._noise[what][i] + self._keep[what]]), value.dtype)
                dropped.append(value / self._keep[what] * kept)
        return nest.pack_sequence_as(values, dropped)

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        output, new = self._cell(self._drop("input", inputs), state, scope=scope)
        new = self._drop("state", new, shallow=self._filter(new))
        return self._drop("output", output), new


def _all_but_memory(state):
    """Which parts of a state are dropped: all but the memory c of an LSTM."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(False, True)
    if isinstance(state, (list, tuple)) and not hasattr(state, "_fields"):
        return type(state)(_all_but_memory(s) for s in state)
    return nest.pack_sequence_as(state, [True] * len(nest.flatten(state)))


def _derived_seed(seed, what, number):
    """Different streams for the parts of a cell: TF1's rule."""
    if seed is None:
        return None
    import hashlib
    return int(hashlib.md5(f"{seed}{what}_{number}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


class ResidualWrapper(CellWrapper):
    """A cell whose outputs are added to its inputs.

    Parameters
    ----------
    cell : RNNCell
        The cell within; its outputs are as large as its inputs.
    residual_fn : callable, optional
        residual_fn(inputs, outputs) gives the outputs instead.

    Raises
    ------
    TypeError
        If `cell` is no cell.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.ResidualWrapper(tw.nn.rnn_cell.GRUCell(3))
    >>> output, state = cell(tw.ones([2, 3]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list()
    [2, 3]
    """

    def __init__(self, cell: RNNCell, residual_fn: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        output, new = self._cell(inputs, state, scope=scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, output), new
        for i, o in zip(nest.flatten(inputs), nest.flatten(output)):
            i.shape.assert_is_compatible_with(o.shape)
        sums = [i + o for i, o in zip(nest.flatten(inputs), nest.flatten(output))]
        return nest.pack_sequence_as(output, sums), new


class DeviceWrapper(CellWrapper):
    """A cell whose steps are on a device.

    Parameters
    ----------
    cell : RNNCell
        The cell within.
    device : str or callable
        What tw.device() takes.

    Raises
    ------
    TypeError
        If `cell` is no cell.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.DeviceWrapper(tw.nn.rnn_cell.GRUCell(3), "/cpu:0")
    >>> output, state = cell(tw.ones([2, 4]), cell.zero_state(2, tw.float32))
    >>> output.device
    '/device:CPU:0'
    """

    def __init__(self, cell: RNNCell, device: Device) -> None:
        super().__init__(cell)
        self._device = device

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        with graph.device(self._device):
            return super().zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        with graph.device(self._device):
            return self._cell(inputs, state, scope=scope)

# SPDX-License-Identifier: Apache-2.0
"""Cells around other cells: dropout, residual connections, devices."""
from thalweg import nest
from thalweg.graph import graph
from thalweg.graph.ops import apply
from thalweg.graph.shapes import as_shape
from thalweg.nn import activations
from thalweg.nn.rnn_cell_base import LSTMStateTuple, RNNCell, check_cell, map_sizes
from thalweg.operations import math_ops
from thalweg.operations.random_ops import random_uniform


class CellWrapper(RNNCell):
    """A cell around another: its variables are the other's, without a scope between."""

    def __init__(self, cell):
        check_cell("cell", cell)
        super().__init__()
        self._cell = cell

    wrapped_cell = property(lambda self: self._cell)
    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)
    variables = weights = property(lambda self: self._cell.variables)
    trainable_variables = trainable_weights = property(lambda self: self._cell.trainable_variables)

    def zero_state(self, batch_size, dtype):
        with graph.name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class DropoutWrapper(CellWrapper):
    """Dropout of a cell's inputs, state and output. With `variational_recurrent` the same places are dropped in every step."""

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False,
                 input_size=None, dtype=None, seed=None, dropout_state_filter_visitor=None):
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

    def __call__(self, inputs, state, scope=None):
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
    """output = inputs + the cell's output, or residual_fn(inputs, output)."""

    def __init__(self, cell, residual_fn=None):
        super().__init__(cell)
        self._residual_fn = residual_fn

    def __call__(self, inputs, state, scope=None):
        output, new = self._cell(inputs, state, scope=scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, output), new
        for i, o in zip(nest.flatten(inputs), nest.flatten(output)):
            i.shape.assert_is_compatible_with(o.shape)
        sums = [i + o for i, o in zip(nest.flatten(inputs), nest.flatten(output))]
        return nest.pack_sequence_as(output, sums), new


class DeviceWrapper(CellWrapper):
    """The cell on a device."""

    def __init__(self, cell, device):
        super().__init__(cell)
        self._device = device

    def zero_state(self, batch_size, dtype):
        with graph.device(self._device):
            return super().zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        with graph.device(self._device):
            return self._cell(inputs, state, scope=scope)

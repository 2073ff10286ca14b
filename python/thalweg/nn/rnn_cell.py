# SPDX-License-Identifier: Apache-2.0
"""Cells of recurrent networks: tw.nn.rnn_cell."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph import graph
from thalweg.nn import activations
from thalweg.nn.rnn_cell_base import LayerRNNCell, LSTMStateTuple, RNNCell, zero_state
from thalweg.nn.rnn_wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper
from thalweg.operations import array_ops, math_ops
from thalweg.operations.gradient_ops import clip_by_value
from thalweg.variables import init_ops
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import Activation, DTypeLike, Initializer
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor


def _depth(input_shape):
    if input_shape._size(-1) is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {input_shape}")
    return input_shape._size(-1)


def _activation(given, default="tanh"):
    given = default if given is None or given == "" else given
    return activations.of_name(given) if isinstance(given, str) else given


def _joined(parts):
    return array_ops.concat(parts, 1)


def _in_two(value):
    return array_ops.split(value, num_or_size_splits=2, axis=1)


class BasicRNNCell(LayerRNNCell):
    """output = state = activation(W [inputs, state] + b)."""

    def __init__(self, num_units: int, activation: Activation | str | None = None, reuse: bool | None = None,
                 name: str | None = None, dtype: DTypeLike | None = None, **kwargs: object) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, _activation(activation)

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, input_shape: TensorShape) -> None:
        self._kernel = self.add_variable("kernel", [_depth(input_shape) + self._num_units, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=init_ops.zeros_initializer(dtype=self._dtype))

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        output = self._activation(activations.bias_add(math_ops.matmul(_joined([inputs, state]), self._kernel), self._bias))
        return output, output


class GRUCell(LayerRNNCell):
    """Gated recurrent unit (arXiv 1406.1078).

    Parameters
    ----------
    num_units : int
        Size of the state and the output.
    activation : callable or str, optional
        Of the candidate for the new state; tanh by default.
    reuse : bool, optional
        Whether the variables are those that are there.
    kernel_initializer, bias_initializer : callable, optional
        First values of weights and biases; biases of the gates begin at 1 by default.
    name : str, optional
        Name of the cell.
    dtype : DType, optional
        Type of the variables; that of the inputs by default.
    **kwargs
        What Layer takes.

    Raises
    ------
    ValueError
        Where the last dimension of the inputs is not known when the cell is first called.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.GRUCell(3)
    >>> output, state = cell(tw.ones([2, 4]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list(), cell.state_size
    ([2, 3], 3)
    """

    def __init__(self, num_units: int, activation: Activation | str | None = None, reuse: bool | None = None,
                 kernel_initializer: Initializer | None = None, bias_initializer: Initializer | None = None,
                 name: str | None = None, dtype: DTypeLike | None = None, **kwargs: object) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._activation = num_units, _activation(activation)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, input_shape: TensorShape) -> None:
        rows, units = _depth(input_shape) + self._num_units, self._num_units
        bias = self._bias_initializer
        self._gate_kernel = self.add_variable("gates/kernel", [rows, 2 * units], initializer=self._kernel_initializer)
        self._gate_bias = self.add_variable("gates/bias", [2 * units], initializer=bias if bias is not None else
                                            init_ops.constant_initializer(1.0, dtype=self._dtype))
        self._candidate_kernel = self.add_variable("candidate/kernel", [rows, units], initializer=self._kernel_initializer)
        self._candidate_bias = self.add_variable("candidate/bias", [units], initializer=bias if bias is not None else
                                                 init_ops.zeros_initializer(dtype=self._dtype))

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        gates = activations.bias_add(math_ops.matmul(_joined([inputs, state]), self._gate_kernel), self._gate_bias)
        r, u = _in_two(math_ops.sigmoid(gates))
        candidate = activations.bias_add(math_ops.matmul(_joined([inputs, r * state]), self._candidate_kernel), self._candidate_bias)
        new = u * state + (1 - u) * self._activation(candidate)
        return new, new


class BasicLSTMCell(LayerRNNCell):
    """LSTM without peepholes, clipping and projection (arXiv 1409.2329).

    Parameters
    ----------
    num_units : int
        Size of the memory and the output.
    forget_bias : float
        What is added to the biases of the forget gates.
    state_is_tuple : bool
        Whether states are LSTMStateTuple(c, h), or one tensor [batch, 2 * num_units].
    activation : callable or str, optional
        Of what is remembered; tanh by default.
    reuse : bool, optional
        Whether the variables are those that are there.
    name : str, optional
        Name of the cell.
    dtype : DType, optional
        Type of the variables; that of the inputs by default.
    **kwargs
        What Layer takes.

    Raises
    ------
    ValueError
        Where the last dimension of the inputs is not known when the cell is first called.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.BasicLSTMCell(3)
    >>> output, state = cell(tw.ones([2, 4]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list(), state.c.shape.as_list()
    ([2, 3], [2, 3])
    """

    def __init__(self, num_units: int, forget_bias: float = 1.0, state_is_tuple: bool = True,
                 activation: Activation | str | None = None, reuse: bool | None = None, name: str | None = None,
                 dtype: DTypeLike | None = None, **kwargs: object) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units, self._forget_bias, self._state_is_tuple = num_units, forget_bias, state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self) -> LSTMStateTuple | int:
        return LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, input_shape: TensorShape) -> None:
        units = self._num_units
        self._kernel = self.add_variable("kernel", [_depth(input_shape) + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], initializer=init_ops.zeros_initializer(dtype=self._dtype))

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        c, h = state if self._state_is_tuple else _in_two(state)
        gates = activations.bias_add(math_ops.matmul(_joined([inputs, h]), self._kernel), self._bias)
        i, j, f, o = array_ops.split(gates, num_or_size_splits=4, axis=1)
        new_c = c * math_ops.sigmoid(f + self._forget_bias) + math_ops.sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * math_ops.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else _joined([new_c, new_h])


class LSTMCell(LayerRNNCell):
    """LSTM with peepholes, clipping of the cell and a projection of the output, all optional.

    Parameters
    ----------
    num_units : int
        Size of the memory.
    use_peepholes : bool
        Whether the gates see the memory.
    cell_clip : float, optional
        The memory stays within [-cell_clip, cell_clip].
    initializer : callable, optional
        First values of the weights.
    num_proj : int, optional
        Size of the output, where it is projected.
    proj_clip : float, optional
        The projection stays within [-proj_clip, proj_clip].
    num_unit_shards, num_proj_shards : int, optional
        1 or None; a partitioner divides variables.
    forget_bias : float
        What is added to the biases of the forget gates.
    state_is_tuple : bool
        Whether states are LSTMStateTuple(c, h), or one tensor with both.
    activation : callable or str, optional
        Of what is remembered; tanh by default.
    reuse : bool, optional
        Whether the variables are those that are there.
    name : str, optional
        Name of the cell.
    dtype : DType, optional
        Type of the variables; that of the inputs by default.
    **kwargs
        What Layer takes.

    Raises
    ------
    NotImplementedError
        If `num_unit_shards` or `num_proj_shards` is more than 1.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.LSTMCell(5, num_proj=3)
    >>> output, state = cell(tw.ones([2, 4]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list(), cell.state_size
    ([2, 3], LSTMStateTuple(c=5, h=3))
    """

    def __init__(self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None,
                 initializer: Initializer | None = None, num_proj: int | None = None, proj_clip: float | None = None,
                 num_unit_shards: int | None = None, num_proj_shards: int | None = None, forget_bias: float = 1.0,
                 state_is_tuple: bool = True, activation: Activation | str | None = None, reuse: bool | None = None,
                 name: str | None = None, dtype: DTypeLike | None = None, **kwargs: object) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        if (num_unit_shards or 1) > 1 or (num_proj_shards or 1) > 1:
            raise NotImplementedError("LSTMCell has its variables in one piece: use a partitioner for more")
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self) -> LSTMStateTuple | int:
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def build(self, input_shape: TensorShape) -> None:
        units = self._num_units
        self._kernel = self.add_variable("kernel", [_depth(input_shape) + self.output_size, 4 * units],
                                         initializer=self._initializer)
        self._bias = self.add_variable("bias", [4 * units], initializer=init_ops.zeros_initializer(dtype=self._dtype))
        if self._use_peepholes:
            self._w_f, self._w_i, self._w_o = (self.add_variable(f"w_{g}_diag", [units], initializer=self._initializer)
                                               for g in "fio")
        if self._num_proj is not None:
            self._projection = self.add_variable("projection/kernel", [units, self._num_proj],
                                                 initializer=self._initializer)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        if self._state_is_tuple:
            c, h = state
        else:
            c = array_ops.slice_(state, [0, 0], [-1, self._num_units])
            h = array_ops.slice_(state, [0, self._num_units], [-1, self.output_size])
        sigmoid = math_ops.sigmoid
        gates = activations.bias_add(math_ops.matmul(_joined([inputs, h]), self._kernel), self._bias)
        i, j, f, o = array_ops.split(gates, num_or_size_splits=4, axis=1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f * c, i + self._w_i * c
        new_c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        new_c = _clipped(new_c, self._cell_clip)
        if self._use_peepholes:
            o = o + self._w_o * new_c
        new_h = sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = _clipped(math_ops.matmul(new_h, self._projection), self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else _joined([new_c, new_h])


def _clipped(value, limit):
    if limit is None:
        return value
    return clip_by_value(value, -limit, limit)


class MultiRNNCell(RNNCell):
    """Cells one above the other: each takes the output of the one below.

    Parameters
    ----------
    cells : list of RNNCell
        From the lowest to the highest.
    state_is_tuple : bool
        Whether the state is a tuple of those of the cells, or one tensor with all of them.

    Raises
    ------
    TypeError
        If `cells` is no list or tuple.
    ValueError
        If it is empty, or a cell has a tuple as its state where `state_is_tuple` is False.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.MultiRNNCell([tw.nn.rnn_cell.GRUCell(n) for n in (5, 3)])
    >>> cell.state_size, cell.output_size
    ((5, 3), 3)
    """

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if not state_is_tuple and any(isinstance(c.state_size, (list, tuple)) for c in cells):
            raise ValueError("Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: "
                             f"{[c.state_size for c in cells]}")
        self._cells, self._state_is_tuple = list(cells), state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = tuple(c.state_size for c in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        with graph.name_scope("MultiRNNCellZeroState"):
            if self._state_is_tuple:
                return tuple(c.zero_state(batch_size, dtype) for c in self._cells)
            return zero_state(self.state_size, batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        if self._state_is_tuple and (not isinstance(state, (list, tuple)) or len(state) != len(self._cells)):
            raise ValueError(f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}")
        new, place = [], 0
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                mine = state[i] if self._state_is_tuple else array_ops.slice_(state, [0, place], [-1, cell.state_size])
                place += 0 if self._state_is_tuple else cell.state_size
                inputs, mine = cell(inputs, mine)
                new.append(mine)
        return inputs, tuple(new) if self._state_is_tuple else _joined(new)


def __dir__():
    return sorted(__all__)


__all__ = ["BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple",
           "LayerRNNCell", "MultiRNNCell", "RNNCell", "ResidualWrapper"]

# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.rnn: the cells and networks of tw.nn, and more cells."""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.base import names
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.nn import rnn
from thalweg.nn.rnn_cell import (
    BasicLSTMCell,
    BasicRNNCell,
    DeviceWrapper,
    DropoutWrapper,
    GRUCell,
    LayerRNNCell,
    LSTMCell,
    LSTMStateTuple,
    MultiRNNCell,
    ResidualWrapper,
    RNNCell,
)
from thalweg.operations import array_layout, array_ops, math_ops
from thalweg.variables import init_ops
from thalweg.variables.variable_scopes import get_variable, variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import Activation, DTypeLike, Nested, TensorLike
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variable_scopes import VariableScope

_PROJECTIONS = "EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper".split()
_NETWORKS = "static_bidirectional_rnn static_rnn static_state_saving_rnn".split()


def __getattr__(name):
    if name in _NETWORKS:
        value = globals()[name] = getattr(importlib.import_module("thalweg.nn.rnn"), name)
        return value
    if name in _PROJECTIONS:
        value = globals()[name] = getattr(importlib.import_module("thalweg.contrib.rnn_projections"), name)
        return value
    raise AttributeError(f"module 'thalweg.contrib.rnn' has no attribute '{name}'")


def transpose_batch_time(x: TensorLike) -> Tensor:
    """[batch, time, ...] as [time, batch, ...], or the other way round."""
    return rnn._transposed(x)


def _depth(input_shape):
    if input_shape._size(-1) is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {input_shape}")
    return input_shape._size(-1)


class LayerNormBasicLSTMCell(RNNCell):
    """LSTM whose gates and memory are normalized over the units, with dropout of what is remembered (arXiv 1607.06450, 1603.05118).

    Parameters
    ----------
    num_units : int
        Size of the memory and the output.
    forget_bias : float
        What is added to the biases of the forget gates.
    input_size : int, optional
        Of no effect.
    activation : callable
        Of what is remembered.
    layer_norm : bool
        Whether anything is normalized.
    norm_gain, norm_shift : float
        First values of the normalizations' variables.
    dropout_keep_prob : float or Tensor
        The share of what is remembered that stays.
    dropout_prob_seed : int, optional
        Seed of what is drawn.
    reuse : bool, optional
        Whether the variables are those that are there.

    Examples
    --------
    >>> cell = tw.contrib.rnn.LayerNormBasicLSTMCell(3)
    >>> output, state = cell(tw.ones([2, 4]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list()
    [2, 3]
    """

    def __init__(self, num_units: int, forget_bias: float = 1.0, input_size: int | None = None,
                 activation: Activation = math_ops.tanh, layer_norm: bool = True, norm_gain: float = 1.0, norm_shift: float = 0.0,
                 dropout_keep_prob: float | Tensor = 1.0, dropout_prob_seed: int | None = None,
                 reuse: bool | None = None) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def _normal(self, x, scope):
        size = x.shape[-1:].as_list()
        with variable_scope(scope):
            gamma = get_variable("gamma", size, x.dtype.base_dtype, init_ops.constant_initializer(self._norm_gain))
            beta = get_variable("beta", size, x.dtype.base_dtype, init_ops.constant_initializer(self._norm_shift))
        mean, variance = nn.moments(x, [1], keep_dims=True)
        return nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3 if x.dtype.base_dtype.name == "float16" else 1e-12)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        args = array_ops.concat([inputs, h], 1)
        kernel = get_variable("kernel", [args.shape._size(-1), 4 * self._num_units], args.dtype.base_dtype)
        gates = math_ops.matmul(args, kernel)
        if not self._layer_norm:
            bias = get_variable("bias", [4 * self._num_units], args.dtype.base_dtype)
            gates = nn.bias_add(gates, bias)
        i, j, f, o = array_ops.split(gates, num_or_size_splits=4, axis=1)
        if self._layer_norm:
            i, j, f, o = (self._normal(x, s) for x, s in ((i, "input"), (j, "transform"), (f, "forget"), (o, "output")))
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = nn.dropout(g, self._keep_prob, seed=self._seed)
        new_c = c * math_ops.sigmoid(f + self._forget_bias) + math_ops.sigmoid(i) * g
        if self._layer_norm:
            new_c = self._normal(new_c, "state")
        new_h = self._activation(new_c) * math_ops.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class NASCell(LayerRNNCell):
    """The cell that a search has found (arXiv 1611.01578).

    Parameters
    ----------
    num_units : int
        Size of the memory.
    num_proj : int, optional
        Size of the output, where it is projected.
    use_bias : bool
        Whether there are biases.
    reuse : bool, optional
        Whether the variables are those that are there.
    **kwargs
        What Layer takes.

    Raises
    ------
    ValueError
        Where the last dimension of the inputs is not known when the cell is first called.

    Examples
    --------
    >>> cell = tw.contrib.rnn.NASCell(3)
    >>> output, state = cell(tw.ones([2, 4]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list()
    [2, 3]
    """

    def __init__(self, num_units: int, num_proj: int | None = None, use_bias: bool = False, reuse: bool | None = None,
                 **kwargs: object) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        return self._num_proj if self._num_proj is not None else self._num_units

    def build(self, input_shape: TensorShape) -> None:
        units = self._num_units
        self._recurrent_kernel = self.add_variable("recurrent_kernel", [self.output_size, 8 * units])
        self._kernel = self.add_variable("kernel", [_depth(input_shape), 8 * units])
        self._bias = self.add_variable("bias", [8 * units], initializer=init_ops.zeros_initializer()) \
            if self._use_bias else None
        if self._num_proj is not None:
            self._projection = self.add_variable("projection_weights", [units, self._num_proj])

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        sigmoid, tanh, relu = math_ops.sigmoid, math_ops.tanh, nn.relu
        c, h = state
        recurrent = math_ops.matmul(h, self._recurrent_kernel)
        if self._bias is not None:
            recurrent = nn.bias_add(recurrent, self._bias)
        m = array_ops.split(recurrent, 8, axis=1)
        x = array_ops.split(math_ops.matmul(inputs, self._kernel), 8, axis=1)
        a = tanh(sigmoid(x[0] + m[0]) * relu(x[1] + m[1]))
        b = tanh(sigmoid(x[2] + m[2]) + relu(x[3] * m[3]))
        d = tanh(tanh(x[4] + m[4]) * sigmoid(x[5] + m[5]))
        e = sigmoid(tanh(x[6] + m[6]) + sigmoid(x[7] + m[7]))
        new_c = tanh(a + c) * b
        new_h = tanh(new_c * tanh(d + e))
        if self._num_proj is not None:
            new_h = math_ops.matmul(new_h, self._projection)
        return new_h, LSTMStateTuple(new_c, new_h)


class LSTMBlockCell(LayerRNNCell):
    """LSTM whose step is one operation.

    Parameters
    ----------
    num_units : int
        Size of the memory and the output.
    forget_bias : float
        What is added to the biases of the forget gates.
    cell_clip : float, optional
        The memory stays within [-cell_clip, cell_clip].
    use_peephole : bool
        Whether the gates see the memory.
    dtype : DType, optional
        Type of the variables; that of the inputs by default.
    reuse : bool, optional
        Whether the variables are those that are there.
    name : str
        Name of the cell.

    Examples
    --------
    >>> cell = tw.contrib.rnn.LSTMBlockCell(3)
    >>> output, state = cell(tw.ones([2, 4]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list()
    [2, 3]
    """

    def __init__(self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None, use_peephole: bool = False,
                 dtype: DTypeLike | None = None, reuse: bool | None = None, name: str = "lstm_cell") -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units, self._forget_bias, self._use_peephole = num_units, forget_bias, use_peephole
        self._cell_clip = -1 if cell_clip is None else cell_clip

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, input_shape: TensorShape) -> None:
        units = self._num_units
        self._kernel = self.add_variable("kernel", [_depth(input_shape) + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], initializer=init_ops.zeros_initializer())
        if self._use_peephole:
            self._peepholes = [self.add_variable(f"w_{g}_diag", [units]) for g in "ifo"]

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        if not isinstance(state, (list, tuple)) or len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        peepholes = self._peepholes if self._use_peephole else [array_ops.zeros([self._num_units], self._kernel.dtype)] * 3
        made = apply("LSTMBlockCell", [inputs, state[0], state[1], self._kernel, *peepholes, self._bias],
                     {"forget_bias": self._forget_bias, "cell_clip": self._cell_clip, "use_peephole": self._use_peephole})
        return made.h, LSTMStateTuple(made.cs, made.h)


class LSTMBlockFusedCell(LayerRNNCell):
    """LSTM over whole sequences [time, batch, depth] by one operation."""

    def __init__(self, num_units: int, forget_bias: float = 1.0, cell_clip: float | None = None, use_peephole: bool = False,
                 reuse: bool | None = None, dtype: DTypeLike | None = None, name: str = "lstm_fused_cell") -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units, self._forget_bias, self._use_peephole = num_units, forget_bias, use_peephole
        self._cell_clip = -1 if cell_clip is None else cell_clip

    @property
    def num_units(self) -> int:
        """Size of the memory."""
        return self._num_units

    build = LSTMBlockCell.build

    def __call__(self, inputs: TensorLike | Sequence[TensorLike], initial_state: Nested = None, dtype: DTypeLike | None = None,
                 sequence_length: TensorLike | None = None, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """(outputs, (last memory, last output)). Sequences end at their length: zeros follow."""
        inputs = convert_to_tensor(inputs)
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            batch = array_ops.shape(inputs)[1] if inputs.shape._size(1) is None else inputs.shape._size(1)
            zeros = array_ops.zeros(array_ops.stack([batch, self._num_units]), dtype)
            initial_state = (zeros, zeros)
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        self._lengths = sequence_length
        return self._run(inputs, initial_state, scope)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        steps = array_ops.shape(inputs)[0]
        lengths = self._lengths
        longest = steps if lengths is None else math_ops.reduce_max(lengths)
        peepholes = self._peepholes if self._use_peephole else [array_ops.zeros([self._num_units], self._kernel.dtype)] * 3
        made = apply("BlockLSTM", [math_ops.cast(longest, "int64"), inputs, state[0], state[1], self._kernel, *peepholes,
                                   self._bias],
                     {"forget_bias": self._forget_bias, "cell_clip": self._cell_clip, "use_peephole": self._use_peephole})
        if lengths is None:
            return made.h, LSTMStateTuple(made.cs[-1], made.h[-1])
        lengths = math_ops.cast(convert_to_tensor(lengths), "int32")
        kept = array_ops.expand_dims(array_ops.transpose(array_layout.sequence_mask(lengths, steps, made.h.dtype), [1, 0]), -1)
        # The state before the first step stands before those after each: that of length 0 is row 0.
        rows = array_ops.stack([lengths, math_ops.range_(0, array_ops.shape(lengths)[0])], axis=1)
        last = [array_ops.gather_nd(array_ops.concat([array_ops.expand_dims(first, 0), after], 0), rows)
                for first, after in ((state[0], made.cs), (state[1], made.h))]
        return made.h * kept, LSTMStateTuple(*last)


class GRUBlockCell(LayerRNNCell):
    """GRU whose step is one operation."""

    _NAMES = "w_ru b_ru w_c b_c".split()

    def __init__(self, num_units: int | None = None, cell_size: int | None = None, reuse: bool | None = None,
                 name: str = "gru_cell") -> None:
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._cell_size = num_units if num_units is not None else cell_size

    @property
    def state_size(self) -> int:
        return self._cell_size

    @property
    def output_size(self) -> int:
        return self._cell_size

    def build(self, input_shape: TensorShape) -> None:
        rows, units, names = _depth(input_shape) + self._cell_size, self._cell_size, self._NAMES
        self._w_ru = self.add_variable(names[0], [rows, 2 * units])
        self._b_ru = self.add_variable(names[1], [2 * units], initializer=init_ops.constant_initializer(1.0))
        self._w_c = self.add_variable(names[2], [rows, units])
        self._b_c = self.add_variable(names[3], [units], initializer=init_ops.constant_initializer(0.0))

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        made = apply("GRUBlockCell", [inputs, state, self._w_ru, self._w_c, self._b_ru, self._b_c])
        return made.h, made.h


class GRUBlockCellV2(GRUBlockCell):
    """GRUBlockCell with the names of GRUCell's variables."""

    _NAMES = "gates/kernel gates/bias candidate/kernel candidate/bias".split()


def stack_bidirectional_dynamic_rnn(cells_fw: Sequence[RNNCell], cells_bw: Sequence[RNNCell], inputs: TensorLike,
                                    initial_states_fw: Sequence[Nested] | None = None,
                                    initial_states_bw: Sequence[Nested] | None = None, dtype: DTypeLike | None = None,
                                    sequence_length: TensorLike | None = None, parallel_iterations: int | None = None,
                                    time_major: bool = False, scope: str | VariableScope | None = None,
                                    swap_memory: bool = False) -> tuple[Tensor, tuple[Any, ...], tuple[Any, ...]]:
    """bidirectional_dynamic_rnn several times, each over both outputs of the one before: (outputs, states fw, states bw)."""
    for what, cells in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if not isinstance(cells, list):
            raise ValueError(f"{what} must be a list of one or more Cells.")
    if not cells_fw or len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth, and be at least one.")
    states = ([], [])
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            first = [s[i] if s else None for s in (initial_states_fw, initial_states_bw)]
            with variable_scope(f"cell_{i}"):
                outputs, last = rnn.bidirectional_dynamic_rnn(
                    fw, bw, inputs, initial_state_fw=first[0], initial_state_bw=first[1], dtype=dtype,
                    sequence_length=sequence_length, parallel_iterations=parallel_iterations, time_major=time_major,
                    swap_memory=swap_memory)
            inputs = array_ops.concat(list(outputs), 2)
            for all_states, state in zip(states, last):
                all_states.append(state)
    return inputs, tuple(states[0]), tuple(states[1])


__all__ = ["BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUBlockCell", "GRUBlockCellV2", "GRUCell",
           "LSTMBlockCell", "LSTMBlockFusedCell", "LSTMCell", "LSTMStateTuple", "LayerNormBasicLSTMCell", "LayerRNNCell",
           "MultiRNNCell", "NASCell", "RNNCell", "ResidualWrapper", "stack_bidirectional_dynamic_rnn",
           "transpose_batch_time"]


names.complete(globals())

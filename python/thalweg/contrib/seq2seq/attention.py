# SPDX-License-Identifier: Apache-2.0
"""Attention: how much of each step of a memory a query reads, and a cell that attends."""
from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING

from thalweg import dtypes, layers, nest, nn
from thalweg.control.tensor_array import TensorArray
from thalweg.graph import graph
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.nn.rnn_cell_base import RNNCell, check_cell, zero_state
from thalweg.operations import array_layout, array_ops, math_ops
from thalweg.variables import init_ops
from thalweg.variables.variable_scopes import get_variable, variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Self

    from thalweg.base.typing import DTypeLike, IntLike, Nested, TensorLike
    from thalweg.graph.tensor import Tensor


def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """1 where a row is largest, else 0."""
    with graph.name_scope(name or "Hardmax"):
        logits = convert_to_tensor(logits)
        depth = logits.shape._size(-1) or array_ops.shape(logits)[-1]
        return array_ops.one_hot(math_ops.argmax(logits, -1), depth, dtype=logits.dtype)


class AttentionMechanism:
    """Of a memory [batch, steps, depth]; called with a query and a state it gives (alignments [batch, steps], next state)."""

    @property
    def alignments_size(self) -> Any:
        """How many steps the memory has."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """Size of the mechanism's state."""
        raise NotImplementedError


class MemoryAttention(AttentionMechanism):
    """The memory, masked behind its sequences' ends, and its keys."""

    def __init__(self, query_layer: Callable[[Tensor], Tensor] | None, memory: TensorLike,
                 probability_fn: Callable[[Tensor], Tensor], memory_sequence_length: TensorLike | None = None,
                 memory_layer: Callable[[Tensor], Tensor] | None = None, check_inner_dims_defined: bool = True,
                 score_mask_value: float | None = None, custom_key_value_fn: Callable[..., tuple[Tensor, Tensor]] | None = None,
                 name: str | None = None) -> None:
        self.query_layer, self.memory_layer = query_layer, memory_layer
        self.dtype = memory_layer.dtype if memory_layer is not None and memory_layer.dtype else nest.flatten(memory)[0].dtype
        with graph.name_scope(name or "BaseAttentionMechanismInit"):
            self._lengths = None if memory_sequence_length is None else convert_to_tensor(memory_sequence_length,
                                                                                           name="memory_sequence_length")
            self.values = self._prepared(convert_to_tensor(memory), check_inner_dims_defined)
            self.keys = memory_layer(self.values) if memory_layer is not None else self.values
            if custom_key_value_fn is not None:
                self.keys, self.values = custom_key_value_fn(self.keys, self.values)
            shape = array_ops.shape(self.keys)
            self.batch_size = self.keys.shape._size(0) or shape[0]
            self._steps = self.keys.shape._size(1) or shape[1]
        mask_value = -math.inf if score_mask_value is None else score_mask_value

        def probability(score, previous):
            if self._lengths is not None:
                mask = array_layout.sequence_mask(self._lengths, maxlen=array_ops.shape(score)[1])
                score = array_ops.where(mask, score, array_ops.fill(array_ops.shape(score), convert_to_tensor(
                    mask_value, dtype=score.dtype)))
            return probability_fn(score, previous)
        self._probability = probability

    def _prepared(self, memory, check):
        if check and memory.shape.ndims is not None and any(d is None for d in memory.shape[2:].as_list()):
            raise ValueError(f"Expected memory {memory.name} to have fully defined inner dims, but saw shape: {memory.shape}")
        if self._lengths is None:
            return memory
        mask = array_layout.sequence_mask(self._lengths, maxlen=array_ops.shape(memory)[1], dtype=memory.dtype)
        for _ in range(memory.shape.ndims - 2):
            mask = array_ops.expand_dims(mask, -1)
        return memory * mask

    @property
    def alignments_size(self) -> Any:
        return self._steps

    @property
    def state_size(self) -> Any:
        return self._steps

    def initial_alignments(self, batch_size: IntLike, dtype: DTypeLike) -> Tensor:
        """Zeros, [batch, steps]."""
        return array_ops.zeros(array_ops.stack([batch_size, self._steps]) if not isinstance(self._steps, int) or
                               not isinstance(batch_size, int) else [batch_size, self._steps], dtype)

    def initial_state(self, batch_size: IntLike, dtype: DTypeLike) -> Tensor:
        """The state to begin with."""
        return self.initial_alignments(batch_size, dtype)

    def _attend(self, score, state):
        alignments = self._probability(score, state)
        return alignments, alignments


def _softmax(probability_fn):
    made = probability_fn or nn.softmax
    return lambda score, _: made(score)


def luong_score(query: Tensor, keys: Tensor, scale: TensorLike | None) -> Tensor:
    """Products of the query with every key."""
    depth, units = query.shape._size(-1), keys.shape._size(-1)
    if depth != units:
        raise ValueError("Incompatible or unknown inner dimensions between query and keys. "
                         f"Query ({query.name}) has units: {depth}. Keys ({keys.name}) have units: {units}. "
                         "Perhaps you need to set num_units to the keys' dimension?")
    score = array_ops.squeeze(math_ops.matmul(array_ops.expand_dims(query, 1), keys, transpose_b=True), [1])
    return score if scale is None else scale * score


def bahdanau_score(query: Tensor, keys: Tensor, v: Tensor, g: Tensor | None = None, b: Tensor | None = None) -> Tensor:
    """v of tanh of the sum of the query and every key."""
    query = array_ops.expand_dims(query, 1)
    if g is None:
        return math_ops.reduce_sum(v * math_ops.tanh(keys + query), [2])
    unit = g * v * apply("Rsqrt", [math_ops.reduce_sum(apply("Square", [v]))])
    return math_ops.reduce_sum(unit * math_ops.tanh(keys + query + b), [2])


class LuongAttention(MemoryAttention):
    """Attention whose scores are products of the query with each step of the memory (Luong 2015).

    Parameters
    ----------
    num_units : int
        Size of the queries.
    memory : Tensor
        What is attended to, [batch, steps, depth].
    memory_sequence_length : tensor_like, optional
        Lengths of the memory's sequences, [batch]; behind them nothing is read.
    scale : bool
        Whether scores are multiplied by a learned number.
    probability_fn : callable, optional
        Makes alignments of scores; softmax by default.
    score_mask_value : float, optional
        The score behind the ends; that of least probability by default.
    dtype : DType, optional
        Type of the variables; float32 by default.
    custom_key_value_fn : callable, optional
        Makes (keys, values) of both.
    name : str
        Name of the mechanism.

    Examples
    --------
    >>> attention = tw.contrib.seq2seq.LuongAttention(4, tw.ones([2, 7, 3]))
    >>> cell = tw.contrib.seq2seq.AttentionWrapper(tw.nn.rnn_cell.GRUCell(4), attention, attention_layer_size=5)
    >>> output, state = cell(tw.ones([2, 6]), cell.zero_state(2, tw.float32))
    >>> output.shape.as_list(), state.alignments.shape.as_list()
    ([2, 5], [2, 7])
    """

    def __init__(self, num_units: int, memory: TensorLike, memory_sequence_length: TensorLike | None = None, scale: bool = False,
                 probability_fn: Callable[[Tensor], Tensor] | None = None, score_mask_value: float | None = None,
                 dtype: DTypeLike | None = None, custom_key_value_fn: Callable[..., tuple[Tensor, Tensor]] | None = None,
                 name: str = "LuongAttention") -> None:
        super().__init__(None, memory, _softmax(probability_fn), memory_sequence_length,
                         layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or dtypes.float32),
                         score_mask_value=score_mask_value, custom_key_value_fn=custom_key_value_fn, name=name)
        self._scale, self._name = scale, name

    def __call__(self, query: Tensor, state: Any) -> tuple[Tensor, Any]:
        with variable_scope(None, "luong_attention", [query]):
            scale = get_variable("attention_g", dtype=query.dtype, initializer=init_ops.ones_initializer(),
                                 shape=()) if self._scale else None
            return self._attend(luong_score(query, self.keys, scale), state)


class BahdanauAttention(MemoryAttention):
    """Attention whose scores are made by a small network (Bahdanau 2014).

    Parameters
    ----------
    num_units : int
        Size of the network.
    memory : Tensor
        What is attended to, [batch, steps, depth].
    memory_sequence_length : tensor_like, optional
        Lengths of the memory's sequences, [batch]; behind them nothing is read.
    normalize : bool
        Whether the network's weights are normalized.
    probability_fn : callable, optional
        Makes alignments of scores; softmax by default.
    score_mask_value : float, optional
        The score behind the ends; that of least probability by default.
    dtype : DType, optional
        Type of the variables; float32 by default.
    custom_key_value_fn : callable, optional
        Makes (keys, values) of both.
    name : str
        Name of the mechanism.

    Examples
    --------
    >>> attention = tw.contrib.seq2seq.BahdanauAttention(8, tw.ones([2, 7, 3]), memory_sequence_length=[7, 5])
    >>> cell = tw.contrib.seq2seq.AttentionWrapper(tw.nn.rnn_cell.GRUCell(4), attention)
    >>> output, state = cell(tw.ones([2, 6]), cell.zero_state(2, tw.float32))
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     (sess.run(state.alignments)[1] > 0).tolist()
    [True, True, True, True, True, False, False]
    """

    def __init__(self, num_units: int, memory: TensorLike, memory_sequence_length: TensorLike | None = None,
                 normalize: bool = False, probability_fn: Callable[[Tensor], Tensor] | None = None,
                 score_mask_value: float | None = None, dtype: DTypeLike | None = None,
                 custom_key_value_fn: Callable[..., tuple[Tensor, Tensor]] | None = None,
                 name: str = "BahdanauAttention") -> None:
        dtype = dtype or dtypes.float32
        super().__init__(layers.Dense(num_units, name="query_layer", use_bias=False, dtype=dtype), memory,
                         _softmax(probability_fn), memory_sequence_length,
                         layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype),
                         score_mask_value=score_mask_value, custom_key_value_fn=custom_key_value_fn, name=name)
        self._units, self._normalize, self._name = num_units, normalize, name

    def __call__(self, query: Tensor, state: Any) -> tuple[Tensor, Any]:
        with variable_scope(None, "bahdanau_attention", [query]):
            query = self.query_layer(query) if self.query_layer else query
            return self._attend(bahdanau_score(query, self.keys, *bahdanau_variables(self._units, query.dtype, self._normalize)),
                                state)


def bahdanau_variables(units: int, dtype: DTypeLike, normalize: bool) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """(v, g, b) of bahdanau_score; g and b are None without normalization."""
    v = get_variable("attention_v", [units], dtype=dtype)
    if not normalize:
        return v, None, None
    return (v, get_variable("attention_g", dtype=dtype, initializer=init_ops.constant_initializer(math.sqrt(1.0 / units)),
                            shape=()),
            get_variable("attention_b", [units], dtype=dtype, initializer=init_ops.zeros_initializer()))


class AttentionWrapperState(collections.namedtuple("AttentionWrapperState", (
        "cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"))):
    """The state of an AttentionWrapper: that of its cell, the last attention, the time, alignments, and what mechanisms remember.

    Examples
    --------
    >>> memory = tw.contrib.seq2seq.LuongAttention(4, tw.zeros([2, 3, 4]))
    >>> cell = tw.contrib.seq2seq.AttentionWrapper(tw.nn.rnn_cell.GRUCell(4), memory)
    >>> cell.zero_state(2, tw.float32).attention.shape.as_list()
    [2, 4]
    """

    def clone(self, **kwargs: object) -> Self:
        """A copy in which some fields are others of the same shapes."""
        def checked(old, new):
            if hasattr(old, "shape") and hasattr(new, "set_shape") and not getattr(new, "_is_tensor_array", False):
                new.shape.assert_is_compatible_with(old.shape)
            return new
        changed = {}
        for key, value in kwargs.items():
            if key not in self._fields:
                raise ValueError(f"AttentionWrapperState has no field {key!r}: it has {', '.join(self._fields)}")
            nest.assert_same_structure(getattr(self, key), value)
            changed[key] = nest.map_structure(checked, getattr(self, key), value)
        return self._replace(**changed)


def _attention(mechanism, cell_output, state, layer):
    """(what was read, alignments, next state of the mechanism)."""
    alignments, next_state = mechanism(cell_output, state)
    context = array_ops.squeeze(math_ops.matmul(array_ops.expand_dims(alignments, 1), mechanism.values), [1])
    return context if layer is None else layer(array_ops.concat([cell_output, context], 1)), alignments, next_state


class AttentionWrapper(RNNCell):
    """A cell that reads, beside its inputs, what it attended to the step before.

    Parameters
    ----------
    cell : RNNCell
        The cell within.
    attention_mechanism : AttentionMechanism or list of these
        What it attends to.
    attention_layer_size : int or list of int, optional
        Size of a layer over the cell's output and what was read; without it what was read is the attention.
    alignment_history : bool
        Whether the state keeps the alignments of all steps.
    cell_input_fn : callable, optional
        Makes the inputs of (inputs, attention); side by side by default.
    output_attention : bool
        Whether the output is the attention, or the cell's output.
    initial_cell_state : structure of Tensor, optional
        The state of the cell that zero_state() begins with.
    name : str, optional
        Name of the cell.
    attention_layer : callable or list of these, optional
        The layer itself.
    attention_fn : callable, optional
        Computes (attention, alignments, next state) of (mechanism, output, state, layer).
    dtype : DType, optional
        Type of the variables; that of the inputs by default.

    Raises
    ------
    TypeError
        If something is of the wrong kind.
    ValueError
        If there is both a size and a layer, or not one for each mechanism.

    Examples
    --------
    >>> attention = tw.contrib.seq2seq.LuongAttention(4, tw.ones([2, 7, 3]))
    >>> cell = tw.contrib.seq2seq.AttentionWrapper(tw.nn.rnn_cell.GRUCell(4), attention, output_attention=False)
    >>> cell.output_size
    4
    """

    def __init__(self, cell: RNNCell, attention_mechanism: AttentionMechanism | Sequence[AttentionMechanism],
                 attention_layer_size: int | Sequence[int] | None = None, alignment_history: bool | Sequence[bool] = False,
                 cell_input_fn: Callable[[Tensor, Tensor], Tensor] | None = None, output_attention: bool = True,
                 initial_cell_state: Nested = None, name: str | None = None,
                 attention_layer: Callable[[Tensor], Tensor] | Sequence[Callable[[Tensor], Tensor]] | None = None,
                 attention_fn: Callable[..., tuple[Any, Any, Any]] | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        check_cell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
        if not all(isinstance(m, AttentionMechanism) for m in self._mechanisms):
            raise TypeError("attention_mechanism must be an AttentionMechanism or list of multiple AttentionMechanism instances")
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._cell, self._history, self._output_attention = cell, alignment_history, output_attention
        self._inputs = cell_input_fn or (lambda inputs, attention: array_ops.concat([inputs, attention], -1))
        self._layers = self._made_layers(attention_layer_size, attention_layer, dtype)
        self._attention_size = sum(self._size_of(layer, m) for layer, m in zip(self._layers, self._mechanisms))
        self._attend = attention_fn or _attention
        self._initial = initial_cell_state
        self._initial_size = None if initial_cell_state is None else nest.flatten(initial_cell_state)[-1].shape._size(0)

    def _made_layers(self, sizes, given, dtype):
        count = len(self._mechanisms)
        if sizes is not None:
            sizes = tuple(sizes) if isinstance(sizes, (list, tuple)) else (sizes,)
            made = [layers.Dense(s, name="attention_layer", use_bias=False, dtype=dtype or m.dtype)
                    for s, m in zip(sizes, self._mechanisms)]
        elif given is not None:
            made = list(given) if isinstance(given, (list, tuple)) else [given]
        else:
            made = [None] * count
        if len(made) != count:
            raise ValueError(f"If provided, attention_layer_size must contain exactly one integer per attention_mechanism, "
                             f"saw: {len(made)} vs {count}")
        return made

    @staticmethod
    def _size_of(layer, mechanism):
        depth = mechanism.values.shape._size(-1)
        if layer is None:
            return depth
        return layer.compute_output_shape(TensorShape([None, depth]))._size(-1)

    def _in_form(self, parts):
        return tuple(parts) if self._is_multi else parts[0]

    @property
    def output_size(self) -> Any:
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        sizes = [m.alignments_size for m in self._mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size, time=TensorShape([]), attention=self._attention_size,
            alignments=self._in_form(sizes), attention_state=self._in_form([m.state_size for m in self._mechanisms]),
            alignment_history=self._in_form([s if self._history else () for s in sizes]))

    def zero_state(self, batch_size: IntLike, dtype: DTypeLike) -> AttentionWrapperState:
        with graph.name_scope("AttentionWrapperZeroState"):
            state = self._cell.zero_state(batch_size, dtype) if self._initial is None else self._initial
            state = nest.map_structure(lambda s: array_ops.identity(s, name="checked_cell_state"), state)
            alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
            return AttentionWrapperState(
                cell_state=state, time=array_ops.zeros([], dtypes.int32),
                attention=zero_state(self._attention_size, batch_size, dtype), alignments=self._in_form(alignments),
                attention_state=self._in_form([m.initial_state(batch_size, dtype) for m in self._mechanisms]),
                alignment_history=self._in_form([
                    TensorArray(dtype, size=0, dynamic_size=True, element_shape=a.shape) if self._history else ()
                    for a in alignments]))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead.")
        cell_output, cell_state = self._cell(self._inputs(inputs, state.attention), state.cell_state)
        previous = state.attention_state if self._is_multi else (state.attention_state,)
        history = state.alignment_history if self._is_multi else (state.alignment_history,)
        read, alignments, states, histories = [], [], [], []
        for i, mechanism in enumerate(self._mechanisms):
            attention, alignment, next_state = self._attend(mechanism, cell_output, previous[i], self._layers[i])
            read.append(attention)
            alignments.append(alignment)
            states.append(next_state)
            histories.append(history[i].write(state.time, alignment) if self._history else ())
        attention = array_ops.concat(read, 1) if len(read) > 1 else read[0]
        following = AttentionWrapperState(
            time=state.time + 1, cell_state=cell_state, attention=attention, alignments=self._in_form(alignments),
            attention_state=self._in_form(states), alignment_history=self._in_form(histories))
        return (attention if self._output_attention else cell_output), following

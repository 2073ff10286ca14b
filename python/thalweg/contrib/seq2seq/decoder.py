# SPDX-License-Identifier: Apache-2.0
"""dynamic_decode: a decoder run step by step until all its sequences have ended."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg import dtypes, nest
from thalweg.control import control_flow
from thalweg.control.tensor_array import TensorArray
from thalweg.graph import graph
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.nn.rnn_cell_base import check_cell
from thalweg.operations import array_ops, math_ops
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import IntLike, Nested
    from thalweg.contrib.seq2seq.helper import Helper
    from thalweg.graph.tensor import Tensor
    from thalweg.nn.rnn_cell_base import RNNCell
    from thalweg.variables.variable_scopes import VariableScope


class Decoder:
    """What own decoders derive from."""

    @property
    def batch_size(self) -> Any:
        """How many sequences there are."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """Sizes of one step's outputs."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """Types of the outputs."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """True when a sequence that has ended may go on later, as beams do that change places."""
        return False

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any, Any]:
        """(finished, first inputs, first state)."""
        raise NotImplementedError

    def step(self, time: Tensor, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Tensor]:
        """(outputs, next state, next inputs, finished)."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Tensor) -> tuple[Any, Any]:
        """(outputs, state) as the user gets them."""
        raise NotImplementedError


class BasicDecoderOutput(collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))):
    """What the cell said, and what the helper made of it."""


class BasicDecoder(Decoder):
    """A cell, with a layer over its outputs if one is given, steered by a helper.

    Parameters
    ----------
    cell : RNNCell
        What maps (inputs, state) to (output, new state).
    helper : Helper
        Says what comes of an output, and what is read next.
    initial_state : structure of Tensor
        The state to begin with.
    output_layer : Layer, optional
        Makes logits of the cell's outputs.

    Raises
    ------
    TypeError
        If one of them is of the wrong kind.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.GRUCell(4)
    >>> helper = tw.contrib.seq2seq.TrainingHelper(tw.ones([2, 5, 3]), [5, 4])
    >>> decoder = tw.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tw.float32), tw.layers.Dense(7))
    >>> outputs, state, lengths = tw.contrib.seq2seq.dynamic_decode(decoder)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     print(sess.run(outputs).rnn_output.shape, sess.run(lengths))
    (2, 5, 7) [5 4]
    """

    def __init__(self, cell: RNNCell, helper: Helper, initial_state: Nested,
                 output_layer: Callable[[Tensor], Tensor] | None = None) -> None:
        check_cell("cell", cell)
        if not all(hasattr(helper, p) for p in ("initialize", "sample", "next_inputs")):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    @property
    def batch_size(self) -> Tensor:
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        size = self._cell.output_size
        if self._output_layer is not None:
            size = nest.pack_sequence_as(size, [
                self._output_layer.compute_output_shape(TensorShape([None]).concatenate(as_shape(_dims(s))))[1:]
                for s in nest.flatten(size)])
        return BasicDecoderOutput(rnn_output=size, sample_id=self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        dtype = nest.flatten(self._initial_state)[0].dtype
        sizes = self._cell.output_size
        return BasicDecoderOutput(nest.pack_sequence_as(sizes, [dtype for _ in nest.flatten(sizes)]),
                                  self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any, Any]:
        return *self._helper.initialize(), self._initial_state

    def step(self, time: Tensor, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Tensor]:
        with graph.name_scope(name or "BasicDecoderStep"):
            said, state = self._cell(inputs, state)
            if self._output_layer is not None:
                said = self._output_layer(said)
            ids = self._helper.sample(time=time, outputs=said, state=state)
            finished, inputs, state = self._helper.next_inputs(time=time, outputs=said, state=state, sample_ids=ids)
        return BasicDecoderOutput(said, ids), state, inputs, finished


def _dims(size):
    return [size] if isinstance(size, int) else as_shape(size).as_list()


def _zeros(size, dtype, batch):
    shape = array_ops.concat([[batch], convert_to_tensor(_dims(size), dtype=dtypes.int32)], 0)
    return array_ops.zeros(shape, dtype)


def _kept(finished, old, new):
    """`old` for sequences that have ended; what has no rows is always new."""
    if getattr(new, "_is_tensor_array", False) or convert_to_tensor(new).shape.ndims == 0:
        return new
    made = array_ops.where(finished, old, new)
    made.set_shape(old.shape)
    return made


def _transpose_batch_time(x):
    """[time, batch, ...] as [batch, time, ...]."""
    if getattr(x, "_is_tensor_array", False) or x.shape.ndims is None or x.shape.ndims < 2:
        return x
    return array_ops.transpose(x, [1, 0, *range(2, x.shape.ndims)])


def dynamic_decode(decoder: Decoder, output_time_major: bool = False, impute_finished: bool = False,
                   maximum_iterations: IntLike | None = None, parallel_iterations: int = 32, swap_memory: bool = False,
                   scope: str | VariableScope | None = None, **kwargs: object) -> tuple[Any, Any, Tensor]:
    """Runs a decoder in a loop of the graph, until all sequences have ended.

    Parameters
    ----------
    decoder : Decoder
        What to run.
    output_time_major : bool
        Whether time is the first dimension of outputs, or the batch.
    impute_finished : bool
        Whether outputs behind a sequence's end are zero and its state stays.
    maximum_iterations : int or Tensor, optional
        The most steps.
    parallel_iterations : int
        How many steps of the loop may run at the same time.
    swap_memory : bool
        Whether what gradients need may go to the host's memory.
    scope : str or VariableScope, optional
        Where variables are; "decoder" by default.
    **kwargs
        What does not count here.

    Returns
    -------
    outputs : structure of Tensor
        As the decoder has them, of shape [batch, time, ...].
    state : structure of Tensor
        The last one.
    lengths : Tensor
        How many steps each sequence had, int32 [batch].

    Raises
    ------
    TypeError
        If `decoder` is no Decoder.
    ValueError
        If `maximum_iterations` is no scalar.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.GRUCell(4)
    >>> helper = tw.contrib.seq2seq.GreedyEmbeddingHelper(tw.zeros([4, 3]), start_tokens=[0, 0], end_token=1)
    >>> decoder = tw.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tw.float32))
    >>> outputs, state, lengths = tw.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(lengths)
    array([6, 6], dtype=int32)
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder"):
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, dtype=dtypes.int32, name="maximum_iterations")
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        sizes, types = decoder.output_size, decoder.output_dtype
        batch = convert_to_tensor(decoder.batch_size, dtype=dtypes.int32)
        zero_outputs = [_zeros(s, d, batch) for s, d in zip(nest.flatten(sizes), nest.flatten(types))]
        if maximum_iterations is not None:
            finished = apply("LogicalOr", [finished, 0 >= maximum_iterations])
        known_batch = finished.shape._size(0)
        arrays = [TensorArray(d, size=0, dynamic_size=True, element_shape=TensorShape([known_batch, *_dims(s)]))
                  for s, d in zip(nest.flatten(sizes), nest.flatten(types))]

        def body(time, arrays, state, inputs, finished, lengths):
            outputs, next_state, next_inputs, ended = decoder.step(time, inputs, state)
            if not decoder.tracks_own_finished:
                ended = apply("LogicalOr", [ended, finished])
            if maximum_iterations is not None:
                ended = apply("LogicalOr", [ended, time + 1 >= maximum_iterations])
            now = array_ops.fill(array_ops.shape(lengths), time + 1)
            lengths = array_ops.where(apply("LogicalNot", [finished]), now, lengths)
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(sizes, outputs)
            emitted = nest.flatten(outputs)
            if impute_finished:
                emitted = [array_ops.where(finished, z, o) for z, o in zip(zero_outputs, emitted)]
                next_state = nest.pack_sequence_as(state, [_kept(finished, old, new) for old, new in zip(
                    nest.flatten(state), nest.flatten(next_state))])
            written = [a.write(time, o) for a, o in zip(arrays, emitted)]
            return time + 1, written, next_state, next_inputs, ended, lengths
        first = [constant(0, dtypes.int32), arrays, state, inputs, finished, array_ops.zeros_like(finished, dtypes.int32)]
        _, arrays, state, _, _, lengths = control_flow.while_loop(
            lambda time, arrays, state, inputs, finished, lengths: apply("LogicalNot", [math_ops.reduce_all(finished)]), body,
            first, parallel_iterations=parallel_iterations, swap_memory=swap_memory)
        outputs = nest.pack_sequence_as(sizes, [a.stack() for a in arrays])
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass  # nothing to do at the end
        if not output_time_major:
            outputs = nest.map_structure(_transpose_batch_time, outputs)
    return outputs, state, lengths

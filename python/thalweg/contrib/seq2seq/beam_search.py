# SPDX-License-Identifier: Apache-2.0
"""BeamSearchDecoder: the likeliest sequences, several at a time."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes, errors, nest, nn
from thalweg.contrib.seq2seq.decoder import Decoder
from thalweg.control import control_flow
from thalweg.control.tensor_array import TensorArray
from thalweg.graph import graph
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.nn.rnn_cell_base import check_cell
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import Nested, TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.nn.rnn_cell_base import RNNCell


class BeamSearchDecoderState(collections.namedtuple("BeamSearchDecoderState", (
        "cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"))):
    """What goes from step to step, by beam."""


class BeamSearchDecoderOutput(collections.namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))):
    """What a step gives, by beam."""


class FinalBeamSearchDecoderOutput(collections.namedtuple("FinalBeamDecoderOutput", (
        "predicted_ids", "beam_search_decoder_output"))):
    """Whole sequences, by beam, and what the steps gave."""


def _is_array(x):
    return getattr(x, "_is_tensor_array", False)


def tile_batch(t: Nested, multiplier: int, name: str | None = None) -> Any:
    """Every row `multiplier` times, one after the other: what beam search needs of states and memories.

    Parameters
    ----------
    t : Tensor or structure of Tensor
        Of shape [batch, ...].
    multiplier : int
        How often.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor or structure of Tensor
        As `t`, of shape [batch * multiplier, ...].

    Raises
    ------
    ValueError
        If a rank is not known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.contrib.seq2seq.tile_batch(tw.constant([1, 2]), 3))
    array([1, 1, 1, 2, 2, 2], dtype=int32)
    """
    def tiled(x):
        if _is_array(x):
            return x
        x = convert_to_tensor(x, name="t")
        if x.shape.ndims is None:
            raise ValueError("t must have statically known rank")
        shape = array_ops.shape(x)
        wide = array_ops.tile(array_ops.expand_dims(x, 1), [1, multiplier] + [1] * (x.shape.ndims - 1))
        made = array_ops.reshape(wide, array_ops.concat([[shape[0] * multiplier], shape[1:]], 0))
        rows = x.shape._size(0)
        made.set_shape(TensorShape([None if rows is None or not isinstance(multiplier, int) else rows * multiplier]).concatenate(
            x.shape[1:]))
        return made
    with graph.name_scope(name or "tile_batch"):
        return nest.map_structure(tiled, t)


def _of_beams(x, beams):
    """x [batch, beams, ...], taken at beams [batch, beams], along the second axis."""
    batch, width = array_ops.shape(x)[0], array_ops.shape(x)[1]
    flat = array_ops.reshape(x, array_ops.concat([[batch * width], array_ops.shape(x)[2:]], 0))
    rows = array_ops.reshape(math_ops.range_(batch) * width, [-1, 1]) + beams
    made = array_ops.gather(flat, rows)
    made.set_shape(TensorShape(x.shape[:1]).concatenate(beams.shape[1:]).concatenate(x.shape[2:]))
    return made


def gather_tree(step_ids: TensorLike, parent_ids: TensorLike, max_sequence_lengths: TensorLike, end_token: TensorLike,
                name: str | None = None) -> Tensor:
    """Whole sequences [steps, batch, beams] from the ids of every step and the beams that they came from; `end_token` from the
    first one on, and from a sequence's greatest length on."""
    with graph.name_scope(name or "GatherTree"):
        step_ids, parent_ids = convert_to_tensor(step_ids), convert_to_tensor(parent_ids)
        lengths = convert_to_tensor(max_sequence_lengths)
        steps, beams = array_ops.shape(step_ids)[0], array_ops.shape(step_ids)[2]
        end = array_ops.fill(array_ops.shape(step_ids)[1:], convert_to_tensor(end_token, dtype=dtypes.int32))
        own = array_ops.zeros_like(end) + math_ops.range_(beams)

        def body(t, parents, found):
            t = t - 1
            inside = array_ops.tile(array_ops.expand_dims(t < lengths, 1), [1, beams])
            ids = array_ops.where(inside, _of_beams(step_ids[t], parents), end)
            parents = array_ops.where(inside, _of_beams(parent_ids[t], parents), parents)
            return t, parents, found.write(t, ids)
        _, _, found = control_flow.while_loop(lambda t, *_: t > 0, body, [steps, own, TensorArray(dtypes.int32, size=steps)])
        ids = found.stack()
        ended = math_ops.cumsum(math_ops.cast(math_ops.equal(ids, end_token), dtypes.int32), axis=0, exclusive=True) > 0
        ids = array_ops.where(ended, array_ops.fill(array_ops.shape(ids), convert_to_tensor(end_token, dtype=dtypes.int32)), ids)
        ids.set_shape(step_ids.shape)
        return ids


def _penalty(lengths, weight):
    """((5 + length) / 6) ** weight (Wu 2016)."""
    return apply("Pow", [(5.0 + math_ops.to_float(lengths)) / 6.0, convert_to_tensor(weight, dtype=dtypes.float32)])


class BeamSearchDecoder(Decoder):
    """Follows the `beam_width` most likely sequences of each row.

    Parameters
    ----------
    cell : RNNCell
        What maps (inputs, state) to (output, new state).
    embedding : tensor_like or callable
        The embedding, [symbols, ...], or what gives the rows of ids.
    start_tokens : tensor_like
        What sequences begin with, int32 [batch].
    end_token : int or Tensor
        What ends a sequence.
    initial_state : structure of Tensor
        The state to begin with, of tile_batch(state, multiplier=beam_width).
    beam_width : int
        How many sequences are followed.
    output_layer : Layer, optional
        Makes logits of the cell's outputs.
    length_penalty_weight : float
        How much longer sequences are preferred.
    coverage_penalty_weight : float
        0; others are not there.
    reorder_tensor_arrays : bool
        Whether arrays in the state follow their sequences.

    Raises
    ------
    TypeError
        If `cell` is no cell or `output_layer` none.
    ValueError
        If `start_tokens` is no vector or `end_token` no scalar.
    UnimplementedError
        If `coverage_penalty_weight` is not 0.

    Examples
    --------
    >>> cell = tw.nn.rnn_cell.GRUCell(4)
    >>> state = tw.contrib.seq2seq.tile_batch(cell.zero_state(2, tw.float32), multiplier=3)
    >>> decoder = tw.contrib.seq2seq.BeamSearchDecoder(cell, tw.zeros([4, 5]), [0, 0], 1, state, beam_width=3)
    >>> outputs, _, _ = tw.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=6)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(outputs).predicted_ids.shape
    (2, 6, 3)
    """

    def __init__(self, cell: RNNCell, embedding: TensorLike | Callable[[Tensor], Tensor], start_tokens: TensorLike,
                 end_token: TensorLike, initial_state: Nested, beam_width: int,
                 output_layer: Callable[[Tensor], Tensor] | None = None, length_penalty_weight: float = 0.0,
                 coverage_penalty_weight: float = 0.0, reorder_tensor_arrays: bool = True) -> None:
        check_cell("cell", cell)
        if output_layer is not None and not callable(output_layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        if coverage_penalty_weight != 0.0:
            raise errors.UnimplementedError(None, None, "BeamSearchDecoder: coverage_penalty_weight is not implemented")
        self._cell, self._output_layer, self._width = cell, output_layer, beam_width
        self._embed = embedding if callable(embedding) else lambda ids: nn.embedding_lookup(embedding, ids)
        self._start = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        if self._start.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._end = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._end.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch = self._start.shape._size(0) or array_ops.size(self._start)
        self._penalty, self._reorder = length_penalty_weight, reorder_tensor_arrays
        self._cell_state = nest.map_structure(self._split, initial_state)
        self._first = self._embed(array_ops.tile(array_ops.expand_dims(self._start, 1), [1, beam_width]))
        self._first_finished = array_ops.one_hot(array_ops.zeros([self._batch], dtypes.int32), depth=beam_width, on_value=False,
                                                 off_value=True, dtype=dtypes.bool)

    @property
    def batch_size(self) -> Tensor:
        return self._batch

    @property
    def tracks_own_finished(self) -> bool:
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        width = TensorShape([self._width])
        return BeamSearchDecoderOutput(scores=width, predicted_ids=width, parent_ids=width)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        return BeamSearchDecoderOutput(scores=dtypes.float32, predicted_ids=dtypes.int32, parent_ids=dtypes.int32)

    def _split(self, x):
        """[batch * beams, ...] as [batch, beams, ...]."""
        if _is_array(x):
            return x
        x = convert_to_tensor(x)
        if x.shape.ndims == 0:
            return x
        made = array_ops.reshape(x, array_ops.concat([[self._batch, self._width], array_ops.shape(x)[1:]], 0))
        known = self._batch if isinstance(self._batch, int) else None
        made.set_shape(TensorShape([known, self._width]).concatenate(x.shape[1:]))
        return made

    def _merged(self, x):
        if _is_array(x) or x.shape.ndims == 0:
            return x
        made = array_ops.reshape(x, array_ops.concat([[self._batch * self._width], array_ops.shape(x)[2:]], 0))
        known = self._batch * self._width if isinstance(self._batch, int) else None
        made.set_shape(TensorShape([known]).concatenate(x.shape[2:]))
        return made

    def initialize(self, name: str | None = None) -> tuple[Tensor, Tensor, BeamSearchDecoderState]:
        log_probs = array_ops.one_hot(array_ops.zeros([self._batch], dtypes.int32), depth=self._width, on_value=0.0,
                                      off_value=-np.inf, dtype=dtypes.float32)
        state = BeamSearchDecoderState(
            cell_state=self._cell_state, log_probs=log_probs, finished=self._first_finished,
            lengths=array_ops.zeros([self._batch, self._width], dtypes.int64), accumulated_attention_probs=())
        return self._first_finished, self._first, state

    def step(self, time: Tensor, inputs: Any, state: Any,
             name: str | None = None) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState, Tensor, Tensor]:
        with graph.name_scope(name or "BeamSearchDecoderStep"):
            inputs = nest.map_structure(self._merged, inputs)
            outputs, cell_state = self._cell(inputs, nest.map_structure(self._merged, state.cell_state))
            outputs = self._split(outputs)
            cell_state = nest.pack_sequence_as(state.cell_state, [self._split(s) for s in nest.flatten(cell_state)])
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, following = self._chosen(outputs, cell_state, state)
            inputs = control_flow.cond(math_ops.reduce_all(following.finished), lambda: self._first,
                                       lambda: self._embed(output.predicted_ids))
        return output, following, inputs, following.finished

    def _chosen(self, logits, cell_state, state):
        """The best of all ways to go on."""
        symbols = logits.shape._size(-1) or array_ops.shape(logits)[-1]
        ended = array_ops.one_hot(self._end, symbols, on_value=0.0, off_value=float(np.finfo(np.float32).min), dtype=dtypes.float32)
        log_probs = nn.log_softmax(logits)
        is_over = array_ops.tile(array_ops.expand_dims(state.finished, 2), [1, 1, symbols])
        log_probs = array_ops.where(is_over, array_ops.zeros_like(log_probs) + ended, log_probs)
        total = array_ops.expand_dims(state.log_probs, 2) + log_probs
        goes_on = math_ops.cast(apply("LogicalNot", [state.finished]), dtypes.int64)
        adds = array_ops.one_hot(self._end, symbols, on_value=constant(0, dtypes.int64), off_value=constant(1, dtypes.int64))
        lengths = array_ops.expand_dims(state.lengths, 2) + adds * array_ops.expand_dims(goes_on, 2)
        scores = total if self._penalty == 0.0 else total / _penalty(lengths, self._penalty)
        flat = array_ops.reshape(scores, [self._batch, -1])
        best, places = nn.top_k(flat, k=self._width)
        beams, ids = places // symbols, places % symbols
        for x in (best, beams, ids):
            x.set_shape([self._batch if isinstance(self._batch, int) else None, self._width])
        probs = array_ops.gather_nd(array_ops.reshape(total, [self._batch, -1]), self._at(places))
        over = _of_beams(state.finished, beams)
        lengths = _of_beams(state.lengths, beams) + math_ops.cast(apply("LogicalNot", [over]), dtypes.int64)
        probs.set_shape(best.shape)

        def moved(x):
            return x if _is_array(x) or x.shape.ndims == 0 else _of_beams(x, beams)
        following = BeamSearchDecoderState(
            cell_state=nest.map_structure(moved, cell_state), log_probs=probs, lengths=lengths,
            finished=apply("LogicalOr", [over, math_ops.equal(ids, self._end)]), accumulated_attention_probs=())
        return BeamSearchDecoderOutput(scores=best, predicted_ids=ids, parent_ids=beams), following

    def _at(self, places):
        rows = array_ops.tile(array_ops.reshape(math_ops.range_(self._batch), [-1, 1]), [1, self._width])
        return array_ops.stack([rows, places], -1)

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: TensorLike) -> tuple[FinalBeamSearchDecoderOutput, Any]:
        longest = math_ops.cast(math_ops.reduce_max(final_state.lengths, axis=1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, max_sequence_lengths=longest, end_token=self._end)
        return FinalBeamSearchDecoderOutput(beam_search_decoder_output=outputs, predicted_ids=ids), final_state

# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.crf: conditional random fields over chains of tags.

A sequence of tags scores the sum of its unary potentials `inputs` [batch, time, tags] and of the transitions between neighbors
[tags, tags]; what lies behind a sequence's length counts for nothing.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.base import names
from thalweg.control.control_flow import smart_cond
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.nn import rnn, rnn_cell
from thalweg.operations import array_layout, array_ops, math_ops
from thalweg.variables.variable_scopes import get_variable

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import Array, TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variable_scopes import VariableScope


def _one_or_more(inputs, one, more):
    """one() for sequences of a single step, else more()."""
    steps = inputs.shape._size(1)
    return smart_cond(math_ops.equal(array_ops.shape(inputs)[1], 1) if steps is None else steps == 1, one, more)


def _mask(lengths, like, dtype):
    """1 within each sequence, 0 behind it."""
    return array_layout.sequence_mask(math_ops.cast(lengths, dtypes.int32), maxlen=array_ops.shape(like)[1], dtype=dtype)


def _flat(tensor, indices):
    """Elements of the flattened tensor."""
    return array_ops.gather(array_ops.reshape(tensor, [-1]), indices)


def _without_empty(values, lengths):
    """0 where a sequence is empty."""
    return array_ops.where(apply("LessEqual", [lengths, array_ops.zeros_like(lengths)]), array_ops.zeros_like(values), values)


def crf_sequence_score(inputs: TensorLike, tag_indices: TensorLike, sequence_lengths: TensorLike,
                       transition_params: TensorLike) -> Tensor:
    """Of each sequence of tags, its score [batch]."""
    inputs = convert_to_tensor(inputs)
    return crf_unary_score(tag_indices, sequence_lengths, inputs) + \
        crf_binary_score(tag_indices, sequence_lengths, transition_params)


def crf_multitag_sequence_score(inputs: TensorLike, tag_bitmap: TensorLike, sequence_lengths: TensorLike,
                                transition_params: TensorLike) -> Tensor:
    """The log of the sum over all sequences of tags that the bitmap [batch, time, tags] allows, of the exponential of their scores."""
    inputs, allowed = convert_to_tensor(inputs), math_ops.cast(tag_bitmap, dtypes.bool)
    never = array_ops.fill(array_ops.shape(inputs), constant(-np.inf, inputs.dtype))
    inputs = array_ops.where(allowed, inputs, never)
    return _one_or_more(inputs, lambda: math_ops.reduce_logsumexp(inputs[:, 0], 1),
                        lambda: crf_log_norm(inputs, sequence_lengths, transition_params))


def crf_log_norm(inputs: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Tensor:
    """The log of the sum over all sequences of tags, of the exponential of their scores [batch]."""
    inputs, lengths = convert_to_tensor(inputs), convert_to_tensor(sequence_lengths)

    def more():
        last = _walk(CrfForwardRnnCell(transition_params), inputs, lengths)[1]
        return math_ops.reduce_logsumexp(last, 1)

    return _without_empty(_one_or_more(inputs, lambda: math_ops.reduce_logsumexp(inputs[:, 0], 1), more), lengths)


def crf_log_likelihood(inputs: TensorLike, tag_indices: TensorLike, sequence_lengths: TensorLike,
                       transition_params: TensorLike | None = None) -> tuple[Tensor, Tensor]:
    """(log-likelihood of the tags [batch], transitions), which are the variable "transitions" unless given."""
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        tags = inputs.shape._size(2)
        transition_params = get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_unary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, inputs: TensorLike) -> Tensor:
    """The sum of the unary potentials of the tags [batch]."""
    inputs, tags = convert_to_tensor(inputs), math_ops.cast(tag_indices, dtypes.int32)
    shape = array_ops.shape(inputs)
    places = array_ops.reshape(math_ops.range_(shape[0] * shape[1]) * shape[2], array_ops.shape(tags)) + tags
    return math_ops.reduce_sum(_flat(inputs, places) * _mask(sequence_lengths, tags, inputs.dtype), 1)


def crf_binary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Tensor:
    """The sum of the transitions between the tags [batch]."""
    tags, transitions = math_ops.cast(tag_indices, dtypes.int32), convert_to_tensor(transition_params)
    places = tags[:, :-1] * array_ops.shape(transitions)[0] + tags[:, 1:]
    mask = _mask(sequence_lengths, tags, transitions.dtype)[:, 1:]
    return math_ops.reduce_sum(_flat(transitions, places) * mask, 1)


def _but_one(lengths):
    return apply("Maximum", [lengths - 1, array_ops.zeros_like(lengths)])


def _walk(cell, inputs, lengths, dtype=None):
    """What a cell gives and ends with that begins with the first potentials and walks along the others."""
    return rnn.dynamic_rnn(cell, inputs[:, 1:], sequence_length=_but_one(lengths), initial_state=inputs[:, 0], dtype=dtype)


def viterbi_decode(score: Array, transition_params: Array) -> tuple[list[int], Any]:
    """(best tags, their score) of one sequence in numpy: score [time, tags]."""
    best, from_where = np.array(score[0], dtype=float), []
    for row in score[1:]:
        paths = best[:, None] + transition_params
        from_where.append(np.argmax(paths, 0))
        best = row + np.max(paths, 0)
    tags = [int(np.argmax(best))]
    for pointers in reversed(from_where):
        tags.append(int(pointers[tags[-1]]))
    return tags[::-1], np.max(best)


def crf_decode(potentials: TensorLike, transition_params: TensorLike, sequence_length: TensorLike) -> tuple[Tensor, Tensor]:
    """(best tags [batch, time], their score [batch]); tags behind a sequence are 0."""
    potentials, lengths = convert_to_tensor(potentials), convert_to_tensor(sequence_length)

    def one():
        return (math_ops.cast(math_ops.argmax(potentials, 2), dtypes.int32), math_ops.reduce_max(potentials[:, 0], 1))

    def more():
        rest = _but_one(lengths)
        pointers, last = _walk(CrfDecodeForwardRnnCell(transition_params), potentials, lengths, dtypes.int32)
        end = array_ops.expand_dims(math_ops.cast(math_ops.argmax(last, 1), dtypes.int32), 1)
        pointers = array_layout.reverse_sequence(pointers, rest, seq_axis=1, batch_axis=0)
        tags, _ = rnn.dynamic_rnn(CrfDecodeBackwardRnnCell(potentials.shape._size(2)), pointers, sequence_length=rest, initial_state=end,
                                  dtype=dtypes.int32)
        tags = array_ops.concat([end, array_ops.squeeze(tags, [2])], 1)
        return array_layout.reverse_sequence(tags, lengths, seq_axis=1, batch_axis=0), math_ops.reduce_max(last, 1)

    return tuple(_one_or_more(potentials, one, more))


class CrfForwardRnnCell(rnn_cell.RNNCell):
    """Adds a step to the log of the sum over all sequences that end in each tag."""

    def __init__(self, transition_params: TensorLike) -> None:
        super().__init__()
        self._transitions = array_ops.expand_dims(convert_to_tensor(transition_params), 0)
        self._num_tags = self._transitions.shape._size(1)

    @property
    def state_size(self) -> int:
        return self._num_tags

    @property
    def output_size(self) -> int:
        return self._num_tags

    def _paths(self, state):
        """Of each last tag but one and each last tag, the score."""
        return array_ops.expand_dims(state, 2) + self._transitions

    def __call__(self, inputs: Tensor, state: Tensor, scope: str | VariableScope | None = None) -> tuple[Tensor, Tensor]:
        new = inputs + math_ops.reduce_logsumexp(self._paths(state), 1)
        return new, new


class CrfDecodeForwardRnnCell(CrfForwardRnnCell):
    """Adds a step to the best score that ends in each tag; gives which tag comes before it."""

    def __call__(self, inputs: Tensor, state: Tensor, scope: str | VariableScope | None = None) -> tuple[Tensor, Tensor]:
        paths = self._paths(state)
        return math_ops.cast(math_ops.argmax(paths, 1), dtypes.int32), inputs + math_ops.reduce_max(paths, 1)


class CrfDecodeBackwardRnnCell(rnn_cell.RNNCell):
    """Follows what CrfDecodeForwardRnnCell has noted, from the last tag [batch, 1] back."""

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> int:
        return 1

    @property
    def output_size(self) -> int:
        return 1

    def __call__(self, inputs: Tensor, state: Tensor, scope: str | VariableScope | None = None) -> tuple[Tensor, Tensor]:
        rows = math_ops.range_(array_ops.shape(inputs)[0]) * self._num_tags
        new = array_ops.expand_dims(_flat(inputs, rows + state[:, 0]), 1)
        return new, new


names.complete(globals())

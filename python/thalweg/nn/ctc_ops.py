# SPDX-License-Identifier: Apache-2.0
"""Connectionist temporal classification: tw.nn.ctc_*."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.functional_ops import map_fn
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_layout, array_ops, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import IntLike, SparseLike, TensorLike
    from thalweg.graph.tensor import Tensor


def ctc_loss(labels: SparseLike, inputs: TensorLike | None = None, sequence_length: TensorLike | None = None,
             preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True,
             ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True,
             logits: TensorLike | None = None) -> Tensor:
    """-log of the probability of the labels of each sequence, a SparseTensor; the last class is the blank."""
    if not hasattr(labels, "dense_shape"):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    labels = SparseTensor.from_value(labels)
    inputs = convert_to_tensor(logits if inputs is None else inputs)
    if not time_major:
        inputs = array_ops.transpose(inputs, [1, 0, 2])
    loss, _ = apply("CTCLoss", [inputs, labels.indices, labels.values, sequence_length],
                    {"preprocess_collapse_repeated": preprocess_collapse_repeated, "ctc_merge_repeated": ctc_merge_repeated,
                     "ignore_longer_outputs_than_inputs": ignore_longer_outputs_than_inputs})
    return loss


def ctc_greedy_decoder(inputs: TensorLike, sequence_length: TensorLike,
                       merge_repeated: bool = True) -> tuple[list[SparseTensor], Tensor]:
    """The labels of the most probable path of each sequence, and the sum of its logits, negative."""
    made = apply("CTCGreedyDecoder", [inputs, sequence_length], {"merge_repeated": merge_repeated})
    return [SparseTensor(*made[:3])], made[3]


def ctc_beam_search_decoder(inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: IntLike = 1,
                            merge_repeated: bool = True) -> tuple[list[SparseTensor], Tensor]:
    """The best label sequences that a beam finds, and the logarithms of their probabilities."""
    indices, values, shapes, log_probabilities = apply(
        "CTCBeamSearchDecoder", [inputs, sequence_length],
        {"beam_width": beam_width, "top_paths": top_paths, "merge_repeated": merge_repeated})
    return [SparseTensor(*part) for part in zip(indices, values, shapes)], log_probabilities


def ctc_beam_search_decoder_v2(inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100,
                               top_paths: IntLike = 1) -> tuple[list[SparseTensor], Tensor]:
    """ctc_beam_search_decoder that keeps repeated labels."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)


def ctc_loss_v2(labels: SparseLike | TensorLike, logits: TensorLike, label_length: TensorLike, logit_length: TensorLike,
                logits_time_major: bool = True, unique: tuple[Tensor, Tensor] | None = None, blank_index: int | None = None,
                name: str | None = None) -> Tensor:
    """ctc_loss of dense or sparse labels, with any class as the blank (0 for dense labels that do not say)."""
    with name_scope(name, "ctc_loss", [logits, logit_length]):
        logits = convert_to_tensor(logits, name="logits")
        is_sparse = hasattr(labels, "dense_shape")
        if blank_index is None and is_sparse:
            raise ValueError("blank_index must be given when using SparseTensor labels.")
        blank = blank_index or 0
        classes = logits.shape._size(2)
        if classes is None:
            raise ValueError("the number of classes, the last dimension of logits, must be known")
        blank = blank + classes if blank < 0 else blank
        if is_sparse:
            labels = SparseTensor.from_value(labels)
            indices, values, shape = labels.indices, labels.values, labels.dense_shape
        else:
            dense = math_ops.cast(labels, dtypes.int32)
            indices = array_ops.where(array_layout.sequence_mask(label_length, array_ops.shape(dense)[1]))
            values, shape = array_ops.gather_nd(dense, indices), array_ops.shape(dense, out_type=dtypes.int64)
        if blank != classes - 1:  # the operation takes the last class for the blank
            logits = array_ops.concat([logits[:, :, :blank], logits[:, :, blank + 1:], logits[:, :, blank:blank + 1]], 2)
            values = array_ops.where(apply("Less", [values, blank]), values, values - 1)
        return ctc_loss(SparseTensor(indices, math_ops.cast(values, dtypes.int32), shape), logits, logit_length,
                        time_major=logits_time_major)


def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(the different labels of each row, filled up with 0; the place of each label among these)."""
    with name_scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")

        def of_row(row):
            found = array_ops.unique(row)
            rest = array_ops.size(found.idx) - array_ops.size(found.y)
            return [math_ops.cast(array_ops.pad(found.y, [[0, rest]]), dtypes.int64), found.idx]
        return map_fn(of_row, labels, dtype=[dtypes.int64, dtypes.int32])


def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(labels without those that repeat the one before, filled up with 0; how many are left in each row)."""
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels, seq_length = convert_to_tensor(labels), convert_to_tensor(seq_length)
        changes = apply("NotEqual", [labels[:, 1:], labels[:, :-1]])
        kept = array_ops.concat([array_ops.ones_like(labels[:, :1], dtypes.bool), changes], 1)
        kept = apply("LogicalAnd", [kept, array_layout.sequence_mask(seq_length, array_ops.shape(labels)[1])])
        lengths = math_ops.reduce_sum(math_ops.cast(kept, seq_length.dtype.base_dtype), 1)
        longest = math_ops.reduce_max(lengths)
        places = array_ops.where(array_layout.sequence_mask(lengths, longest))
        shape = math_ops.cast(array_ops.stack([array_ops.shape(labels)[0], math_ops.cast(longest, dtypes.int32)]), dtypes.int64)
        return apply("ScatterNd", [places, array_ops.boolean_mask(labels, kept), shape]), lengths

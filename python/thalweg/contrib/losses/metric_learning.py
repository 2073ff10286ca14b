# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.losses.metric_learning: losses that bring embeddings of one label together and keep others apart."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.base import names
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.linalg.matrices import eye
from thalweg.operations import array_ops, math_ops
from thalweg.operations.sparse_ops import sparse_tensor_to_dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.sparse_tensor import SparseTensor
    from thalweg.graph.tensor import Tensor

_FAR = -1e30  # the exponential of which is 0, and which has a gradient


def pairwise_distance(feature: TensorLike, squared: bool = False) -> Tensor:
    """Distances of all rows of a matrix from each other."""
    feature = convert_to_tensor(feature)
    squares = math_ops.reduce_sum(feature * feature, 1, keepdims=True)
    found = apply("Maximum", [squares + array_ops.transpose(squares) - 2.0 * math_ops.matmul(feature, feature, transpose_b=True), 0.0])
    rows = array_ops.shape(feature)[0]
    apart = math_ops.cast(found > 0.0, feature.dtype) * (1.0 - eye(rows, dtype=feature.dtype))
    if squared:
        return found * apart
    return apply("Sqrt", [found * apart + (1.0 - apart)]) * apart  # the root of 0 has no gradient


def _column(labels):
    """Labels as a column."""
    return array_ops.reshape(convert_to_tensor(labels), [-1, 1])


def _same(labels, dtype):
    """1 for each pair of equal labels."""
    labels = _column(labels)
    return math_ops.cast(math_ops.equal(labels, array_ops.transpose(labels)), dtype)


def contrastive_loss(labels: TensorLike, embeddings_anchor: TensorLike, embeddings_positive: TensorLike, margin: float = 1.0) -> Tensor:
    """Mean squared distance of the pairs with label 1, and of what the others' distance lacks of the margin."""
    anchor, positive = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
    distances = apply("Sqrt", [math_ops.reduce_sum(apply("Square", [anchor - positive]), 1)])
    labels = math_ops.cast(convert_to_tensor(labels), distances.dtype)
    return math_ops.reduce_mean(labels * apply("Square", [distances])
                                + (1.0 - labels) * apply("Square", [apply("Maximum", [margin - distances, 0.0])]),
                                name="contrastive_loss")


def triplet_semihard_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """Mean of how much farther than the margin allows each pair of one label is apart than the nearest other label beyond it.

    `labels` are integers [batch], `embeddings` rows [batch, size] of length 1. Distances are squared. Where all of other labels are
    nearer, the farthest of them counts.
    """
    distances = pairwise_distance(embeddings, squared=True)
    same = _same(labels, distances.dtype)
    # By anchor, positive and negative.
    nearer, other = array_ops.expand_dims(distances, 2), array_ops.expand_dims(distances, 1)
    different = array_ops.expand_dims(1.0 - same, 1)
    beyond = different * math_ops.cast(other > nearer, distances.dtype)
    farthest = math_ops.reduce_max(distances, 1, keepdims=True)
    nearest_beyond = math_ops.reduce_min(other * beyond + array_ops.expand_dims(farthest, 2) * (1.0 - beyond), 2)
    farthest_inside = math_ops.reduce_max(distances * (1.0 - same), 1, keepdims=True)
    negative = array_ops.where(math_ops.reduce_any(beyond > 0.0, 2), nearest_beyond,
                               farthest_inside + array_ops.zeros_like(distances))
    positives = same - eye(array_ops.shape(same)[0], dtype=same.dtype)
    return math_ops.truediv(math_ops.reduce_sum(apply("Maximum", [(margin + distances - negative) * positives, 0.0])),
                            math_ops.reduce_sum(positives), name="triplet_semihard_loss")


def _cross_entropy(wanted, anchor, positive, reg_lambda):
    """Cross entropy of similarities with a matrix of what is wanted, and the size of embeddings."""
    size = math_ops.reduce_mean(math_ops.reduce_sum(apply("Square", [anchor]), 1)) \
        + math_ops.reduce_mean(math_ops.reduce_sum(apply("Square", [positive]), 1))
    similar = math_ops.matmul(anchor, positive, transpose_b=True)
    wanted = wanted / math_ops.reduce_sum(wanted, 1, keepdims=True)
    entropy = nn.softmax_cross_entropy_with_logits(logits=similar, labels=wanted)
    return math_ops.reduce_mean(entropy) + 0.25 * reg_lambda * size


def npairs_loss(labels: TensorLike, embeddings_anchor: TensorLike, embeddings_positive: TensorLike, reg_lambda: float = 0.002,
                print_losses: bool = False) -> Tensor:
    """Mean cross entropy of each anchor's products with all positives, and `reg_lambda / 4` times the size of the embeddings.

    `labels` are integers [batch]; rows of one number, of [batch, size] in both, have one label.
    """
    del print_losses
    anchor, positive = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
    return _cross_entropy(_same(labels, anchor.dtype), anchor, positive, reg_lambda)


def npairs_loss_multilabel(sparse_labels: Sequence[SparseTensor], embeddings_anchor: TensorLike, embeddings_positive: TensorLike,
                           reg_lambda: float = 0.002, print_losses: bool = False) -> Tensor:
    """npairs_loss of pairs with several labels each: pairs are as near as the number of labels that they share.

    `sparse_labels` has for each pair of rows a SparseTensor with a 1 at each of its labels; all are of one size.
    """
    del print_losses
    with name_scope(None, "NpairsLossMultiLabel"):
        anchor, positive = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
        labels = array_ops.stack([array_ops.reshape(sparse_tensor_to_dense(one), [-1]) for one in sparse_labels])
        labels = math_ops.cast(labels, anchor.dtype)
        return _cross_entropy(math_ops.matmul(labels, labels, transpose_b=True), anchor, positive, reg_lambda)


def lifted_struct_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """Half the mean square of the distances of pairs of one label, each with the soft maximum of what distances from others lack of
    the margin.

    `labels` are integers [batch], `embeddings` [batch, size].
    """
    distances = pairwise_distance(embeddings)
    same = _same(labels, distances.dtype)
    lacking = array_ops.where(same > 0.0, array_ops.fill(array_ops.shape(same), _FAR), margin - distances)
    most = math_ops.reduce_max(lacking, 1, keepdims=True)
    most = apply("Maximum", [most, array_ops.transpose(most)])  # of both rows
    left = math_ops.reduce_sum(apply("Exp", [array_ops.expand_dims(lacking, 1) - array_ops.expand_dims(most, 2)]), 2)
    hard = most + apply("Log", [left + array_ops.transpose(left)]) + distances
    positives = same - eye(array_ops.shape(same)[0], dtype=same.dtype)
    return math_ops.truediv(0.5 * math_ops.reduce_sum(apply("Square", [apply("Maximum", [hard * positives, 0.0])])),
                            math_ops.reduce_sum(positives), name="liftedstruct_loss")


names.complete(globals())

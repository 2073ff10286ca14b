# SPDX-License-Identifier: Apache-2.0
"""How classes are taken for each other: confusion matrices."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, checks, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, IntLike, TensorLike
    from thalweg.graph.tensor import Tensor


def remove_squeezable_dimensions(labels: TensorLike, predictions: TensorLike, expected_rank_diff: int = 0,
                                 name: str | None = None) -> tuple[Tensor, Tensor]:
    """(labels, predictions), without a last dimension of 1 that one has more than the other."""
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        if labels.shape.ndims is not None and predictions.shape.ndims is not None:
            difference = predictions.shape.ndims - labels.shape.ndims
            if difference == expected_rank_diff + 1 and predictions.shape._size(-1) in (1, None):
                predictions = array_ops.squeeze(predictions, [-1])
            elif difference == expected_rank_diff - 1 and labels.shape._size(-1) in (1, None):
                labels = array_ops.squeeze(labels, [-1])
        return labels, predictions


def _within(numbers, num_classes, message):
    return checks.with_dependencies([checks.assert_less(numbers, num_classes, message=message)], numbers)


def confusion_matrix(labels: TensorLike, predictions: TensorLike, num_classes: IntLike | None = None,
                     dtype: DTypeLike = dtypes.int32, name: str | None = None, weights: TensorLike | None = None) -> Tensor:
    """Counts how often class i was taken for class j.

    Parameters
    ----------
    labels, predictions : integer vectors
        Classes, from 0 on.
    num_classes : int, optional
        One more than the largest class that occurs unless given.
    dtype : DType
        Of the result.
    name : str, optional
    weights : tensor_like, optional
        What each pair counts; 1 unless given.

    Returns
    -------
    Tensor
        [num_classes, num_classes]; a row is a label, a column a prediction.

    Raises
    ------
    InvalidArgumentError
        In the step: a label or a prediction is not below `num_classes`, or negative.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.math.confusion_matrix([0, 1, 1], [0, 0, 1])))
    [[1 0]
     [1 1]]
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]) as scope:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        labels, predictions = math_ops.cast(labels, dtypes.int64), math_ops.cast(predictions, dtypes.int64)
        if num_classes is None:
            highest = apply("Maximum", [math_ops.reduce_max(predictions), math_ops.reduce_max(labels)])
            num_classes = highest + ops.constant(1, dtypes.int64)
        else:
            num_classes = math_ops.cast(num_classes, dtypes.int64)
            labels = _within(labels, num_classes, "`labels` out of bound")
            predictions = _within(predictions, num_classes, "`predictions` out of bound")
        places = array_ops.stack([labels, predictions], axis=1)
        values = array_ops.ones_like(predictions, dtype) if weights is None else math_ops.cast(weights, dtype)
        return apply("ScatterNd", [places, values, array_ops.stack([num_classes, num_classes])], name=scope)

# SPDX-License-Identifier: Apache-2.0
"""Losses as one number, also in the collection "losses": tw.losses."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nn
from thalweg.base import names
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.operations.broadcast_weights import assert_broadcastable

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


class Reduction:
    """How the losses of elements become one."""
    NONE, SUM, MEAN = "none", "weighted_sum", "weighted_mean"
    SUM_OVER_BATCH_SIZE, SUM_OVER_NONZERO_WEIGHTS = "weighted_sum_over_batch_size", "weighted_sum_by_nonzero_weights"
    SUM_BY_NONZERO_WEIGHTS = SUM_OVER_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them, the one that has two names twice."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: str) -> None:
        """ValueError for what is none of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def compute_weighted_loss(losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None,
                          loss_collection: str | None = GraphKeys.LOSSES,
                          reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """The losses times their weights, reduced to one number."""
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert_to_tensor(losses)
        dtype = losses.dtype.base_dtype
        plain = isinstance(weights, (int, float))
        weights = math_ops.cast(convert_to_tensor(weights, dtype=dtype if plain else None), dtype)
        with graph.control_dependencies([assert_broadcastable(weights, losses)]):
            weighted = losses * weights
        if reduction == Reduction.NONE:
            loss = weighted
        else:
            total = math_ops.reduce_sum(weighted)
            if reduction == Reduction.SUM:
                loss = total
            elif reduction == Reduction.MEAN:
                loss = _safe_divide(total, math_ops.reduce_sum(apply("OnesLike", [losses]) * weights))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                loss = _safe_divide(total, math_ops.cast(array_ops.size(losses), dtype))
            else:
                present = apply("OnesLike", [losses]) * math_ops.cast(
                    apply("NotEqual", [weights, ops.constant(0, dtype)]), dtype)
                loss = _safe_divide(total, math_ops.reduce_sum(present))
        graph.get_default_graph()._last_loss_reduction = reduction
        if loss_collection is not None:
            graph.add_to_collection(loss_collection, loss)
        return loss


def _safe_divide(total, count):
    """0 where nothing counts."""
    return apply("DivNoNan", [total, count], name="value")


def _alike(predictions, labels):
    """Both as float32. Of other shapes they would be broadcast: [n] and [n, 1] to n * n differences."""
    for value, name in ((labels, "labels"), (predictions, "predictions")):
        if value is None:
            raise ValueError(f"{name} must not be None.")
    predictions, labels = (math_ops.cast(convert_to_tensor(v), dtypes.float32) for v in (predictions, labels))
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def mean_squared_error(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0, scope: str | None = None,
                       loss_collection: str | None = GraphKeys.LOSSES,
                       reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Mean of weights * (labels - predictions) ** 2, as one number in the collection of losses.

    Parameters
    ----------
    labels, predictions : tensor_like
        Of the same shape and any real types; they are computed with as float32.
    weights : tensor_like
        A number, or as many as there are elements or rows: it is broadcast to `labels`.
    scope : str, optional
        Name of the scope.
    loss_collection : str or None
        The collection that the loss joins.
    reduction : str
        How losses become one: a name of Reduction. By default their sum over the number of weights that are not zero.

    Returns
    -------
    Tensor
        A float32 scalar; of the shape of `labels` with Reduction.NONE.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.losses.mean_squared_error([1.0, 2.0], [1.0, 4.0])))
    2.0
    """
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as name:
        predictions, labels = _alike(predictions, labels)
        losses = apply("SquaredDifference", [predictions, labels])
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def absolute_difference(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0, scope: str | None = None,
                        loss_collection: str | None = GraphKeys.LOSSES,
                        reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Mean of weights * |labels - predictions|, as one number in the collection of losses.

    Parameters
    ----------
    labels, predictions : tensor_like
        Of the same shape and any real types; they are computed with as float32.
    weights : tensor_like
        A number, or as many as there are elements or rows: it is broadcast to `labels`.
    scope : str, optional
        Name of the scope.
    loss_collection : str or None
        The collection that the loss joins.
    reduction : str
        How losses become one: a name of Reduction. By default their sum over the number of weights that are not zero.

    Returns
    -------
    Tensor
        A float32 scalar; of the shape of `labels` with Reduction.NONE.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.losses.absolute_difference([1.0, 2.0], [1.0, 4.0])))
    1.0
    """
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as name:
        predictions, labels = _alike(predictions, labels)
        losses = apply("Abs", [predictions - labels])
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def softmax_cross_entropy(onehot_labels: TensorLike, logits: TensorLike, weights: TensorLike = 1.0, label_smoothing: float = 0,
                          scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
                          reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Cross entropy of softmax(logits) with distributions, as one number in the collection of losses.

    Parameters
    ----------
    onehot_labels : tensor_like
        Distributions over the classes, [batch, classes].
    logits : tensor_like
        Of a floating type and shape [batch, classes].
    weights : tensor_like
        A number, or one for each row.
    label_smoothing : float
        How much of each distribution goes to all classes alike.
    scope : str, optional
        Name of the scope.
    loss_collection : str or None
        The collection that the loss joins.
    reduction : str
        How losses become one: a name of Reduction. By default their sum over the number of weights that are not zero.

    Returns
    -------
    Tensor
        A scalar of the type of `logits`; of shape [batch] with Reduction.NONE.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.losses.softmax_cross_entropy([[0.0, 1.0]], [[0.0, 0.0]])))
    0.6931472
    """
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as name:
        logits = convert_to_tensor(logits)
        labels = math_ops.cast(convert_to_tensor(onehot_labels), logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = math_ops.cast(array_ops.shape(labels)[1], logits.dtype.base_dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        losses = nn.softmax_cross_entropy_with_logits_v2(array_ops.stop_gradient(labels), logits, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def sparse_softmax_cross_entropy(labels: TensorLike, logits: TensorLike, weights: TensorLike = 1.0, scope: str | None = None,
                                 loss_collection: str | None = GraphKeys.LOSSES,
                                 reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Cross entropy of softmax(logits) with class numbers, as one number in the collection of losses.

    Parameters
    ----------
    labels : tensor_like
        Numbers of classes, int32 or int64, of shape [...] or [..., 1].
    logits : tensor_like
        Of a floating type and shape [..., classes].
    weights : tensor_like
        A number, or one for each label.
    scope : str, optional
        Name of the scope.
    loss_collection : str or None
        The collection that the loss joins.
    reduction : str
        How losses become one: a name of Reduction. By default their sum over the number of weights that are not zero.

    Returns
    -------
    Tensor
        A scalar of the type of `logits`; of the shape of `labels` with Reduction.NONE.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.losses.sparse_softmax_cross_entropy([0, 1], [[0.0, 0.0], [0.0, 0.0]])))
    0.6931472
    """
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as name:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        if labels.shape.ndims is not None and labels.shape.ndims == logits.shape.ndims and labels.shape._size(-1) == 1:
            labels = array_ops.squeeze(labels, [-1])
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def sigmoid_cross_entropy(multi_class_labels: TensorLike, logits: TensorLike, weights: TensorLike = 1.0,
                          label_smoothing: float = 0, scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
                          reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Cross entropy of sigmoid(logits) with probabilities, each class by itself, as one number in the collection of losses.

    Parameters
    ----------
    multi_class_labels : tensor_like
        Probabilities; of the shape of `logits`.
    logits : tensor_like
        Of a floating type.
    weights : tensor_like
        A number, or as many as there are elements or rows: it is broadcast to the labels.
    label_smoothing : float
        How much the labels move towards one half.
    scope : str, optional
        Name of the scope.
    loss_collection : str or None
        The collection that the loss joins.
    reduction : str
        How losses become one: a name of Reduction. By default their sum over the number of weights that are not zero.

    Returns
    -------
    Tensor
        A scalar of the type of `logits`; of their shape with Reduction.NONE.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.losses.sigmoid_cross_entropy([[0.0, 1.0]], [[0.0, 0.0]])))
    0.6931472
    """
    with name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as name:
        logits = convert_to_tensor(logits)
        labels = math_ops.cast(convert_to_tensor(multi_class_labels), logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def log_loss(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0, epsilon: float = 1e-7,
             scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
             reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Cross entropy of probabilities."""
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as name:
        p, labels = _alike(predictions, labels)
        losses = -(labels * apply("Log", [p + epsilon])) - (1 - labels) * apply("Log", [1 - p + epsilon])
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def hinge_loss(labels: TensorLike, logits: TensorLike, weights: TensorLike = 1.0, scope: str | None = None,
               loss_collection: str | None = GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """How far logits lie on the wrong side of a margin; labels are 0 and 1."""
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as name:
        logits, labels = _alike(logits, labels)
        losses = apply("Relu", [1 - (2 * labels - 1) * logits])
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def huber_loss(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0, delta: float = 1.0,
               scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
               reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Tensor:
    """Half the square of small errors, linear in those beyond delta."""
    with name_scope(scope, "huber_loss", [predictions, labels, weights]) as name:
        predictions, labels = _alike(predictions, labels)
        error = apply("Abs", [predictions - labels])
        small = apply("Minimum", [error, ops.constant(delta, dtypes.float32)])
        losses = 0.5 * small * small + delta * (error - small)
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def cosine_distance(labels: TensorLike, predictions: TensorLike, axis: int | None = None, weights: TensorLike = 1.0,
                    scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
                    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS, dim: int | None = None) -> Tensor:
    """1 - the product of unit vectors along `axis`."""
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as name:
        predictions, labels = _alike(predictions, labels)
        losses = 1 - math_ops.reduce_sum(predictions * labels, axis=[axis], keepdims=True)
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def mean_pairwise_squared_error(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0, scope: str | None = None,
                                loss_collection: str | None = GraphKeys.LOSSES) -> Tensor:
    """Mean over the pairs of elements of an example of (difference of labels - difference of predictions) ** 2."""
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions, labels = _alike(predictions, labels)
        weights = math_ops.cast(convert_to_tensor(weights), dtypes.float32)
        off = predictions - labels
        inside = list(range(1, off.shape.ndims))

        def per_example(x):
            return math_ops.reduce_sum(x, inside, keepdims=True)
        present = per_example(apply("OnesLike", [off]) * math_ops.cast(
            apply("NotEqual", [weights, ops.constant(0.0)]), dtypes.float32))
        others = apply("Maximum", [present - 1, ops.constant(0.0)])
        squares = 2 * _safe_divide(per_example(off * off), others)
        mixed = 2 * _safe_divide(apply("Square", [per_example(off)]), present * others)
        loss = math_ops.reduce_sum((squares - mixed) * weights)
        if loss_collection is not None:
            graph.add_to_collection(loss_collection, loss)
        return loss


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection.

    Parameters
    ----------
    loss : Tensor
        A scalar.
    loss_collection : str or None
        The collection; none where it is None.
    """
    if loss_collection:
        graph.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses of a collection.

    Parameters
    ----------
    scope : str, optional
        Begins the names of those that are wanted; a regular expression.
    loss_collection : str
        The collection.

    Returns
    -------
    list of Tensor
        In the order in which they were made.
    """
    return graph.get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """The losses of regularizers of variables.

    Parameters
    ----------
    scope : str, optional
        Begins the names of those that are wanted; a regular expression.

    Returns
    -------
    list of Tensor
        In the order in which they were made.
    """
    return graph.get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the losses of regularizers of variables; 0 where there are none.

    Parameters
    ----------
    scope : str, optional
        Begins the names of those that are wanted; a regular expression.
    name : str
        Name of the operation.

    Returns
    -------
    Tensor
        A scalar.
    """
    found = get_regularization_losses(scope)
    return math_ops.add_n(found, name=name) if found else ops.constant(0.0)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None) -> Tensor:
    """The sum of all losses of the collections.

    Parameters
    ----------
    add_regularization_losses : bool
        Whether the losses of regularizers count.
    name : str
        Name of the operation.
    scope : str, optional
        Begins the names of those that are wanted; a regular expression.

    Returns
    -------
    Tensor
        A scalar.

    Raises
    ------
    ValueError
        If there are no losses.

    Examples
    --------
    >>> first = tw.losses.absolute_difference([1.0], [3.0])
    >>> second = tw.losses.mean_squared_error([1.0], [3.0])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.losses.get_total_loss()))
    6.0
    """
    found = get_losses(scope) + (get_regularization_losses(scope) if add_regularization_losses else [])
    return math_ops.add_n(found, name=name)


names.complete(globals())

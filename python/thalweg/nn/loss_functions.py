# SPDX-License-Identifier: Apache-2.0
"""Losses of logits and of counts; losses of a batch."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, checks, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import IntLike, TensorLike
    from thalweg.graph.tensor import Tensor


def _only_named(_sentinel, labels, logits, function):
    if _sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def softmax_cross_entropy_with_logits_v2(labels: TensorLike, logits: TensorLike, axis: int | None = None, name: str | None = None,
                                         dim: int | None = None) -> Tensor:
    """Cross entropy of softmax(logits) with distributions; gradients go to the labels as well.

    Parameters
    ----------
    labels : tensor_like
        Distributions along `axis`; of the type and shape of `logits`.
    logits : tensor_like
        Of a floating type.
    axis : int, optional
        The dimension of the classes; the last one by default.
    name : str, optional
        Name of the scope.
    dim : int, optional
        Old name of `axis`.

    Returns
    -------
    Tensor
        A loss for each distribution: of the shape of `logits` without `axis`.

    Raises
    ------
    ValueError
        If both `axis` and `dim` are given, or the shapes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     loss = tw.nn.softmax_cross_entropy_with_logits_v2(labels=[[0.5, 0.5]], logits=[[0.0, 0.0]])
    ...     sess.run(loss)
    array([0.6931472], dtype=float32)
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, dtype=logits.dtype.base_dtype, name="labels")
        rank = logits.shape.ndims
        if rank == labels.shape.ndims == 2 and axis in (-1, 1):
            return apply("SoftmaxCrossEntropyWithLogits", [logits, labels], name=scope).loss
        if axis != -1 and axis + 1 != rank:
            logits, labels = _axis_last(logits, axis), _axis_last(labels, axis)
        loss = apply("SoftmaxCrossEntropyWithLogits", [_rows_of_classes(logits), _rows_of_classes(labels)]).loss
        found = array_ops.reshape(loss, array_ops.shape(logits)[:-1], name=scope)
        if rank is not None:
            found.set_shape(logits.shape[:-1])
        return found


def _axis_last(x, axis):
    """x with the axis behind all others."""
    rank = array_ops.rank(x)
    at = (axis + rank) % rank
    order = array_ops.concat([math_ops.range_(at), math_ops.range_(at + 1, rank), array_ops.reshape(at, [1])], 0)
    moved = array_ops.transpose(x, order)
    if x.shape.ndims is not None:
        sizes = x.shape.as_list()
        moved.set_shape([*sizes[:axis % len(sizes)], *sizes[axis % len(sizes) + 1:], sizes[axis % len(sizes)]])
    return moved


def _rows_of_classes(x):
    """x as a matrix whose rows are its last dimension: logits and labels of other ranks agree if these do."""
    classes = x.shape._size(-1) if x.shape.ndims else None
    size = array_ops.shape(x)[-1:] if classes is None else [classes]
    rows = array_ops.reshape(x, array_ops.concat([[-1], size], 0))
    rows.set_shape([x.shape[:-1].num_elements() if x.shape.ndims else None, classes])
    return rows


def softmax_cross_entropy_with_logits(_sentinel: None = None, labels: TensorLike | None = None, logits: TensorLike | None = None,
                                      dim: int = -1, name: str | None = None, axis: int | None = None) -> Tensor:
    """Cross entropy of softmax(logits) with distributions that are constants to gradients.

    Parameters
    ----------
    _sentinel : None
        Keeps arguments without names out.
    labels : tensor_like
        Distributions along the last dimension; of the type and shape of `logits`.
    logits : tensor_like
        Of a floating type.
    dim : int
        Old name of `axis`.
    name : str, optional
        Name of the scope.
    axis : int, optional
        The dimension of the classes; the last one by default.

    Returns
    -------
    Tensor
        A loss for each distribution: of the shape of `logits` without its last dimension.

    Raises
    ------
    ValueError
        If arguments are given without names, or `labels` or `logits` is missing.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     loss = tw.nn.softmax_cross_entropy_with_logits(labels=[[1.0, 0.0]], logits=[[0.0, 0.0]])
    ...     sess.run(loss)
    array([0.6931472], dtype=float32)
    """
    _only_named(_sentinel, labels, logits, "softmax_cross_entropy_with_logits")
    labels = array_ops.stop_gradient(convert_to_tensor(labels, dtype=getattr(logits, "dtype", None)))
    return softmax_cross_entropy_with_logits_v2(labels, logits, axis=deprecated_argument_lookup("axis", axis, "dim", dim), name=name)


def sparse_softmax_cross_entropy_with_logits(_sentinel: None = None, labels: TensorLike | None = None,
                                             logits: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Cross entropy of softmax(logits) with class numbers.

    Parameters
    ----------
    _sentinel : None
        Keeps arguments without names out.
    labels : tensor_like
        Numbers of classes, int32 or int64, of shape [...].
    logits : tensor_like
        Of a floating type and shape [..., classes].
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        A loss for each label, of the type of `logits`.

    Raises
    ------
    ValueError
        If arguments are given without names, one is missing, or the shapes do not fit.
    InvalidArgumentError
        When it runs, if a label is no number of a class.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     loss = tw.nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=[[0.0, 0.0]])
    ...     sess.run(loss)
    array([0.6931472], dtype=float32)
    """
    _only_named(_sentinel, labels, logits, "sparse_softmax_cross_entropy_with_logits")
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]) as scope:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        if logits.shape.ndims == 0:
            raise ValueError(f"Logits cannot be scalars - received shape {logits.shape}.")
        if labels.shape.ndims is not None and logits.shape.ndims is not None and \
                labels.shape.ndims != logits.shape.ndims - 1:
            raise ValueError(f"Rank mismatch: Rank of labels (received {labels.shape.ndims}) should equal rank of logits "
                             f"minus 1 (received {logits.shape.ndims}).")
        if labels.shape.is_fully_defined() and logits.shape[:-1].is_fully_defined() and labels.shape != logits.shape[:-1]:
            raise ValueError(f"Shape mismatch: The shape of labels (received {labels.shape}) should equal the shape of logits except "
                             f"for the last dimension (received {logits.shape}).")
        if logits.shape.ndims == 2:
            return apply("SparseSoftmaxCrossEntropyWithLogits", [logits, labels], name=scope).loss
        if not (labels.shape.is_fully_defined() and logits.shape[:-1].is_fully_defined()):
            alike = checks.assert_equal(array_ops.shape(labels), array_ops.shape(logits)[:-1])
            labels = checks.with_dependencies([alike], labels)
        classes = array_ops.shape(logits)[-1]
        loss = apply("SparseSoftmaxCrossEntropyWithLogits",
                     [array_ops.reshape(logits, array_ops.stack([-1, classes])), array_ops.reshape(labels, [-1])]).loss
        return array_ops.reshape(loss, array_ops.shape(labels), name=scope)


def _must_be_alike(**two):
    """They are of one shape: others would be broadcast, which no loss means."""
    (first, a), (second, b) = two.items()
    if not a.shape.is_compatible_with(b.shape):
        raise ValueError(f"{first} and {second} must have the same shape ({a.shape} vs {b.shape})")


def sigmoid_cross_entropy_with_logits(_sentinel: None = None, labels: TensorLike | None = None, logits: TensorLike | None = None,
                                      name: str | None = None) -> Tensor:
    """Cross entropy of sigmoid(logits) with probabilities, each class by itself.

    Parameters
    ----------
    _sentinel : None
        Keeps arguments without names out.
    labels : tensor_like
        Probabilities; of the type and shape of `logits`.
    logits : tensor_like
        Of a floating type.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        A loss for each element, of the type and shape of `logits`.

    Raises
    ------
    ValueError
        If arguments are given without names, one is missing, or the shapes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[0.0, 0.0]))
    array([0.6931472, 0.6931472], dtype=float32)
    """
    _only_named(_sentinel, labels, logits, "sigmoid_cross_entropy_with_logits")
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, dtype=logits.dtype.base_dtype, name="labels")
        _must_be_alike(logits=logits, labels=labels)
        zeros = apply("ZerosLike", [logits])
        positive = apply("GreaterEqual", [logits, zeros])
        capped = apply("Select", [positive, logits, zeros])
        negative = apply("Select", [positive, apply("Neg", [logits]), logits])
        return apply("Add", [capped - logits * labels, apply("Log1p", [apply("Exp", [negative])])], name=scope)


def weighted_cross_entropy_with_logits(labels: TensorLike | None = None, logits: TensorLike | None = None,
                                       pos_weight: TensorLike | None = None, name: str | None = None,
                                       targets: TensorLike | None = None) -> Tensor:
    """sigmoid_cross_entropy_with_logits with a weight for positive labels.

    Parameters
    ----------
    labels : tensor_like
        Probabilities; of the type and shape of `logits`.
    logits : tensor_like
        Of a floating type.
    pos_weight : tensor_like
        What the losses of positive labels are multiplied by.
    name : str, optional
        Name of the scope.
    targets : tensor_like, optional
        Old name of `labels`.

    Returns
    -------
    Tensor
        A loss for each element, of the type and shape of `logits`.

    Raises
    ------
    ValueError
        The shapes of `logits` and `targets` differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.weighted_cross_entropy_with_logits(tw.constant([1.0, 0.0]), tw.constant([0.0, 0.0]), 2.0))
    array([1.3862944, 0.6931472], dtype=float32)
    """
    labels = targets if labels is None else labels
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = convert_to_tensor(logits), convert_to_tensor(labels)
        _must_be_alike(logits=logits, labels=labels)
        weight = 1 + (pos_weight - 1) * labels
        tail = apply("Log1p", [apply("Exp", [-apply("Abs", [logits])])]) + apply("Relu", [-logits])
        return apply("Add", [(1 - labels) * logits, weight * tail], name=scope)


def log_poisson_loss(targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False,
                     name: str | None = None) -> Tensor:
    """The loss of counts under a Poisson distribution whose log mean is log_input."""
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input, targets = convert_to_tensor(log_input), convert_to_tensor(targets)
        _must_be_alike(log_input=log_input, targets=targets)
        loss = apply("Exp", [log_input]) - log_input * targets
        if compute_full_loss:
            stirling = targets * apply("Log", [targets]) - targets + 0.5 * apply("Log", [2 * math.pi * targets])
            small = apply("LogicalAnd", [targets >= 0, targets <= 1])
            loss += apply("Select", [small, array_ops.zeros_like(targets), stirling])
        return loss


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """sum(t ** 2) / 2: half the square of the Euclidean norm, without the root.

    Parameters
    ----------
    t : tensor_like
        Of a floating type and any shape.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        A scalar of the type of `t`.

    Raises
    ------
    TypeError
        Where `t` is of no floating type.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.nn.l2_loss([1.0, 3.0])))
    5.0
    """
    return apply("L2Loss", [t], name=name)


def compute_average_loss(per_example_loss: TensorLike, sample_weight: TensorLike | None = None,
                         global_batch_size: IntLike | None = None) -> Tensor:
    """The sum of the losses of examples over the size of the whole batch."""
    loss = convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        loss = loss * math_ops.cast(sample_weight, loss.dtype.base_dtype)
    count = array_ops.shape(loss)[0] if global_batch_size is None else global_batch_size
    return math_ops.reduce_sum(loss) / math_ops.cast(count, loss.dtype.base_dtype)


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """The sum of the losses; there is one replica."""
    return math_ops.reduce_sum(regularization_loss)

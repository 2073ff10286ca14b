# SPDX-License-Identifier: Apache-2.0
"""Means and variances, what is normalized by them, and the largest of many."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import Axis, IntLike, TensorLike
    from thalweg.graph.tensor import Tensor


def moments(x: TensorLike, axes: Axis, shift: TensorLike | None = None, name: str | None = None, keep_dims: bool | None = None,
            keepdims: bool | None = None) -> tuple[Tensor, Tensor]:
    """Mean and variance over `axes`.

    Parameters
    ----------
    x : tensor_like
        Of a floating type.
    axes : int or sequence of int
        The dimensions that go.
    shift : tensor_like, optional
        Of no effect here.
    name : str, optional
        Name of the scope.
    keep_dims : bool, optional
        Old name of `keepdims`.
    keepdims : bool, optional
        Whether these dimensions stay, with size 1.

    Returns
    -------
    mean, variance : Tensor
        Of the type of `x`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.moments(tw.constant([[1.0, 2.0], [3.0, 6.0]]), axes=[0]))
    (array([2., 4.], dtype=float32), array([1., 4.], dtype=float32))
    """
    keep = bool(deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "moments", [x]):
        x = convert_to_tensor(x)
        mean = math_ops.reduce_mean(x, axes, keepdims=True, name="mean")
        difference = apply("SquaredDifference", [x, array_ops.stop_gradient(mean)])
        variance = math_ops.reduce_mean(difference, axes, keepdims=True, name="variance")
        if keep:
            return mean, variance
        axes = [axes] if isinstance(axes, int) else list(axes)
        return array_ops.squeeze(mean, axes), array_ops.squeeze(variance, axes)


def batch_normalization(x: TensorLike, mean: TensorLike, variance: TensorLike, offset: TensorLike, scale: TensorLike,
                        variance_epsilon: float, name: str | None = None) -> Tensor:
    """(x - mean) / sqrt(variance + variance_epsilon) * scale + offset.

    Parameters
    ----------
    x : tensor_like
        Of a floating type.
    mean, variance : tensor_like
        Of shapes that are broadcast to that of `x`.
    offset, scale : tensor_like or None
        The same; left out where None.
    variance_epsilon : float
        Keeps the divisor from zero.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        Of the type and shape of `x`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.batch_normalization(tw.constant([1.0, 3.0]), 2.0, 1.0, None, None, 0.0))
    array([-1.,  1.], dtype=float32)
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        inverse = apply("Rsqrt", [variance + variance_epsilon])
        inverse = inverse if scale is None else inverse * scale
        shift = -mean * inverse if offset is None else offset - mean * inverse
        return x * inverse + shift


def l2_normalize(x: TensorLike, axis: Axis | None = None, epsilon: float = 1e-12, name: str | None = None,
                 dim: Axis | None = None) -> Tensor:
    """The elements over their norm along `axis`: x / sqrt(max(sum(x ** 2), epsilon)).

    Parameters
    ----------
    x : tensor_like
        Of a floating type.
    axis : int or sequence of int
        The dimensions that get norm 1.
    epsilon : float
        Keeps the divisor from zero.
    name : str, optional
        Name of the scope.
    dim : int or sequence of int, optional
        Old name of `axis`.

    Returns
    -------
    Tensor
        Of the type and shape of `x`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.l2_normalize([[3.0, 4.0]], axis=1))
    array([[0.6, 0.8]], dtype=float32)
    """
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x)
        squares = math_ops.reduce_sum(x * x, deprecated_argument_lookup("axis", axis, "dim", dim), keepdims=True)
        return apply("Mul", [x, apply("Rsqrt", [apply("Maximum", [squares, ops.constant(epsilon, x.dtype.base_dtype)])])],
                     name=scope)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: IntLike, name: str | None = None) -> Tensor:
    """Whether the target is among the k best."""
    return apply("InTopKV2", [predictions, targets, k], name=name or "in_top_k")


def top_k(input: TensorLike, k: IntLike = 1, sorted: bool = True, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The k largest along the last dimension.

    Parameters
    ----------
    input : tensor_like
        Of a real type and rank 1 or more.
    k : int or Tensor
        How many.
    sorted : bool
        Whether the largest comes first.
    name : str, optional
        Name of the operation.

    Returns
    -------
    values : Tensor
        Of the type of `input`, shape [..., k].
    indices : Tensor
        Their places along the last dimension, int32.

    Raises
    ------
    ValueError
        If there are less than `k`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     values, indices = sess.run(tw.nn.top_k([1.0, 9.0, 4.0], k=2))
    >>> values, indices
    (array([9., 4.], dtype=float32), array([1, 2], dtype=int32))
    """
    return apply("TopKV2", [input, k], {"sorted": sorted}, name=name or "TopKV2")


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The share of zeros among the elements.

    Parameters
    ----------
    value : tensor_like
        Of a numeric type and any shape.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        A float32 scalar between 0 and 1; NaN where there are no elements.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.nn.zero_fraction([0.0, 3.0, 0.0, 0.0])))
    0.75
    """
    value = convert_to_tensor(value)
    return math_ops.reduce_mean(math_ops.cast(apply("Equal", [value, array_ops.zeros([], value.dtype.base_dtype)]),
                                              dtypes.float32), name=name)


def sufficient_statistics(x: TensorLike, axes: Sequence[int], shift: TensorLike | None = None, keep_dims: bool | None = None,
                          name: str | None = None,
                          keepdims: bool | None = None) -> tuple[Tensor, Tensor, Tensor, TensorLike | None]:
    """(count, sum, sum of squares, shift) over axes."""
    axes, keep = list(dict.fromkeys(axes)), bool(deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        sizes = [x.shape._size(a) for a in axes] if x.shape.ndims is not None else [None]
        if None in sizes:
            counts = math_ops.reduce_prod(array_ops.gather(array_ops.shape(x), axes))
            counts = math_ops.cast(counts, x.dtype.base_dtype, name="count")
        else:
            total = 1
            for s in sizes:
                total *= s
            counts = ops.constant(total, x.dtype.base_dtype, name="count")
        moved = x if shift is None else x - convert_to_tensor(shift)
        squares = apply("Square", [x]) if shift is None else apply("SquaredDifference", [x, convert_to_tensor(shift)])
        return (counts, math_ops.reduce_sum(moved, axes, keepdims=keep, name="mean_ss"),
                math_ops.reduce_sum(squares, axes, keepdims=keep, name="var_ss"), shift)


def normalize_moments(counts: TensorLike, mean_ss: TensorLike, variance_ss: TensorLike, shift: TensorLike,
                      name: str | None = None) -> tuple[Tensor, Tensor]:
    """(mean, variance) of sufficient statistics."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        mean_ss = convert_to_tensor(mean_ss)
        divisor = apply("Reciprocal", [convert_to_tensor(counts, dtype=mean_ss.dtype.base_dtype)], name="divisor")
        shifted = mean_ss * divisor
        mean = shifted if shift is None else shifted + shift
        return mean, convert_to_tensor(variance_ss) * divisor - apply("Square", [shifted])


def weighted_moments(x: TensorLike, axes: Axis, frequency_weights: TensorLike, name: str | None = None,
                     keep_dims: bool | None = None, keepdims: bool | None = None) -> tuple[Tensor, Tensor]:
    """(mean, variance) where elements count as often as their weights say."""
    keep = bool(deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "weighted_moments", [x, frequency_weights]):
        x = convert_to_tensor(x, name="x")
        weights = math_ops.cast(convert_to_tensor(frequency_weights), x.dtype.base_dtype)
        weighted = weights * x
        weights = weights + array_ops.zeros_like(x)
        total = math_ops.reduce_sum(weights, axes, keepdims=True)
        mean = math_ops.reduce_sum(weighted, axes, keepdims=True) / total
        variance = math_ops.reduce_sum(weights * apply("SquaredDifference", [x, mean]), axes, keepdims=True) / total
        if keep:
            return mean, variance
        axes = [axes] if isinstance(axes, int) else list(axes)
        return array_ops.squeeze(mean, axes), array_ops.squeeze(variance, axes)


def batch_norm_with_global_normalization(t: TensorLike | None = None, m: TensorLike | None = None, v: TensorLike | None = None,
                                         beta: TensorLike | None = None, gamma: TensorLike | None = None,
                                         variance_epsilon: float | None = None, scale_after_normalization: bool | None = None,
                                         name: str | None = None, input: TensorLike | None = None, mean: TensorLike | None = None,
                                         variance: TensorLike | None = None) -> Tensor:
    """batch_normalization, of which gamma counts only where it is asked for."""
    x, m, v = (new if old is None else old for old, new in ((t, input), (m, mean), (v, variance)))
    return batch_normalization(x, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)

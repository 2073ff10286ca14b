# SPDX-License-Identifier: Apache-2.0
"""Polyharmonic splines: smooth functions through values at scattered points (Duchon, 1977)."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor

_LEAST = 1e-10  # of squared distances whose root or logarithm is taken


def _squared_distances(a, b):
    """[batch, n, m] of points [batch, n, d] and [batch, m, d]."""
    def squares(x):
        return math_ops.reduce_sum(x * x, axis=-1)
    return squares(a)[:, :, None] - 2 * math_ops.matmul(a, b, transpose_b=True) + squares(b)[:, None, :]


def _kernel(squared, order):
    """r^order of squared distances, times log r where the order is even; all times 1/2 for the squares' logarithm."""
    bounded = apply("Maximum", [squared, _LEAST])
    if order == 1:
        return apply("Sqrt", [bounded])
    if order % 2 == 1:
        return apply("Pow", [bounded, 0.5 * order])
    if order == 2:
        return 0.5 * squared * apply("Log", [bounded])
    if order == 4:
        return 0.5 * apply("Square", [squared]) * apply("Log", [bounded])
    return 0.5 * apply("Pow", [bounded, 0.5 * order]) * apply("Log", [bounded])


def _with_ones(points):
    return array_ops.concat([points, array_ops.ones_like(points[..., :1])], 2)


def _solve(points, values, order, regularization_weight):
    """Weights of the kernels at the points, and of a linear function, such that the sum has the values there."""
    size = points.shape[2].value
    if size is None:
        raise ValueError("The dimensionality of the input points (d) must be statically-inferrable.")
    kernels = _kernel(_squared_distances(points, points), order)
    count = array_ops.shape(points)[1]
    if regularization_weight > 0:
        kernels += regularization_weight * apply("Diag", [array_ops.ones([count], dtype=kernels.dtype)])
    linear = _with_ones(points)
    batch = array_ops.shape(points)[0]
    nothing = array_ops.zeros(array_ops.stack([batch, size + 1, size + 1]), dtype=points.dtype)
    left = array_ops.concat([array_ops.concat([kernels, linear], 2),
                             array_ops.concat([array_ops.transpose(linear, [0, 2, 1]), nothing], 2)], 1)
    none = array_ops.zeros(array_ops.stack([batch, size + 1, array_ops.shape(values)[2]]), dtype=values.dtype)
    weights = apply("MatrixSolve", [left, array_ops.concat([values, none], 1)])
    return weights[:, :count], weights[:, count:]


def interpolate_spline(train_points: TensorLike, train_values: TensorLike, query_points: TensorLike, order: int,
                       regularization_weight: float = 0.0, name: str = "interpolate_spline") -> Tensor:
    """A smooth function that has given values at given points, at other points.

    Parameters
    ----------
    train_points : tensor_like
        Floats [batch, n, d]: where values are given; d must be known.
    train_values : tensor_like
        [batch, n, k]: the values there.
    query_points : tensor_like
        [batch, m, d]: where values are wanted.
    order : int
        Of the spline: 1 is linear, 2 the thin plate, 3 cubic.
    regularization_weight : float
        Above 0 the function comes near the values only, and bends less.
    name : str
        Of the operations.

    Returns
    -------
    Tensor
        [batch, m, k]; it has a gradient with respect to all three.

    Raises
    ------
    ValueError
        If d is not known, or shapes do not fit.

    Examples
    --------
    >>> points = tw.constant([[[0.], [1.], [2.]]])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.contrib.image.interpolate_spline(points, 2 * points + 1, [[[0.5]]], order=1)).round(4).tolist())
    [[[2.0]]]
    """
    with name_scope(name):
        points, values, wanted = (convert_to_tensor(x) for x in (train_points, train_values, query_points))
        for what, tensor in (("train_points", points), ("train_values", values), ("query_points", wanted)):
            if tensor.shape.ndims is not None and tensor.shape.ndims != 3:
                raise ValueError(f"{what} must have the shape [batch, points, numbers], got {tensor.shape}")
        if points.shape.ndims is None:
            raise ValueError("The dimensionality of the input points (d) must be statically-inferrable.")
        weights, linear = _solve(points, values, order, regularization_weight)
        kernels = _kernel(_squared_distances(wanted, points), order)
        return math_ops.matmul(kernels, weights) + math_ops.matmul(_with_ones(wanted), linear)

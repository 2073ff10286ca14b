# SPDX-License-Identifier: Apache-2.0
"""Means, deviations and norms over several operations; polynomials."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import Axis, DTypeLike, DynamicShape, IntLike, TensorLike


def reduce_variance(input_tensor: TensorLike, axis: Axis | None = None, keepdims: bool = False,
                    name: str | None = None) -> Tensor:
    """Computes the mean of the squared distances from the mean, over dimensions.

    Parameters
    ----------
    input_tensor : tensor of a floating type
    axis : int or list of int, optional
        The dimensions; all unless given.
    keepdims : bool
        Whether they stay, with size 1.
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.math.reduce_variance([1.0, 3.0])))
    1.0
    """
    with name_scope(name or "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        if not isinstance(x, Tensor):  # rows differ from a mean of all of them in shape
            squares = math_ops.reduce_mean(apply("Square", [x]), axis, keepdims=keepdims)
            variances = apply("Sub", [squares, apply("Square", [math_ops.reduce_mean(x, axis, keepdims=keepdims)])])
            return apply("Maximum", [variances, 0])  # of rows of one value it may come out below
        distances = apply("Sub", [x, math_ops.reduce_mean(x, axis, keepdims=True)])
        return math_ops.reduce_mean(apply("Square", [distances]), axis, keepdims=keepdims)


def reduce_std(input_tensor: TensorLike, axis: Axis | None = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Computes the standard deviation, the square root of the variance, over dimensions.

    Parameters
    ----------
    input_tensor : tensor of a floating type
    axis : int or list of int, optional
        The dimensions; all unless given.
    keepdims : bool
        Whether they stay, with size 1.
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.math.reduce_std([1.0, 3.0])))
    1.0
    """
    with name_scope(name or "reduce_std"):
        return apply("Sqrt", [reduce_variance(input_tensor, axis, keepdims)])


def reduce_euclidean_norm(input_tensor: TensorLike, axis: Axis | None = None, keepdims: bool = False,
                          name: str | None = None) -> Tensor:
    """The square root of the sum of squares."""
    x = convert_to_tensor(input_tensor)
    axis = array_ops.reshape(apply("Range", [0, array_ops.rank(x), 1]), [-1]) if axis is None else axis
    return apply("EuclideanNorm", [x, axis], {"keep_dims": keepdims}, name)


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return apply("DivNoNan", [constant(1, x.dtype.base_dtype, name="one"), x], name=scope)


def polyval(coeffs: Sequence[TensorLike], x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the value of a polynomial.

    Parameters
    ----------
    coeffs : list of tensor_like
        The coefficients, that of the highest power first.
    x : tensor_like
    name : str, optional

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        `coeffs` is no list.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.math.polyval([1.0, 0.0, 2.0], 3.0)))
    11.0
    """
    with name_scope(name, "polyval", [*coeffs, x] if isinstance(coeffs, (list, tuple)) else [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if len(coeffs) < 1:
            return array_ops.zeros_like(x, name=scope)
        coeffs = [convert_to_tensor(c, dtype=x.dtype.base_dtype, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        p = coeffs[0]
        for c in coeffs[1:]:
            p = c + p * x
        return p


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the beta function, reduced along the last dimension."""
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        products = math_ops.reduce_sum(apply("Lgamma", [x]), [-1])
        return apply("Sub", [products, apply("Lgamma", [math_ops.reduce_sum(x, [-1])])])


# ---- segments ----
def _counts(segment_ids, num_segments, like):
    """How many rows each segment has, 1 at least, in a shape that divides sums of `like`."""
    ids = convert_to_tensor(segment_ids)
    if not isinstance(like, Tensor):
        return math_ops.unsorted_segment_sum(array_ops.ones_like(like), ids, num_segments)
    ones = array_ops.ones_like(ids, dtype=like.dtype.base_dtype)
    counts = math_ops.unsorted_segment_sum(ones, ids, num_segments)
    more = array_ops.rank(like) - array_ops.rank(ids)
    shape = array_ops.concat([array_ops.shape(counts), array_ops.fill(array_ops.reshape(more, [1]), 1)], 0)
    return apply("Maximum", [array_ops.reshape(counts, shape), constant(1, like.dtype.base_dtype)])


def unsorted_segment_mean(data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None) -> Tensor:
    """Computes the mean of the rows with the same segment id.

    Parameters
    ----------
    data : numeric tensor
    segment_ids : integer tensor
        Its shape begins that of `data`.
    num_segments : int, or scalar integer tensor
    name : str, optional

    Returns
    -------
    Tensor
        [num_segments, ...]; 0 for a segment without rows.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.unsorted_segment_mean([1.0, 3.0, 5.0], [0, 0, 1], 2)))
    [2. 5.]
    """
    with name_scope(name, "UnsortedSegmentMean"):
        data = convert_to_tensor(data)
        return math_ops.unsorted_segment_sum(data, segment_ids, num_segments) / _counts(segment_ids, num_segments, data)


def unsorted_segment_sqrt_n(data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment over the square root of how many there are."""
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data = convert_to_tensor(data)
        return math_ops.unsorted_segment_sum(data, segment_ids, num_segments) / apply(
            "Sqrt", [_counts(segment_ids, num_segments, data)])


# ---- random values that depend on their seed alone ----
def _stateless(op, default, shape, seed, dtype, name, scale):
    with name_scope(name, default, [shape, seed]):
        values = apply(op, [array_ops._shape_argument(shape), seed], {"dtype": dtype})
        return scale(values)


def stateless_random_uniform(shape: DynamicShape, seed: TensorLike, minval: TensorLike = 0, maxval: TensorLike | None = None,
                             dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Uniform values between minval and maxval: the same for the same two seeds."""
    dtype = dtypes.as_dtype(dtype)
    if dtype not in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
        raise ValueError(f"Invalid dtype {dtype}")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype}")
        maxval = 1
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]):
        low, high = (convert_to_tensor(v, dtype=dtype, name=n) for v, n in ((minval, "min"), (maxval, "max")))
        if dtype.is_integer:
            return apply("StatelessRandomUniformInt", [array_ops._shape_argument(shape), seed, low, high])
        values = apply("StatelessRandomUniform", [array_ops._shape_argument(shape), seed], {"dtype": dtype})
        return values * (high - low) + low


def stateless_random_normal(shape: DynamicShape, seed: TensorLike, mean: TensorLike = 0.0, stddev: TensorLike = 1.0,
                            dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Normal values: the same for the same two seeds."""
    return _stateless("StatelessRandomNormal", "stateless_random_normal", shape, seed, dtype, name,
                      lambda values: values * convert_to_tensor(stddev, dtype=dtype) + convert_to_tensor(mean, dtype=dtype))


def stateless_truncated_normal(shape: DynamicShape, seed: TensorLike, mean: TensorLike = 0.0, stddev: TensorLike = 1.0,
                               dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Normal values within two standard deviations: the same for the same two seeds."""
    return _stateless("StatelessTruncatedNormal", "stateless_truncated_normal", shape, seed, dtype, name,
                      lambda values: values * convert_to_tensor(stddev, dtype=dtype) + convert_to_tensor(mean, dtype=dtype))


def stateless_categorical(logits: TensorLike, num_samples: IntLike, seed: TensorLike, dtype: DTypeLike = dtypes.int64,
                          name: str | None = None) -> Tensor:
    """Class numbers drawn for each row: the same for the same two seeds."""
    with name_scope(name, "stateless_categorical", [logits, seed]):
        return apply("StatelessMultinomial", [logits, num_samples, seed], {"output_dtype": dtype})

# SPDX-License-Identifier: Apache-2.0
"""How often values are there."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, IntLike, TensorLike
    from thalweg.graph.tensor import Tensor


def bincount(arr: TensorLike, weights: TensorLike | None = None, minlength: TensorLike | None = None,
             maxlength: TensorLike | None = None, dtype: DTypeLike = dtypes.int32) -> Tensor:
    """Counts how often each number from 0 on occurs, or sums the weights of each.

    Parameters
    ----------
    arr : int32 tensor
        Of numbers that are not negative.
    weights : tensor of the shape of `arr`, optional
    minlength, maxlength : scalar tensor_like, optional
        The least and the greatest length of the result; larger numbers than fit are left out.
    dtype : DType
        Of the counts; with weights their type counts.

    Returns
    -------
    Tensor
        A vector.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.bincount([1, 1, 3])))
    [0 2 0 1]
    """
    with name_scope(None, "bincount"):
        arr = convert_to_tensor(arr, dtype=dtypes.int32, name="arr")
        present = apply("Greater", [math_ops.reduce_prod(array_ops.shape(arr)), 0])
        size = math_ops.cast(present, dtypes.int32) * (math_ops.reduce_max(arr) + 1)
        if minlength is not None:
            size = apply("Maximum", [convert_to_tensor(minlength, dtype=dtypes.int32, name="minlength"), size])
        if maxlength is not None:
            size = apply("Minimum", [convert_to_tensor(maxlength, dtype=dtypes.int32, name="maxlength"), size])
        weights = constant([], dtype) if weights is None else convert_to_tensor(weights, name="weights")
        return apply("Bincount", [arr, size, weights])


def histogram_fixed_width_bins(values: TensorLike, value_range: TensorLike, nbins: IntLike = 100, dtype: DTypeLike = dtypes.int32,
                               name: str | None = None) -> Tensor:
    """Gives the number of the bin of each value; values outside the range belong to the first and the last bin.

    Parameters
    ----------
    values : numeric tensor
    value_range : vector of two numbers of its type
    nbins : int, or scalar int32 tensor
    dtype : DType
        Of the numbers of bins.
    name : str, optional

    Returns
    -------
    Tensor
        Of the shape of `values`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.histogram_fixed_width_bins([-1.0, 0.0, 2.5, 9.0], [0.0, 5.0], nbins=5)))
    [0 0 2 4]
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        low_high = convert_to_tensor(value_range, name="value_range")
        bins = convert_to_tensor(nbins, dtype=dtypes.int32, name="nbins")
        share = apply("TruncateDiv" if values.dtype.is_integer else "RealDiv", [values - low_high[0], low_high[1] - low_high[0]])
        places = apply("Floor", [math_ops.cast(bins, share.dtype) * share]) if not share.dtype.is_integer else \
            math_ops.cast(bins, share.dtype) * share
        last = math_ops.cast(bins - 1, dtypes.int32)
        return math_ops.cast(apply("Minimum", [apply("Maximum", [math_ops.cast(places, dtypes.int32), 0]), last]), dtype)

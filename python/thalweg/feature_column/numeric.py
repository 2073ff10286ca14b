# SPDX-License-Identifier: Apache-2.0
"""Columns of numbers: as they are, and by the range that they fall into."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.feature_column.column import CategoricalColumn, DenseColumn, IdWeightPair, _CategoricalColumn, _DenseColumn, checked_key
from thalweg.graph.ops import apply
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops, math_ops, parsing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import ArrayLike, DTypeLike
    from thalweg.graph.tensor import Tensor


class NumericColumn(DenseColumn, _DenseColumn,
                    collections.namedtuple("NumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn"))):
    """numeric_column() gives it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, parsing.FixedLenFeature]:
        """{key: how tf.parse_example reads it}."""
        return {self.key: parsing.FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def parents(self) -> list[Any]:
        """Its key."""
        return [self.key]

    @property
    def variable_shape(self) -> TensorShape:
        """Shape of the values of one row."""
        return TensorShape(self.shape)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """The feature, normalized, as float32."""
        value = transformation_cache.get(self.key, state_manager)
        if isinstance(value, SparseTensor):
            raise ValueError("The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. "
                             f"key: {self.key}")
        if self.normalizer_fn is not None:
            value = self.normalizer_fn(value)
        return math_ops.cast(value, dtypes.float32)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Of shape [batch] + variable_shape."""
        return transformation_cache.get(self, state_manager)


class BucketizedColumn(DenseColumn, CategoricalColumn, _DenseColumn, _CategoricalColumn,
                       collections.namedtuple("BucketizedColumn", ("source_column", "boundaries"))):
    """bucketized_column() gives it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The source's name with "_bucketized"."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """{key: how tf.parse_example reads it}."""
        return self.source_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The source."""
        return [self.source_column]

    @property
    def variable_shape(self) -> TensorShape:
        """Shape of the values of one row: a number for each range."""
        return TensorShape((*self.source_column.shape, len(self.boundaries) + 1))

    @property
    def num_buckets(self) -> int:
        """How many ranges there are, of all numbers of the source."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """The number of the range of each value."""
        return apply("Bucketize", [transformation_cache.get(self.source_column, state_manager)], {"boundaries": self.boundaries})

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """One-hot, of shape [batch] + variable_shape."""
        return array_ops.one_hot(math_ops.cast(transformation_cache.get(self, state_manager), dtypes.int64),
                                 len(self.boundaries) + 1, 1.0, 0.0)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        """Numbers of ranges; each number of the source has ranges of its own."""
        places = transformation_cache.get(self, state_manager)
        batch, size = array_ops.shape(places)[0], self.source_column.shape[0]
        rows = array_ops.reshape(array_ops.tile(array_ops.expand_dims(math_ops.range_(0, batch), 1), [1, size]), [-1])
        columns = array_ops.tile(math_ops.range_(0, size), [batch])
        ids = array_ops.reshape(places, [-1]) + (len(self.boundaries) + 1) * columns
        indices = math_ops.cast(array_ops.transpose(array_ops.stack([rows, columns])), dtypes.int64)
        shape = math_ops.cast(array_ops.stack([batch, size]), dtypes.int64)
        return IdWeightPair(SparseTensor(indices, math_ops.cast(ids, dtypes.int64), shape), None)


def checked_shape(shape: int | Sequence[int], key: str) -> tuple[int, ...]:
    """Sizes as a tuple."""
    sizes = tuple(shape) if isinstance(shape, (list, tuple, TensorShape)) else (shape,)
    sizes = tuple(getattr(s, "value", s) for s in sizes)
    for size in sizes:
        if not isinstance(size, (int, np.integer)):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return sizes


def checked_default(shape: tuple[int, ...], default: Any, dtype: dtypes.DType, key: str) -> Any:
    """The default value as nested tuples of the shape."""
    if default is None:
        return None
    values = np.asarray(default)
    right = values.dtype.kind in ("iub" if dtype.is_integer else "fiub")
    if right and values.ndim == 0:
        return _nested(np.full(shape, default), dtype)
    if right and values.shape == shape:
        return _nested(values, dtype)
    if right:
        raise ValueError(f"The shape of default_value must be equal to given shape. default_value: {default}, shape: {shape}, key: "
                         f"{key}")
    raise TypeError(f"default_value must be compatible with dtype. default_value: {default}, dtype: {dtype}, key: {key}")


def _nested(values, dtype):
    if values.ndim:
        return tuple(_nested(v, dtype) for v in values)
    return int(values) if dtype.is_integer else float(values)


def numeric_column(key: str, shape: int | Sequence[int] = (1,), default_value: ArrayLike | None = None,
                   dtype: DTypeLike = dtypes.float32, normalizer_fn: Callable[[Any], Any] | None = None) -> NumericColumn:
    """A column of numbers.

    Parameters
    ----------
    key : str
        Of the feature; also the column's name.
    shape : int or sequence of int
        Of the feature in one row.
    default_value : number or array, optional
        For rows without it, when the column's specification parses examples.
    dtype : DType
        Of the feature in examples; the column's values are float32.
    normalizer_fn : callable, optional
        What to do with the tensor first.

    Returns
    -------
    NumericColumn
        For input_layer, linear_model and the models of tw.estimator.

    Raises
    ------
    ValueError
        If sizes are not positive, or the type is not one of numbers.
    TypeError
        If sizes are no integers, or the default or the normalizer is of a wrong kind.

    Examples
    --------
    >>> fc = tw.feature_column
    >>> layer = fc.input_layer({"age": tw.constant([[20.0], [44.0]])}, [fc.numeric_column("age", normalizer_fn=lambda x: x / 4.0)])
    >>> with tw.Session() as sess:
    ...     sess.run(layer)
    array([[ 5.],
           [11.]], dtype=float32)
    """
    sizes, dtype = checked_shape(shape, checked_key(key)), dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    default = checked_default(sizes, default_value, dtype, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return NumericColumn(key, sizes, default, dtype, normalizer_fn)


def bucketized_column(source_column: NumericColumn, boundaries: Sequence[float]) -> BucketizedColumn:
    """A column of the ranges that numbers fall into: below boundaries[0], from there to below boundaries[1], and so on."""
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if boundaries is None or isinstance(boundaries, (list, tuple)) and not boundaries:
        raise ValueError("boundaries must not be empty.")
    if not isinstance(boundaries, (list, tuple)) or any(a >= b for a, b in zip(boundaries, boundaries[1:])):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))

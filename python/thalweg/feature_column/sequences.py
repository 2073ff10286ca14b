# SPDX-License-Identifier: Apache-2.0
"""Columns of sequences, and the layer of them."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.feature_column import categorical
from thalweg.feature_column.column import (
    CategoricalColumn,
    IdWeightPair,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
    _CategoricalColumn,
    _SequenceDenseColumn,
)
from thalweg.feature_column.numeric import checked_shape
from thalweg.graph.ops import apply
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops, math_ops, parsing
from thalweg.operations.sparse_ops import sparse_reshape, sparse_tensor_to_dense

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, PathLike
    from thalweg.graph.tensor import Tensor


def sequence_lengths(ids: SparseTensor, num_elements: int = 1) -> Tensor:
    """The length of each sequence of a SparseTensor, whose steps have `num_elements` values each."""
    rows, columns = ids.indices[:, 0], ids.indices[:, 1]
    found = apply("UnsortedSegmentMax", [columns, rows, ids.dense_shape[0]])
    steps = apply("Maximum", [found + 1, math_ops.cast(0, dtypes.int64)])  # of a row without any it is the lowest integer
    return apply("FloorDiv", [steps + (num_elements - 1), math_ops.cast(num_elements, dtypes.int64)])


class SequenceCategoricalColumn(CategoricalColumn, _CategoricalColumn,
                                collections.namedtuple("SequenceCategoricalColumn", ("categorical_column",))):
    """sequence_categorical_column_with_...() gives it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its key."""
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """{key: how tf.parse_example reads it}."""
        return self.categorical_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The column of the categories."""
        return [self.categorical_column]

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.categorical_column.num_buckets

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Numbers of categories."""
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        """Numbers of categories by step, of shape [batch, steps, values of a step]."""
        pair = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return IdWeightPair(*(tensor if tensor is None else _by_step(tensor) for tensor in pair))


def _by_step(tensor):
    shape = tensor.dense_shape
    return sparse_reshape(tensor, array_ops.concat([shape[:2], math_ops.reduce_prod(shape[2:], keepdims=True)], 0))


class SequenceNumericColumn(SequenceDenseColumn, _SequenceDenseColumn, collections.namedtuple("SequenceNumericColumn", (
        "key", "shape", "default_value", "dtype", "normalizer_fn"))):
    """sequence_numeric_column() gives it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, parsing.VarLenFeature]:
        """{key: how tf.parse_example reads it}."""
        return {self.key: parsing.VarLenFeature(self.dtype)}

    @property
    def parents(self) -> list[Any]:
        """Its key."""
        return [self.key]

    @property
    def variable_shape(self) -> TensorShape:
        """Shape of the values of one step."""
        return TensorShape(self.shape)

    @property
    def _variable_shape(self):
        return self.variable_shape

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> SparseTensor:
        """The feature, normalized."""
        value = transformation_cache.get(self.key, state_manager)
        return self.normalizer_fn(value) if self.normalizer_fn is not None else value

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> TensorSequenceLengthPair:
        """Values of shape [batch, steps] + shape, and lengths."""
        given, size = transformation_cache.get(self, state_manager), self.variable_shape.num_elements()
        dense = sparse_tensor_to_dense(given, default_value=self.default_value)
        values = array_ops.reshape(dense, [array_ops.shape(dense)[0], -1, *self.shape])
        return TensorSequenceLengthPair(values, sequence_lengths(given, size if given.shape.ndims == 2 else 1))


def sequence_numeric_column(key: str, shape: int | Sequence[int] = (1,), default_value: float = 0.0,
                            dtype: DTypeLike = dtypes.float32,
                            normalizer_fn: Callable[[Any], Any] | None = None) -> SequenceNumericColumn:
    """A column of sequences of numbers; `shape` is that of one step."""
    sizes, dtype = checked_shape(shape, key), dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, sizes, default_value, dtype, normalizer_fn)


def sequence_categorical_column_with_identity(key: str, num_buckets: int,
                                              default_value: int | None = None) -> SequenceCategoricalColumn:
    """categorical_column_with_identity() of sequences."""
    return SequenceCategoricalColumn(categorical.categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_hash_bucket(key: str, hash_bucket_size: int,
                                                 dtype: DTypeLike = dtypes.string) -> SequenceCategoricalColumn:
    """categorical_column_with_hash_bucket() of sequences."""
    return SequenceCategoricalColumn(categorical.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_vocabulary_file(key: str, vocabulary_file: PathLike, vocabulary_size: int | None = None,
                                                     num_oov_buckets: int = 0, default_value: int | None = None,
                                                     dtype: DTypeLike = dtypes.string) -> SequenceCategoricalColumn:
    """categorical_column_with_vocabulary_file() of sequences."""
    return SequenceCategoricalColumn(categorical.categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype))


def sequence_categorical_column_with_vocabulary_list(key: str, vocabulary_list: Sequence[Any], dtype: DTypeLike | None = None,
                                                     default_value: int = -1,
                                                     num_oov_buckets: int = 0) -> SequenceCategoricalColumn:
    """categorical_column_with_vocabulary_list() of sequences."""
    return SequenceCategoricalColumn(categorical.categorical_column_with_vocabulary_list(
        key, vocabulary_list, dtype, default_value, num_oov_buckets))



# SPDX-License-Identifier: Apache-2.0
"""Columns of categories: texts and numbers by their place in a vocabulary, by their hash, or as they are."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.feature_column.column import CategoricalColumn, IdWeightPair, _CategoricalColumn, check_words, checked_key, sparse_without
from thalweg.feature_column.vocabularies import index_table_from_file, index_table_from_tensor
from thalweg.graph.graph import control_dependencies
from thalweg.graph.ops import apply
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops, checks, math_ops, parsing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, PathLike


class _OfOneKey(CategoricalColumn, _CategoricalColumn):
    """What columns of the categories of one feature share."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Its key."""
        return self.key

    @property
    def parents(self) -> list[Any]:
        """Its key."""
        return [self.key]

    @property
    def parse_example_spec(self) -> dict[str, parsing.VarLenFeature]:
        """{key: how tf.parse_example reads it}."""
        return {self.key: parsing.VarLenFeature(self.dtype)}

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> SparseTensor:
        """Numbers of categories."""
        return self._numbers(sparse_without(transformation_cache.get(self.key, state_manager)))

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        """Numbers of categories, without weights."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)

    def _check_kind(self, given, what):
        """The feature is of the kind of the column: text or integers."""
        if self.dtype.is_integer != given.dtype.is_integer:
            raise ValueError(f"Column dtype and {what} must be compatible. key: {self.key}, column dtype: {self.dtype}, tensor dtype: "
                             f"{given.dtype}")


class HashedCategoricalColumn(_OfOneKey, collections.namedtuple("HashedCategoricalColumn", ("key", "hash_bucket_size", "dtype"))):
    """categorical_column_with_hash_bucket() gives it."""

    __slots__ = ()

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.hash_bucket_size

    def _numbers(self, given):
        self._check_kind(given, "SparseTensors dtype")
        check_words(given.dtype, f"column_name: {self.key} input_tensor")
        words = given.values if self.dtype == dtypes.string else apply("AsString", [given.values])
        found = apply("StringToHashBucketFast", [words], {"num_buckets": self.hash_bucket_size}, name="lookup")
        return SparseTensor(given.indices, found, given.dense_shape)


class IdentityCategoricalColumn(_OfOneKey, collections.namedtuple("IdentityCategoricalColumn", (
        "key", "number_buckets", "default_value"))):
    """categorical_column_with_identity() gives it."""

    __slots__ = ()

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.number_buckets

    @property
    def parse_example_spec(self) -> dict[str, parsing.VarLenFeature]:
        """{key: how tf.parse_example reads it}."""
        return {self.key: parsing.VarLenFeature(dtypes.int64)}

    def _numbers(self, given):
        if not given.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {given.dtype}")
        values = math_ops.cast(given.values, dtypes.int64, name="values")
        return SparseTensor(given.indices, self._within(values), given.dense_shape)

    def _within(self, values):
        """Numbers of categories; others become the default, or end the step."""
        count, zero = np.int64(self.number_buckets), np.int64(0)
        if self.default_value is not None:
            outside = apply("LogicalOr", [apply("Less", [values, zero]), apply("GreaterEqual", [values, count])], name="out_of_range")
            default = apply("Fill", [array_ops.shape(values), np.int64(self.default_value)], name="default_values")
            return array_ops.where(outside, default, values)
        with control_dependencies([checks.assert_less(values, count, name="assert_less_than_num_buckets"),
                                   checks.assert_greater_equal(values, zero, name="assert_greater_or_equal_0")]):
            return array_ops.identity(values)


class VocabularyListCategoricalColumn(_OfOneKey, collections.namedtuple("VocabularyListCategoricalColumn", (
        "key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"))):
    """categorical_column_with_vocabulary_list() gives it."""

    __slots__ = ()

    @property
    def num_buckets(self) -> int:
        """How many categories there are, spare ones included."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _numbers(self, given):
        self._check_kind(given, "SparseTensors dtype")
        check_words(given.dtype, f"column_name: {self.key} input_tensor")
        key_dtype = dtypes.int64 if given.dtype.is_integer else self.dtype
        if given.dtype.is_integer:
            given = SparseTensor(given.indices, math_ops.cast(given.values, dtypes.int64), given.dense_shape)
        return index_table_from_tensor(self.vocabulary_list, self.num_oov_buckets, self.default_value, dtype=key_dtype,
                                       name=f"{self.key}_lookup").lookup(given)


class VocabularyFileCategoricalColumn(_OfOneKey, collections.namedtuple("VocabularyFileCategoricalColumn", (
        "key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value"))):
    """categorical_column_with_vocabulary_file() gives it."""

    __slots__ = ()

    @property
    def num_buckets(self) -> int:
        """How many categories there are, spare ones included."""
        return self.vocabulary_size + self.num_oov_buckets

    def _numbers(self, given):
        self._check_kind(given, "SparseTensors dtype")
        check_words(given.dtype, f"column_name: {self.key} input_tensor")
        key_dtype = dtypes.int64 if given.dtype.is_integer else self.dtype
        if given.dtype.is_integer:
            given = SparseTensor(given.indices, math_ops.cast(given.values, dtypes.int64), given.dense_shape)
        return index_table_from_file(self.vocabulary_file, self.num_oov_buckets, self.vocabulary_size, self.default_value,
                                     key_dtype=key_dtype, name=f"{self.key}_lookup").lookup(given)


class WeightedCategoricalColumn(CategoricalColumn, _CategoricalColumn, collections.namedtuple("WeightedCategoricalColumn", (
        "categorical_column", "weight_feature_key", "dtype"))):
    """weighted_categorical_column() gives it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Names of both features."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parents(self) -> list[Any]:
        """The column and the key of the weights."""
        return [self.categorical_column, self.weight_feature_key]

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.categorical_column.num_buckets

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """{key: how tf.parse_example reads it}."""
        found = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in found:
            raise ValueError(f"Parse config {found[self.weight_feature_key]} already exists for {self.weight_feature_key}.")
        found[self.weight_feature_key] = parsing.VarLenFeature(self.dtype)
        return found

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> tuple[SparseTensor, SparseTensor]:
        """Numbers of categories, and their weights as float32."""
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        if weights is None:
            raise ValueError(f"Missing weights {self.weight_feature_key}.")
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        if not isinstance(weights, SparseTensor):
            weights = sparse_without(weights, 0.0)
        if not weights.dtype.is_floating:
            weights = SparseTensor(weights.indices, math_ops.cast(weights.values, dtypes.float32), weights.dense_shape)
        return transformation_cache.get(self.categorical_column, state_manager), weights

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        """Numbers of categories, and their weights."""
        return IdWeightPair(*transformation_cache.get(self, state_manager))


def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int,
                                        dtype: DTypeLike = dtypes.string) -> HashedCategoricalColumn:
    """A column of categories by their hash: any text or integer is one of `hash_bucket_size`.

    Parameters
    ----------
    key : str
        Of the feature, dense or sparse; "" and -1 of a dense one stand for none.
    hash_bucket_size : int
        How many categories there are.
    dtype : DType
        string or an integer type.

    Returns
    -------
    HashedCategoricalColumn
        For linear_model, and inside embedding_column and indicator_column.

    Raises
    ------
    ValueError
        If there are no categories, or the type is neither text nor integers.

    Examples
    --------
    >>> fc = tw.feature_column
    >>> words = fc.indicator_column(fc.categorical_column_with_hash_bucket("word", 4))
    >>> layer = fc.input_layer({"word": tw.constant([["tea", "tea"]])}, [words])
    >>> with tw.Session() as sess:
    ...     sorted(sess.run(layer)[0].tolist())
    [0.0, 0.0, 0.0, 2.0]
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    checked_key(key)
    check_words(dtypes.as_dtype(dtype), f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtypes.as_dtype(dtype))


def categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> IdentityCategoricalColumn:
    """A column of categories that are numbers already, from 0 to below num_buckets. Others become `default_value`, or end a step
    with InvalidArgumentError."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return IdentityCategoricalColumn(checked_key(key), num_buckets, default_value)


def _check_spare(num_oov_buckets, default_value, key):
    if num_oov_buckets:
        if default_value != -1:
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


def categorical_column_with_vocabulary_list(key: str, vocabulary_list: Sequence[Any], dtype: DTypeLike | None = None,
                                            default_value: int = -1,
                                            num_oov_buckets: int = 0) -> VocabularyListCategoricalColumn:
    """A column of categories by their place in a list. Others become `default_value`, where -1 is none, or get one of
    num_oov_buckets numbers behind the list by their hash."""
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    kind = dtypes.as_dtype(np.asarray(vocabulary_list).dtype)
    _check_spare(num_oov_buckets, default_value, key)
    check_words(kind, f"column_name: {key} vocabulary")
    dtype = kind if dtype is None else dtypes.as_dtype(dtype)
    if dtype.is_integer != kind.is_integer:
        raise ValueError(f"dtype {dtype} and vocabulary dtype {kind} do not match, column_name: {key}")
    check_words(dtype, f"column_name: {key}")
    return VocabularyListCategoricalColumn(checked_key(key), tuple(vocabulary_list), dtype, default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(key: str, vocabulary_file: PathLike, vocabulary_size: int | None = None,
                                            num_oov_buckets: int = 0, default_value: int | None = None,
                                            dtype: DTypeLike = dtypes.string) -> VocabularyFileCategoricalColumn:
    """A column of categories by the number of the line of a file that has them; of its first `vocabulary_size` lines."""
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        vocabulary_size = _lines(vocabulary_file, key)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    if num_oov_buckets:
        _check_spare(num_oov_buckets, -1 if default_value is None else default_value, key)
    check_words(dtypes.as_dtype(dtype), f"column_name: {key}")
    return VocabularyFileCategoricalColumn(checked_key(key), vocabulary_file, vocabulary_size, num_oov_buckets or 0,
                                           dtypes.as_dtype(dtype), -1 if default_value is None else default_value)


def _lines(path, key):
    try:
        with open(path, "rb") as f:
            return sum(1 for _ in f)
    except FileNotFoundError:
        raise ValueError(f"vocabulary_file in {key} does not exist.") from None


def weighted_categorical_column(categorical_column: CategoricalColumn, weight_feature_key: str,
                                dtype: DTypeLike = dtypes.float32) -> WeightedCategoricalColumn:
    """A column of categories whose weights are another feature, of the same places."""
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)

# SPDX-License-Identifier: Apache-2.0
"""Columns of combinations of categories."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.feature_column.categorical import HashedCategoricalColumn
from thalweg.feature_column.column import CATEGORICAL, CategoricalColumn, IdWeightPair, _CategoricalColumn, pair_of
from thalweg.operations import parsing
from thalweg.operations.sparse_ops import sparse_cross_hashed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.graph.sparse_tensor import SparseTensor


class CrossedColumn(CategoricalColumn, _CategoricalColumn, collections.namedtuple("CrossedColumn", (
        "keys", "hash_bucket_size", "hash_key"))):
    """crossed_column() gives it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The sorted names of all that is crossed, between them "_X_"."""
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self._leaves()))

    @property
    def parents(self) -> list[Any]:
        """The columns and keys that are crossed."""
        return list(self.keys)

    @property
    def num_buckets(self) -> int:
        """How many categories there are."""
        return self.hash_bucket_size

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """{key: how tf.parse_example reads it}."""
        found = {}
        for key in self.keys:
            found.update({key: parsing.VarLenFeature(dtypes.string)} if isinstance(key, str) else key.parse_example_spec)
        return found

    def _leaves(self):
        """Keys and columns, those of crossed columns inside included."""
        found = []
        for key in self.keys:
            found += key._leaves() if isinstance(key, CrossedColumn) else [key]
        return found

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> SparseTensor:
        """The hash of each combination of a row."""
        given = []
        for key in self._leaves():
            if isinstance(key, str):
                given.append(transformation_cache.get(key, state_manager))
                continue
            pair = pair_of(key, transformation_cache, state_manager)
            if pair.weight_tensor is not None:
                raise ValueError(f"crossed_column does not support weight_tensor, but the given column populates weight_tensor. "
                                 f"Given column: {key.name}")
            given.append(pair.id_tensor)
        return sparse_cross_hashed(given, self.hash_bucket_size, self.hash_key)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        """Numbers of combinations, without weights."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


def crossed_column(keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """A column of the combinations of categories in a row, by their hash.

    Parameters
    ----------
    keys : sequence of str or CategoricalColumn
        Two or more: keys of features of text, and columns of categories but those of hashes.
    hash_bucket_size : int
        How many categories there are.
    hash_key : int, optional
        Another key gives other hashes.

    Returns
    -------
    CrossedColumn
        For linear_model, and inside embedding_column and indicator_column.

    Raises
    ------
    ValueError
        If there are fewer than two keys, no categories, or a key of another kind.

    Examples
    --------
    >>> fc = tw.feature_column
    >>> age = fc.bucketized_column(fc.numeric_column("age"), [30, 60])
    >>> column = fc.crossed_column([age, "town"], 1000)
    >>> column.name
    'age_bucketized_X_town'
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, *CATEGORICAL)):
            raise ValueError(f"Unsupported key type: keys are texts and columns of categories, but those of hashes. Given: {key}")
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError("categorical_column_with_hash_bucket is not supported for crossing: give the key of its feature instead. "
                             f"Given: {key}")
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)

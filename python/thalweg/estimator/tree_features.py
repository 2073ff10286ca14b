# SPDX-License-Identifier: Apache-2.0
"""What trees split by: numbers of columns, as buckets."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.estimator.tree_resources import QuantileAccumulator
from thalweg.feature_column.column import _LazyBuilder
from thalweg.feature_column.embedding import IndicatorColumn
from thalweg.feature_column.numeric import BucketizedColumn, NumericColumn, numeric_column
from thalweg.graph.ops import apply
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.graph.tensor import Operation

# Buckets of one number of a feature, an int32 vector, and how many buckets there are.
Buckets = collections.namedtuple("Buckets", ["values", "count"])
_QUANTILES = 100  # of a number without boundaries; a flush may give one boundary more, which makes two buckets more


def _by_name(columns):
    """(column, how many numbers it has, how many buckets each): features are numbered in this order."""
    for column in sorted(columns, key=lambda c: c.name):
        if isinstance(column, BucketizedColumn):
            yield column, column.source_column.shape[0], len(column.boundaries) + 1
        elif isinstance(column, IndicatorColumn):
            yield column, column.variable_shape.as_list()[-1], 2
        elif isinstance(column, NumericColumn):
            yield column, column.variable_shape.num_elements(), _QUANTILES + 2
        else:
            raise ValueError("For now, only numeric_column, bucketized_column and indicator_column are supported here, but got: "
                             f"{column}")


def names_of_features(columns: Sequence[Any]) -> list[str]:
    """The name that each number goes by, in the order of their ids."""
    found = []
    for column, width, _ in _by_name(columns):
        found += [column.categorical_column.name if isinstance(column, IndicatorColumn) else column.name] * width
    return found


class TreeFeatures:
    """The numbers of a batch, column after column by name.

    Parameters
    ----------
    features : dict
        The features of a batch.
    columns : sequence of NumericColumn, BucketizedColumn or IndicatorColumn
        What the trees split by.
    epsilon : float
        By what share of all examples the rank of a boundary may be wrong.
    weight_column : str or NumericColumn, optional
        The feature that weighs examples in quantiles.

    Attributes
    ----------
    buckets : list of Buckets
        Those of each number.
    quantiles : QuantileAccumulator or None
        Makes the boundaries of numbers that have none, where there are any: all lie in one bucket until it is flushed.
    """

    def __init__(self, features: Any, columns: Sequence[Any], epsilon: float, weight_column: Any = None) -> None:
        cache = self._cache = _LazyBuilder(features)
        self._weight_column = weight_column
        self.buckets, self.quantiles, self._numbers = [], None, []
        places = []
        for column, width, count in _by_name(columns):
            is_plain = isinstance(column, NumericColumn)
            values = cache.get(column) if isinstance(column, BucketizedColumn) else column._get_dense_tensor(cache)
            values = array_ops.reshape(math_ops.cast(values, dtypes.float32 if is_plain else dtypes.int32), [-1, width])
            for i in range(width):
                if is_plain:
                    places.append(len(self.buckets))
                    self._numbers.append(values[:, i])
                self.buckets.append(Buckets(values[:, i], count))
        if not places:
            return
        self.quantiles = QuantileAccumulator(epsilon, len(places), _QUANTILES)
        found = apply("BoostedTreesBucketize", [self._numbers, self.quantiles.get_bucket_boundaries()])
        for place, values in zip(places, found if isinstance(found, (list, tuple)) else [found]):
            self.buckets[place] = Buckets(array_ops.reshape(values, [-1]), self.buckets[place].count)

    def add_summaries(self) -> Operation:
        """Gives the batch to the quantiles: who predicts has no weights."""
        if self._weight_column is None:
            weights = array_ops.ones_like(self._numbers[0])
        else:
            column = numeric_column(self._weight_column) if isinstance(self._weight_column, str) else self._weight_column
            weights = array_ops.reshape(math_ops.cast(column._get_dense_tensor(self._cache), dtypes.float32), [-1])
        return self.quantiles.add_summaries(self._numbers, weights)

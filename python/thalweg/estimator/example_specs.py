# SPDX-License-Identifier: Apache-2.0
"""What tf.parse_example reads for a ready-made model: its features, the label and the weight."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.feature_column.example_spec import make_parse_example_spec
from thalweg.feature_column.numeric import NumericColumn, numeric_column
from thalweg.operations.parsing import FixedLenFeature

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from thalweg.base.typing import ArrayLike, DTypeLike


def classifier_parse_example_spec(feature_columns: Iterable[Any], label_key: str, label_dtype: DTypeLike = dtypes.int64,
                                  label_default: ArrayLike | None = None, weight_column: Any = None) -> dict[str, Any]:
    """{key: how tf.parse_example reads it} for a classifier.

    Examples
    --------
    >>> spec = tw.estimator.classifier_parse_example_spec([tw.feature_column.numeric_column("x")], "class")
    >>> spec["class"]
    FixedLenFeature(shape=(1,), dtype=tf.int64, default_value=None)
    """
    return _spec(feature_columns, label_key, FixedLenFeature((1,), label_dtype, label_default), weight_column)


def regressor_parse_example_spec(feature_columns: Iterable[Any], label_key: str, label_dtype: DTypeLike = dtypes.float32,
                                 label_default: ArrayLike | None = None, label_dimension: int = 1,
                                 weight_column: Any = None) -> dict[str, Any]:
    """{key: how tf.parse_example reads it} for a regression."""
    return _spec(feature_columns, label_key, FixedLenFeature((label_dimension,), label_dtype, label_default), weight_column)


def _spec(feature_columns, label_key, label, weight_column):
    found = make_parse_example_spec(feature_columns)
    if label_key in found:
        raise ValueError(f"label should not be used as feature. label_key: {label_key}, features: {sorted(found)}")
    found[label_key] = label
    if weight_column is None:
        return found
    weight = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(weight, NumericColumn):
        raise ValueError(f"weight_column should be an instance of tf.feature_column.numeric_column. Given type: {type(weight_column)}")
    if weight.key in found:
        raise ValueError(f"weight_column should not be used as feature. weight_column: {weight.key}, features: {sorted(found)}")
    found.update(weight.parse_example_spec)
    return found

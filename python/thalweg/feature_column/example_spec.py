# SPDX-License-Identifier: Apache-2.0
"""What tf.parse_example reads for columns."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.feature_column.column import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def make_parse_example_spec(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """{key: how tf.parse_example reads it} of all columns together.

    Examples
    --------
    >>> tw.feature_column.make_parse_example_spec([tw.feature_column.categorical_column_with_hash_bucket("town", 100)])
    {'town': VarLenFeature(dtype=tf.string)}
    """
    found = {}
    for column in feature_columns:
        if not isinstance(column, COLUMNS):
            raise ValueError(f"All feature_columns must be _FeatureColumn instances. Given: {column}")
        for key, value in column._parse_example_spec.items():
            if key in found and value != found[key]:
                raise ValueError(f"feature_columns contain different parse_spec for key {key}. Given {value} and {found[key]}")
            found[key] = value
    return found

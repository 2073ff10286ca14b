# SPDX-License-Identifier: Apache-2.0
"""tf.autograph.experimental.Feature: what is converted beyond control flow."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Feature(enum.Enum):
    """What a conversion may be asked for: `experimental_autograph_options` of tf.function, `experimental_optional_features` of to_graph."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def feature_set(given: Feature | Iterable[Feature] | None) -> frozenset[Feature]:
    """The features of an argument: one, several, or none."""
    features = frozenset(() if given is None else (given,) if isinstance(given, Feature) else given)
    for feature in features:
        if not isinstance(feature, Feature):
            raise TypeError(f"a tf.autograph.experimental.Feature is expected, got {feature!r}")
    return frozenset(Feature) if Feature.ALL in features else features

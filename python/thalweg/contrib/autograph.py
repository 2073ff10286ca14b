# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.autograph."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import autograph
from thalweg.autograph import conversion
from thalweg.autograph.errors import AutoGraphError
from thalweg.autograph.experimental import do_not_convert, set_element_type, set_loop_options
from thalweg.autograph.features import Feature, feature_set
from thalweg.autograph.lists import stack
from thalweg.base import names
from thalweg.compatibility.autograph_names import ConversionOptions, converted_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["AutoGraphError", "ConversionOptions", "Feature", "convert", "converted_call", "do_not_convert", "set_element_type",
           "set_loop_options", "stack", "to_code", "to_graph"]


def convert(recursive: bool = False, optional_features: Feature | Iterable[Feature] | None = None,
            user_requested: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function is converted when it is called."""
    return lambda function: conversion.traced(function, feature_set(optional_features), user_requested)


def to_graph(entity: Callable[..., Any], recursive: bool = True,
             experimental_optional_features: Feature | Iterable[Feature] | None = None) -> Callable[..., Any]:
    """tf.autograph.to_graph."""
    return autograph.to_graph(entity, recursive, experimental_optional_features=experimental_optional_features)


def to_code(entity: Callable[..., Any], recursive: bool = True,
            experimental_optional_features: Feature | Iterable[Feature] | None = None) -> str:
    """tf.autograph.to_code."""
    return autograph.to_code(entity, recursive, experimental_optional_features=experimental_optional_features)


names.complete(globals())

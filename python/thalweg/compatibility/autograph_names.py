# SPDX-License-Identifier: Apache-2.0
"""Names of tensorflow.python.autograph that libraries use: converting what they are given, and asking whether they are to."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from thalweg import autograph
from thalweg.autograph import conversion, status
from thalweg.autograph.errors import AutoGraphError, ConversionError  # noqa: F401  (names of these modules, as the next ones)
from thalweg.autograph.experimental import do_not_convert, set_element_type, set_loop_options  # noqa: F401
from thalweg.autograph.features import Feature, feature_set
from thalweg.autograph.lists import stack  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

to_graph, to_code = autograph.to_graph, autograph.to_code


class Status(enum.Enum):
    """Whether functions are converted here."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class ControlStatusCtx:
    """`with ControlStatusCtx(Status.DISABLED)`: functions that are traced within run as they are."""

    def __init__(self, status: Status, options: object = None) -> None:
        self.status, self.options = status, options
        self._within: Any = None

    def __enter__(self) -> ControlStatusCtx:
        self._within = status.set_off(self.status is Status.DISABLED)
        self._within.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._within.__exit__(*raised)


def control_status_ctx() -> ControlStatusCtx:
    """What holds on this thread."""
    return ControlStatusCtx(Status.DISABLED if status.is_off() else Status.UNSPECIFIED)


class ConversionOptions:
    """How a function is converted."""

    def __init__(self, recursive: bool = False, user_requested: bool = False, internal_convert_user_code: bool = True,
                 optional_features: Feature | Iterable[Feature] | None = Feature.ALL) -> None:
        self.recursive, self.user_requested, self.internal_convert_user_code = recursive, user_requested, internal_convert_user_code
        self.optional_features = feature_set(optional_features)

    def uses(self, feature: Feature) -> bool:
        return feature in self.optional_features


def tf_convert(f: Callable[..., Any], ctx: ControlStatusCtx, convert_by_default: bool = True,
               force_conversion: bool = False) -> Callable[..., Any]:
    """The function that stands for one that a library was given."""
    if ctx.status is Status.DISABLED or ctx.status is Status.UNSPECIFIED and not convert_by_default:
        return do_not_convert(f)
    return conversion.traced(f, asked_for=force_conversion)


def converted_call(f: Callable[..., Any], options: ConversionOptions | None, args: Iterable[Any], kwargs: dict[str, Any] | None,
                   caller_fn_scope: object = None) -> Any:
    """What a function gives after conversion."""
    features = frozenset() if options is None else options.optional_features
    return conversion.traced(f, features, bool(options and options.user_requested))(*args, **(kwargs or {}))


def is_autograph_strict_conversion_mode() -> bool:
    """Whether what cannot be converted is an error: it is a warning."""
    return False

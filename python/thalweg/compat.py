# SPDX-License-Identifier: Apache-2.0
"""tw.compat: tw.compat.v1 is the package itself; text conversions."""
from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from thalweg.base.text import as_bytes, as_str, as_str_any, as_text, bytes_or_text_types, complex_types, integral_types, path_to_str, real_types
from thalweg.graph.shapes import dimension_at_index, dimension_value

if TYPE_CHECKING:
    from collections.abc import Iterator

v1 = sys.modules["thalweg"]


def forward_compatible(year: int, month: int, day: int) -> bool:
    """False: what is written here depends on no date."""
    return False


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Changes nothing: what is written here depends on no date."""
    yield


def __getattr__(name):
    if name == "v2":
        from thalweg.compatibility import compat_v2
        return compat_v2.v2
    raise AttributeError(f"module 'thalweg.compat' has no attribute '{name}'")


def __dir__():
    return sorted(__all__)


__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types", "dimension_at_index",
           "dimension_value", "forward_compatibility_horizon", "forward_compatible", "integral_types", "path_to_str", "real_types",
           "v1"]

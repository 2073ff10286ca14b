# SPDX-License-Identifier: Apache-2.0
"""Numbers that are none, and checks of those that callers give."""
from __future__ import annotations

import math
import numbers

import numpy as np


def has_inf_or_nan(value: object) -> bool:
    """Whether a value has an element that is no finite number.

    Examples
    --------
    >>> tw.debugging.has_inf_or_nan([1.0, float("nan")]), tw.debugging.has_inf_or_nan([b"text"])
    (True, False)
    """
    array = np.asarray(value)
    if array.dtype.kind in "biuSUO":
        return False
    return not bool(np.all(np.isfinite(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))))


def checked_tolerance(name: str, value: object) -> float | None:
    """A tolerance that a caller gave, None where it gave none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a finite number, at least 0, got {value!r}")
    return float(value)


def checked_count(name: str, value: object, least: int) -> int:
    """A count that a caller gave."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return int(value)

# SPDX-License-Identifier: Apache-2.0
"""Numbers that are none."""
from __future__ import annotations

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

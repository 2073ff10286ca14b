# SPDX-License-Identifier: Apache-2.0
"""How two values of one tensor differ."""
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

# How far values of a type may be apart, relative to themselves, unless somebody says so.
_RELATIVE = {"float64": 1e-12, "complex128": 1e-12, "float32": 1e-4, "complex64": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
_INTEGERS = {2: np.int16, 4: np.int32, 8: np.int64}


@dataclasses.dataclass(frozen=True)
class ValueDifference:
    """Where and by how much two values differ.

    `text` stands alone where types or shapes do. Otherwise `differing` elements of `size` are further apart than they may be; `largest` is the
    largest difference, `relative` the largest one in parts of the larger of the two, `ulps` the largest number of values of the type between two
    elements (None where the type has none), `index` the place of the largest difference, where there are `a` and `b`.
    """

    text: str = ""
    differing: int = 0
    size: int = 0
    largest: float = 0.0
    relative: float = 0.0
    ulps: int | None = None
    index: tuple[int, ...] = ()
    a: Any = None
    b: Any = None

    def __str__(self) -> str:
        if self.text:
            return self.text
        by = "" if isinstance(self.a, bytes) else f", by at most {self.largest:.6g} (relative {self.relative:.3g}" + (
            f", {self.ulps} ulp)" if self.ulps is not None else ")")
        return f"{self.differing} of {self.size} elements{by}; the largest at {list(self.index)}: {self.a!s} and {self.b!s}"


def difference(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> ValueDifference | None:
    """None where the two are the same: elements within atol + rtol * |b|; NaN is the same as NaN, other types than floats exactly.

    Without tolerances, floats may be apart by what their type suggests: relative to the element, and a hundredth of that relative to the largest one.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return ValueDifference(f"{_described(a)} and {_described(b)}")
    if a.dtype.kind not in "fc" and a.dtype.name not in _RELATIVE:
        return _exact(a, b)
    kind = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(kind), b.astype(kind)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(x - y)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        apart = np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
        size = np.abs(y)
        rtol = _RELATIVE[a.dtype.name] if rtol is None else rtol
        if atol is None:
            atol = rtol * 0.01 * float(np.max(size, initial=0.0, where=np.isfinite(size)))
        wrong = ~same & ~(apart <= atol + rtol * size)
        wrong |= ~same & ~np.isfinite(apart)
        if not np.any(wrong):
            return None
        relative = np.where(apart > 0, apart / np.maximum(np.abs(x), size), 0.0)
    worst = np.unravel_index(int(np.argmax(np.where(wrong, apart, -1.0))), a.shape) if a.shape else ()
    largest = float(np.max(np.where(np.isnan(relative), np.inf, relative), where=wrong, initial=0.0))
    return ValueDifference("", int(np.sum(wrong)), a.size, float(np.max(apart)), largest, _ulps(a, b, wrong), tuple(map(int, worst)), a[worst],
                           b[worst])


def _described(array):
    return f"{array.dtype.name} {list(array.shape)}"


def _exact(a, b):
    wrong = a != b
    if not np.any(wrong):
        return None
    worst = tuple(int(i[0]) for i in np.nonzero(wrong)) if a.shape else ()
    largest = float(np.max(np.abs(a.astype(np.float64) - b.astype(np.float64)))) if a.dtype.kind in "iub" else 0.0
    return ValueDifference("", int(np.sum(wrong)), a.size, largest, 0.0, None, worst, a[worst], b[worst])


def _ulps(a, b, wrong):
    """How many values of the type lie between the two, at most."""
    if a.dtype.kind == "c" or a.dtype.itemsize not in _INTEGERS:
        return None
    integer = _INTEGERS[a.dtype.itemsize]
    finite = wrong & np.isfinite(a.astype(np.float64)) & np.isfinite(b.astype(np.float64))
    if not np.any(finite):
        return None
    (p, p_sign), (q, q_sign) = (_magnitudes(x.reshape(-1)[finite.reshape(-1)], integer) for x in (a, b))
    return int(np.max(np.where(p_sign == q_sign, np.maximum(p, q) - np.minimum(p, q), p + q)))


def _magnitudes(floats, integer):
    """The bits of floats without the sign, whose order is theirs, and whether they are negative."""
    bits = np.ascontiguousarray(floats).view(integer)
    return (bits & np.iinfo(integer).max).astype(np.uint64), bits < 0

# SPDX-License-Identifier: Apache-2.0
"""Names that numpy of TensorFlow 1's time had and that later releases took away."""
from __future__ import annotations

import types

import numpy as np


def restore(module: types.ModuleType) -> None:
    """Puts back what numpy, or a copy of it, is missing; what is there stays."""
    there = vars(module)
    for name, kind in dict(bool=bool, int=int, float=float, complex=complex, object=object, str=str, unicode=str,
                           long=int).items():
        there.setdefault(name, kind)
    for name, now in dict(Inf="inf", Infinity="inf", NaN="nan", alltrue="all", complex_="complex128", cumproduct="cumprod",
                          float_="float64", infty="inf", product="prod", sometrue="any", string_="bytes_",
                          unicode_="str_", round_="round", cfloat="complex128", singlecomplex="complex64", row_stack="vstack",
                          trapz="trapezoid", typeDict="sctypeDict").items():
        if name not in there and hasattr(np, now):
            there[name] = getattr(np, now)
    for name, value in dict(PINF=np.inf, NINF=-np.inf, PZERO=0.0, NZERO=-0.0, asscalar=lambda a: a.item(), msort=lambda a: np.sort(a, 0),
                            asfarray=lambda a, dtype=np.float64: np.asarray(a, dtype), rank=np.ndim).items():
        there.setdefault(name, value)


def copy() -> types.ModuleType:
    """numpy as a program of that time knows it; `import numpy` gives what is installed, as ever."""
    module = types.ModuleType("numpy")
    vars(module).update(vars(np))
    restore(module)
    return module

# SPDX-License-Identifier: Apache-2.0
"""Names that numpy of TensorFlow 1's time had and that later releases took away."""
from __future__ import annotations

import functools
import math
import sys
import types
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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
    _restore_types(there)
    for name in ("array", "asarray"):
        if not hasattr(there[name], "_takes_ragged"):
            there[name] = _ragged(there[name])
    if not hasattr(there["reshape"], "_takes_newshape"):
        there["reshape"] = _with_newshape(there["reshape"])
    if not hasattr(there["fromstring"], "_takes_bytes"):
        there["fromstring"] = _of_bytes(there["fromstring"])


def _restore_types(there):
    """Names about element types, warnings and errors, and modules of numpy's."""
    for name, now in dict(bool8="bool_", int0="intp", uint0="uintp", object0="object_", str0="str_", bytes0="bytes_", void0="void",
                          mat="asmatrix").items():
        if name not in there:
            there[name] = getattr(np, now)
    for name in ("AxisError", "ComplexWarning", "ModuleDeprecationWarning", "RankWarning", "TooHardError", "VisibleDeprecationWarning"):
        if name not in there and hasattr(getattr(np, "exceptions", None), name):
            there[name] = getattr(np.exceptions, name)
    kinds = {"int": [np.int8, np.int16, np.int32, np.int64], "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
             "float": [np.float16, np.float32, np.float64, np.longdouble], "complex": [np.complex64, np.complex128, np.clongdouble],
             "others": [bool, object, bytes, str, np.void]}
    every = [kind for found in kinds.values() for kind in found]
    for name, value in dict(sctypes=kinds, cast={kind: functools.partial(np.asarray, dtype=kind) for kind in every}, math=math,
                            in1d=lambda ar1, ar2, assume_unique=False, invert=False: np.isin(
                                np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert),
                            obj2sctype=lambda rep, default=None: np.dtype(rep).type, issubclass_=_issubclass, alen=_length,
                            find_common_type=lambda array_types, scalar_types: np.result_type(*array_types, *scalar_types)).items():
        if name not in there and not hasattr(np, name):
            there[name] = value
    if "cast" in there and type(there["cast"]) is dict:  # a name of a type serves as well as the type
        there["cast"].update({np.dtype(kind).name: make for kind, make in there["cast"].items() if kind not in (bytes, str, np.void)})


def _issubclass(arg1, arg2):
    return isinstance(arg1, type) and issubclass(arg1, arg2)


def _length(a):
    return len(a) if hasattr(a, "__len__") else 1


def _ragged(make: Callable[..., Any]) -> Callable[..., Any]:
    """np.array and np.asarray, where rows of several lengths make an array of objects, and `copy=False` copies where it must."""
    @functools.wraps(make)
    def made(*args, **kwargs):
        if kwargs.get("copy") is False:
            kwargs["copy"] = None if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else False
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            own = caller.startswith("thalweg.") and not caller.startswith("thalweg.keras.library.")
            if own or "inhomogeneous" not in str(error) or len(args) > 1 or kwargs.get("dtype") is not None:
                raise
            return make(*args, **{**kwargs, "dtype": object})
    made._takes_ragged = True
    return made


def _with_newshape(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """np.reshape, which takes the shape by its older name too."""
    @functools.wraps(reshape)
    def reshaped(a, *args, **kwargs):
        if "newshape" in kwargs:
            args = (kwargs.pop("newshape"), *args)
        return reshape(a, *args, **kwargs)
    reshaped._takes_newshape = True
    return reshaped


def _of_bytes(fromstring: Callable[..., Any]) -> Callable[..., Any]:
    """np.fromstring, which reads the bytes of numbers where no separator is given."""
    @functools.wraps(fromstring)
    def read(string, dtype=float, count=-1, sep="", **kwargs):
        if sep == "":
            return np.frombuffer(string.encode("latin1") if isinstance(string, str) else string, dtype, count).copy()
        return fromstring(string, dtype, count, sep=sep, **kwargs)
    read._takes_bytes = True
    return read


def copy() -> types.ModuleType:
    """numpy as a program of that time knows it; `import numpy` gives what is installed, as ever."""
    module = types.ModuleType("numpy")
    vars(module).update(vars(np))
    restore(module)
    return module

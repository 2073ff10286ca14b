# SPDX-License-Identifier: Apache-2.0
"""Names that Python 3.7 and its numpy had and that later ones took away: programs of TensorFlow 1's time use them.

thalweg.as_tensorflow restores them, in a notebook as for the program that it launches; importing thalweg alone does not.
"""
import base64
import collections
import collections.abc
import fractions
import html
import inspect
import math
import threading
import time
import warnings


def restore():
    """Puts back what is missing; what is there stays."""
    for name in ("Callable Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping "
                 "MutableSequence MutableSet Sequence Set Sized ValuesView").split():
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    for module, name, now in ((inspect, "getargspec", _getargspec), (time, "clock", time.process_time), (fractions, "gcd", math.gcd),
                              (threading.Thread, "isAlive", threading.Thread.is_alive), (base64, "encodestring", base64.encodebytes),
                              (base64, "decodestring", base64.decodebytes), (_cgi(), "escape", _escape)):
        if module is not None and not hasattr(module, name):
            setattr(module, name, now)
    _restore_numpy()


def _cgi():
    """The module, which Python 3.13 has no more; None there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            import cgi
        except ImportError:
            return None
    return cgi


def _escape(s, quote=False):
    return html.escape(s, quote)


_ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def _getargspec(func):
    """Names and defaults of a function's parameters; ValueError where it has keyword-only ones."""
    spec = inspect.getfullargspec(func)
    if spec.kwonlyargs:
        raise ValueError("Function has keyword-only parameters or annotations, use inspect.signature() API which can support "
                         "them")
    return _ArgSpec(*spec[:4])


def _restore_numpy():
    import numpy as np
    for name, kind in dict(bool=bool, int=int, float=float, complex=complex, object=object, str=str, unicode=str,
                           long=int).items():
        if name not in vars(np):
            setattr(np, name, kind)
    for name, now in dict(Inf="inf", Infinity="inf", NaN="nan", alltrue="all", complex_="complex128", cumproduct="cumprod",
                          float_="float64", infty="inf", product="prod", sometrue="any", string_="bytes_",
                          unicode_="str_", round_="round", cfloat="complex128", singlecomplex="complex64", row_stack="vstack",
                          trapz="trapezoid", typeDict="sctypeDict").items():
        if name not in vars(np) and hasattr(np, now):
            setattr(np, name, getattr(np, now))
    for name, value in dict(PINF=np.inf, NINF=-np.inf, PZERO=0.0, NZERO=-0.0, asscalar=lambda a: a.item(), msort=lambda a: np.sort(a, 0),
                            asfarray=lambda a, dtype=np.float64: np.asarray(a, dtype), rank=np.ndim).items():
        if name not in vars(np):
            setattr(np, name, value)

# SPDX-License-Identifier: Apache-2.0
"""Names that Python 3.7 and its numpy had and that later ones took away: programs of TensorFlow 1's time use them.

thalweg.as_tensorflow restores them, in a notebook as for the program that it launches; importing thalweg alone does not.
"""
import collections
import collections.abc
import inspect


def restore():
    """Puts back what is missing; what is there stays."""
    for name in ("Callable Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping "
                 "MutableSequence MutableSet Sequence Set Sized ValuesView").split():
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    if not hasattr(inspect, "getargspec"):
        inspect.getargspec = _getargspec
    _restore_numpy()


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
                          unicode_="str_").items():
        if name not in vars(np):
            setattr(np, name, getattr(np, now))

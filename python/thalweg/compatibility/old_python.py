# SPDX-License-Identifier: Apache-2.0
"""Names that Python 3.7 and its numpy had and that later ones took away: programs of TensorFlow 1's time use them.

thalweg.as_tensorflow restores them, in a notebook as for the program that it launches; importing thalweg alone does not.
"""
import base64
import collections
import collections.abc
import fractions
import functools
import html
import inspect
import math
import random
import threading
import time
import warnings

import numpy as np

from thalweg.base import old_numpy
from thalweg.compatibility import old_modules


def restore() -> None:
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
    if not hasattr(random.Random.sample, "_takes_sets"):
        random.Random.sample = _sample_of_sets(random.Random.sample)
        random.sample = random._inst.sample
    old_modules.restore()
    old_numpy.restore(np)


def _sample_of_sets(sample):
    """Random.sample, which takes sets too; Python 3.11 refuses them."""
    @functools.wraps(sample)
    def sample_of_any(self, population, *args, **kwargs):
        return sample(self, tuple(population) if isinstance(population, collections.abc.Set) else population, *args, **kwargs)
    sample_of_any._takes_sets = True
    return sample_of_any


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

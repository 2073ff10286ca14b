# SPDX-License-Identifier: Apache-2.0
"""Which Python values become constants of a type, with TensorFlow's words for those that do not.

Arrays have types of their own and are converted as they are; this is about numbers, strings, lists and other objects.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike

_TEXT = (str, bytes)
_SURE = {int: ("integer", "floating", "complex"), float: ("floating", "complex"), bool: ("bool",), str: ("string",), bytes: ("string",)}
# Of each kind of types: the kinds of numpy's that it holds, and what an object must be able to do to become one.
_HOLDS = {"bool": ("b", ()), "integer": ("biu", ("__index__",)), "floating": ("biuf", ("__float__", "__index__")),
          "complex": ("biufc", ("__complex__", "__float__", "__index__")), "string": ("US", ())}


def _kind(dtype):
    if dtype is dtypes.string or dtype is dtypes.bool:
        return dtype.name
    return "complex" if dtype.is_complex else "floating" if dtype.is_floating else "integer" if dtype.is_integer else None


def check(value: object, dtype: DTypeLike) -> None:
    """Raises a TypeError where a value is none of `dtype`, or, without one, of no type that tensors have."""
    kind = None if dtype is None else _kind(dtype)
    if kind in _SURE.get(type(value), ()) or hasattr(value, "__array__") or kind is None and dtype is not None:
        return
    array = np.asarray(value)
    hidden = array.dtype.kind in "OUS"  # text among which there may be other things
    if dtype is None:
        if hidden and not all(isinstance(v, _TEXT) for v in _flat(value)):
            raise TypeError(f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. "
                            "Consider casting elements to a supported type.")
        return
    kinds, abilities = _HOLDS[kind]
    if array.dtype.kind in kinds and not hidden or array.size == 0:
        return
    for each in _flat(value):
        if not _becomes(each, kind, abilities):
            raise TypeError(f"Expected {dtype.name}, got {each!r} of type '{type(each).__name__}' instead.")


def _becomes(value, kind, abilities):
    if isinstance(value, _TEXT):
        return kind == "string"
    return isinstance(value, (bool, np.bool_)) or any(hasattr(value, ability) for ability in abilities)


def _flat(value):
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flat(part)
    else:
        yield value

# SPDX-License-Identifier: Apache-2.0
"""Functions of Python as operations: py_func. The extension calls `_call` from the threads of a step."""
from __future__ import annotations

import itertools
import threading
import traceback
import weakref
from typing import TYPE_CHECKING

import numpy as np

from thalweg import _core, dtypes, errors, nest
from thalweg.graph import graph, ops
from thalweg.graph.ops import convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, TensorLike

_functions = weakref.WeakValueDictionary()  # token -> _Function, which lives as long as the graphs that use it
_lock = threading.Lock()
_tokens = itertools.count()


class _Function:
    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function


_SAID = {"float16": "half", "float32": "float", "float64": "double"}  # how TensorFlow names types here


def _code_of(error):
    """The code of an error that left a function, as TensorFlow chooses it."""
    for kinds, name in (((ValueError, TypeError), "INVALID_ARGUMENT"), (StopIteration, "OUT_OF_RANGE"),
                        (MemoryError, "RESOURCE_EXHAUSTED"), (NotImplementedError, "UNIMPLEMENTED")):
        if isinstance(error, kinds):
            return getattr(errors, name)
    return errors.UNKNOWN


def _array(value):
    """A value as an array that has an element type of ours; texts are bytes."""
    array = np.asarray(value, order="C")
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        # numpy's own texts lose the zero bytes that they end with; objects keep them.
        array = np.asarray(value, dtype=object, order="C")
    if array.dtype.kind == "U":
        array = np.char.encode(array, "utf-8")
    if array.dtype.kind == "S":
        return array.astype(object)
    return array


def _call(token, inputs, types):
    """Calls a function: a list of arrays, or (code, words) of its error; code 0 is Ctrl-C."""
    token = token.decode(errors="replace")
    with _lock:
        known = _functions.get(token)
    if known is None:
        return errors.INVALID_ARGUMENT, (f"'{token}' is no function of this process: a graph with tf.py_func runs only in "
                                         "the process that has made it")
    try:
        values = known.function(*inputs)
        values = [] if values is None else list(values) if isinstance(values, (list, tuple)) else [values]
        arrays = [_array(v) for v in values]
    except KeyboardInterrupt:
        return 0, f"{token} was interrupted"
    except BaseException as error:  # whatever leaves the function ends the step, not the thread
        return _code_of(error), f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    return _checked(token, arrays, types)


def _checked(token, arrays, types):
    if len(arrays) != len(types):
        return errors.INVALID_ARGUMENT, f"{token} returns {len(arrays)} values, but expects to see {len(types)} values."
    for i, (array, number) in enumerate(zip(arrays, types)):
        wanted = dtypes.as_dtype(number)
        if array.dtype.kind == "O" and array.ndim == 0 and not isinstance(array.item(), (bytes, str)):
            return errors.INTERNAL, f"Unsupported object type {type(array.item()).__name__}"
        try:
            found = dtypes.string if array.dtype.kind == "O" else dtypes.as_dtype(array.dtype)
        except TypeError:
            found = None
        if found is not wanted:
            name = array.dtype.name if found is None else found.name
            return errors.INVALID_ARGUMENT, (f"{i}-th value returned by {token} is {_SAID.get(name, name)}, but expects "
                                             f"{_SAID.get(wanted.name, wanted.name)}")
    return arrays


def py_func(func: Callable[..., object], inp: Sequence[TensorLike] | TensorLike, Tout: DTypeLike | Sequence[DTypeLike],
            stateful: bool = True, name: str | None = None) -> Any:
    """`func` of arrays as an operation: runs in the step, and gives arrays of the types `Tout`."""
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got func of type {type(func)}")
    if graph.get_default_graph()._executes:
        return _called(func, inp)
    known = _Function(func)
    token = f"pyfunc_{next(_tokens)}"
    with _lock:
        _functions[token] = known
    body = graph.get_default_graph()
    outermost = body if body._captures is None else body.outermost()
    outermost.__dict__.setdefault("_python_functions", []).append(known)
    several = isinstance(Tout, (list, tuple))
    types = [dtypes.as_dtype(t) for t in (Tout if several else [Tout])]
    inputs = [convert_to_tensor(x) for x in inp]
    op = "PyFunc" if stateful else "PyFuncStateless"
    attrs = [("token", "s", token), ("Tin", "T", [x.dtype.base_dtype._number for x in inputs]),
             ("Tout", "T", [t.base_dtype._number for t in types])]
    made = ops.create_node(op, name or op, inputs, attrs)
    if not types:
        return made
    return list(made.outputs) if several else made.outputs[0]


def _called(func, inp):
    """What it is where operations run at once: a call."""
    values = func(*[np.array(convert_to_tensor(x)) for x in inp])
    values = [None if v is None else convert_to_tensor(v) for v in nest.flatten(values)]
    return values[0] if len(values) == 1 else values


def numpy_function(func: Callable[..., object], inp: Sequence[TensorLike] | TensorLike, Tout: DTypeLike | Sequence[DTypeLike],
                   name: str | None = None) -> Any:
    """py_func that is called in every step."""
    return py_func(func, inp, Tout, stateful=True, name=name)


_core.set_function_hook(_call)

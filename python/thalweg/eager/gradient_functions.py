# SPDX-License-Identifier: Apache-2.0
"""Functions that give gradients of functions of Python: those of tf.contrib.eager."""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.eager.gradient_tape import EagerTape, gradients_of
from thalweg.eager.tapes import Recording, tapes
from thalweg.graph.ops import convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def _recorded(f: Callable[..., Any], args: Sequence[Any], kwargs: Any, watched: Sequence[Any]) -> tuple[Any, Recording]:
    recording = Recording()
    recording.watched.update(t._id for t in watched)
    before, tapes.stack = tapes.stack, [*tapes.stack, recording]
    try:
        result = f(*args, **kwargs)
    finally:
        tapes.stack = before
    if result is None:
        raise ValueError("Cannot differentiate a function that returns None; did you forget to return a value from "
                         f"{getattr(f, '__name__', f)}?")
    return result, recording


def implicit_val_and_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives (result of f, [(gradient, variable)] for each trainable variable that f reads)."""
    @functools.wraps(f)
    def both(*args, **kwargs):
        result, recording = _recorded(f, args, kwargs, [])
        variables = list(recording.variables.values())
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return result, list(zip(gradients_of(recording, result, variables), variables))
    return both


def implicit_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives [(gradient, variable)] for each trainable variable that f reads."""
    both = implicit_val_and_grad(f)

    @functools.wraps(f)
    def gradients(*args, **kwargs):
        return both(*args, **kwargs)[1]
    return gradients


def _places(f, params, args):
    """Which arguments are differentiated by: all, or those of these numbers or names."""
    if params is None:
        return range(len(args))
    names = list(inspect.signature(f).parameters)
    params = [params] if isinstance(params, (int, str)) else list(params)
    if not params or not all(isinstance(p, type(params[0])) and isinstance(p, (int, str)) for p in params):
        raise ValueError("params must be all strings or all integers; got %s." % (params,))
    return [p if isinstance(p, int) else names.index(p) for p in params]


def make_vjp(f: Callable[..., Any], params: Sequence[int | str] | None = None, persistent: bool = True) -> Callable[..., Any]:
    """A function that gives (result of f, function of the gradient of the result that gives those of the arguments)."""
    @functools.wraps(f)
    def decorated(*args, **kwargs):
        places = _places(f, params, args)
        args = [convert_to_tensor(a) if i in places else a for i, a in enumerate(args)]
        sources = [args[i] for i in places]
        result, recording = _recorded(f, args, kwargs, sources)

        def vjp(dy: Any = None) -> list[Any]:
            return gradients_of(recording, nest.flatten(result), sources, None if dy is None else nest.flatten(dy))
        return result, vjp
    return decorated


def val_and_grad_function(f: Callable[..., Any], params: Sequence[int | str] | None = None) -> Callable[..., Any]:
    """A function that gives (result of f, gradients of its arguments); `dy` is the gradient of the result where it is given."""
    @functools.wraps(f)
    def decorated(*args, **kwargs):
        dy = kwargs.pop("dy", None)
        if kwargs:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        result, vjp = make_vjp(f, params)(*args)
        return result, vjp(dy)
    return decorated


def gradients_function(f: Callable[..., Any], params: Sequence[int | str] | None = None) -> Callable[..., Any]:
    """A function that gives the gradients of the arguments of f."""
    both = val_and_grad_function(f, params)

    @functools.wraps(f)
    def gradients(*args, **kwargs):
        return both(*args, **kwargs)[1]
    return gradients


__all__ = ["EagerTape", "gradients_function", "implicit_grad", "implicit_val_and_grad", "make_vjp", "val_and_grad_function"]

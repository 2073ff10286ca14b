# SPDX-License-Identifier: Apache-2.0
"""arg_scope: defaults of arguments for functions that take part."""
from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import F


class _Stack(threading.local):
    def __init__(self):
        self.scopes = [{}]


_stack = _Stack()
_takes_part = {}  # key of a function -> names of its arguments with defaults


def arg_scope_func_key(op: Callable[..., object]) -> str:
    """What a function is known by."""
    return getattr(op, "_key_op", str(op))


def _of_wrapped(function):
    return f"{function.__module__}.{function.__qualname__}:{id(function)}"


def add_arg_scope(func: F) -> F:
    """A function whose arguments arg_scope may set."""
    key = _of_wrapped(func)

    @functools.wraps(func)
    def with_scope(*args, **kwargs):
        defaults = _stack.scopes[-1].get(key)
        if defaults:
            kwargs = {**defaults, **kwargs}
        return func(*args, **kwargs)
    with_scope._key_op = key
    parameters = inspect.signature(func).parameters.values()
    _takes_part[key] = {p.name for p in parameters if p.default is not p.empty} | {
        "**" for p in parameters if p.kind is p.VAR_KEYWORD}
    return with_scope


def has_arg_scope(func: Callable[..., object]) -> bool:
    """Whether arg_scope may set the function's arguments."""
    return arg_scope_func_key(func) in _takes_part


def arg_scoped_arguments(func: Callable[..., object]) -> set[str]:
    """The arguments that arg_scope may set."""
    if not has_arg_scope(func):
        raise ValueError(f"{func} is not decorated with @add_arg_scope")
    return _takes_part[arg_scope_func_key(func)] - {"**"}


def current_arg_scope() -> dict[str, dict[str, Any]]:
    """The arguments that are set here, by function."""
    return _stack.scopes[-1]


@contextlib.contextmanager
def arg_scope(list_ops_or_scope: Sequence[Callable[..., object]] | Mapping[str, Mapping[str, object]],
              **kwargs: object) -> Iterator[dict[str, dict[str, Any]]]:
    """Gives arguments to the calls of functions within a with statement, unless they say otherwise.

    Parameters
    ----------
    list_ops_or_scope : list of callable, or dict
        Functions with @add_arg_scope; or the scope of an earlier `with arg_scope(...) as scope`: that again.
    **kwargs
        The arguments.

    Yields
    ------
    dict
        The scope.

    Raises
    ------
    ValueError
        If a function has no @add_arg_scope, or a scope comes with arguments.
    TypeError
        If it is neither a list nor a scope.

    Examples
    --------
    >>> layers = tw.contrib.layers
    >>> with tw.contrib.framework.arg_scope([layers.fully_connected], activation_fn=tw.nn.sigmoid):
    ...     layers.fully_connected(tw.ones([1, 2]), 3).op.type
    'Sigmoid'
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        scope = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        scope = dict(_stack.scopes[-1])
        for op in list_ops_or_scope:
            key = arg_scope_func_key(op)
            if not has_arg_scope(op):
                raise ValueError(f"{getattr(op, '__module__', '')}.{getattr(op, '__name__', op)} is not decorated with "
                                 "@add_arg_scope")
            scope[key] = {**scope.get(key, {}), **kwargs}
    _stack.scopes.append(scope)
    try:
        yield scope
    finally:
        _stack.scopes.pop()


__all__ = ["add_arg_scope", "arg_scope", "arg_scope_func_key", "arg_scoped_arguments", "current_arg_scope", "has_arg_scope"]

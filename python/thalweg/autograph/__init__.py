# SPDX-License-Identifier: Apache-2.0
"""tf.autograph: Python's `if`, `while`, `for`, `and`, `or` and `not` on tensors.

tw.function, the functions of datasets and Keras layers convert what they are given by themselves:

    @tw.function
    def collatz(n):
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 < 1 else 3 * n + 1
            steps += 1
        return steps
"""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from thalweg.autograph import conversion, experimental
from thalweg.autograph.errors import ConversionError, UnsupportedError
from thalweg.autograph.features import feature_set
from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from thalweg.autograph.features import Feature

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]


def _function_of(entity):
    """The plain function of a callable."""
    entity = getattr(entity, "python_function", entity)
    function = getattr(entity, "__func__", entity)
    if not hasattr(function, "__code__"):
        raise ConversionError(f"converting {entity}: ValueError: Cannot apply autograph to a function that doesn't expose a __code__ object. "
                              "If this is a @tf.function, try passing f.python_function instead.")
    return function


def to_graph(entity: Callable[..., Any], recursive: bool = True, arg_values: object = None, arg_types: object = None,
             experimental_optional_features: Feature | Iterable[Feature] | None = None) -> Callable[..., Any]:
    """A function whose control flow on tensors becomes part of the graph.

    Parameters
    ----------
    entity : function or method
    recursive : bool, optional
        Whether functions that it calls are converted, too.
    arg_values, arg_types : optional
        Not used.
    experimental_optional_features : Feature or several, optional
        What is converted beyond control flow.

    Returns
    -------
    function
        A method becomes a function that takes the object first.

    Raises
    ------
    ConversionError
        The source is not to be found, or has what is not converted.

    Examples
    --------
    >>> def double_if_positive(x):
    ...     if x > 0:
    ...         x = 2 * x
    ...     return x
    >>> made = tw.autograph.to_graph(double_if_positive)
    >>> with tw.Session() as sess:
    ...     print(sess.run(made(tw.constant(3))), sess.run(made(tw.constant(-3))))
    6 -3
    """
    function = _function_of(entity)
    try:
        return conversion.entry(conversion.converted_function(function, feature_set(experimental_optional_features), recursive))
    except UnsupportedError as error:
        raise ConversionError(f"converting {entity}: ValueError: {error}") from None


def to_code(entity: Callable[..., Any], recursive: bool = True, arg_values: object = None, arg_types: object = None,
            indentation: str = "  ", experimental_optional_features: Feature | Iterable[Feature] | None = None) -> str:
    """The source of what to_graph makes of a function, to look at."""
    function = _function_of(entity)
    try:
        tree = conversion.tree_of(function, feature_set(experimental_optional_features))
    except UnsupportedError as error:
        raise ConversionError(f"converting {entity}: ValueError: {error}") from None
    body = tree.body[0].body
    body = body[0].body if isinstance(body[0], ast.ClassDef) else body
    text = "\n".join(map(ast.unparse, body))
    steps = [(len(line) - len(line.lstrip())) // 4 for line in text.splitlines()]
    return "\n".join(indentation * n + line.lstrip() for n, line in zip(steps, text.splitlines())) + "\n"


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """There is nothing to say about a conversion but what it gives: see to_code."""


def trace(*args: object) -> None:
    """Prints values when a function is traced."""
    print(*args)


names.complete(globals())

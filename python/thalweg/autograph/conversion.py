# SPDX-License-Identifier: Apache-2.0
"""Python functions whose control flow follows tensors.

`converted(f)` is f with `if`, loops and `and`, `or`, `not` that become cond and while_loop where they look at tensors. It is compiled
from the source of f under the name of its file: tracebacks show the user's lines, and debuggers stop there.
"""
from __future__ import annotations
import __future__

import ast
import functools
import inspect
import sys
import types
import weakref
from typing import TYPE_CHECKING

from thalweg import logging
from thalweg.autograph import control_flow, exits, expressions, sources, status
from thalweg.autograph.errors import UnsupportedError
from thalweg.autograph.operators import Operators
from thalweg.control import control_flow as control

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.autograph.features import Feature

_CODE_FLAGS = 0
for _feature in __future__.all_feature_names:
    _CODE_FLAGS |= getattr(__future__, _feature).compiler_flag

# Modules whose functions run as they are, beside Python's own: they look after themselves.
_LEFT_ALONE = frozenset("thalweg tensorflow tensorflow_probability numpy scipy pandas matplotlib PIL pytest _pytest absl six mock wrapt "
                        "ml_dtypes h5py google".split()) | sys.stdlib_module_names
_OURS = (f"{__package__}.", control.__name__)  # whose frames are not shown
_codes = weakref.WeakKeyDictionary()  # code -> {(file, features): converted code, or a text that says why there is none}
_NAME = "ag_function"  # of what is converted while it is compiled: its own would hide the global that its recursion looks up
_warned = weakref.WeakSet()  # code of functions that could not be converted


def _arguments(names):
    return ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[])


def tree_of(function: types.FunctionType, features: frozenset[Feature]) -> ast.AST:
    """The syntax tree of a function after conversion, within what binds its free names."""
    node, class_name = sources.node_of(function)
    if isinstance(node, ast.AsyncFunctionDef) or expressions.is_generator(node):
        raise UnsupportedError("generators and coroutines are not converted")
    node.decorator_list = []
    if getattr(node, "type_params", None):  # of `def f[T]()`, which the code finds as a free name
        node.type_params = []
    expressions.rewrite(node, features)
    exits.lower(node)
    control_flow.rewrite(node)
    inner = node if isinstance(node, ast.FunctionDef) else ast.copy_location(ast.Expr(node), node)
    if class_name is not None:  # whose private names become its own, and whose name must hide none
        inner = ast.ClassDef("_____" + class_name.lstrip("_"), bases=[], keywords=[], body=[inner], decorator_list=[])
    names = [*function.__code__.co_freevars, expressions.OPERATORS]
    outer = ast.FunctionDef("ag_outer", _arguments(names), [inner], [])
    return ast.fix_missing_locations(ast.Module([outer], []))


def _code_in(code, path):
    for name in path:
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
    return code


def _under_name(code, name, qualified_name):
    """The code with the functions that stand for bodies of control flow under the name of the user's function."""
    inner = tuple(_under_name(c, name, qualified_name) if isinstance(c, types.CodeType) and c.co_name.startswith("ag_") else c
                  for c in code.co_consts)
    names = {"co_name": name, "co_qualname": qualified_name} if hasattr(code, "co_qualname") else {"co_name": name}
    return code.replace(co_consts=inner, **names)


def _code_of(function, features):
    code = function.__code__
    known = _codes.setdefault(code, {})
    key = code.co_filename, features
    if key not in known:
        try:
            known[key] = _compiled(function, features)
        except UnsupportedError as error:
            known[key] = str(error)  # not the error: its traceback holds what all callers hold
        except Exception as error:  # also where what rewrites fails, such as in trees too deep for it, the function itself runs
            known[key] = f"{type(error).__name__}: {error}"
    if isinstance(known[key], str):
        raise UnsupportedError(known[key])
    return known[key]


def _compiled(function, features):
    code = function.__code__
    tree = tree_of(function, features)
    class_or_function = tree.body[0].body[0]
    class_names = [class_or_function.name] if isinstance(class_or_function, ast.ClassDef) else []
    made_function = class_or_function.body[0] if class_names else class_or_function
    name = code.co_name
    if isinstance(made_function, ast.FunctionDef):
        made_function.name = name = _NAME
    try:
        made = compile(tree, code.co_filename, "exec", flags=code.co_flags & _CODE_FLAGS, dont_inherit=True)
    except (SyntaxError, RecursionError, ValueError) as error:
        raise UnsupportedError(f"what it became does not compile: {error}") from error
    path = ["ag_outer", *class_names, name]
    return _under_name(_code_in(made, path), code.co_name, getattr(code, "co_qualname", None))


def converted_function(function: types.FunctionType, features: frozenset[Feature], recursive: bool = True) -> types.FunctionType:
    """A plain function after conversion; UnsupportedError where it is none."""
    code = _code_of(function, features)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[expressions.OPERATORS] = types.CellType(operators(features, recursive))
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                              tuple(cells[n] for n in code.co_freevars))
    functools.update_wrapper(made, function)
    made.__kwdefaults__ = function.__kwdefaults__
    return status.leave_alone(made)


@functools.cache
def operators(features: frozenset[Feature], recursive: bool) -> Operators:
    """What converted code calls by the name ag__."""
    return Operators(features, functools.partial(converted, features=features) if recursive else None)


def _is_left_alone(function, asked_for):
    if status.is_left_alone(function) or expressions.OPERATORS in function.__code__.co_freevars:  # functools.wraps in converted code
        return True
    module = function.__globals__.get("__name__") or function.__module__ or ""
    return not asked_for and module.partition(".")[0] in _LEFT_ALONE or function.__code__.co_filename == "<string>"


def converted(function: Callable[..., Any], features: frozenset[Feature] = frozenset(), asked_for: bool = False) -> Callable[..., Any]:
    """What stands for a callable where its control flow is to follow tensors: itself, where it has none that could be converted.

    `asked_for`: the user has named this very function, which is converted also in modules that are left alone.
    """
    if isinstance(function, types.FunctionType):
        if status.is_off() or _is_left_alone(function, asked_for):
            return function
        code = function.__code__
        if code.co_flags & 0x2a0:  # generators and coroutines
            return function
        try:
            return converted_function(function, features)
        except UnsupportedError as error:
            if code not in _warned:
                _warned.add(code)
                logging.warning("AutoGraph could not transform %s and will run it as-is.\nCause: %s\nTo silence this warning, decorate "
                                "the function with @tf.autograph.experimental.do_not_convert", function, error)
            return function
    if isinstance(function, types.MethodType):
        made = converted(function.__func__, features, asked_for)
        return function if made is function.__func__ else types.MethodType(made, function.__self__)
    if isinstance(function, functools.partial):
        made = converted(function.func, features, asked_for)
        return function if made is function.func else functools.partial(made, *function.args, **function.keywords)
    if isinstance(function, type) or not callable(function):
        return function
    call = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(call, types.FunctionType):
        made = converted(call, features, asked_for)
        return function if made is call else types.MethodType(made, function)
    return function


def _without_our_frames(traceback):
    """A traceback without the frames of this folder and of the loops below it: what is left is the user's, and below it what raised."""
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    kept = [t for t in frames if not t.tb_frame.f_globals.get("__name__", "").startswith(_OURS)]
    for frame in reversed(kept):
        traceback = types.TracebackType(traceback, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return traceback


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A converted function for those who call it from outside of converted code: errors show the user's lines alone."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            error.__traceback__ = _without_our_frames(error.__traceback__)
            raise
    return status.leave_alone(call)


def traced(function: Callable[..., Any], features: frozenset[Feature] = frozenset(), asked_for: bool = True) -> Callable[..., Any]:
    """What tf.function and datasets trace in the place of a user's function."""
    made = converted(function, features, asked_for)
    return function if made is function else entry(made)

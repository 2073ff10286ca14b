# SPDX-License-Identifier: Apache-2.0
"""The syntax tree of a function, found by its code object in the file that it comes from.

Line numbers of the tree are those of the file: what is compiled of it raises errors whose tracebacks show the user's lines.
"""
from __future__ import annotations

import ast
import copy
import linecache
from typing import TYPE_CHECKING

from thalweg.autograph.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FunctionType

_KEPT = 8
_files = {}  # name -> (lines, {first line: [(node, name of the class around it)]}); of the last files only, as trees are large


def _first_line(node):
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(d.lineno for d in decorators)])


def _functions(node: ast.AST, class_name: str | None) -> Iterator[tuple[ast.AST, str | None]]:
    """All functions in a tree, each with the innermost class around it, whose private names are its own."""
    todo = [(node, class_name)]
    while todo:
        outer, class_name = todo.pop()
        for child in ast.iter_child_nodes(outer):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                yield child, class_name
            todo.append((child, child.name if isinstance(child, ast.ClassDef) else class_name))


def _index(filename, module_globals):
    lines = linecache.getlines(filename, module_globals)
    if not lines:
        raise UnsupportedError("could not get source code")
    known = _files.get(filename)
    if known is None or known[0] is not lines:
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError, RecursionError) as error:
            raise UnsupportedError(f"could not parse the source code: {error}") from None
        found = {}
        for node, class_name in _functions(tree, None):
            found.setdefault(_first_line(node), []).append((node, class_name))
        if len(_files) >= _KEPT:
            _files.pop(list(_files)[0], None)  # other threads do so, too
        known = _files[filename] = lines, found
    return known[1]


def _parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_varnames[:count]


def _is_like(node, code):
    """Whether a node may be what a code object was compiled of."""
    if getattr(node, "name", "<lambda>") != code.co_name:
        return False
    a = node.args
    names = [p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]]
    return [n for n in names if not n.startswith("__")] == [n for n in _parameters(code) if not _is_private(n)]


def _is_private(name):
    """Whether a name is, or may be, a private one of a class, whose names in code and source differ."""
    return name.startswith("_") and "__" in name


def _holds(node, code):
    """Whether the code of a lambda lies where its node does; of several in a line one does."""
    begin, end = (node.body.lineno, node.body.col_offset), (node.body.end_lineno, node.body.end_col_offset)
    places = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column is not None]
    return all(begin <= place < end for place in places if place != (code.co_firstlineno, 0))


def node_of(function: FunctionType) -> tuple[ast.AST, str | None]:
    """A copy of the tree of a function, and the name of the class around it; UnsupportedError where there is none."""
    code = function.__code__
    found = _index(code.co_filename, function.__globals__).get(code.co_firstlineno, ())
    found = [(node, class_name) for node, class_name in found if _is_like(node, code)]
    if len(found) > 1 and code.co_name == "<lambda>" and hasattr(code, "co_positions"):
        found = [(node, class_name) for node, class_name in found if _holds(node, code)]
    if len(found) != 1:
        raise UnsupportedError(f"could not get source code: {len(found)} functions in line {code.co_firstlineno} look like it")
    return copy.deepcopy(found[0][0]), found[0][1]

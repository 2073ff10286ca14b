# SPDX-License-Identifier: Apache-2.0
"""`break`, `continue`, `return` within control flow, and `else` of loops, as flags that what follows looks at.

    while c:                     ag_break = False
        if a: break         ->   while ag__.and_(lambda: ag__.none_of(ag_break), lambda: c):
        f()                          if a: ag_break = True
                                     else: f()

What follows an `if` of which one branch always leaves becomes part of the other branch: no flag is then needed for it.
"""
from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.autograph.errors import UnsupportedError
from thalweg.autograph.expressions import binds, is_generator, later, operator_call

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class _Flags:
    """The names that exits of the statements at hand set: `value` holds what is returned."""

    returned: str
    value: str
    broken: str = ""
    continued: str = ""


def _has(statements: Sequence[ast.stmt], kinds: type | tuple[type, ...], through_loops: bool) -> bool:
    """Whether a statement of these kinds is among them, not in functions and, but where said, not in loops among them."""
    todo = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, kinds):
            return True
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, _LOOPS) and not through_loops:
            todo += node.orelse
        else:
            todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case))]
    return False


def _always_leaves(statements, through_with=False):
    """Whether statements end with a jump. Python's `with` may swallow an exception and go on behind it; in a graph, nothing does."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue)):
        return True
    if isinstance(last, ast.If):
        return _always_leaves(last.body, through_with) and _always_leaves(last.orelse, through_with)
    return through_with and isinstance(last, ast.With) and _always_leaves(last.body, True)


def _set(name, value, at):
    value = value if isinstance(value, ast.AST) else ast.copy_location(ast.Constant(value), at)
    return ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), at)], value), at)


def _none_of(flags, at):
    """An expression that says that none of the flags is set."""
    return operator_call("none_of", [ast.copy_location(ast.Name(flag, ast.Load()), at) for flag in sorted(flags)], at)


def _guarded(flags, statements):
    """Statements that run where none of the flags is set; nobody looks at what they bind where one is."""
    made = ast.copy_location(ast.If(_none_of(flags, statements[0]), statements, []), statements[0])
    made.leaves = False, True
    return made


class _Lowering:
    def __init__(self):
        self._count = 0

    def _fresh(self, name):
        self._count += 1
        return f"ag_{name}_{self._count}"

    def function(self, node):
        """The statements of a function with its exits lowered."""
        body = node.body
        inside = body[:-1] if isinstance(body[-1], ast.Return) else body
        if not _has(inside, ast.Return, True):
            flags = _Flags("", "")
            head, _ = self.block(inside, flags)
            return head + body[len(inside):]
        flags = _Flags(self._fresh("returned"), self._fresh("return"))
        if not _always_leaves(body):
            end = ast.copy_location(ast.Return(operator_call("end", [], body[-1])), body[-1])
            body = [*body, end]
        lowered, _ = self.block(body, flags)
        value = ast.copy_location(ast.Name(flags.value, ast.Load()), body[-1])
        last = ast.copy_location(ast.Return(operator_call("returned", [value], body[-1])), body[-1])
        nothing = operator_call("no_return", [], node)
        return [_set(flags.returned, False, node), _set(flags.value, nothing, node), *lowered, last]

    def block(self, statements, flags):
        """(the statements without exits, the flags that may be set behind them)."""
        out, left = [], set()
        for i, statement in enumerate(statements):
            rest = list(statements[i + 1:])
            if isinstance(statement, ast.Return):
                value = statement.value or ast.copy_location(ast.Constant(None), statement)
                made = _set(flags.value, value, statement), _set(flags.returned, True, statement)  # set once there is a value
                return [*out, *made], left | {flags.returned}
            if isinstance(statement, (ast.Break, ast.Continue)):
                flag = flags.broken if isinstance(statement, ast.Break) else flags.continued
                return [*out, _set(flag, True, statement)], left | {flag}
            if isinstance(statement, ast.If) and rest:
                if _always_leaves(statement.body):
                    statement.orelse, rest = statement.orelse + rest, []
                elif _always_leaves(statement.orelse):
                    statement.body, rest = statement.body + rest, []
            if isinstance(statement, ast.If):
                statement.leaves = _always_leaves(statement.body, True), _always_leaves(statement.orelse, True)
            before, may_set, more = self.statement(statement, flags)
            out += before
            left |= may_set
            rest = more + rest
            if not rest:
                return out, left
            if may_set or more:
                following, may_set_too = self.block(rest, flags)
                if may_set:
                    following = [_guarded(may_set, following)]
                return out + following, left | may_set_too
        return out, left

    def statement(self, node, flags):
        """(what stands for a statement, flags that it may set, statements that follow it)."""
        if isinstance(node, _LOOPS):
            return self.loop(node, flags)
        may_set = set()

        def inner(statements):
            lowered, flags_set = self.block(statements, flags)
            may_set.update(flags_set)
            return lowered
        if isinstance(node, ast.FunctionDef):
            if not is_generator(node):
                node.body = _Lowering.function(self, node)
        elif isinstance(node, ast.If):
            node.body, node.orelse = inner(node.body), inner(node.orelse)
        elif isinstance(node, ast.With):
            node.body = inner(node.body)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                case.body = inner(case.body)
        elif isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))):
            self._try(node, inner, may_set)
        return [node], may_set, []

    @staticmethod
    def _try(node, inner, may_set):
        if _has(node.finalbody, (ast.Return, ast.Break, ast.Continue), True):
            raise UnsupportedError("return, break and continue in a finally block are not converted")
        node.body = inner(node.body)
        if node.orelse and may_set:
            node.orelse = [_guarded(set(may_set), inner(node.orelse))]
        else:
            node.orelse = inner(node.orelse)
        for handler in node.handlers:
            handler.body = inner(handler.body)
        node.finalbody = inner(node.finalbody)

    @staticmethod
    def _test_in_body(node, otherwise):
        """`while (a := b): f()` as `while True: if a := b: f() else: break`: a test becomes a function, whose names would be its own."""
        if _has(otherwise, (ast.Break, ast.Continue), False):
            raise UnsupportedError("break and continue in the else of a while whose test has := are not converted")
        end = [*otherwise, ast.copy_location(ast.Break(), node)]
        node.body = [ast.copy_location(ast.If(node.test, [ast.copy_location(ast.Pass(), node)], end), node), *node.body]
        node.test = ast.copy_location(ast.Constant(True), node)
        return []

    def loop(self, node, flags):
        flags = _Flags(flags.returned, flags.value, self._fresh("break"), self._fresh("continue"))
        otherwise, node.orelse = node.orelse, []
        if isinstance(node, ast.While) and binds(node.test):
            otherwise = self._test_in_body(node, otherwise)
        node.body, may_set = self.block(node.body, flags)
        ends = may_set - {flags.continued}
        if flags.continued in may_set:
            node.body.insert(0, _set(flags.continued, False, node))
        before = [_set(flags.broken, False, node)] if flags.broken in ends else []
        if ends and isinstance(node, ast.While):
            node.test = operator_call("and_", [later(_none_of(ends, node)), later(node.test)], node)
        node.extra_test = _none_of(ends, node) if ends and isinstance(node, ast.For) else None
        more = []
        if otherwise:
            more = [ast.copy_location(ast.If(_none_of(ends, node), otherwise, []), node)] if ends else otherwise
        return [*before, node], ends - {flags.broken}, more


def lower(node: ast.AST) -> None:
    """Lowers the exits of a function, and of those in it, in place."""
    if isinstance(node, ast.FunctionDef):
        node.body = _Lowering().function(node)

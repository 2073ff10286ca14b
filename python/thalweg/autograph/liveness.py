# SPDX-License-Identifier: Apache-2.0
"""Which names statements bind and read, and which of them are looked at later.

Works on statements whose exits are lowered (exits.py): control goes through `if`, loops, `with`, `try` and `match` only.
"""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _nodes(roots: Iterable[ast.AST]):
    """The nodes below roots that lie in the same scope, and the functions and classes among them without what is in these."""
    todo = list(roots)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, _SCOPES):
            todo += [*getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]
            if not isinstance(node, ast.ClassDef):
                todo += [d for d in [*node.args.defaults, *node.args.kw_defaults] if d]
        else:
            todo += ast.iter_child_nodes(node)


def _place(node: ast.AST) -> str | None:
    """"a.b" or "a['k']" as source; None for what is not a fixed place in an object that a name holds."""
    inner = node
    while isinstance(inner, (ast.Attribute, ast.Subscript)):
        if isinstance(inner, ast.Subscript) and not (isinstance(inner.slice, ast.Constant) and isinstance(inner.slice.value, (int, str))):
            return None
        inner = inner.value
    return ast.unparse(node) if isinstance(inner, ast.Name) else None


def root(place: str) -> str:
    """The name that holds a place."""
    return place.partition(".")[0].partition("[")[0]


def nonlocals_of(function: ast.AST) -> set[str]:
    """Names that a function, or one in it, binds outside of itself."""
    return {n for inner in ast.walk(function) if isinstance(inner, ast.Nonlocal) for n in inner.names}


def _in_comprehensions(nodes):
    """Names that are comprehensions' own."""
    return {n.id for c in nodes if isinstance(c, _COMPREHENSIONS) for g in c.generators for n in ast.walk(g.target)
            if isinstance(n, ast.Name)}


def bound(statements: Sequence[ast.AST], functions: dict[str, set[str]]) -> tuple[list[str], list[str]]:
    """(names, places in objects) that statements bind. `functions`: what functions of a name bind outside of themselves."""
    nodes = list(_nodes(statements))
    names, places = set(), set()
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
            names |= functions.get(node.id, set())
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(a.asname or a.name).partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            places.add(_place(node))
    own = _in_comprehensions(nodes)
    if own:  # a name may be both: count what is bound outside of comprehensions
        outside = [n for s in statements for n in _nodes_outside_comprehensions(s) if isinstance(n, ast.Name)]
        names -= own - {n.id for n in outside if not isinstance(n.ctx, ast.Load)}
    return sorted(names), sorted(p for p in places if p is not None and root(p) not in names)


def _nodes_outside_comprehensions(statement):
    todo = [statement]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, _COMPREHENSIONS):  # `:=` binds outside
            todo += [n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
        elif not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)


def _targets(node):
    """Names that a target of an assignment always binds."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, (ast.Tuple, ast.List)):
        return set().union(*map(_targets, node.elts))
    return _targets(node.value) if isinstance(node, ast.Starred) else set()


class Liveness:
    """Gives each `if` and loop of a function `live_out`, the names read behind it, and loops `live_head`, those read in a later turn."""

    def __init__(self, node: ast.AST) -> None:
        self._captured = {}  # name of a function in the function -> names that it reads
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef) and inner is not node:
                self._captured.setdefault(inner.name, set()).update(self._loaded(inner.body))
            elif isinstance(inner, ast.Assign):
                names = set().union(*map(_targets, inner.targets))
                lambdas = [n for n in ast.walk(inner.value) if isinstance(n, ast.Lambda)]
                for name in names if lambdas else ():
                    self._captured.setdefault(name, set()).update(*(self._loaded([n.body]) for n in lambdas))
        self._always = frozenset()  # what handlers of exceptions around read
        self.block(node.body, frozenset())

    @staticmethod
    def _loaded(roots):
        return {n.id for r in roots for n in ast.walk(r) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}

    def _reads(self, *roots):
        """Names that are read, also by functions that are named."""
        found, todo = set(), list(self._loaded([r for r in roots if r is not None]))
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self._captured.get(name, ())
        return frozenset(found)

    def block(self, statements: Sequence[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        """What is read before statements, given what is read behind them."""
        for statement in reversed(statements):
            step = getattr(self, "_" + type(statement).__name__, self._plain)
            live = step(statement, live) | self._always
        return live

    def _plain(self, node, live):
        if isinstance(node, ast.Assign):
            live = live - set().union(*map(_targets, node.targets))
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            live = live - {node.name}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            live = live - {(a.asname or a.name).partition(".")[0] for a in node.names}
        extra = {node.target.id} if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else set()
        return live | self._reads(node) | extra

    def _Return(self, node, live):
        return self._reads(node)

    def _Raise(self, node, live):
        return self._reads(node)

    def _If(self, node, live):
        node.live_out = live
        return self._reads(node.test) | self.block(node.body, live) | self.block(node.orelse, live)

    def _While(self, node, live):
        return self._loop(node, live, set(), self._reads(node.test))

    def _For(self, node, live):
        bound_here = _targets(node.target)
        return self._loop(node, live, bound_here, self._reads(node.extra_test)) | self._reads(node.iter)

    def _loop(self, node, live, bound_here, read):
        head = live | read
        while True:
            more = head | (self.block(node.body, head) - bound_here)
            if more == head:
                break
            head = more
        node.live_out, node.live_head = live, head
        return head

    def _With(self, node, live):
        live = self.block(node.body, live)
        for item in reversed(node.items):
            live = live - _targets(item.optional_vars) if item.optional_vars is not None else live
            live = live | self._reads(item.context_expr, item.optional_vars)
        return live

    def _Try(self, node, live):
        last = self.block(node.finalbody, live)
        handlers = frozenset().union(*(self.block(h.body, last) | self._reads(h.type) for h in node.handlers)) | (
            self._loaded(node.finalbody) if node.finalbody else frozenset())
        outer, self._always = self._always, self._always | handlers
        try:
            return self.block([*node.body], self.block(node.orelse, last) if node.orelse else last) | handlers
        finally:
            self._always = outer

    _TryStar = _Try

    def _Match(self, node, live):
        cases = frozenset().union(*(self.block(c.body, live) | self._reads(c.pattern, c.guard) for c in node.cases))
        return live | cases | self._reads(node.subject)

# SPDX-License-Identifier: Apache-2.0
"""Expressions: calls, `and`, `or`, `not`, `x if c else y`, chains of comparisons, `assert`, as calls of operators.

    f(x) and not y        ->   ag__.and_(lambda: ag__.converted(f)(x), lambda: ag__.not_(y))

Where evaluating a part later would bind a name elsewhere (`:=`), an expression stays as it is.
"""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from thalweg.autograph.features import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable

OPERATORS = "ag__"
_BINDERS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
                ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


def at_line(node: ast.AST, at: ast.AST) -> None:
    """Places a node in the first line of another: Python says of a method's call that it stands where the name of the method ends."""
    node.lineno = node.end_lineno = at.lineno
    node.col_offset = node.end_col_offset = at.col_offset


def operator_call(name: str, arguments: Iterable[ast.expr], at: ast.AST) -> ast.Call:
    """ag__.name(arguments)."""
    function = ast.Attribute(ast.Name(OPERATORS, ast.Load()), name, ast.Load())
    made = ast.Call(function, list(arguments), [])
    for node in (function.value, function):
        at_line(node, at)
    return ast.copy_location(made, at)


def later(expression: ast.expr) -> ast.Lambda:
    """lambda: expression."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(nothing, expression), expression)


def text(value: object, at: ast.AST) -> ast.Constant:
    return ast.copy_location(ast.Constant(value), at)


def binds(node: ast.AST) -> bool:
    """Whether evaluating an expression elsewhere would bind a name there, or is not possible."""
    return any(isinstance(inner, _BINDERS) for inner in ast.walk(node))


def is_generator(node: ast.AST) -> bool:
    """Whether a function has a `yield` or an `await` of its own."""
    todo = list(node.body) if isinstance(node.body, list) else [node.body]
    while todo:
        inner = todo.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            todo += ast.iter_child_nodes(inner)
    return False


def _is_call_of(node: ast.AST, name: str) -> bool:
    """Whether a statement is `name(...)`, by whatever path."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    function = node.value.func
    return getattr(function, "attr", getattr(function, "id", None)) == name


def is_loop_options(node: ast.AST) -> bool:
    """Whether a statement says how the loop around it runs."""
    return _is_call_of(node, "set_loop_options")


def _typed_lists(node: ast.AST) -> set[str]:
    """Names of the lists whose element types a function says: `set_element_type(name, ...)`."""
    calls = [n.value.args for n in ast.walk(node) if _is_call_of(n, "set_element_type")]
    return {arguments[0].id for arguments in calls if arguments and isinstance(arguments[0], ast.Name)}


def _method_of_list(node: ast.AST, method: str, lists: set[str]) -> ast.Name | None:
    """`name` where an expression is `name.method(...)` of one of these lists."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != method or node.keywords:
        return None
    owner = node.func.value
    return owner if isinstance(owner, ast.Name) and owner.id in lists else None


def _binding(targets: Iterable[ast.expr], call: ast.Call, at: ast.AST) -> ast.Assign:
    """targets = call"""
    targets = list(targets)
    target = targets[0] if len(targets) == 1 else ast.copy_location(ast.Tuple(targets, ast.Store()), at)
    return ast.copy_location(ast.Assign([target], call), at)


def _stored(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Store()), name)


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function; those of the functions in it, too."""

    def __init__(self, features: frozenset[Feature], node: ast.AST, lists: set[str] = frozenset()) -> None:
        self._features, self._first = features, _first_parameter(node)
        self._lists = lists | _typed_lists(node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if is_loop_options(node):
            return node
        if _is_call_of(node, "set_element_type") and node.value.args and getattr(node.value.args[0], "id", None) in self._lists:
            call = operator_call("typed", node.value.args, node)
            call.keywords = node.value.keywords
            return _binding([_stored(node.value.args[0])], call, node)
        owner = _method_of_list(node.value, "append", self._lists)
        if owner is not None:
            return _binding([_stored(owner)], operator_call("append", [owner, *map(self.visit, node.value.args)], node), node)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        owner = _method_of_list(node.value, "pop", self._lists)
        if owner is None or len(node.targets) > 1:
            return self.generic_visit(node)
        return _binding([_stored(owner), node.targets[0]], operator_call("pop", [owner, *map(self.visit, node.value.args)], node), node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node  # the body of a class runs as it is, and its methods are converted when they are called

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        node.defaults = [self.visit(d) for d in node.defaults]
        node.kw_defaults = [d and self.visit(d) for d in node.kw_defaults]
        return node  # annotations stay

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        made = ast.copy_location(ast.Attribute(ast.copy_location(ast.Name(OPERATORS, ast.Load()), node), "made", ast.Load()), node)
        inner = Expressions(self._features, node, self._lists)
        if not is_generator(node):
            node.body = [inner.visit(s) for s in node.body]
        node.args = self.visit(node.args)
        node.decorator_list = [*(self.visit(d) for d in node.decorator_list), made]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Call:
        inner = Expressions(self._features, node, self._lists)
        if not is_generator(node):
            node.body = inner.visit(node.body)
        node.args = self.visit(node.args)
        return operator_call("made", [node], node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """`x: int = 1` as `x = 1`: what is nonlocal cannot be annotated."""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self._first is not None:
            node.args = [ast.copy_location(ast.Name(n, ast.Load()), node) for n in ("__class__", self._first)]
            return node
        self.generic_visit(node)
        node.func = operator_call("converted", [node.func], node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if binds(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return operator_call(name, map(later, node.values), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return operator_call("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if binds(node.body) or binds(node.orelse):
            return self.generic_visit(node)
        self.generic_visit(node)
        return operator_call("if_expression", [node.test, later(node.body), later(node.orelse)], node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        is_equality = isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and Feature.EQUALITY_OPERATORS in self._features
        if len(node.ops) == 1 and not is_equality or any(map(binds, node.comparators)):
            return self.generic_visit(node)
        self.generic_visit(node)
        names = [text(_COMPARISONS[type(op)], node) for op in node.ops]
        names = ast.copy_location(ast.Tuple(names, ast.Load()), node)
        return operator_call("compare", [names, node.left, *map(later, node.comparators)], node)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.generic_visit(node)
        message = later(node.msg if node.msg is not None else text("Assertion error", node))
        if binds(node):
            return node
        call = operator_call("assert_", [node.test, message], node)
        return ast.copy_location(ast.Expr(call), node)


def _first_parameter(node: ast.AST) -> str | None:
    parameters = [*node.args.posonlyargs, *node.args.args]
    return parameters[0].arg if parameters else None


def rewrite(node: ast.AST, features: frozenset[Feature]) -> None:
    """Rewrites the expressions of a function in place."""
    inner = Expressions(features, node)
    node.body = [inner.visit(s) for s in node.body] if isinstance(node.body, list) else inner.visit(node.body)

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


def operator_call(name: str, arguments: Iterable[ast.expr], at: ast.AST) -> ast.Call:
    """ag__.name(arguments)."""
    function = ast.Attribute(ast.Name(OPERATORS, ast.Load()), name, ast.Load())
    made = ast.Call(function, list(arguments), [])
    for node in (function.value, function, made):
        ast.copy_location(node, at)
    return made


def later(expression: ast.expr) -> ast.Lambda:
    """lambda: expression."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(nothing, expression), expression)


def text(value: object, at: ast.AST) -> ast.Constant:
    return ast.copy_location(ast.Constant(value), at)


def _binds(node):
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


def is_loop_options(node: ast.AST) -> bool:
    """Whether a statement is `set_loop_options(...)`, by whatever path."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    function = node.value.func
    return getattr(function, "attr", getattr(function, "id", None)) == "set_loop_options"


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function; those of the functions in it, too."""

    def __init__(self, features: frozenset[Feature], first_parameter: str | None) -> None:
        self._features, self._first = features, first_parameter

    def visit_Expr(self, node):
        return node if is_loop_options(node) else self.generic_visit(node)

    def visit_ClassDef(self, node):
        return node  # the body of a class runs as it is, and its methods are converted when they are called

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_arguments(self, node):
        node.defaults = [self.visit(d) for d in node.defaults]
        node.kw_defaults = [d and self.visit(d) for d in node.kw_defaults]
        return node  # annotations stay

    def visit_FunctionDef(self, node):
        made = ast.copy_location(ast.Attribute(ast.copy_location(ast.Name(OPERATORS, ast.Load()), node), "made", ast.Load()), node)
        inner = Expressions(self._features, _first_parameter(node))
        if not is_generator(node):
            node.body = [inner.visit(s) for s in node.body]
        node.args = self.visit(node.args)
        node.decorator_list = [*(self.visit(d) for d in node.decorator_list), made]
        return node

    def visit_Lambda(self, node):
        inner = Expressions(self._features, _first_parameter(node))
        if not is_generator(node):
            node.body = inner.visit(node.body)
        node.args = self.visit(node.args)
        return operator_call("made", [node], node)

    def visit_AnnAssign(self, node):
        """`x: int = 1` as `x = 1`: what is nonlocal cannot be annotated."""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self._first is not None:
            node.args = [ast.copy_location(ast.Name(n, ast.Load()), node) for n in ("__class__", self._first)]
            return node
        self.generic_visit(node)
        node.func = operator_call("converted", [node.func], node.func)
        return node

    def visit_BoolOp(self, node):
        if _binds(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return operator_call(name, map(later, node.values), node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return operator_call("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node):
        if _binds(node.body) or _binds(node.orelse):
            return self.generic_visit(node)
        self.generic_visit(node)
        return operator_call("if_expression", [node.test, later(node.body), later(node.orelse)], node)

    def visit_Compare(self, node):
        is_equality = isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and Feature.EQUALITY_OPERATORS in self._features
        if len(node.ops) == 1 and not is_equality or any(map(_binds, node.comparators)):
            return self.generic_visit(node)
        self.generic_visit(node)
        names = [text(_COMPARISONS[type(op)], node) for op in node.ops]
        names = ast.copy_location(ast.Tuple(names, ast.Load()), node)
        return operator_call("compare", [names, node.left, *map(later, node.comparators)], node)

    def visit_Assert(self, node):
        self.generic_visit(node)
        message = later(node.msg if node.msg is not None else text("Assertion error", node))
        if _binds(node):
            return node
        call = operator_call("assert_", [node.test, message], node)
        return ast.copy_location(ast.Expr(call), node)


def _first_parameter(node):
    parameters = [*node.args.posonlyargs, *node.args.args]
    return parameters[0].arg if parameters else None


def rewrite(node: ast.AST, features: frozenset[Feature]) -> None:
    """Rewrites the expressions of a function in place."""
    inner = Expressions(features, _first_parameter(node))
    node.body = [inner.visit(s) for s in node.body] if isinstance(node.body, list) else inner.visit(node.body)

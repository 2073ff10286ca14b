# SPDX-License-Identifier: Apache-2.0
"""`if`, `while` and `for` as calls of operators: their bodies become functions that bind the names around them.

    if c: y = 1              def ag_body_1(): nonlocal y; y = 1
    else: y = 2        ->    def ag_orelse_1(): nonlocal y; y = 2
                             def ag_get_1(): return (ag__.value("y", lambda: y),)
                             def ag_set_1(ag_values): nonlocal y; y = ag_values[0]     # or `del y`
                             ag__.if_statement(c, ag_body_1, ag_orelse_1, ag_get_1, ag_set_1, ("y",), 1, (False, False))

The last arguments say how many of the names are looked at later, and which branches end with a jump. Names are never bound to a
placeholder: what has no value has none here either, and Python says so.
"""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from thalweg.autograph import liveness
from thalweg.autograph.expressions import at_line, is_generator, is_loop_options

if TYPE_CHECKING:
    from collections.abc import Iterable


def _parsed(source, at):
    """Statements of source text, placed where `at` stands."""
    statements = ast.parse(source).body
    for statement in statements:
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                at_line(node, at)
    return statements


def _declaration(names, scope):
    """`global` and `nonlocal` for the names that a body binds."""
    kinds = {"global": [n for n in names if n in scope.globals], "nonlocal": [n for n in names if n not in scope.globals]}
    return [f"{kind} {', '.join(found)}" for kind, found in kinds.items() if found]


def _indented(rows):
    return "".join(f"    {row}\n" for row in rows)


class _Scope:
    """What is known of one function: its parameters, and names that it declares global or nonlocal."""

    def __init__(self, node: ast.AST) -> None:
        a = node.args
        self.parameters = {p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]}
        own = list(liveness._nodes(node.body))
        self.globals = {n for s in own if isinstance(s, ast.Global) for n in s.names}
        self.nonlocals = {n for s in own if isinstance(s, ast.Nonlocal) for n in s.names}
        self.functions = {f.name: liveness.nonlocals_of(f) for f in own if isinstance(f, ast.FunctionDef)}
        self.moved = set()  # names bound in bodies that have become functions
        self.count = 0


class _ControlFlow(ast.NodeTransformer):
    """Rewrites the statements of one function."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def visit_FunctionDef(self, node):
        rewrite(node)
        return node

    def visit_AsyncFunctionDef(self, node):
        return node

    visit_ClassDef = visit_Lambda = visit_AsyncFunctionDef

    def visit_Global(self, node):
        return ast.copy_location(ast.Pass(), node)  # stands at the head of the function

    visit_Nonlocal = visit_Global

    def _state(self, node, wanted):
        """(number, names with those that are outputs first, number of outputs, source of the functions that get and set them)."""
        scope = self._scope
        scope.count += 1
        names, places = liveness.bound([*node.body, *node.orelse, *([node.target] if isinstance(node, ast.For) else [])], scope.functions)
        scope.moved |= set(names)
        outputs = [n for n in names if n in wanted or n in scope.globals or n in scope.nonlocals] + places
        state = outputs + [n for n in names if n not in outputs]
        number, declared = scope.count, _declaration(names, scope)
        values = "".join(f"ag__.value({n!r}, lambda: {n}), " for n in state)
        rows = [f"def ag_get_{number}():", f"    return ({values})",
                f"def ag_set_{number}(ag_values):", *("    " + row for row in declared), "    pass"]
        for i, name in enumerate(state):
            rows += [f"    if ag__.is_undefined(ag_values[{i}]):",
                     f"        try: del {name}", "        except (NameError, AttributeError, LookupError): pass",
                     f"    else: {name} = ag_values[{i}]"]
        return number, state, len(outputs), "\n".join(rows) + "\n", _indented([*declared, "pass"])

    def visit_If(self, node):
        number, state, outputs, functions, head = self._state(node, node.live_out)
        self.generic_visit(node)
        made = _parsed(f"def ag_body_{number}():\n{head}def ag_orelse_{number}():\n{head}{functions}"
                       f"ag__.if_statement(None, ag_body_{number}, ag_orelse_{number}, ag_get_{number}, ag_set_{number}, {tuple(state)!r}, "
                       f"{outputs}, {getattr(node, 'leaves', (False, False))!r})\n", node)
        made[0].body += node.body
        made[1].body += node.orelse
        made[-1].value.args[0] = node.test
        return made

    def _options(self, node):
        """Source of a function that gives the options of a loop, taken out of its body."""
        found = [s for s in node.body if is_loop_options(s)]
        node.body = [s for s in node.body if s not in found]
        if not found:
            return "None"
        calls = [ast.Call(ast.Name("dict", ast.Load()), s.value.args, s.value.keywords) for s in found]
        return "lambda: " + ast.unparse(calls[-1])

    def visit_While(self, node):
        number, state, outputs, functions, head = self._state(node, node.live_head)
        options = self._options(node)
        self.generic_visit(node)
        made = _parsed(f"def ag_test_{number}():\n    return None\ndef ag_body_{number}():\n{head}{functions}"
                       f"ag__.while_statement(ag_test_{number}, ag_body_{number}, ag_get_{number}, ag_set_{number}, {tuple(state)!r}, "
                       f"{outputs}, {options})\n", node)
        made[0].body[0].value = node.test
        made[1].body += node.body
        return made

    def visit_For(self, node):
        number, state, outputs, functions, head = self._state(node, node.live_head)
        options = self._options(node)
        self.generic_visit(node)
        extra = "None" if node.extra_test is None else f"ag_test_{number}"
        made = _parsed(f"def ag_test_{number}():\n    return None\ndef ag_body_{number}(ag_item):\n{head}{functions}"
                       f"ag__.for_statement(None, {extra}, ag_body_{number}, ag_get_{number}, ag_set_{number}, {tuple(state)!r}, {outputs}, "
                       f"{options})\n", node)
        if node.extra_test is not None:
            made[0].body[0].value = node.extra_test
        item = ast.copy_location(ast.Name("ag_item", ast.Load()), node)
        made[1].body += [ast.copy_location(ast.Assign([node.target], item), node), *node.body]
        made[-1].value.args[0] = node.iter
        return made if node.extra_test is not None else made[1:]


def _local(names: Iterable[str], at: ast.AST) -> list[ast.stmt]:
    """Annotations, which do nothing but make names the function's own."""
    return [s for n in sorted(names) for s in _parsed(f"{n}: None\n", at)]


def rewrite(node: ast.AST) -> None:
    """Rewrites the statements of a function, and of those in it, in place."""
    if not isinstance(node, ast.FunctionDef) or is_generator(node):
        return
    liveness.Liveness(node)
    scope = _Scope(node)
    transformer = _ControlFlow(scope)
    body = []
    for statement in node.body:
        made = transformer.visit(statement)
        body += made if isinstance(made, list) else [made]
    declared = [f"{kind} {', '.join(sorted(names))}\n" for kind, names in (("global", scope.globals), ("nonlocal", scope.nonlocals)) if names]
    own = scope.moved - scope.parameters - scope.globals - scope.nonlocals
    node.body = [*(s for row in declared for s in _parsed(row, node)), *_local(own, node), *body]

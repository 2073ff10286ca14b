# SPDX-License-Identifier: Apache-2.0
"""The annotations of the sources as a stub can say them: each name with where it is imported from.

Annotations are text (from __future__ import annotations), and what they name is often imported for type checkers only. So names are
looked up in the source of the module that an annotation stands in.
"""
import ast
import builtins
import importlib
import inspect
import sys


class UnknownName(Exception):
    """An annotation names what its module neither imports nor defines."""


_scopes = {}


def scope_of(module_name):
    """{name: (module, name there or None for the module itself)} of what a module imports and defines."""
    if module_name not in _scopes:
        found = _scopes[module_name] = {}
        tree = ast.parse(inspect.getsource(importlib.import_module(module_name)))
        checked = [n for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" for n in node.body]
        for node in [*tree.body, *checked]:
            if isinstance(node, ast.Import):
                found.update((a.asname or a.name.partition(".")[0], (a.name if a.asname else a.name.partition(".")[0], None))
                             for a in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.update((a.asname or a.name, (node.module, a.name)) for a in node.names)
            elif isinstance(node, ast.ClassDef):
                found[node.name] = module_name, node.name
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update((t.id, (module_name, t.id)) for t in targets if isinstance(t, ast.Name))
    return _scopes[module_name]


class Writer(ast.NodeTransformer):
    """Rewrites annotations for the stub of one module. `taken`: the names that the stub declares, which a type may not be hidden by."""

    def __init__(self, path, taken):
        self.path, self.taken = path, set(taken)
        self.imports, self._aliases = set(), {}
        self._module, self._hidden = None, frozenset()

    def text(self, annotation, module_name, hidden=frozenset()):
        """An annotation of a module as the stub has it. `hidden`: names that the members of a class hide."""
        if not isinstance(annotation, str):
            annotation = annotation.__name__ if isinstance(annotation, type) else "None" if annotation is None else repr(annotation)
        self._module, self._hidden = module_name, hidden
        return ast.unparse(self.visit(ast.parse(annotation, mode="eval")))

    def name(self, home, name):
        """What the stub calls a name of another module, which it imports."""
        if home == self.path:
            return name
        if (home, name) not in self._aliases:
            alias = "_" + (name or home.rpartition(".")[2])
            while alias in self.taken or alias in self._aliases.values():
                alias += "_"
            self._aliases[home, name] = alias
            self.imports.add(f"import {home} as {alias}\n" if name is None else f"from {home} import {name} as {alias}\n")
        return self._aliases[home, name]

    def visit_Name(self, node):
        scope = scope_of(self._module)
        if node.id in scope:
            home, name = scope[node.id]
            if name is not None and f"{home}.{name}" in sys.modules and not hasattr(sys.modules[home], name):
                home, name = f"{home}.{name}", None
            thing = getattr(sys.modules.get(home), name, None) if name else None
            if inspect.isclass(thing) and getattr(sys.modules.get(thing.__module__), name, None) is thing:
                home = thing.__module__  # where it is defined, not where it was imported to
            return ast.Name(self.name(home, name))
        if not hasattr(builtins, node.id):
            raise UnknownName(f"{self._module}: an annotation names {node.id}, which the module does not import")
        return ast.Name(self.name("builtins", node.id)) if node.id in self.taken | self._hidden else node

    def visit_Constant(self, node):
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

    def visit_Subscript(self, node):
        is_literal = ast.unparse(node.value).endswith("Literal")
        return ast.Subscript(self.visit(node.value), node.slice if is_literal else self.visit(node.slice))

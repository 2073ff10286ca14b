# SPDX-License-Identifier: Apache-2.0
"""The modules that a Python module of a package imports, also inside functions and by importlib.import_module("literal")."""
import ast


def _walk_what_runs(tree):
    """The nodes of a source but those below `if TYPE_CHECKING:`."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending += node.orelse
        else:
            pending += ast.iter_child_nodes(node)


class Package:
    """The modules of a package: `files` are their paths below a folder that is on Python's path, such as thalweg/nn.py."""

    def __init__(self, files):
        self.modules = {}  # dotted name -> path
        for path in files:
            self.modules[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = path
        self.roots = {name.partition(".")[0] for name in self.modules}

    def _taken(self, name):
        """The module that an import of a dotted name takes; None for one of another package, one that is compiled or generated."""
        if name.partition(".")[0] not in self.roots:
            return None
        while name not in self.modules:  # a package's own module is among them
            name, _, last = name.rpartition(".")
            if name in self.roots and last.startswith("_"):  # thalweg._core is compiled, thalweg._schemas generated
                return None
        return name

    def imports(self, text):
        """[(line, dotted name)] of the package's modules that a source imports; the name is None where it is relative. What only type
        checkers read (`if TYPE_CHECKING:`) imports nothing."""
        found = []
        for node in _walk_what_runs(ast.parse(text)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                if node.level:
                    found.append((node.lineno, None))
                    continue
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__"):
                names = [a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            found += [(node.lineno, taken) for taken in map(self._taken, names) if taken is not None]
        return sorted(found, key=lambda row: row[0])

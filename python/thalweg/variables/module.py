# SPDX-License-Identifier: Apache-2.0
"""Module: an object that knows the variables in its attributes, and in those of its parts."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.graph import graph as graph_module
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from thalweg.base.typing import F


class Module:
    """Base of classes whose attributes hold variables and other modules."""

    # Attributes that hold no variables and modules of their own.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
        if not re.match(r"^[A-Za-z_]\w*$", name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers "
                             "(e.g. a valid class name).")
        self._name = name
        with graph_module.name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str: return self._name

    @property
    def name_scope(self) -> AbstractContextManager[str]:
        """with module.name_scope: names of new operations begin with the module's."""
        return graph_module.name_scope(self._scope_name)

    @classmethod
    def with_name_scope(cls, method: F) -> F:
        """A method whose operations are under the module's name."""
        import functools

        @functools.wraps(method)
        def scoped(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)
        return scoped

    @staticmethod
    def _no_dependency(value):
        """The value: what an attribute holds is saved only where it is a variable of a saver's."""
        return value

    def _leaves(self):
        """What the attributes hold, in the order of their names, each once."""
        seen = set()
        for key in sorted(set(vars(self)) - self._TF_MODULE_IGNORED_PROPERTIES):
            for leaf in nest.flatten(vars(self)[key]):
                if id(leaf) not in seen:
                    seen.add(id(leaf))
                    yield leaf

    def _all(self, wanted, seen):
        found, parts = [], []
        for leaf in self._leaves():
            if id(leaf) in seen:
                continue
            if isinstance(leaf, wanted):
                seen.add(id(leaf))
                found.append(leaf)
            if isinstance(leaf, Module):
                parts.append(leaf)
        for part in parts:
            if (id(part), "inside") not in seen:
                seen.add((id(part), "inside"))
                found += part._all(wanted, seen)
        return found

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the module and of the modules in it."""
        return tuple(self._all(Variable, {id(self)}))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those that optimizers change."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules in it, at any depth."""
        return tuple(self._all(Module, {id(self)}))

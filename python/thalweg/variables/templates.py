# SPDX-License-Identifier: Apache-2.0
"""Functions whose variables are made by their first call and shared by all others."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.variables import variable_scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from thalweg.base.typing import Getter, T
    from thalweg.variables.variable_scopes import VariableScope
    from thalweg.variables.variables import Variable


def make_template(name_: str, func_: Callable[..., T], create_scope_now_: bool = False, unique_name_: str | None = None,
                  custom_getter_: Getter | None = None, **kwargs: object) -> Callable[..., T]:
    """A function whose variables are made by its first call and shared by all others."""
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)


class Template:
    """What make_template gives."""

    def __init__(self, name: str, func: Callable[..., object], create_scope_now: bool, unique_name: str, custom_getter: Getter,
                 arguments: Mapping[str, object]) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._name, self._func, self._unique_name, self._arguments = name, func, unique_name, arguments
        self._custom_getter, self._scope, self._called = custom_getter, None, False
        self._kept = None  # the variables, where operations run at once
        if create_scope_now:
            self._make_scope()

    def _make_scope(self):
        with variable_scopes.variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter,
                                            auxiliary_name_scope=False) as scope:
            self._scope = scope

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self._scope is None:
            self._make_scope()
        if graph.get_default_graph()._executes:
            return self._call_at_once(args, kwargs)
        reuse = True if self._called else None
        with variable_scopes.variable_scope(self._scope, reuse=reuse):
            known = set(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
            found = self._func(*args, **{**self._arguments, **kwargs})
        made = set(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)) - known
        if self._called and made:
            raise ValueError("New variable(s) created when calling a template after variables were created: "
                             f"{sorted(v.name for v in made)}; use tf.get_variable in {self._name}, not tf.Variable")
        self._called = True
        return found

    def _call_at_once(self, args, kwargs):
        if self._kept is None:
            self._kept = variable_scopes.EagerVariableStore()
        with self._kept.as_default(), variable_scopes.variable_scope(self._scope):
            return self._func(*args, **{**self._arguments, **kwargs})

    @property
    def name(self) -> str: return self._name
    @property
    def func(self) -> Callable[..., Any]: return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of its variables' scope, with a / at its end."""
        return self._scope.name.rstrip("/") + "/" if self._scope is not None else None

    def _collection(self, key):
        if self._kept is not None:
            return [] if key == GraphKeys.LOCAL_VARIABLES else \
                self._kept.trainable_variables() if key == GraphKeys.TRAINABLE_VARIABLES else self._kept.variables()
        return graph.get_collection(key, self.variable_scope_name) if self._scope is not None else []

    variables = property(lambda self: self._collection(GraphKeys.GLOBAL_VARIABLES) +
                         self._collection(GraphKeys.LOCAL_VARIABLES))
    weights = variables
    @property
    def global_variables(self) -> list[Variable]: return self._collection(GraphKeys.GLOBAL_VARIABLES)
    @property
    def local_variables(self) -> list[Variable]: return self._collection(GraphKeys.LOCAL_VARIABLES)
    @property
    def trainable_variables(self) -> list[Variable]: return self._collection(GraphKeys.TRAINABLE_VARIABLES)
    trainable_weights = trainable_variables

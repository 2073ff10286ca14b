# SPDX-License-Identifier: Apache-2.0
"""The OpDefs of the operations that there are, those of loaded libraries too."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.graph.environment import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.messages import GraphDef, OpDef, OpList


@functools.cache
def _definitions():
    """{operation: the bytes of its OpDef}."""
    found = [op.SerializeToString() for op in all_definitions()]
    return {messages.OpDef.FromString(data).name: data for data in found}


def definition_of(op: str) -> OpDef | None:
    """The OpDef of an operation; None of what only a graph's library knows."""
    data = _definitions().get(op)
    return None if data is None else messages.OpDef.FromString(data)


def all_definitions() -> Sequence[OpDef]:
    """The OpDefs of all operations, also of those that were loaded a moment ago."""
    return messages.OpList.FromString(environment().op_list(False)).op


def loaded_definition_of(op: str) -> OpDef | None:
    """The OpDef of an operation, also of one that was loaded a moment ago; None when there is none."""
    return next((definition for definition in all_definitions() if definition.name == op), None)


def definitions_of(graph_def: GraphDef) -> OpList:
    """An OpList of what the graph uses: other releases leave out attributes that they do not know, where these are defaults."""
    used = {n.op for n in graph_def.node} | {n.op for f in graph_def.library.function for n in f.node_def}
    return messages.OpList(op=[definition_of(op) for op in sorted(used) if is_registered(op)])


def is_registered(op: str) -> bool:
    """Whether it is an operation, not the name of a function."""
    return op in _definitions()


@functools.cache
def is_stateful(op: str) -> bool:
    """Whether an operation has an effect, or gives other values at another time."""
    return is_registered(op) and definition_of(op).is_stateful

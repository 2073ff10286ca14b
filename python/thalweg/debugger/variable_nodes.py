# SPDX-License-Identifier: Apache-2.0
"""Which variables nodes read and write; nodes that read variables and set them, beside those of the program."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.debugger import steps
from thalweg.graph import op_definitions
from thalweg.graph.ops import apply

if TYPE_CHECKING:
    from thalweg.graph.tensor import Operation, Tensor

# They read a variable, or hand it on to other nodes.
_READERS = frozenset("Identity ReadVariableOp VarIsInitializedOp IsVariableInitialized ResourceGather VariableShape Gather "
                     "Switch Merge Enter Exit NextIteration".split())
# They look at other state and leave it as it is.
_LOOKS = ("LookupTableExport", "LookupTableFind", "LookupTableSize", "QueueIsClosed", "QueueSize")


def variable_of(tensor: Tensor) -> Operation | None:
    """The variable that a tensor is, or that it has just been read from, also in loops and branches."""
    op = tensor.op
    while op.type.removeprefix("Ref") in ("Identity", "ReadVariableOp", "Switch", "Enter") and op.inputs:
        op = op.inputs[0].op
    return op if op.type in steps.VARIABLES else None


def taken_by(op: Operation) -> list[Operation]:
    """The variables that an operation takes themselves, as handles or references."""
    found = (variable_of(x) for x in op.inputs if x.dtype._is_ref_dtype or x.dtype.name == "resource")
    return [variable for variable in found if variable is not None]


def written_by(op: Operation) -> list[Operation]:
    """Of these, those that it may change: all, but for kinds that only read. Functions are taken to change what they are given."""
    return [] if op.type.removeprefix("Ref") in _READERS else taken_by(op)


def changes_state(op: Operation) -> bool:
    """Whether what an operation does is seen by others, or by itself when it runs again: of variables, queues, iterators, files, functions of Python.
    Random operations have numbers of their own."""
    if written_by(op):
        return True
    kind = op.type.removeprefix("Ref")
    if not steps.is_stateful(op) or not steps.can_be_looked_at(op) or kind in _READERS or kind.startswith((*steps.REPEATABLE, *_LOOKS)):
        return False
    if not all(map(steps.has_value, op.inputs)):
        return True
    makes_handle = bool(op.outputs) and not any(map(steps.has_value, op.outputs))
    return not makes_handle and not any(attr.name == "seed" for attr in op_definitions.definition_of(op.type).attr)


def read(variable: Operation, name: str) -> tuple[Tensor, Tensor]:
    """The value of a variable, and whether it has one."""
    with steps.adding_to(variable.graph, variable.device), variable.graph.colocate_with(variable):
        if variable.type == "VarHandleOp":
            value = apply("ReadVariableOp", [variable.outputs[0]], {"dtype": variable.get_attr("dtype")}, name=name)
            return value, apply("VarIsInitializedOp", [variable.outputs[0]], name=f"{name}/is_there")
        value = apply("Identity", [variable.outputs[0]], name=name)
        return value, apply("IsVariableInitialized", [variable.outputs[0]], name=f"{name}/is_there")


def write(variable: Operation, name: str) -> tuple[Tensor, Operation]:
    """A feed, and the operation that makes it the value of a variable."""
    with steps.adding_to(variable.graph, variable.device), variable.graph.colocate_with(variable):
        given = apply("Placeholder", [], {"dtype": variable.get_attr("dtype")}, name=name)
        if variable.type == "VarHandleOp":
            return given, apply("AssignVariableOp", [variable.outputs[0], given], name=f"{name}/set")
        return given, apply("Assign", [variable.outputs[0], given], {"validate_shape": False}, name=f"{name}/set").op

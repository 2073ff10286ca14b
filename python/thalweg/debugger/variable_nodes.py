# SPDX-License-Identifier: Apache-2.0
"""Nodes that read variables and set them, beside those of the program."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.debugger import steps
from thalweg.graph.ops import apply

if TYPE_CHECKING:
    from thalweg.graph.tensor import Operation, Tensor


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

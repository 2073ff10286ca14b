# SPDX-License-Identifier: Apache-2.0
"""NodeStatistics: what is known of each node of a graph: parameters and float operations by its shapes, times and memory by traced
steps."""
from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from thalweg.graph.graph import GraphKeys
from thalweg.profiler.float_operations import UnknownShapeError, float_operations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thalweg.graph.graph import Graph
    from thalweg.messages import NodeExecStats, RunMetadata

TRAINABLE = "_trainable_variables"


@dataclasses.dataclass
class NodeStatistics:
    """Of one node; times and bytes are those of all its runs."""
    name: str
    types: set[str]
    line: str = ""
    shapes: list[list[int]] = dataclasses.field(default_factory=list)
    parameters: int = 0
    float_ops: int = 0
    devices: set[str] = dataclasses.field(default_factory=set)
    runs: int = 0
    cpu_micros: int = 0
    accelerator_micros: int = 0
    requested_bytes: int = 0
    peak_bytes: int = 0
    output_bytes: int = 0

    def figures(self) -> dict[str, int]:
        """By the names of `profile_nodes.FIGURES`."""
        return {"exec_micros": self.cpu_micros + self.accelerator_micros, "accelerator_exec_micros": self.accelerator_micros,
                "cpu_exec_micros": self.cpu_micros, "requested_bytes": self.requested_bytes, "peak_bytes": self.peak_bytes,
                "residual_bytes": 0, "output_bytes": self.output_bytes, "parameters": self.parameters, "float_ops": self.float_ops}


def _variables(graph):
    """{name of the node: shape} of variables, and the names of those that are trained."""
    shapes, trained = {}, set()
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES):
        for variable in graph.get_collection(key):
            shapes[variable.op.name] = variable.shape
            if key == GraphKeys.TRAINABLE_VARIABLES:
                trained.add(variable.op.name)
    return shapes, trained


def statistics_of_graph(graph: Graph) -> tuple[dict[str, NodeStatistics], int]:
    """Every node by its name, and how many have shapes that are not known as far as their float operations need them."""
    shapes, trained = _variables(graph)
    found, unknown = {}, 0
    for op in graph.get_operations():
        node = NodeStatistics(op.name, {op.type}, op.site)
        try:
            node.float_ops = float_operations(op)
        except UnknownShapeError:
            unknown += 1
        if op.name in shapes and shapes[op.name].is_fully_defined():
            node.shapes = [shapes[op.name].as_list()]
            node.parameters = math.prod(node.shapes[0])
        if op.name in trained:
            node.types.add(TRAINABLE)
        if op.device:
            node.types.add(op.device)
        found[op.name] = node
    return found, unknown


def _add_run(node: NodeStatistics, run: NodeExecStats, device: str) -> None:
    node.runs += 1
    node.devices.add(device)
    micros = max(0, run.op_end_rel_micros - run.op_start_rel_micros)
    if "CPU" in device:
        node.cpu_micros += micros
    else:
        node.accelerator_micros += micros
    node.requested_bytes += sum(max(0, memory.total_bytes) for memory in run.memory)
    node.peak_bytes += sum(max(0, memory.peak_bytes) for memory in run.memory)
    node.output_bytes += sum(output.tensor_description.allocation_description.requested_bytes for output in run.output)


def _add_step(nodes: dict[str, NodeStatistics], step: RunMetadata) -> None:
    for device in step.step_stats.dev_stats:
        for run in device.node_stats:
            name = run.node_name.partition(":")[0]
            if name not in nodes:  # which rewriting made: the kind is in its label, "NAME = OP"
                kind = run.timeline_label.partition(" = ")[2].partition("(")[0].strip() or name
                nodes[name] = NodeStatistics(name, {kind})
            _add_run(nodes[name], run, device.device)


def add_steps(nodes: dict[str, NodeStatistics], steps: Iterable[RunMetadata]) -> None:
    """Adds the times and bytes of traced steps: the mean of several."""
    steps = list(steps)
    for step in steps:
        _add_step(nodes, step)
    for node in nodes.values() if len(steps) > 1 else ():
        for figure in ("cpu_micros", "accelerator_micros", "requested_bytes", "peak_bytes", "output_bytes"):
            setattr(node, figure, round(getattr(node, figure) / len(steps)))

# SPDX-License-Identifier: Apache-2.0
"""What a profile gives: trees of nodes, with the fields of TensorFlow's messages of these names."""
from __future__ import annotations

import dataclasses

# What nodes have of themselves, and in `total_...` with all below them.
FIGURES = ("exec_micros", "accelerator_exec_micros", "cpu_exec_micros", "requested_bytes", "peak_bytes", "residual_bytes", "output_bytes",
           "parameters", "float_ops")


@dataclasses.dataclass
class _Figures:
    """What a node of a graph and a kind of operation both have: FIGURES, twice."""
    name: str = ""
    exec_micros: int = 0
    accelerator_exec_micros: int = 0
    cpu_exec_micros: int = 0
    requested_bytes: int = 0
    peak_bytes: int = 0
    residual_bytes: int = 0
    output_bytes: int = 0
    parameters: int = 0
    float_ops: int = 0
    total_exec_micros: int = 0
    total_accelerator_exec_micros: int = 0
    total_cpu_exec_micros: int = 0
    total_requested_bytes: int = 0
    total_peak_bytes: int = 0
    total_residual_bytes: int = 0
    total_output_bytes: int = 0
    total_parameters: int = 0
    total_float_ops: int = 0


@dataclasses.dataclass
class GraphNodeProto(_Figures):
    """A node of the graph, a scope or a line, with what is below it."""
    run_count: int = 0
    devices: list[str] = dataclasses.field(default_factory=list)
    total_definition_count: int = 0
    total_run_count: int = 0
    shapes: list[list[int]] = dataclasses.field(default_factory=list)
    children: list[GraphNodeProto] = dataclasses.field(default_factory=list)
    is_scope: bool = False  # and no node: it has nothing of its own


@dataclasses.dataclass
class MultiGraphNodeProto(_Figures):
    """A kind of operation, with the kinds that come after it in `children`; totals are of it and all after it."""
    graph_nodes: list[GraphNodeProto] = dataclasses.field(default_factory=list)
    children: list[MultiGraphNodeProto] = dataclasses.field(default_factory=list)

# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.util: values of constant tensors, and arrays as messages."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.graph.tensor_util import constant_value  # noqa: F401
from thalweg.messages import make_ndarray, make_tensor_proto  # noqa: F401

if TYPE_CHECKING:
    from thalweg.messages import GraphDef


def ops_used_by_graph_def(graph_def: GraphDef) -> set[str]:
    """The names of the operations in a graph and in the functions that it uses."""
    bodies = {f.signature.name: f.node_def for f in graph_def.library.function}
    used, waiting = set(), [graph_def.node]
    while waiting:
        for node in waiting.pop():
            if node.op not in used:
                used.add(node.op)
                if node.op in bodies:
                    waiting.append(bodies[node.op])
    return {op for op in used if op not in bodies}


names.complete(globals())

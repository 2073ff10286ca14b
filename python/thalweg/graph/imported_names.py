# SPDX-License-Identifier: Apache-2.0
"""Names of imported nodes that the graph has already: import_graph_def(name="") gives the new ones other names."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.graph.graph import Graph

_CLASS = b"loc:@"


def made_unique(graph: Graph, data: bytes) -> tuple[bytes, dict[str, str]]:
    """A serialized GraphDef whose nodes have none of the graph's names, and {old name: new name}."""
    if not graph._num_nodes():
        return data, {}
    graph_def = messages.GraphDef.FromString(data)
    theirs = {node.name for node in graph_def.node}
    new = {name: _free(graph, name, theirs) for name in theirs if graph._has(name)}
    if not new:
        return data, {}
    for node in graph_def.node:
        node.name = new.get(node.name, node.name)
        node.input[:] = [_renamed(i, new) for i in node.input]
        if "_class" in node.attr:
            group = node.attr["_class"].list.s
            group[:] = [_CLASS + new.get(c[5:].decode(), c[5:].decode()).encode() if c.startswith(_CLASS) else c for c in group]
    return graph_def.SerializeToString(), new


def _free(graph, name, theirs):
    found = graph.unique_name(name)
    while found in theirs:
        found = graph.unique_name(name)
    return found


def _renamed(path, new):
    """`node`, `node:1` or `^node`, by the node's new name."""
    control = path.startswith("^")
    node, colon, place = path[control:].partition(":")
    return ("^" if control else "") + new.get(node, node) + colon + place


def renamed(paths: Sequence[str], new: Mapping[str, str]) -> Sequence[str]:
    """The same of a list of tensors, operations and control inputs that the caller names."""
    return [_renamed(path, new) for path in paths] if new else paths

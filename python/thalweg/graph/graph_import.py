# SPDX-License-Identifier: Apache-2.0
"""import_graph_def: the nodes of a GraphDef in the default graph."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.graph import imported_names
from thalweg.graph.graph import get_default_graph
from thalweg.graph.op_definitions import all_definitions
from thalweg.graph.ops import convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.graph.tensor import Tensor
    from thalweg.messages import GraphDef, OpList


def _without_default_attrs(data, producer_op_list):
    """The GraphDef without attributes that are not known here and have the default that the producer's operations give them."""
    graph = messages.GraphDef.FromString(data)
    if isinstance(producer_op_list, bytes):
        producer_op_list = messages.OpList.FromString(producer_op_list)
    here = {op.name: {a.name for a in op.attr} for op in all_definitions()}
    there = {op.name: {a.name: a.default_value.SerializeToString() for a in op.attr if a.HasField("default_value")} for op in producer_op_list.op}
    for node in [*graph.node, *[n for f in graph.library.function for n in f.node_def]]:
        defaults = there.get(node.op, {})
        for name in [n for n in node.attr if node.op in here and n not in here[node.op]]:
            if node.attr[name].SerializeToString() == defaults.get(name):
                del node.attr[name]
    for function in graph.library.function:  # what calls them may never run: said now
        for node in function.node_def:
            unknown = sorted(n for n in node.attr if not n.startswith("_") and n not in here.get(node.op, {n}))
            if unknown:
                raise ValueError(f"NodeDef mentions attr '{unknown[0]}' not in Op<name={node.op}>: node '{node.name}' of function "
                                 f"'{function.signature.name}' was written by a newer release, and its value is not the default")
    return graph.SerializeToString()


def import_graph_def(graph_def: GraphDef, input_map: Mapping[str, Tensor] | None = None,
                     return_elements: Sequence[str] | None = None, name: str | None = None, op_dict: object = None,
                     producer_op_list: OpList | None = None) -> list[Any] | None:
    """Adds the nodes of a GraphDef (a message or its bytes) under the scope `name` ("import")."""
    graph = get_default_graph()
    graph._check_not_finalized()
    if not isinstance(graph_def, bytes) and not hasattr(graph_def, "SerializeToString"):
        raise TypeError(f"graph_def must be a GraphDef proto, got {type(graph_def).__name__}.")
    data = graph_def if isinstance(graph_def, bytes) else graph_def.SerializeToString()
    if producer_op_list is not None:
        data = _without_default_attrs(data, producer_op_list)
    names = [n if isinstance(n, str) else n.decode() for n in input_map or {}]
    names = [n if n.startswith("^") or ":" in n else n + ":0" for n in names]
    with graph.as_default():
        tensors = [convert_to_tensor(t) for t in (input_map or {}).values()]
    prefix = "import" if name is None else name
    if prefix:
        prefix = prefix[:-1] if prefix.endswith("/") else graph.unique_name(prefix)
    wanted = [e if isinstance(e, str) else e.decode() for e in return_elements or []]
    if not prefix:
        data, new = imported_names.made_unique(graph, data)
        names, wanted = imported_names.renamed(names, new), imported_names.renamed(wanted, new)
    first = graph._num_nodes()
    returned = iter(graph._import(data, False, prefix, names, tensors, list(graph._state.controls),
                                  [w for w in wanted if ":" in w]))
    if graph._container:
        for op in graph._nodes(first):
            graph._set_container(op, graph._container)
    if return_elements is None:
        return None
    path = prefix + "/" if prefix else ""
    return [next(returned) if ":" in w else graph.get_operation_by_name(path + w) for w in wanted]

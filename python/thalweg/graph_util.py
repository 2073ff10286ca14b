# SPDX-License-Identifier: Apache-2.0
"""tw.graph_util: GraphDefs cut out, frozen and cleaned."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.base import names
from thalweg.graph import ops
from thalweg.graph.graph_import import import_graph_def  # noqa: F401  (public here as well)
from thalweg.saved_model import freezing
from thalweg.saved_model.freezing import producer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Operation
    from thalweg.messages import GraphDef, NodeDef

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def extract_sub_graph(graph_def: GraphDef, dest_nodes: Sequence[str]) -> GraphDef:
    """The nodes that `dest_nodes` need, in their old order."""
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {n.name: n for n in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    kept, waiting = set(), list(dest_nodes)
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept.add(name)
            waiting.extend(producer(edge) for edge in nodes[name].input)
    made = messages.GraphDef()
    made.node.extend(n for n in graph_def.node if n.name in kept)
    made.library.CopyFrom(graph_def.library)
    made.versions.CopyFrom(graph_def.versions)
    return made


def convert_variables_to_constants(sess: Session, input_graph_def: GraphDef, output_node_names: Sequence[str],
                                   variable_names_whitelist: Sequence[str] | None = None,
                                   variable_names_blacklist: Sequence[str] | None = None) -> GraphDef:
    """The graph that `output_node_names` need, with the value that each variable has in `sess` in the variable's place."""
    inference = extract_sub_graph(freezing.without_calls(extract_sub_graph(input_graph_def, output_node_names)), output_node_names)

    def wanted(name):
        return (variable_names_whitelist is None or name in variable_names_whitelist) and \
            not (variable_names_blacklist and name in variable_names_blacklist)
    variables = [n for n in inference.node if n.op in _VARIABLES and wanted(n.name)]
    fetches = {n.name: _read_of(n, input_graph_def, sess.graph) for n in variables}
    values = dict(zip(fetches, sess.run(list(fetches.values())))) if fetches else {}
    return freezing.frozen(inference, values)


def _read_of(variable, graph_def, graph):
    """What gives the value of a variable: of a resource, any read of it that the session's graph has."""
    if variable.op != "VarHandleOp":
        return f"{variable.name}:0"
    for node in graph_def.node:
        if node.op == "ReadVariableOp" and producer(node.input[0]) == variable.name and graph._has(node.name):
            return node.name + ":0"
    with graph.as_default():
        handle = graph.get_tensor_by_name(variable.name + ":0")
        return ops.apply("ReadVariableOp", [handle], {"dtype": variable.attr["dtype"].type}, name=variable.name + "/Read")


def remove_training_nodes(input_graph: GraphDef, protected_nodes: Sequence[str] | None = None) -> GraphDef:
    """The graph without CheckNumerics and Identity nodes that nothing but their value needs."""
    protected = set(protected_nodes or ())
    controls = {edge[1:] for n in input_graph.node for edge in n.input if edge.startswith("^")}
    bypassed = {}
    for node in input_graph.node:
        data = [edge for edge in node.input if not edge.startswith("^")]
        if node.op in ("Identity", "CheckNumerics") and len(data) == len(node.input) == 1 and \
                node.name not in protected and node.name not in controls:
            bypassed[node.name] = data[0]

    def source(edge):
        while producer(edge) in bypassed and not edge.startswith("^"):
            edge = bypassed[producer(edge)]
        return edge
    made = messages.GraphDef()
    for node in input_graph.node:
        if node.name in bypassed:
            continue
        new = made.node.add()
        new.CopyFrom(node)
        del new.input[:]
        new.input.extend(source(edge) for edge in node.input)
    made.library.CopyFrom(input_graph.library)
    made.versions.CopyFrom(input_graph.versions)
    return made


def must_run_on_cpu(node: NodeDef | Operation, pin_variables_on_cpu: bool = False) -> bool:
    """Whether a node has to run on a CPU."""
    definition = getattr(node, "node_def", node)
    if pin_variables_on_cpu and definition.op in _VARIABLES:
        return True
    kind = definition.attr["dtype"].type if "dtype" in definition.attr else 0
    return kind == 7 and definition.op in ("Const", "Placeholder")  # DT_STRING


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """The shape of the tensor called `input_name`."""
    return graph.get_tensor_by_name(input_name if ":" in input_name else input_name + ":0").get_shape()


names.complete(globals())

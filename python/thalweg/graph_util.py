# SPDX-License-Identifier: Apache-2.0
"""tw.graph_util: GraphDefs cut out, frozen and cleaned."""
from thalweg import messages, names
from thalweg.graph import import_graph_def  # noqa: F401  (public here as well)

# An operation that holds a variable: the operations that read its value.
_VARIABLES = {"Variable": (), "VariableV2": (), "VarHandleOp": ("ReadVariableOp",)}


def _producer(edge):
    """The node of an edge: "name", "name:1" or "^name"."""
    return edge.lstrip("^").partition(":")[0]


def extract_sub_graph(graph_def, dest_nodes):
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
            waiting.extend(_producer(edge) for edge in nodes[name].input)
    made = messages.GraphDef()
    made.node.extend(n for n in graph_def.node if n.name in kept)
    made.library.CopyFrom(graph_def.library)
    made.versions.CopyFrom(graph_def.versions)
    return made


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None,
                                   variable_names_blacklist=None):
    """The graph that `output_node_names` need, with the value that each variable has in `sess` in the variable's place."""
    inference = extract_sub_graph(input_graph_def, output_node_names)
    nodes = {n.name: n for n in inference.node}

    def wanted(name):
        return (variable_names_whitelist is None or name in variable_names_whitelist) and \
            not (variable_names_blacklist and name in variable_names_blacklist)
    variables = [n.name for n in inference.node if n.op in _VARIABLES and wanted(n.name)]
    fetches = {name: f"{name}/Read/ReadVariableOp:0" if nodes[name].op == "VarHandleOp" else f"{name}:0" for name in variables}
    for node in inference.node:  # any read of the handle will do
        if node.op == "ReadVariableOp" and _producer(node.input[0]) in fetches:
            fetches[_producer(node.input[0])] = node.name + ":0"
    values = dict(zip(variables, sess.run([fetches[name] for name in variables]))) if variables else {}
    made = messages.GraphDef()
    for node in inference.node:
        if node.name in values:
            new = made.node.add()
            new.name, new.op = node.name, "Const"
            value = messages.make_tensor_proto(values[node.name])
            new.attr["dtype"].type = value.dtype
            new.attr["value"].tensor.CopyFrom(value)
        elif node.op == "ReadVariableOp" and _producer(node.input[0]) in values:
            new = made.node.add()
            new.name, new.op = node.name, "Identity"
            new.attr["T"].CopyFrom(node.attr["dtype"])
            new.input.append(node.input[0])
        else:
            made.node.add().CopyFrom(node)
    made.library.CopyFrom(inference.library)
    made.versions.CopyFrom(inference.versions)
    return made


def remove_training_nodes(input_graph, protected_nodes=None):
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
        while _producer(edge) in bypassed and not edge.startswith("^"):
            edge = bypassed[_producer(edge)]
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


def must_run_on_cpu(node, pin_variables_on_cpu=False):
    """Whether a node has to run on a CPU."""
    definition = getattr(node, "node_def", node)
    if pin_variables_on_cpu and definition.op in _VARIABLES:
        return True
    kind = definition.attr["dtype"].type if "dtype" in definition.attr else 0
    return kind == 7 and definition.op in ("Const", "Placeholder")  # DT_STRING


def tensor_shape_from_node_def_name(graph, input_name):
    """The shape of the tensor called `input_name`."""
    return graph.get_tensor_by_name(input_name if ":" in input_name else input_name + ":0").get_shape()


names.complete(globals())

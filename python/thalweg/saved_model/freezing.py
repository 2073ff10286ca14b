# SPDX-License-Identifier: Apache-2.0
"""Variables of a GraphDef as constants, also in the functions that it calls: for graph_util.convert_variables_to_constants.

Plain calls are replaced by the bodies of their functions first. What is left of functions are those of conditionals and loops:
of each that gets a variable a copy is made, whose argument is the variable's value.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.graph import ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.base.typing import Array
    from thalweg.messages import GraphDef

# Operations that pass on what they get.
_PASSING = ("Identity", "Enter", "Exit", "Switch", "Merge", "NextIteration", "StopGradient", "PreventGradient")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
# Operations with functions: the attributes that name these and that hold the types of what goes in and out, and how many
# inputs come before the functions' arguments.
_BRANCHES = {
    "If": (("then_branch", "else_branch"), "Tin", "Tout", 1), "StatelessIf": (("then_branch", "else_branch"), "Tin", "Tout", 1),
    "Case": (("branches",), "Tin", "Tout", 1), "StatelessCase": (("branches",), "Tin", "Tout", 1),
    "While": (("cond", "body"), "T", "T", 0), "StatelessWhile": (("cond", "body"), "T", "T", 0),
    **{call: (("f",), "Tin", "Tout", 0) for call in _CALLS},  # in the bodies of the others
}
_DT_INT32 = 3
_MOST_CALLS = 100  # of functions in each other


def producer(edge: str) -> str:
    """The node of an edge: "name", "name:1", "name:output:1" or "^name"."""
    return edge.lstrip("^").partition(":")[0]


def _data(node):
    return [edge for edge in node.input if not edge.startswith("^")]


def _in_order(nodes):
    """Nodes behind what they read; a loop's back edge counts for nothing."""
    by_name = {n.name: n for n in nodes}
    order, state = [], {}
    for first in nodes:
        stack = [first]
        while stack:
            node = stack[-1]
            if state.get(node.name) is None:
                state[node.name] = "open"
                stack += [by_name[producer(e)] for e in node.input if producer(e) in by_name and state.get(producer(e)) is None
                          and by_name[producer(e)].op != "NextIteration"]
            else:
                stack.pop()
                if state[node.name] == "open":
                    state[node.name] = "done"
                    order.append(node)
    return order


# ---- calls ----
def _output_index(node, output, index, functions):
    """The place of "node:output:index" among all outputs of a node."""
    if node.op in functions:
        return [a.name for a in functions[node.op].signature.output_arg].index(output)
    place = 0
    for argument in ops.schema_of(node.op).outputs:
        if argument.name == output:
            return place + index
        if argument.number_attr:
            place += node.attr[argument.number_attr].i
        elif argument.type_list_attr:
            place += len(node.attr[argument.type_list_attr].list.type)
        else:
            place += 1
    raise ValueError(f"{node.op} '{node.name}' has no output '{output}'")


class _Body:
    """A function's body as nodes beside its call."""

    def __init__(self, function, call, functions):
        self._function, self._call, self._functions = function, call, functions
        self._arguments = dict(zip((a.name for a in function.signature.input_arg), _data(call)))
        self._controls = [e for e in call.input if e.startswith("^")]
        self._by_name = {n.name: n for n in function.node_def}

    def _edge(self, edge):
        if edge.startswith("^"):
            name = edge[1:]
            return "^" + producer(self._arguments[name]) if name in self._arguments else f"^{self._call.name}/{name}"
        name, _, rest = edge.partition(":")
        if not rest:
            return self._arguments[name]
        output, _, index = rest.partition(":")
        index = _output_index(self._by_name[name], output, int(index or 0), self._functions)
        return f"{self._call.name}/{name}" + (f":{index}" if index else "")

    def nodes(self):
        """The nodes of the body, and one with the call's name and outputs."""
        attrs = {**self._call.attr}
        for node in self._function.node_def:
            new = messages.NodeDef()
            new.CopyFrom(node)
            new.name = f"{self._call.name}/{node.name}"
            new.device = node.device or self._call.device
            new.input[:] = [*map(self._edge, node.input), *self._controls]
            for attr in new.attr.values():  # what the call says of the function's own attributes
                if attr.placeholder in attrs:
                    attr.CopyFrom(attrs[attr.placeholder])
            yield new
        end = messages.NodeDef(name=self._call.name, device=self._call.device)
        outputs = self._function.signature.output_arg
        end.op = "IdentityN" if outputs else "NoOp"
        end.input.extend(self._edge(self._function.ret[a.name]) for a in outputs)
        end.input.extend(f"^{self._call.name}/{producer(edge)}" for edge in self._function.control_ret.values())
        end.input.extend(self._controls)
        if outputs:
            told = self._call.attr["Tout"].list.type if "Tout" in self._call.attr else [a.type for a in outputs]
            end.attr["T"].list.type.extend(told)
        yield end


def without_calls(graph_def: GraphDef) -> GraphDef:
    """The graph with the bodies of functions in the place of plain calls."""
    functions = {f.signature.name: f for f in graph_def.library.function}

    def called(node):
        return functions.get(node.attr["f"].func.name if node.op in _CALLS else node.op)
    nodes, depth = list(graph_def.node), 0
    while any(called(n) is not None for n in nodes):
        depth += 1
        if depth > _MOST_CALLS:
            raise ValueError(f"functions call each other more than {_MOST_CALLS} deep: such a graph cannot be frozen")
        nodes = [n for node in nodes for n in ([node] if called(node) is None else _Body(called(node), node, functions).nodes())]
    made = messages.GraphDef()
    made.node.extend(nodes)
    made.library.CopyFrom(graph_def.library)
    made.versions.CopyFrom(graph_def.versions)
    return made


# ---- variables ----
class _Freezer:
    def __init__(self, functions, values):
        self.functions, self._values, self._copies = functions, values, {}

    def nodes(self, nodes, arguments=()):
        """(nodes with values in the place of variables, function of an edge that gives the type of the value that it
        carries now). `arguments`: types of a body's arguments that are values now; its edges name outputs."""
        inside = bool(arguments)
        types, made = dict(arguments), {}

        def type_of(edge):
            name, _, place = edge.partition(":")
            index = int(place.rpartition(":")[2] or 0)
            return types.get((name, index)) if (name, index) in types else types.get(name)
        reads = set()
        for node in _in_order(nodes):
            found = [type_of(edge) for edge in _data(node)]
            if not inside and node.name in self._values:
                made[node.name] = [_constant(node.name, self._values[node.name])]
                if node.op == "VarHandleOp":  # what reads a reference reads a value already
                    types[node.name] = made[node.name][0].attr["dtype"].type
            elif not any(found):
                made[node.name] = [node]
            elif node.op in _BRANCHES:
                made[node.name] = [self._branching(node, found, types)]
            else:
                made[node.name] = _of_value(node, found, inside)
                if node.op == "IdentityN":
                    types.update({(node.name, i): t for i, t in enumerate(found) if t})
                elif node.op == "Merge":
                    types[node.name, 0] = next(t for t in found if t)
                elif node.op in _PASSING:
                    types[node.name] = next(t for t in found if t)
                elif node.op == "ReadVariableOp":
                    reads.add(node.name)
        result = [n for node in nodes for n in made[node.name]]
        if inside:
            for node in result:
                node.input[:] = [_renamed(edge, reads) for edge in node.input]
        return result, type_of, reads

    def _branching(self, node, found, types):
        """A conditional or a loop with copies of its functions."""
        attributes, taken, given, before = _BRANCHES[node.op]
        new = messages.NodeDef()
        new.CopyFrom(node)
        arguments = tuple(found[before:])
        outputs = {}
        for attribute in attributes:
            value = new.attr[attribute]
            for function in value.list.func or [value.func]:
                function.name, outputs = self._copy(function.name, arguments)
        for attribute, changed in ((taken, dict(enumerate(arguments))), (given, outputs)):
            kinds = new.attr[attribute].list.type
            kinds[:] = [changed.get(i) or kind for i, kind in enumerate(kinds)]
        for index, dtype in outputs.items():
            types[node.name, index] = dtype
        return new

    def _copy(self, name, arguments):
        """(name, {place of an output: type}) of a function with values for variables."""
        if (name, arguments) in self._copies:
            return self._copies[name, arguments]
        old, new = self.functions[name], messages.FunctionDef()
        new.CopyFrom(old)
        new.signature.name = f"{name}_frozen_{len(self._copies)}"
        for argument, dtype in zip(new.signature.input_arg, arguments):
            argument.type = dtype or argument.type
        given = {a.name: dtype for a, dtype in zip(old.signature.input_arg, arguments) if dtype}
        nodes, type_of, reads = self.nodes(old.node_def, given)
        new.node_def[:] = nodes
        outputs = {}
        for index, argument in enumerate(new.signature.output_arg):
            dtype = type_of(old.ret[argument.name])
            if dtype:
                argument.type = outputs[index] = dtype
            new.ret[argument.name] = _renamed(old.ret[argument.name], reads)
        self.functions[new.signature.name] = new
        self._copies[name, arguments] = new.signature.name, outputs
        return self._copies[name, arguments]


def _renamed(edge, reads):
    """An edge from a read of a variable that is an Identity now."""
    return f"{producer(edge)}:output:0" if producer(edge) in reads and not edge.startswith("^") else edge


def _constant(name, value):
    value = messages.make_tensor_proto(value)
    made = messages.NodeDef(name=name, op="Const")
    made.attr["dtype"].type = value.dtype
    made.attr["value"].tensor.CopyFrom(value)
    return made


def _of_value(node, found, inside):
    """The nodes that do with a value what `node` does with a variable; `found`: the types of its inputs that are values now."""
    new = messages.NodeDef()
    new.CopyFrom(node)
    before, dtype = [], next(t for t in found if t)
    if node.op == "IdentityN":
        kinds = new.attr["T"].list.type
        kinds[:] = [t or kind for t, kind in zip(found, kinds)]
        return [new]
    if node.op in _PASSING:
        new.attr["T"].type = dtype
    elif node.op == "ReadVariableOp":
        new.op = "Identity"
        new.attr["T"].type = dtype
    elif node.op == "VariableShape":
        new.op = "Shape"
        new.attr["T"].type = dtype
    elif node.op == "ResourceGather":
        before = [_constant(node.name + "/axis", 0)]
        new.op = "GatherV2"
        new.input.insert(2, before[0].name + (":output:0" if inside else ""))
        new.attr["Tparams"].type, new.attr["Taxis"].type = dtype, _DT_INT32
    else:
        raise ValueError(f"{node.op} '{node.name}' uses a variable other than by reading it, so a graph with it cannot be "
                         "frozen: leave it out of output_node_names, or name the variable in variable_names_blacklist")
    for name in ("dtype", "validate_indices"):
        new.attr.pop(name, None)
    return [*before, new]


def frozen(graph_def: GraphDef, values: Mapping[str, Array]) -> GraphDef:
    """The graph with constants for the variables of `values`: {name of the node: value}."""
    functions = {f.signature.name: f for f in graph_def.library.function}
    made = messages.GraphDef()
    made.node.extend(_Freezer(functions, values).nodes(graph_def.node)[0])
    made.versions.CopyFrom(graph_def.versions)
    used, waiting = {}, [made.node]
    while waiting:
        for node in waiting.pop():
            named = [node.op, *(f.name for a in node.attr.values() for f in [a.func, *a.list.func])]
            for name in named:
                if name in functions and name not in used:
                    used[name] = functions[name]
                    waiting.append(functions[name].node_def)
    made.library.function.extend(used.values())
    made.library.gradient.extend(g for g in graph_def.library.gradient if g.function_name in used)
    return made

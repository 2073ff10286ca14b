# SPDX-License-Identifier: Apache-2.0
"""Writes the cases from which the fuzz of operations begins, tests/op_cases/OP.pbtxt, from the tables: write_op_cases.py [OP ...]

Of each operation the first case that runs here to a result and holds it. What the tables feed goes through a PlaceholderWithDefault,
what they say as a constant is one; variables are set first, and read after the node. An operation of which no table has a case that can
be compared is in tables/own.py, or the file is written by hand.
"""
import glob
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
from cases import Built, fill_tensor, set_shape, type_choices
from expansion import all_cases, implemented
from tables import own

import thalweg as tw

FOLDER = os.path.join(cases.ROOT, "tests", "op_cases")


def standing_alone(built):
    """The graph of a case with its feeds inside of it, and what sets its variables before its node."""
    graph = tw.GraphDef()
    graph.CopyFrom(built.graph)
    for node in list(graph.node):
        if node.op != "Placeholder" or node.name == "op":
            continue
        kind, value = built.feeds[node.name + ":0"]
        fed = graph.node.add()
        fed.name, fed.op = node.name + "_value", "Const"
        fed.attr["dtype"].type = node.attr["dtype"].type
        fill_tensor(fed.attr["value"].tensor, value, kind)
        node.op = "PlaceholderWithDefault"
        node.input.append(fed.name)
        set_shape(node.attr["shape"].shape, value.shape)
    for name in built.init:
        for node in graph.node:
            if node.name == "op":
                node.input.append("^" + name)
    return graph


def ends(graph):
    """Nodes that no other reads: what a run asks for."""
    read = {source.lstrip("^").partition(":")[0] for node in graph.node for source in node.input}
    return [node.name for node in graph.node if node.name not in read]


def runs(graph):
    with tw.Graph().as_default() as made:
        try:
            tw.import_graph_def(graph, name="")
            with tw.Session(graph=made, config=tw.ConfigProto(device_count={"CPU": 2})) as session:
                session.run([made.get_operation_by_name(name) for name in ends(graph)])
        except (tw.errors.OpError, ValueError) as error:
            return str(error)
    return None


def text(graph):
    """A node a line."""
    made = []
    for line in str(graph).splitlines():
        made.append(line if not line.startswith((" ", "}")) else " " + line.strip())
        made[-1] = ("\n" if made[-1].startswith(("node {", "library", "versions", "version")) else "") + made[-1]
    return "".join(made).strip() + "\n"


def write(op, graph):
    with open(os.path.join(FOLDER, op + ".pbtxt"), "w", encoding="utf-8") as f:
        f.write(text(graph))


def graphs():
    """(operation, graph) of all cases, those first that are the first of their operation."""
    for _, case in sorted(all_cases(), key=lambda c: c[0]):
        types = type_choices(case)
        if types:
            yield case.op, standing_alone(Built(case, types[0], case.op))
    yield from own.graphs(standing_alone)


def main(chosen):
    os.makedirs(FOLDER, exist_ok=True)
    wanted = set(chosen) or implemented() - {os.path.basename(path)[:-6] for path in glob.glob(os.path.join(FOLDER, "*.pbtxt"))}
    why, helpers = {}, []
    for op, graph in graphs():
        others = ({node.op for node in graph.node} | {node.op for f in graph.library.function for node in f.node_def}) & wanted
        if op not in wanted and not others:
            continue
        error = runs(graph)
        if error:
            why.update({one: error for one in {op, *others} & wanted})
        elif op in wanted:
            write(op, graph)
            wanted.discard(op)
        if not error:
            helpers.append((others, graph))
    for others, graph in helpers:
        for op in sorted(others & wanted):
            write(op, graph)
            wanted.discard(op)
    for op in sorted(wanted):
        print(f"no case: {op}{': ' + why[op] if op in why else ''}")
    print(f"{len(wanted)} operations have no case")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:  # for the files that cases write
        os.chdir(folder)
        main(sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""What an engine says to the destruction of resources: destroyed.py MODULE GRAPHS ANSWERS

GRAPHS is a folder of GraphDefs, MODULE `tensorflow` or `thalweg`. The answers are JSON: {graph: {nodes: what the last of them said}}, of
each way in `WAYS` in a session of its own. Python 3.7 and later.
"""
import json
import os
import sys

# Nodes that are run one after the other: `twice` destroys what `once` has destroyed in the same step, `lenient` too, and does not mind.
WAYS = ("once", "twice", "lenient", "use once", "use twice")


def outcome(module, definition, nodes):
    with module.Graph().as_default() as graph:
        module.import_graph_def(definition, name="")
        with module.Session() as session:
            said = ""
            for node in nodes:
                try:
                    session.run(graph.get_operation_by_name(node))
                    said = "ok"
                except module.errors.OpError as error:
                    said = type(error).__name__
            return said


def answers(module, definition):
    """{way: what was said}; the words of the refusal where there is no such operation."""
    names = {node.name for node in definition.node}
    try:
        return {way: outcome(module, definition, way.split()) for way in WAYS if names.issuperset(way.split())}
    except Exception as error:  # of an operation that is not there
        return str(error)


def main():
    name, graphs, path = sys.argv[1:]
    if name == "thalweg":
        import thalweg as module
    else:
        import tensorflow.compat.v1 as module
        module.disable_v2_behavior()
    found = {}
    for graph in sorted(os.listdir(graphs)):
        definition = module.GraphDef()
        with open(os.path.join(graphs, graph), "rb") as f:
            definition.ParseFromString(f.read())
        found[graph] = answers(module, definition)
    with open(path, "w") as f:
        json.dump(found, f)


if __name__ == "__main__":
    main()

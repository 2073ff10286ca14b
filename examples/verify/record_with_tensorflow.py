# SPDX-License-Identifier: Apache-2.0
"""Records what a model computes under TensorFlow (1.15 or 2), for `thalweg verify`:

    python record_with_tensorflow.py MODEL reference.npz x=x.npy
    thalweg verify MODEL --reference reference.npz

MODEL is a SavedModel's folder or a frozen graph. Recorded are the inputs (`in.NAME`: a name of the signature, or a tensor of a graph) and
every float, integer or bool that the graph computes outside of branches and loops (`out.TENSOR`)."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
v1.disable_eager_execution()


def load(session, path):
    """{input: tensor}, [outputs] of the model, which the session's graph has then."""
    if os.path.isdir(path):
        signature = v1.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
        return {name: info.name for name, info in signature.inputs.items()}, [info.name for info in signature.outputs.values()]
    graph_def = v1.GraphDef()
    with open(path, "rb") as f:
        graph_def.ParseFromString(f.read())
    tf.import_graph_def(graph_def, name="")
    read = {edge.partition(":")[0] for node in graph_def.node for edge in node.input}
    return {}, [node.name + ":0" for node in graph_def.node if node.name not in read and node.op != "Placeholder"]


def sources(operation):
    """What must have run before it in the same turn of a loop."""
    return [op for op in [t.op for t in operation.inputs] + list(operation.control_inputs) if op.type not in ("NextIteration", "RefNextIteration")]


def depth_of(operation, known):
    """In how many branches and loops its outputs lie: not every step has them."""
    kind = operation.type[3:] if operation.type.startswith("Ref") else operation.type
    depth = max([known[op] for op in sources(operation)] or [0])
    is_loop = len(sources(operation)) < len(operation.inputs) + len(operation.control_inputs)
    change = {"Enter": 1, "Switch": 1, "Merge": 0 if is_loop else -1, "Exit": -2}.get(kind, 0)
    return max(depth + change, 0)


def values_before(graph, outputs, fed):
    """What the outputs are computed from, but for what may not be there in every step."""
    waiting, known, values = [graph.get_tensor_by_name(name).op for name in outputs], {}, []
    while waiting:
        operation = waiting[-1]
        open_sources = [op for op in sources(operation) if op not in known]
        if operation in known or not open_sources:
            waiting.pop()
            if operation not in known:
                known[operation] = depth_of(operation, known)
                if known[operation] == 0 and operation.name not in fed:
                    values.extend(operation.outputs)
            # What a loop's next turn computes.
            waiting.extend(t.op.inputs[0].op for t in operation.inputs if t.op.type.endswith("NextIteration") and t.op.inputs[0].op not in known)
        else:
            waiting.extend(open_sources)
    return [t for t in values if (t.dtype.is_floating or t.dtype.is_integer or t.dtype.is_bool) and not t.dtype._is_ref_dtype and
            t.dtype != tf.bfloat16 and not t.dtype.is_quantized]


def main(path, out, *feeds):
    given = {name: np.load(file) for name, _, file in (feed.partition("=") for feed in feeds)}
    with tf.Graph().as_default() as graph, v1.Session() as session:
        inputs, outputs = load(session, path)
        tensors = {name: graph.get_tensor_by_name(inputs.get(name, name if ":" in name else name + ":0")) for name in given}
        wanted = values_before(graph, outputs, {t.op.name for t in tensors.values()})
        found = session.run(wanted, {tensors[name]: value for name, value in given.items()})
    np.savez(out, **{"in." + name: value for name, value in given.items()}, **{"out." + t.name: value for t, value in zip(wanted, found)})


if __name__ == "__main__":
    main(*sys.argv[1:])

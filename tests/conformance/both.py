# SPDX-License-Identifier: Apache-2.0
"""One operation in the real TensorFlow and here: the same GraphDef, the same feeds, in one process."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf
import thalweg as tw

tf.disable_v2_behavior()

# Where both may differ by more than the last places: relative and absolute tolerance by type.
TOLERANCE = {"float16": (4e-3, 1e-3), "bfloat16": (3e-2, 1e-2), "float32": (4e-5, 1e-5), "float64": (1e-9, 1e-11),
             "complex64": (1e-4, 1e-4), "complex128": (1e-9, 1e-10)}


class Outcome:
    """What one engine made of a case: the outputs, or the class of its error."""

    def __init__(self, outputs=None, error=None):
        self.outputs, self.error = outputs, error

    def __str__(self):
        if not self.error:
            return f"{self.outputs}"
        lines = [line.strip() for line in str(self.error).splitlines() if "Graph execution error" not in line and "File " not in line]
        return f"{type(self.error).__name__}: {' '.join(filter(None, lines))[:300]}"


def theirs(op, values, attrs):
    """(outcome, GraphDef bytes) of TensorFlow; the bytes are None when it refused to make the node."""
    with tf.Graph().as_default() as graph:
        names = [i.name for i in op_def(op).input_arg]
        try:
            placeholders = {n: tf.placeholder(v.dtype, v.shape, name=f"in{i}") for i, (n, v) in enumerate(zip(names, values))}
            result = getattr(tf.raw_ops, op)(**placeholders, **attrs, name="op")
        except (ValueError, TypeError) as e:
            return Outcome(error=e), None
        node = graph.get_operation_by_name("op")
        with tf.Session(config=PLAIN) as session:
            try:
                feeds = {f"in{i}:0": v for i, v in enumerate(values)}
                return Outcome(session.run([o.name for o in node.outputs], feeds)), graph.as_graph_def().SerializeToString()
            except tf.errors.OpError as e:
                return Outcome(error=e), graph.as_graph_def().SerializeToString()


def ours(graph_def, values, outputs):
    with tw.Graph().as_default():
        try:
            definition = tw.GraphDef.FromString(graph_def)
            tw.import_graph_def(definition, name="")
            with tw.Session() as session:
                return Outcome(session.run([f"op:{i}" for i in range(outputs)], {f"in{i}:0": v for i, v in enumerate(values)}))
        except (tw.errors.OpError, ValueError, TypeError) as e:
            return Outcome(error=e)


def gradients(op, values):
    """(theirs, ours): the derivatives of the sum of the first output for each input, None where there is none; None when
    TensorFlow itself fails to make them."""
    with tf.Graph().as_default() as graph:
        inputs = {i.name: tf.placeholder(v.dtype, v.shape, name=f"in{n}") for n, (i, v) in enumerate(zip(op_def(op).input_arg, values))}
        getattr(tf.raw_ops, op)(**inputs, name="op")
        definition = graph.as_graph_def().SerializeToString()
        try:
            found = tf.gradients(graph.get_tensor_by_name("op:0"), list(inputs.values()))
        except (ValueError, LookupError):
            return None
        with tf.Session(config=PLAIN) as session:
            known = session.run([g for g in found if g is not None], {f"in{i}:0": v for i, v in enumerate(values)})
    expected = [None if g is None else known.pop(0) for g in found]
    with tw.Graph().as_default() as graph:
        tw.import_graph_def(tw.GraphDef.FromString(definition), name="")
        found = tw.gradients(graph.get_tensor_by_name("op:0"), [graph.get_tensor_by_name(f"in{i}:0") for i in range(len(values))])
        with tw.Session() as session:
            known = session.run([g for g in found if g is not None], {f"in{i}:0": v for i, v in enumerate(values)})
    return expected, [None if g is None else known.pop(0) for g in found]


def op_def(op):
    from tensorflow.python.framework import op_def_registry
    return op_def_registry.get(op)


PLAIN = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
PLAIN.graph_options.rewrite_options.disable_meta_optimizer = True


def same_error(a, b):
    """The same class; or both have no kernel; or we refused earlier, when the node was made."""
    if type(a).__name__ == type(b).__name__ or not isinstance(a, tf.errors.OpError):
        return True
    if ("kernel" in str(a).lower() or "Signature mismatch" in str(a)) and "no kernel" in str(b):
        return True
    return isinstance(b, ValueError) and isinstance(a, tf.errors.InvalidArgumentError)


def differ(a, b, factor=1):
    """Why two outcomes are not the same, or None."""
    if a.error or b.error:
        return None if a.error and b.error and same_error(a.error, b.error) else f"theirs {a}; ours {b}"
    for i, (x, y) in enumerate(zip(a.outputs, b.outputs)):
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype != y.dtype and str(x.dtype) != str(y.dtype):
            return f"output {i}: theirs is {x.dtype}, ours {y.dtype}"
        if x.shape != y.shape:
            return f"output {i}: theirs is of shape {x.shape}, ours {y.shape}"
        kind = str(x.dtype)
        if kind in TOLERANCE:
            relative, absolute = (t * factor for t in TOLERANCE[kind])
            wide = complex if x.dtype.kind == "c" else float
            near = np.isclose(y.astype(wide), x.astype(wide), rtol=relative, atol=absolute, equal_nan=True)
        else:
            near = np.equal(x, y)
        if not np.all(near):
            at = tuple(np.argwhere(~np.atleast_1d(near))[0])
            return f"output {i} at {at}: theirs {np.atleast_1d(x)[at]!r}, ours {np.atleast_1d(y)[at]!r}"
    return None

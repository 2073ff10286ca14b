# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow 2.21 exports, run here with the numbers that it gives: a Keras model as a SavedModel, its variables restored from the
checkpoint; concrete functions with loops, lists, conditionals and gradients inside; graphs of releases to come."""
import os
import subprocess
import sys

import numpy as np
import pytest
from releases import their_environment

import thalweg as tw

EXPORT = '''
import sys
import numpy as np
import tensorflow as tf

out = sys.argv[1]
tf.keras.utils.set_random_seed(5)
x = np.random.RandomState(1).standard_normal((4, 6, 3)).astype(np.float32)
model = tf.keras.Sequential([tf.keras.layers.Input((6, 3)), tf.keras.layers.Conv1D(5, 2, activation="relu"), tf.keras.layers.BatchNormalization(),
                             tf.keras.layers.LSTM(4), tf.keras.layers.Dense(3, activation="softmax")])
model.export(out + "/keras", verbose=False)


class Module(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.random.stateless_normal([3, 3], [1, 2]), name="w")
        self.calls = tf.Variable(0, dtype=tf.int64, name="calls")

    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([], tf.int32)])
    def run(self, x, n):
        self.calls.assign_add(1)
        rows = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[None, 3])
        state = x
        for i in tf.range(n):
            state = tf.cond(tf.equal(i % 2, 0), lambda: tf.tanh(state @ self.w), lambda: self.twice(state))
            rows = rows.write(i, state)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(n):
                y = tf.sin(y @ self.w) + x
            loss = tf.reduce_sum(y * y)
        slopes = tape.gradient(loss, [x, self.w])
        return {"rows": rows.stack(), "loss": loss, "by_x": slopes[0], "by_w": slopes[1], "calls": self.calls.read_value()}

    @tf.function
    def twice(self, x):
        return x * 2.0 if tf.reduce_sum(x) > 0 else -x


module = Module()
tf.saved_model.save(module, out + "/module", signatures=module.run)
fed = x[:, 0]
keras, module = tf.saved_model.load(out + "/keras"), tf.saved_model.load(out + "/module")
results = {k: v.numpy() for k, v in module.signatures["serving_default"](x=tf.constant(fed), n=tf.constant(5)).items()}
np.savez(out + "/values.npz", x=x, keras=keras.serve(x).numpy(), **results)
'''


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Written by a process of its own: this one has switched TensorFlow 2's behavior off."""
    folder = str(tmp_path_factory.mktemp("exported"))
    program = os.path.join(folder, "export.py")  # tf.function reads its source
    with open(program, "w", encoding="utf-8") as f:
        f.write(EXPORT)
    subprocess.run([sys.executable, program, folder], check=True, env=their_environment(), stderr=subprocess.DEVNULL)
    return folder


def served(folder, values):
    """The outputs of the default signature for values in the order of its inputs' names, after the restore that the SavedModel asks for."""
    with open(os.path.join(folder, "saved_model.pb"), "rb") as f:
        meta = tw.messages.SavedModel.FromString(f.read()).meta_graphs[0]
    signature = meta.signature_def["serving_default"]
    with tw.Graph().as_default(), tw.Session() as session:
        tw.import_graph_def(meta.graph_def, name="")
        session.run(meta.saver_def.restore_op_name, {meta.saver_def.filename_tensor_name: os.path.join(folder, "variables", "variables")})
        given = {signature.inputs[k].name: v for k, v in zip(sorted(signature.inputs), values)}
        names = sorted(signature.outputs)
        return dict(zip(names, session.run([signature.outputs[k].name for k in names], given)))


def test_keras_model(exported):
    with np.load(os.path.join(exported, "values.npz")) as wanted:
        found = served(os.path.join(exported, "keras"), [wanted["x"]])
        np.testing.assert_allclose(next(iter(found.values())), wanted["keras"], rtol=2e-5, atol=2e-6)


def test_module(exported):
    with np.load(os.path.join(exported, "values.npz")) as wanted:
        found = served(os.path.join(exported, "module"), [np.int32(5), wanted["x"][:, 0]])
        assert sorted(found) == ["by_w", "by_x", "calls", "loss", "rows"]
        for name, value in found.items():
            np.testing.assert_allclose(value, wanted[name], rtol=2e-5, atol=2e-5, err_msg=name)


def future(attr=None, producer=4000):
    """A graph of a release to come, whose Add has an attribute that nobody knows."""
    graph = tw.GraphDef()
    graph.versions.producer = producer
    for name, op, inputs in (("x", "Placeholder", []), ("y", "AddV2", ["x", "x"])):
        node = graph.node.add()
        node.name, node.op = name, op
        node.input.extend(inputs)
        node.attr["dtype" if op == "Placeholder" else "T"].type = tw.float32.as_datatype_enum
    if attr is not None:
        graph.node[1].attr["grain"].i = attr
    return graph


def known_there(default):
    """The operations as that release describes them."""
    ops = tw.messages.OpList()
    op = ops.op.add()
    op.name = "AddV2"
    attr = op.attr.add()
    attr.name, attr.type = "grain", "int"
    attr.default_value.i = default
    return ops


def test_future_attribute_at_its_default():
    with tw.Graph().as_default(), tw.Session() as session:
        tw.import_graph_def(future(3), name="", producer_op_list=known_there(3))
        assert session.run("y:0", {"x:0": 2.0}) == 4.0


@pytest.mark.parametrize("producer_ops", [None, known_there(1)], ids=["unknown", "other_default"])
def test_future_attribute_is_named(producer_ops):
    with tw.Graph().as_default(), pytest.raises(ValueError) as refused:
        tw.import_graph_def(future(3), name="", producer_op_list=producer_ops)
    for word in ("4000", "AddV2", "grain"):
        assert word in str(refused.value)

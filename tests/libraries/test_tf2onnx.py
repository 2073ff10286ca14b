# SPDX-License-Identifier: Apache-2.0
"""tf2onnx 1.5.6: a trained graph is frozen and becomes a model of ONNX, which ONNX's own check accepts."""

PROGRAM = """
    import numpy as np
    import onnx
    import tensorflow as tf
    from tf2onnx import optimizer
    from tf2onnx.tfonnx import process_tf_graph, tf_optimize
    tf.set_random_seed(1)
    rows = np.random.RandomState(0).rand(64, 4).astype(np.float32)
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    out = tf.identity(tf.layers.dense(tf.layers.dense(x, 8, tf.nn.relu), 1), name="out")
    loss = tf.reduce_mean((out - rows.sum(1, keepdims=True)) ** 2)
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(150):
            session.run(step, {x: rows})
        wanted = session.run(out, {x: rows})
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["out"])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
        with tf.Session(graph=graph):
            converted = process_tf_graph(graph, opset=10, input_names=["x:0"], output_names=["out:0"])
    model = optimizer.optimize_graph(converted).make_model("net")
    onnx.checker.check_model(model)
    value = {"x:0": rows}
    for tensor in model.graph.initializer:
        value[tensor.name] = onnx.numpy_helper.to_array(tensor)
    kinds = {"MatMul": np.matmul, "Add": np.add, "Relu": lambda a: np.maximum(a, 0), "Identity": lambda a: a}
    for node in model.graph.node:
        value[node.output[0]] = kinds[node.op_type](*[value[i] for i in node.input])
    print(np.abs(value["out:0"] - wanted).max())
"""


def test_a_trained_net_becomes_an_onnx_model(last_number):
    assert last_number(PROGRAM) < 1e-5

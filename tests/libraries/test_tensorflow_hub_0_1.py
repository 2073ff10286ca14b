# SPDX-License-Identifier: Apache-2.0
"""tensorflow-hub 0.1.1: a module is loaded and trained; one of words, which has a table, becomes a column of features."""
import pytest

PROGRAM = """
    import numpy as np
    import tensorflow as tf
    import tensorflow_hub as hub
    assert hub.__version__ == "0.1.1"
    def body():
        x = tf.placeholder(tf.float32, [None, 3])
        w = tf.get_variable("w", [3, 8], initializer=tf.random_normal_initializer(seed=1))
        b = tf.get_variable("b", [8], initializer=tf.zeros_initializer())
        hub.add_signature(inputs=x, outputs=tf.tanh(tf.matmul(x, w) + b))
    def words():
        text = tf.placeholder(tf.string, [None])
        table = tf.contrib.lookup.index_table_from_tensor(["a", "b", "c"], num_oov_buckets=1)
        vectors = tf.get_variable("vectors", [4, 2], initializer=tf.constant_initializer([[1., 2.], [3., 4.], [5., 6.], [7., 8.]]))
        hub.add_signature(inputs=text, outputs=tf.nn.embedding_lookup(vectors, table.lookup(text)))
    for name, each in (("module", body), ("words", words)):
        with tf.Graph().as_default(), tf.Session() as session:
            module = hub.Module(hub.create_module_spec(each))
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            module.export(name, session)
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
    module = hub.Module("module", trainable=True)
    loss = tf.losses.mean_squared_error(y, tf.layers.dense(module(x), 1, kernel_initializer=tf.constant_initializer(0.1)))
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    rows = np.random.RandomState(0).randn(64, 3).astype(np.float32)
    feeds = {x: rows, y: rows[:, :1] * rows[:, 1:2]}
    column = hub.text_embedding_column("text", "words")
    read = tf.feature_column.input_layer({"text": tf.constant(["b", "z", "a"])}, [column])
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        first = session.run(read)
        losses = []
        for _ in range(100):
            losses.append(session.run([loss, step], feeds)[0])
        print(*first.ravel(), *losses[::33], session.run(loss, feeds))
"""
RECORDED = [  # what TensorFlow 1.15 gives
    3.0, 4.0, 7.0, 8.0, 1.0, 2.0, 1.3001268, 0.097645625, 0.019196697, 0.0102563305, 0.010083238]


def test_modules_load_and_train_as_in_tensorflow(other_numbers):
    assert other_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-3, abs=1e-6)

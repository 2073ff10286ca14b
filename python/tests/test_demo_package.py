# SPDX-License-Identifier: Apache-2.0
"""The packages that `./dev demo` and `./dev demo cluster` build: they train, and what they lack says so in one sentence."""
import json
import os
import re
import subprocess
import sys

import pytest
import thalweg as tw

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WHOLE = os.path.dirname(os.path.dirname(os.path.abspath(tw.__file__)))  # build/release/python
NOTE = r"this library was built for ./dev demo, without the families [a-z_, ]+; ./dev build builds these"

SMALL_PROGRAM = """
import numpy as np, thalweg as tf
x = tf.placeholder(tf.float32, [None, 2])
def body(i, h):
    return i + 1, tf.tanh(tf.layers.dense(h, 4, name="cell", reuse=tf.AUTO_REUSE))
_, h = tf.while_loop(lambda i, h: i < 3, body, [0, tf.layers.dense(x, 4)])
h = tf.nn.dropout(tf.layers.batch_normalization(h, training=True), rate=0.1, seed=1)
loss = tf.reduce_mean(tf.square(tf.layers.dense(h, 1)[:, 0] - x[:, 0]))
optimizer = tf.train.AdamOptimizer(0.05)
gradients, variables = zip(*optimizer.compute_gradients(loss))
step = optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, 1.0)[0], variables))
with tf.control_dependencies([tf.Assert(tf.equal(tf.shape(x)[1], 2), [x])]):
    loss = tf.identity(loss)
random = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, step], {x: random.rand(16, 2)})[0] for _ in range(200)]
assert np.mean(losses[-20:]) < 0.3 * np.mean(losses[:20]), losses
"""

# By family that is left out: a name of an operation of it, and an expression that runs one.
MISSING = {
    "ctc": ("CTCGreedyDecoder", "tf.nn.ctc_greedy_decoder(tf.zeros([3, 1, 4]), [3])[0][0].values"),
    "data": ("OneShotIterator", "tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()"),
    "image": ("ResizeBilinear", "tf.image.resize_bilinear(tf.zeros([1, 4, 4, 1]), [2, 2])"),
    "linalg": ("Cholesky", "tf.linalg.cholesky(tf.eye(2))"),
    "lookup": ("HashTableV2", "tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(['a'], [1]), 0).size()"),
    "parsing": ("DecodeCSV", "tf.decode_csv(['1'], [[0]])[0]"),
    "quantized": ("QuantizeV2", "tf.quantize(tf.zeros([2]), 0., 1., tf.quint8).output"),
    "queue": ("FIFOQueueV2", "tf.FIFOQueue(1, [tf.int32]).size()"),
    "ragged": ("RaggedRange", "tf.ragged.range([1, 2]).values"),
    "signal": ("FFT", "tf.fft(tf.zeros([4], tf.complex64))"),
    "sparse": ("SparseTensorDenseMatMul", "tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 0]], [1.], [1, 1]), [[1.]])"),
    "string": ("StringJoin", "tf.strings.join(['a', 'b'])"),
    "summary": ("ScalarSummary", "tf.summary.scalar('a', 1.0)"),
}
ASK = """
import json, sys, thalweg as tf
said = {}
for family, expression in json.loads(sys.argv[1]).items():
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            session.run(eval(expression))
        except tf.errors.OpError as error:
            said[family] = [type(error).__name__, error.message]
print(json.dumps(said))
"""


def run(package, *arguments):
    folder = os.path.join(os.path.dirname(WHOLE), package, "python") if package else WHOLE
    assert os.path.exists(os.path.join(folder, "thalweg", "libthalweg.so.0")), f"./dev build makes {folder}"
    p = subprocess.run([sys.executable, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
                       env={**os.environ, "PYTHONPATH": folder})
    assert p.returncode == 0, p.stderr
    return p.stdout


def test_the_demo_runs(tmp_path):
    said = run("demo", os.path.join(ROOT, "examples", "python", "demo.py"), 0, tmp_path)
    assert re.fullmatch(r"test accuracy: (0\.9[78]|0\.99|1\.0)\d*", said.splitlines()[-1])


def test_the_demo_of_a_cluster_runs(tmp_path):
    said = run("demo_cluster", os.path.join(ROOT, "examples", "cluster", "demo_cluster.py"), tmp_path / "demo")
    assert re.fullmatch(r"test accuracy: (0\.9[89]|1\.0)\d*", said.splitlines()[-1])


@pytest.mark.parametrize("package", ["demo", "demo_cluster"])
def test_a_small_program_trains(package):
    run(package, "-c", SMALL_PROGRAM)


def test_an_operation_that_is_left_out_says_so():
    said = json.loads(run("demo", "-c", ASK, json.dumps({family: expression for family, (_, expression) in MISSING.items()})))
    assert set(said) == set(MISSING)
    for family, (operation, _) in MISSING.items():
        kind, message = said[family]
        assert kind == "NotFoundError" and message.count("\n") == 0, (family, message)
        assert re.search(rf"no kernel is registered for operation {operation} .*{NOTE}", message), (family, message)
        assert re.search(rf"[ ,]{family}[,;]", re.search(NOTE, message)[0]), (family, message)
    assert json.loads(run(None, "-c", ASK, json.dumps({"string": MISSING["string"][1]}))) == {}  # the whole package has it


def test_clusters_are_left_out_of_the_first_and_say_so():
    said = run("demo", "-c", """
import thalweg as tf
for make in (lambda: tf.Session("grpc://127.0.0.1:1").run(tf.constant(1)), lambda: tf.Session.reset("grpc://127.0.0.1:1"),
             tf.train.Server.create_local_server):
    try:
        make()
    except tf.errors.UnimplementedError as error:
        print(error.message)
""")
    assert said.splitlines() == ["this library has no clusters: it was built for ./dev demo; ./dev build builds all"] * 3


@pytest.mark.parametrize("package", ["demo", "demo_cluster"])
def test_tools_for_files_are_left_out_and_say_so(package, tmp_path):
    said = run(package, "-c", """
import sys, thalweg as tf
tf.debugging.write_trace(sys.argv[1] + "/step.pb", tf.RunMetadata())
for work in (lambda: tf.debugging.write_trace(sys.argv[1] + "/step.trace", tf.RunMetadata()),
             lambda: tf.debugging.read_trace(sys.argv[1] + "/step.pb")):
    try:
        work()
    except tf.errors.UnimplementedError as error:
        print(error.message)
""", tmp_path)
    missing = "this library has no compact recordings: it was built for ./dev demo; ./dev build builds all"
    assert said.splitlines() == [missing, f"{tmp_path}/step.pb: {missing}"]

# SPDX-License-Identifier: Apache-2.0
"""Our side of benchmarks/peers/workloads.md, through the Python package: thalweg_.py WORKLOAD --threads N --seconds S

Prints the line that the peers' scripts print. Variant `callable` times a prepared callable instead of Session.run.
"""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import common

a = common.options()
import numpy as np
import thalweg as tf

variants = set(a.variant.split("+"))
rng = np.random.RandomState(0)


def session(optimizers=True):
    config = tf.ConfigProto(intra_op_parallelism_threads=a.threads, inter_op_parallelism_threads=a.threads)
    if not optimizers:  # equal nodes stay as many as they are
        config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    return tf.Session(config=config)


def stepper(s, fetch, feed=None):
    feed = feed or {}
    if "callable" in variants:
        call, values = s.make_callable(fetch, feed_list=list(feed)), list(feed.values())
        return lambda: call(*values)
    return lambda: s.run(fetch, feed)


def report(step, warm=2, **more):
    common.emit(a, "thalweg", tf.__version__, common.measure(step, a.seconds, warm), **more)


def noop_chain():
    last = tf.no_op()
    for _ in range(common.CHAIN - 1):
        with tf.control_dependencies([last]):
            last = tf.no_op()
    report(stepper(session(optimizers=False), last), nodes=common.CHAIN)


def noop_wide():
    report(stepper(session(optimizers=False), tf.group(*[tf.no_op() for _ in range(common.CHAIN)])), nodes=common.CHAIN)


def adding_chain():
    x = start = tf.placeholder(tf.float32, [])
    one = tf.constant(1.0)
    for _ in range(common.CHAIN):
        x = x + one
    return x, {start: np.float32(0)}


def add_chain():
    report(stepper(session(optimizers=False), *adding_chain()), nodes=common.CHAIN)


def chain_2_callers():
    """Two threads run one plan, each a step; a step of this row is both."""
    s = session(optimizers=False)
    step = stepper(s, *adding_chain())
    step()

    def both():
        other = threading.Thread(target=step)
        other.start()
        step()
        other.join()
    report(both, nodes=2 * common.CHAIN)


def identity_chain():
    x = start = tf.placeholder(tf.float32, [])
    for _ in range(common.CHAIN):
        x = tf.identity(x)
    report(stepper(session(optimizers=False), x, {start: np.float32(0)}), nodes=common.CHAIN)


def dag_layered():
    """Layers of 100 scalar additions, each of two nodes of the layer before."""
    start = tf.placeholder(tf.float32, [])
    layer = [start + float(i) for i in range(100)]
    for _ in range(common.CHAIN // 100 - 1):
        picks = rng.randint(0, 100, (100, 2))
        layer = [layer[i] + layer[j] for i, j in picks]
    report(stepper(session(optimizers=False), tf.group(*layer), {start: np.float32(0)}), nodes=common.CHAIN)


def chain_mixed():
    """1,000 nodes: 20 branches of 49 additions and a product of about 50 us."""
    start = tf.placeholder(tf.float32, [])
    matrix = tf.constant(np.full((160, 160), .5, "f"))
    ends = []
    for _ in range(20):
        x = start
        for _ in range(49):
            x = x + 1.0
        with tf.control_dependencies([x]):
            ends.append(tf.matmul(matrix, matrix))
    report(stepper(session(optimizers=False), tf.group(*ends), {start: np.float32(0)}), nodes=1000)


def latency_noop():
    report(stepper(session(), tf.no_op()), warm=100)


def latency_add():
    x = tf.placeholder(tf.float32, [])
    report(stepper(session(), x + 1.0, {x: np.float32(0)}), warm=100)


def loop(body, start, n):
    limit = tf.placeholder(tf.int32, [])
    r = tf.while_loop(lambda i, *_: i < limit, body, [tf.constant(0)] + start, back_prop=False)
    report(stepper(session(), r[1] if start else r, {limit: np.int32(n)}), nodes=n, warm=1)


def while_count():
    loop(lambda i: i + 1, [], common.COUNT)


def while_nested():
    def inner(_):
        return tf.while_loop(lambda j: j < 100, lambda j: j + 1, [tf.constant(0)], back_prop=False)
    loop(lambda i, x: (i + 1, inner(x)), [tf.constant(0)], 100)


def while_cond():
    loop(lambda i, x: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: x + 1, lambda: x - 1)), [tf.constant(0)], 10000)


def while_matmul():
    w = tf.constant(np.eye(64, dtype="f"))
    loop(lambda i, x: (i + 1, tf.matmul(x, w)), [tf.constant(rng.rand(64, 64).astype("f"))], common.MATMULS)


def eltwise():
    x = tf.Variable(rng.rand(common.ELEMENTS).astype("f"))
    y = tf.tanh(x * 1.5 + .25) * tf.sigmoid(x) - x * x
    s = session()
    s.run(tf.global_variables_initializer())
    report(stepper(s, y.op), bytes_=8 * common.ELEMENTS)


def dense(x, n):
    k = int(x.shape[-1])
    w = tf.Variable(rng.randn(k, n).astype("f") * np.float32((2. / k) ** .5))
    return tf.nn.bias_add(tf.matmul(x, w), tf.Variable(np.zeros(n, "f")))


def conv(x, k, n):
    c = int(x.shape[-1])
    w = tf.Variable(rng.randn(k, k, c, n).astype("f") * np.float32((2. / (k * k * c)) ** .5))
    return tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), tf.Variable(np.zeros(n, "f")))


def pool(x):
    return tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")


def mlp_net(x):
    return dense(tf.nn.relu(dense(tf.nn.relu(dense(x, 512)), 512)), 10)


def lenet_net(x):
    x = pool(tf.nn.relu(conv(pool(tf.nn.relu(conv(x, 5, 32))), 5, 64)))
    x = tf.reshape(x, [-1, int(np.prod([int(d) for d in x.shape[1:]]))])
    return dense(tf.nn.relu(dense(x, 512)), 10)


def classify(net, shape, optimizer):
    x, y = tf.placeholder(tf.float32, shape), tf.placeholder(tf.int32, shape[:1])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=net(x), labels=y))
    step = optimizer.minimize(loss)
    s = session()
    s.run(tf.global_variables_initializer())
    report(stepper(s, [step, loss], {x: rng.rand(*shape).astype("f"), y: rng.randint(0, 10, shape[:1]).astype("i")}))


def infer(net, shape):
    x = tf.placeholder(tf.float32, shape)
    out = net(x)
    s = session()
    s.run(tf.global_variables_initializer())
    report(stepper(s, out, {x: rng.rand(*shape).astype("f")}))


WORKLOADS = dict(
    {f.__name__: f for f in (noop_chain, noop_wide, add_chain, chain_2_callers, chain_mixed, identity_chain, dag_layered,
                             latency_noop, latency_add, while_count, while_nested, while_cond, while_matmul, eltwise)},
    mlp=lambda: classify(mlp_net, [128, 784], tf.train.GradientDescentOptimizer(1e-3)),
    lenet=lambda: classify(lenet_net, [64, 28, 28, 1], tf.train.AdamOptimizer(1e-3)),
    mlp_infer_b1=lambda: infer(mlp_net, [1, 784]),
    mlp_infer_b128=lambda: infer(mlp_net, [128, 784]))

if __name__ == "__main__":
    WORKLOADS[a.workload]()

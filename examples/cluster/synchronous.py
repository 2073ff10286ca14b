# SPDX-License-Identifier: Apache-2.0
"""Synchronous data parallel training: one client drives one graph; each of ten replicas takes a tenth of the batch, the mean of
their gradients is applied. The result is that of the whole batch on one device, up to rounding."""
import numpy as np
import tasks
import thalweg as tf

REPLICAS, ROWS, STEPS = 10, 100, 20


def data():
    random = np.random.RandomState(0)
    x = random.standard_normal([STEPS, REPLICAS * ROWS, 16]).astype(np.float32)
    return x, np.tanh(x @ random.standard_normal([16, 4])).astype(np.float32)


def loss_of(x, y):
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        random = np.random.RandomState(1)
        hidden = tf.get_variable("hidden", initializer=random.uniform(-0.3, 0.3, [16, 32]).astype(np.float32))
        out = tf.get_variable("out", initializer=random.uniform(-0.3, 0.3, [32, 4]).astype(np.float32))
    return tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, hidden)), out) - y))


def train(target, replicas, spec=None):
    """The weights after training in so many parts."""
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [None, 16]), tf.placeholder(tf.float32, [None, 4])
        gradients = []
        for i, (part, wanted) in enumerate(zip(tf.split(x, replicas), tf.split(y, replicas))):
            device = spec and tf.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{i}")
            with tf.device(device):
                gradients.append(tf.gradients(loss_of(part, wanted), tf.trainable_variables()))
        variables = tf.trainable_variables()
        with tf.device(spec and "/job:ps/task:0"):
            means = [tf.add_n(list(g)) / float(replicas) for g in zip(*gradients)]
            step = tf.train.MomentumOptimizer(0.1, 0.9).apply_gradients(zip(means, variables))
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            for inputs, outputs in zip(*data()):
                session.run(step, {x: inputs, y: outputs})
            return session.run(variables)


if __name__ == "__main__":
    cluster, servers = tasks.servers({"ps": 1, "worker": REPLICAS})
    parallel, alone = train(servers["worker", 0].target, REPLICAS, cluster), train("", 1)
    difference = max(np.abs(a - b).max() for a, b in zip(parallel, alone))
    for server in servers.values():
        server.stop()
    assert difference < 1e-5, difference
    print(f"{REPLICAS} replicas of {ROWS} rows against one of {REPLICAS * ROWS}: weights differ by at most {difference:.1e}")

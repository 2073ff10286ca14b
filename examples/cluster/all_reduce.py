# SPDX-License-Identifier: Apache-2.0
"""Synchronous data parallel training without a parameter server: every worker has weights of its own and computes the gradient of
its part of the batch; a ring gives each the mean of all, which it applies. The weights stay equal bit for bit, and are those of
the whole batch on one device, up to rounding."""
import numpy as np
import synchronous
import tasks
import thalweg as tf

WORKERS = 4


def train(target):
    """The weights of each worker after training."""
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [None, 16]), tf.placeholder(tf.float32, [None, 4])
        weights, gradients = [], []
        for i, (part, wanted) in enumerate(zip(tf.split(x, WORKERS), tf.split(y, WORKERS))):
            with tf.device(f"/job:worker/task:{i}"), tf.variable_scope(f"worker_{i}"):
                loss = synchronous.loss_of(part, wanted)
                weights.append(tf.trainable_variables(f"worker_{i}/"))
                gradients.append(tf.gradients(loss, weights[i]))
        places = [f"/job:worker/task:{i}" for i in range(WORKERS)]
        means = [tf.distribute.ring_all_reduce(list(g), "mean", places) for g in zip(*gradients)]
        steps = []
        for i in range(WORKERS):
            with tf.device(places[i]):
                optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
                steps.append(optimizer.apply_gradients([(mean[i], w) for mean, w in zip(means, weights[i])]))
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            for inputs, outputs in zip(*synchronous.data()):
                session.run(steps, {x: inputs, y: outputs})
            return session.run(weights)


if __name__ == "__main__":
    _, servers = tasks.servers({"worker": WORKERS})
    parallel, alone = train(servers["worker", 0].target), synchronous.train("", 1)
    for server in servers.values():
        server.stop()
    for weights in parallel:
        assert all(np.array_equal(a, b) for a, b in zip(weights, parallel[0])), "the workers' weights differ"
    difference = max(np.abs(a - b).max() for a, b in zip(parallel[0], alone))
    assert difference < 1e-5, difference
    print(f"{WORKERS} workers without a ps: the same weights on each, which differ by at most {difference:.1e} from those of one")

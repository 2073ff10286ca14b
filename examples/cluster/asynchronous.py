# SPDX-License-Identifier: Apache-2.0
"""Asynchronous data parallel training: every replica has a client thread of its own, reads what the variables are by then, and
applies its own update. An embedding is sharded over two parameter servers; its gradients stay sparse.

    python asynchronous.py [STALENESS]      no replica gets more than that many steps ahead of the slowest; without it: any
"""
import concurrent.futures
import sys

import numpy as np
import tasks
import thalweg as tf

REPLICAS, STEPS, WORDS = 3, 120, 1000
STALENESS = int(sys.argv[1]) if len(sys.argv) > 1 else None


def replica(spec, target, task, chief_ready):
    """(loss, steps) of all words after this replica has learned which of them are even, from their embeddings alone."""
    random = np.random.RandomState(task)
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{task}")):
            step = tf.train.get_or_create_global_step()
            table = tf.get_variable("table", [WORDS, 8], partitioner=tf.fixed_size_partitioner(2),
                                    initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=1))
            out = tf.get_variable("out", [8, 1], initializer=tf.random_uniform_initializer(-1, 1, seed=2))
            words = tf.placeholder(tf.int64, [None])
            scores = tf.matmul(tf.nn.embedding_lookup(table, words, partition_strategy="div"), out)[:, 0]
            even = tf.cast(tf.equal(words % 2, 0), tf.float32)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=even, logits=scores))
            optimizer = tf.train.AdagradOptimizer(0.5)
            if STALENESS is not None:
                optimizer = tf.train.BoundedStalenessOptimizer(optimizer, STALENESS, REPLICAS, task)
            train = optimizer.minimize(loss, global_step=step)
        assert {v.op.device for v in table} == {"/job:ps/task:0", "/job:ps/task:1"}
        with tf.Session(target) as session:
            if task == 0:
                session.run(tf.global_variables_initializer())
                chief_ready.set_result(None)
            chief_ready.result()  # its error, where it has failed
            if STALENESS is not None:
                session.run(optimizer.join_op)
            try:
                for _ in range(STEPS):
                    session.run(train, {words: random.randint(0, WORDS, 100)})
            finally:
                if STALENESS is not None:
                    session.run(optimizer.leave_op)  # nobody waits for this one any more
            return session.run([loss, step], {words: np.arange(WORDS)})


def guarded(spec, target, task, chief_ready):
    """A replica; if the first one fails before the variables are there, the others fail with it."""
    try:
        return replica(spec, target, task, chief_ready)
    except Exception as error:
        if task == 0 and not chief_ready.done():
            chief_ready.set_exception(error)
        raise


if __name__ == "__main__":
    cluster, servers = tasks.servers({"ps": 2, "worker": REPLICAS})
    ready = concurrent.futures.Future()
    with concurrent.futures.ThreadPoolExecutor(REPLICAS) as threads:
        replicas = [threads.submit(guarded, cluster, servers["worker", i].target, i, ready) for i in range(REPLICAS)]
    results = [learned.result() for learned in replicas]
    for server in servers.values():
        server.stop()
    steps, final = max(step for _, step in results), min(loss for loss, _ in results)
    assert steps == REPLICAS * STEPS, steps
    print(f"{steps} updates of {REPLICAS} replicas: loss {final:.3f}")

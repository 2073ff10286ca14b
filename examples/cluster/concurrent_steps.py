# SPDX-License-Identifier: Apache-2.0
"""Concurrent steps (papers A7, Fig 9): where each step waits for its input, a few steps in flight fill the gaps."""
import threading
import time

import numpy as np
import tasks
import thalweg as tf

STEPS, WAIT = 60, 0.01


def rate(target, in_flight):
    """Steps a second with so many client threads."""
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            weights = tf.get_variable("weights", [64, 1], initializer=tf.zeros_initializer())
        with tf.device("/job:worker"):
            arrived = tf.FIFOQueue(STEPS, [tf.float32], shapes=[[8, 64]])
            put, rows = tf.placeholder(tf.float32, [8, 64]), arrived.dequeue()
            loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights) - tf.reduce_sum(rows, 1, keepdims=True)))
            step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
            enqueue = arrived.enqueue(put)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())

            def feeder():
                """An input that takes its time, as a disk or a network does; each step has asked for its own."""
                random = np.random.RandomState(0)
                for _ in range(STEPS // in_flight):
                    time.sleep(WAIT)
                    session.run(enqueue, {put: random.standard_normal([8, 64])})
                    session.run(step)
            threads = [threading.Thread(target=feeder) for _ in range(in_flight)]
            began = time.time()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return STEPS / (time.time() - began)


if __name__ == "__main__":
    _, servers = tasks.servers({"ps": 1, "worker": 1})
    target = servers["worker", 0].target
    rate(target, 1)  # plans are made
    one, three = rate(target, 1), rate(target, 3)
    for server in servers.values():
        server.stop()
    print(f"steps a second: {one:.0f} one by one, {three:.0f} with three in flight")

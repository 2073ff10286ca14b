# SPDX-License-Identifier: Apache-2.0
"""The client of a row: `python steps.py TARGET` makes a session and takes its steps as told by lines on standard input."""
import sys

import thalweg as tf

DEVICES = {"ps": "/job:ps/task:0", "worker": "/job:worker/task:1", "master": "/job:worker/task:0"}
BIG = 4_000_000  # numbers: 16 MB


def make_state():
    """What is kept on the ps, and counts the steps."""
    with tf.device(DEVICES["ps"]):
        return tf.get_variable("state", [], initializer=tf.zeros_initializer())


class Client:
    """A graph over the three tasks, in which the queue and the big value are where the fault will be."""

    def __init__(self, target, role, timeout_ms=60000):
        role = "ps" if role == "client" else role
        other = "worker" if role == "ps" else "ps"
        self._graph = tf.Graph()
        with self._graph.as_default():
            self.count = make_state().assign_add(1.0)
            with tf.device(DEVICES[role]):
                queue = tf.FIFOQueue(10, [tf.float32], shared_name="q")
                self.taken, self.put = queue.dequeue(), queue.enqueue(1.0)
                big = tf.fill([BIG], tf.placeholder_with_default(1.0, []))
                self.big = big + 0.0
                part = tf.placeholder_with_default(2.0, []) * 2.0
            with tf.device(DEVICES[other]):
                self.received = tf.reduce_max(self.big)
                first = part + 1.0
            with tf.device(DEVICES["master"]):
                self.simple = first + part
        self._config = tf.ConfigProto(operation_timeout_in_ms=timeout_ms)
        self._target = target
        self.session = None

    def open(self):
        self.session = tf.Session(self._target, graph=self._graph, config=self._config)

    def run(self, what, timeout_ms=60000):
        """A step, which is counted."""
        return self.session.run([getattr(self, what), self.count], options=tf.RunOptions(timeout_in_ms=timeout_ms))[0]

    def close(self):
        self.session.close()


class State:
    """The count on the ps, asked of the ps itself."""

    def __init__(self, cluster):
        self._cluster = cluster

    def _run(self, what):
        config = tf.ConfigProto(device_filters=["/job:ps"], operation_timeout_in_ms=60000)
        with tf.Graph().as_default():
            state = make_state()
            known = tf.is_variable_initialized(state)
            queue = tf.FIFOQueue(10, [tf.float32], shared_name="q")
            tensors = {"begin": state.initializer, "known": known, "value": state, "put": queue.enqueue(1.0)}
            with tf.Session("grpc://" + self._cluster.network.here("ps"), config=config) as session:
                return session.run(tensors[what])

    def begin(self):
        self._run("begin")

    def put(self):
        """For who takes from the queue of the ps."""
        self._run("put")

    def value(self):
        """None: the ps knows of no state."""
        return float(self._run("value")) if self._run("known") else None


def main():
    client = Client(sys.argv[1], "client", 60000)
    for line in sys.stdin:
        word = line.strip()
        if word == "open":
            client.open()
        elif word == "close":
            client.close()
        else:
            client.run(word, 120000)
        print("done", word, flush=True)


if __name__ == "__main__":
    main()

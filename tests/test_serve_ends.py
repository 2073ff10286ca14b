# SPDX-License-Identifier: Apache-2.0
"""`thalweg serve` ends cleanly with SIGTERM, also while steps wait for what never comes."""
import signal
import threading

import pytest
import serving
import thalweg as tf


@pytest.mark.parametrize("stuck_steps", [0, 1, 20])
def test_sigterm_ends_a_server_with_stuck_steps(stuck_steps):
    server = serving.serve({"a": ["127.0.0.1:0"]}, "a")
    try:
        target = serving.ready(server)
        with tf.Graph().as_default() as graph:
            queue = tf.FIFOQueue(1, [tf.float32])
            taken, size = queue.dequeue(), queue.size()
        errors = []

        def wait_for_ever():
            try:
                session.run(taken)
            except tf.errors.OpError as e:
                errors.append(e)

        with tf.Session(target, graph=graph) as session:
            assert session.run(size) == 0
            waiters = [threading.Thread(target=wait_for_ever) for _ in range(stuck_steps)]
            for waiter in waiters:
                waiter.start()
            server.send_signal(signal.SIGTERM)
            assert server.wait(60) == 0
            for waiter in waiters:
                waiter.join(60)
        assert len(errors) == stuck_steps
    finally:
        server.kill()
        server.wait(60)

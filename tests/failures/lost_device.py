# SPDX-License-Identifier: Apache-2.0
"""A device of a task is lost in the middle of a step, while the task's process goes on: the fake device plays it, which is gone while
a file is there."""
import os

import faults
import steps
import thalweg as tf
import waiting

LIMIT = 30.0  # seconds, for what must come


def play(row, folder):
    """The message of the step; what needs no such device goes on, and what does works again when the task has started anew."""
    gone = os.path.join(folder, "gone")

    def with_device():
        os.environ.update(THALWEG_DEVICE_COUNT="FAKE=1", THALWEG_FAKE_DEVICE_GONE=gone)

    task = steps.DEVICES[row.role]
    cluster = faults.Cluster(before={row.role: with_device})
    try:
        with tf.Graph().as_default():
            count = steps.make_state()
            counted = count.assign_add(1.0)
            with tf.device(task):
                queue = tf.FIFOQueue(10, [tf.float32], shared_name="q")
                put = queue.enqueue(1.0)
                taken = queue.dequeue()
            with tf.device(f"{task}/device:FAKE:0"):
                before = tf.placeholder_with_default(2.0, []) * 2.0  # the device is used in this step already
                there = before * taken
            with tf.device(steps.DEVICES["ps"]):
                elsewhere = tf.identity(taken) + 1.0
            config = tf.ConfigProto(operation_timeout_in_ms=30000)
            with tf.Session(cluster.target, config=config) as session:
                session.run(count.initializer)
                session.run(put)
                assert session.run(there) == 4.0
                step = waiting.Later(lambda: outcome(lambda: session.run(there)))
                assert waiting.wait_for(lambda: "QueueDequeue" in str(cluster.dump(row.role) or ""), LIMIT)
                with open(gone, "w", encoding="ascii"):
                    pass
                session.run(put)
                message = step.result(LIMIT)
                session.run(put)
                assert session.run([elsewhere, counted]) == [2.0, 1.0], "another step has heard of it"
            os.remove(gone)
            with tf.Session(cluster.target, config=config) as session:
                assert session.run(counted) == 2.0
                session.run(put)
                assert "is lost" in outcome(lambda: session.run(there)), "the task's state was lost, and it goes on"
            cluster.repair(row.role, "kill")
            with tf.Session(cluster.target, config=config) as session:
                session.run(put)
                assert session.run(there) == 4.0
        return message
    finally:
        cluster.close()


def outcome(call):
    """The message of the UnavailableError that must come."""
    try:
        got = call()
    except tf.errors.UnavailableError as e:
        return e.message
    raise AssertionError(f"the device is lost, and the step gave {got}")

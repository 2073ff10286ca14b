# SPDX-License-Identifier: Apache-2.0
"""Loops over tasks, run by the TensorFlow that has this Python, 1.15 or 2.21: loop_client.py TARGET"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow.compat.v1 as tf

PS, OTHER = "/job:ps/task:0", "/job:worker/task:1"


def loop():
    """A loop on the ps whose body adds on worker 1."""
    def body(i, total):
        with tf.device(OTHER):
            added = total + tf.cast(i, tf.float32)
        with tf.device(PS):
            return i + 1, added * 1.0

    with tf.device(PS):
        return tf.while_loop(lambda i, total: i < 10, body, [0, 0.0])


def nested():
    """An inner loop on worker 1 whose body multiplies on the ps, in an outer one on the ps."""
    def inner(j, total):
        with tf.device(PS):
            twice = total * 2.0
        with tf.device(OTHER):
            return j + 1, twice + 1.0

    def outer(i, total):
        with tf.device(OTHER):
            total = tf.while_loop(lambda j, _: j < 3, inner, [0, total])[1]
        with tf.device(PS):
            return i + 1, total - 7.0 + tf.cast(i, tf.float32)

    with tf.device(PS):
        return tf.while_loop(lambda i, _: i < 4, outer, [0, 0.0])


def branch_in_loop():
    """A conditional of worker 1 in every iteration of a loop of the ps: dead tensors cross as well."""
    def body(i, total):
        with tf.device(OTHER):
            part = tf.cond(tf.equal(i % 2, 0), lambda: total + 1.0, lambda: total * 2.0)
        with tf.device(PS):
            return i + 1, part + 0.0

    with tf.device(PS):
        return tf.while_loop(lambda i, _: i < 6, body, [0, 0.0])


def main(target):
    tf.disable_v2_behavior()
    if hasattr(tf, "disable_control_flow_v2"):
        tf.disable_control_flow_v2()
    with tf.Graph().as_default():
        loops = [loop(), nested(), branch_in_loop()]
        with tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=20000)) as session:
            for made in loops:
                try:
                    i, total = session.run(made)
                    print(i, total, flush=True)
                except tf.errors.OpError as error:
                    print(error.error_code, str(error.message).replace("\n", " ")[:500], flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

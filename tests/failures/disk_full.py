# SPDX-License-Identifier: Apache-2.0
"""A disk that takes no more while a checkpoint is written (users A6): a limit on the size of files plays it, without privileges."""
import os
import resource
import signal

import faults
import steps
import thalweg as tf


def small_disk():
    """In the server's process, before it runs: a write beyond 1 MB of a file fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def play(row, folder):
    """The message of a save that fails; the last checkpoint stays as it is, and the session goes on."""
    cluster = faults.Cluster(before={"ps": small_disk, "master": small_disk})
    try:
        with tf.Graph().as_default():
            with tf.device(steps.DEVICES["ps"]):
                v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
                w = tf.get_variable("w", [4_000_000], initializer=tf.zeros_initializer())
                change = v.assign_add(1.0)
            with tf.device(steps.DEVICES[row.role]):  # who writes
                small, both = tf.train.Saver([v]), tf.train.Saver([v, w])
            with tf.Session(cluster.target, config=tf.ConfigProto(operation_timeout_in_ms=30000)) as session:
                session.run([v.initializer, w.initializer])
                session.run(change)
                good = small.save(session, os.path.join(folder, "good"))
                files = sorted(os.listdir(folder))
                session.run(change)
                message = ""
                try:
                    both.save(session, os.path.join(folder, "bad"))
                except tf.errors.ResourceExhaustedError as e:
                    message = e.message
                for words in row.words:
                    assert words in message, message
                assert tf.train.latest_checkpoint(folder) == good
                assert sorted(os.listdir(folder)) == files, "something half-written is kept"
                assert session.run(v) == 2.0
                small.restore(session, good)
                assert session.run(v) == 1.0
        return message
    finally:
        cluster.close()

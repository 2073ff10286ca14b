# SPDX-License-Identifier: Apache-2.0
"""Collective operations over two of our tasks, from the real TensorFlow's client, and by its master."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from tasks import cluster_of
from tensorflow import raw_ops

tf.disable_v2_behavior()


@pytest.mark.parametrize("kinds, places", [("ours ours ours", ["/job:worker/task:0", "/job:worker/task:1"]),
                                           ("new ours ours", ["/job:ps/task:0", "/job:worker/task:1"])],
                         ids=["client", "master"])
def test_members_in_two_of_our_tasks(kinds, places):
    reduced, gathered, told = [], [], []
    with tf.Graph().as_default() as graph:
        for i, place in enumerate(places):
            keys = dict(group_size=2, group_key=1)
            with tf.device(place + "/cpu:0"):
                x = tf.constant([1.0 + i, 2.5])
                reduced.append(raw_ops.CollectiveReduce(input=x, instance_key=1, merge_op="Add", final_op="Div", subdiv_offsets=[0], **keys))
                gathered.append(raw_ops.CollectiveGather(input=x, instance_key=2, shape=[4], **keys))
                keys.update(instance_key=3, shape=[2])
                told.append(raw_ops.CollectiveBcastRecv(T=tf.float32, **keys) if i else raw_ops.CollectiveBcastSend(input=x, **keys))
    config = tf.ConfigProto(operation_timeout_in_ms=60000)
    config.experimental.collective_group_leader = "/job:worker/replica:0/task:1"
    with cluster_of(kinds.split()) as target, tf.Session(target, graph, config) as session:
        for _ in range(3):
            np.testing.assert_array_equal(session.run(reduced), [[1.5, 2.5]] * 2)
        np.testing.assert_array_equal(session.run(gathered), [[1.0, 2.5, 2.0, 2.5]] * 2)
        np.testing.assert_array_equal(session.run(told), [[1.0, 2.5]] * 2)

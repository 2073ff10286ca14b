# SPDX-License-Identifier: Apache-2.0
"""Sessions that bring their own cluster (ConfigProto.cluster_def) over servers of Thalweg, TensorFlow 2.21 and 1.15, which were
started as another cluster's tasks: under each kind of master."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import pytest
import tensorflow.compat.v1 as tf
from releases import need_1_15
from tasks import cluster_of

tf.disable_v2_behavior()
CHIEF, NEAR, FAR = "/job:chief/task:4", "/job:helper/task:1", "/job:helper/replica:0/task:3/cpu:0"
# The master, NEAR and FAR. TensorFlow's masters with a worker of the other release run next to nothing (attributes).
CLUSTERS = ["ours ours ours", "ours new ours", "ours ours new", "new ours ours", "new ours new", "ours old ours", "old ours ours", "ours old old"]


@pytest.fixture(name="cluster", params=CLUSTERS, ids=lambda p: p.replace(" ", "-"), scope="module")
def servers(request):
    if "old" in request.param:
        need_1_15()
    with cluster_of(request.param.split(), every_target=True) as targets:
        yield targets


def config(targets, shares=False):
    where = [target[len("grpc://"):] for target in targets]
    spec = tf.train.ClusterSpec({"chief": {4: where[0]}, "helper": {1: where[1], 3: where[2]}})
    made = tf.ConfigProto(cluster_def=spec.as_cluster_def(), operation_timeout_in_ms=30000)
    made.graph_options.rewrite_options.disable_meta_optimizer = True
    made.experimental.share_session_state_in_clusterspec_propagation = shares
    return made


def test_tasks_are_called_what_the_session_says(cluster):
    with tf.Graph().as_default(), tf.Session(cluster[0], config=config(cluster)) as s:
        names = {d.name for d in s.list_devices() if "XLA" not in d.name}
        assert names == {"/job:chief/replica:0/task:4/device:CPU:0", "/job:helper/replica:0/task:1/device:CPU:0", "/job:helper/replica:0/task:3/device:CPU:0"}


def test_values_cross_between_all_tasks(cluster):
    with tf.Graph().as_default():
        with tf.device(FAR):
            a = tf.constant([1.0, 2.0]) * tf.placeholder(tf.float32, [2], name="x")
        with tf.device(NEAR):
            b = tf.reduce_sum(a)
            text = tf.strings.join([tf.as_string(b, precision=0), tf.constant("!")])
        with tf.device(CHIEF):
            c = b + 1.0
        with tf.device(FAR):
            d = c * 2.0
        with tf.Session(cluster[0], config=config(cluster)) as s:
            for k in (1.0, 2.0):
                assert s.run([d, text], {"x:0": [k, k]}) == [6.0 * k + 2.0, b"%d!" % (3 * k)]


def test_state_is_shared_where_it_is_asked_for(cluster):
    for shares in (False, True):
        with tf.Graph().as_default():
            with tf.device(FAR):
                v = tf.get_variable("v%d" % shares, [], initializer=tf.constant_initializer(5.0), use_resource=False)
            with tf.Session(cluster[0], config=config(cluster, shares)) as a, tf.Session(cluster[0], config=config(cluster, shares)) as b:
                a.run(v.initializer)
                if shares:
                    assert b.run(v) == 5.0
                else:
                    with pytest.raises(tf.errors.FailedPreconditionError):
                        b.run(v)
    tf.Session.reset(cluster[0])


def test_a_cluster_without_its_master_is_refused(cluster):
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="not included in the provided cluster_def"):
        with tf.Session(cluster[0], config=config(["grpc://127.0.0.1:9"] + cluster[1:])) as s:
            s.run(tf.constant(1.0))

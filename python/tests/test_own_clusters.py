# SPDX-License-Identifier: Apache-2.0
"""Sessions that bring their own cluster (ConfigProto.cluster_def): tasks are called there what the session says, whatever the
servers were started as, and have state of the session's own unless it asks to share theirs."""
import pytest
import thalweg as tf

FAR = "/job:worker/task:1"
NEAR = "/job:worker/task:0"


@pytest.fixture(name="servers", scope="module")
def started():
    """Three servers that know nothing of each other."""
    servers = [tf.train.Server.create_local_server() for _ in range(3)]
    yield servers
    for s in servers:
        s.stop()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def address(server):
    return server.target[len("grpc://"):]


def config(jobs, shares=False, **options):
    made = tf.ConfigProto(cluster_def=tf.train.ClusterSpec(jobs).as_cluster_def(), operation_timeout_in_ms=30000, **options)
    made.experimental.share_session_state_in_clusterspec_propagation = shares
    return made


def session(servers, jobs=None, master=0, **options):
    """Of the first two servers as the tasks of one job, where nothing else is said."""
    jobs = {"worker": [address(s) for s in servers[:2]]} if jobs is None else jobs
    return tf.Session(servers[master].target, config=config(jobs, **options))


def names(s):
    return [d.name for d in s.list_devices()]


def test_devices_are_called_what_the_session_says(servers):
    with session(servers) as s:
        assert names(s) == [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in (0, 1)]
    gaps = {"ps": {7: address(servers[2])}, "worker": {3: address(servers[0])}}
    with session(servers, gaps) as s:
        assert names(s) == ["/job:worker/replica:0/task:3/device:CPU:0", "/job:ps/replica:0/task:7/device:CPU:0"]
    with session(servers, {"only": [address(servers[0])]}) as s:
        assert names(s) == ["/job:only/replica:0/task:0/device:CPU:0"]
        with tf.device("/job:only/task:0"):
            assert s.run(tf.constant(2.0) + 1.0) == 3.0
    with tf.Session(servers[0].target) as s:  # the server is still called what it was
        assert names(s) == ["/job:localhost/replica:0/task:0/device:CPU:0"]


@pytest.mark.parametrize("device", [FAR, NEAR, "/job:worker/replica:0/task:1/cpu:0", "/job:worker/replica:0/task:1/device:CPU:0"])
@pytest.mark.parametrize("master", [0, 1])
def test_nodes_run_where_they_are_placed(servers, device, master):
    with tf.device(device):
        a = tf.constant([1.0, 2.0], name="a") + tf.placeholder(tf.float32, [2], name="x")
    with tf.device(NEAR):
        b = a * 2.0
    with tf.device(FAR):
        c = tf.reduce_sum(b)
    with session(servers, master=master) as s:
        metadata = tf.RunMetadata()
        traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert s.run(c, {"x:0": [3.0, 4.0]}, options=traced, run_metadata=metadata) == 20.0
        ran = {d.device for d in metadata.step_stats.dev_stats if d.node_stats}
        assert {f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in (0, 1)} <= ran
    with tf.device("/job:localhost/task:0"):
        lost = tf.constant(1.0)
    with session(servers, master=master) as s, pytest.raises(tf.errors.InvalidArgumentError, match="/job:localhost"):
        s.run(lost)


def test_loops_partial_runs_strings_and_errors(servers):
    def body(i, x):
        with tf.device(FAR):
            twice = x * 2.0
        with tf.device(NEAR):
            return i + 1, twice + 1.0
    with tf.device(NEAR):
        loop = tf.while_loop(lambda i, x: i < 10, body, [0, 1.0])
    with tf.device(FAR):
        a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        c = a + 1.0
        text = tf.strings.join([tf.constant("far"), "away"])
        bad = tf.gather(tf.constant([1.0]), tf.cast(a, tf.int32))
    with tf.device(NEAR):
        d = c * b
        near = tf.strings.join([text, "!"])
    with session(servers) as s:
        assert s.run(loop) == [10, 2047.0]
        assert s.run(near) == b"faraway!"
        run = s.partial_run_setup([c, d], [a, b])
        assert s.partial_run(run, c, {a: 1.0}) == 2.0
        assert s.partial_run(run, d, {b: 5.0}) == 10.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="task:1"):
            s.run(bad, {a: 7.0})
        assert s.run(c, {a: 2.0}) == 3.0


def variable(device, resource):
    with tf.device(device):
        return tf.get_variable("v", [], initializer=tf.constant_initializer(5.0), use_resource=resource)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("device", [NEAR, FAR])
@pytest.mark.parametrize("first,second", [(False, False), (True, False), (False, True)])
def test_state_is_the_sessions_own(servers, device, resource, first, second):
    v = variable(device, resource)
    for isolate in (False, True):  # it makes no difference
        with session(servers, shares=first, isolate_session_state=isolate) as a, session(servers, shares=second) as b:
            a.run(v.initializer)
            assert a.run(v) == 5.0
            with pytest.raises(tf.errors.FailedPreconditionError):
                b.run(v)
    for s in servers:
        tf.Session.reset(s.target)


@pytest.mark.parametrize("resource", [False, True])
def test_state_is_that_of_the_tasks_where_it_is_asked_for(servers, resource):
    """By any names, and that of sessions without a cluster of their own."""
    v = variable(FAR, resource)
    with session(servers, shares=True, isolate_session_state=True) as a, session(servers, shares=True) as b:
        a.run(v.initializer)
        assert b.run(v) == 5.0
    with tf.Graph().as_default():
        w = variable("/job:ps/task:4", resource)
        with session(servers, {"ps": {4: address(servers[1])}, "worker": {8: address(servers[0])}}, shares=True) as s:
            assert s.run(w) == 5.0
    with tf.Graph().as_default(), tf.Session(servers[1].target) as s:
        assert s.run(variable(None, resource)) == 5.0
    for s in servers:
        tf.Session.reset(s.target)


def test_sessions_with_different_clusters_at_once(servers):
    with tf.device(FAR):
        y = tf.constant(3.0) * 2.0
    with session(servers) as a, session(servers, {"ps": [address(servers[0])], "worker": {1: address(servers[2])}}) as b:
        for _ in range(3):
            assert a.run(y) == 6.0 and b.run(y) == 6.0
        assert len(names(a)) == 2 and names(b)[0].startswith("/job:ps/")


def test_device_filters_leave_tasks_out(servers):
    jobs = {"worker": {0: address(servers[0]), 1: address(servers[1]), 2: "127.0.0.1:9"}}  # nobody is there
    with session(servers, jobs, device_filters=[NEAR, FAR]) as s:
        with tf.device(FAR):
            assert s.run(tf.constant(2.0)) == 2.0
        assert len(names(s)) == 2


def test_a_collective_over_tasks_is_refused(servers):
    parts = []
    for i, place in enumerate([NEAR, FAR]):
        with tf.device(place):
            parts.append(tf.raw_ops.CollectiveReduce(input=tf.constant(1.0 + i), group_size=2, group_key=1, instance_key=1, merge_op="Add",
                                                     final_op="Id", subdiv_offsets=[0]))
    with session(servers) as s, pytest.raises(tf.errors.UnimplementedError, match="brings its own cluster"):
        s.run(parts)


@pytest.mark.parametrize("jobs,words", [
    ({"worker": ["{1}", "{2}"]}, "not included in the provided cluster_def: expected a task at .*, found worker:0 at "),
    ({"worker": ["{0}"], "ps": ["127.0.0.1:{port}"]}, "Found multiple matching tasks that correspond to the master|have one address"),
    ({"worker": ["{0}", "nowhere"]}, "'nowhere' is no address"),
    ({"localhost": ["{0}", "{1}"]}, "expected /job:localhost/replica:0/task:1 .*found /job:localhost/replica:0/task:0")])
def test_a_wrong_cluster_is_refused(servers, jobs, words):
    where = [address(s) for s in servers]
    said = {job: [text.format(*where, port=where[0].split(":")[1]) for text in tasks] for job, tasks in jobs.items()}
    with session(servers, said) as s, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        s.run(tf.constant(1.0))
    with tf.Session(servers[0].target) as s:
        assert s.run(tf.constant(1.0)) == 1.0


def test_an_empty_cluster_is_none(servers):
    with tf.Session(servers[0].target, config=tf.ConfigProto(cluster_def=tf.train.ClusterDef())) as s:
        assert names(s) == ["/job:localhost/replica:0/task:0/device:CPU:0"]


def test_a_task_that_ends_is_told(servers):
    """As Unavailable or Aborted, with its name in the session, which is not the one it was started as."""
    late = tf.train.Server.create_local_server()
    with tf.device(FAR):
        y = tf.placeholder(tf.float32, []) + 1.0
    with session([servers[0], late]) as s:
        assert s.run(y, {y.op.inputs[0]: 1.0}) == 2.0
        late.stop()
        with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError), match="worker/replica:0/task:1"):
            s.run(y, {y.op.inputs[0]: 1.0})

# SPDX-License-Identifier: Apache-2.0
"""Which tasks a session needs, and where they are: default device filters, tasks that move, tasks that join."""
import pytest
import thalweg as tf
from thalweg.cluster.local_cluster import free_ports


@pytest.fixture(name="servers")
def started():
    """A list of servers that are stopped at the end."""
    servers = []
    yield servers
    for s in servers:
        s.stop()


def cluster_of(ports):
    addresses = [f"127.0.0.1:{p}" for p in ports]
    return tf.train.ClusterSpec({"ps": addresses[:1], "worker": addresses[1:]})


def replica(worker):
    """A counter on the ps that a worker adds to; the graph is the default one from now on."""
    with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device=worker)):
        step = tf.train.get_or_create_global_step()
        count = tf.get_variable("count", [], initializer=tf.zeros_initializer())
        here = tf.random_uniform([], 1.0, 2.0)  # made where the worker is
        add = tf.group(tf.assign_add(count, tf.floor(here)), tf.assign_add(step, 1))
    return count, add


def trained(target, worker, steps, chief=True, config=None):
    with tf.Graph().as_default():
        count, add = replica(worker)
        with tf.train.MonitoredTrainingSession(target, chief, config=config, max_wait_secs=30) as session:
            for _ in range(steps):
                session.run(add)
            return session.run(count)


def test_a_replica_waits_for_the_ps_and_itself_alone(servers):
    """The other worker of the cluster has never been started."""
    spec = cluster_of(free_ports(3))
    servers += [tf.train.Server(spec, "ps", 0), tf.train.Server(spec, "worker", 0)]
    with tf.Graph().as_default():
        count, add = replica("/job:worker/task:0")
        config = tf.ConfigProto(operation_timeout_in_ms=20000)  # who waits for the other fails after that
        with tf.train.SingularMonitoredSession(master=servers[1].target, config=config) as session:
            session.run(add)
            assert session.run(count) == 1
    assert trained(servers[1].target, "/job:worker/task:0", 5, chief=False) == 6
    with tf.Graph().as_default():
        replica("/job:worker/task:0")
        supervisor = tf.train.Supervisor(logdir=None, init_op=tf.global_variables_initializer())
        supervisor.prepare_or_wait_for_session(servers[1].target).close()
        assert tf.train.SessionManager(graph=tf.get_default_graph())._session(servers[1].target, None).list_devices()


@pytest.mark.parametrize("filters", [[], ["/job:*"]])
def test_a_task_that_the_graph_needs_is_named_when_it_is_away(servers, filters):
    spec = cluster_of(free_ports(3))
    servers += [tf.train.Server(spec, "ps", 0), tf.train.Server(spec, "worker", 0)]
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnavailableError, match="/job:worker/replica:0/task:1"):
        replica("/job:worker/task:0" if filters else "/job:worker/task:1")  # filters that the user has given count
        config = tf.ConfigProto(device_filters=filters, operation_timeout_in_ms=2000)
        tf.train.SingularMonitoredSession(master=servers[1].target, config=config)


def test_whoever_may_be_needed_is_waited_for():
    """Filters come from the graph only where it says all that there is to say."""
    from thalweg.training.session_manager import _only_named_tasks

    def filters(build, config=None, master="grpc://127.0.0.1:1", finalize=True):
        with tf.Graph().as_default() as graph:
            build()
            if finalize:
                graph.finalize()
            made = _only_named_tasks(config, master, graph)
        return None if made is None else list(made.device_filters)

    def on(*devices):
        def build():
            for device in devices:
                with tf.device(device):
                    tf.constant(1.0)
        return build
    assert filters(on("/job:ps/task:1/cpu:0", "/job:worker", "/cpu:0", "")) == ["/job:ps/task:1", "/job:worker"]
    assert filters(on("/job:ps"), tf.ConfigProto(operation_timeout_in_ms=5)) == ["/job:ps"]
    assert filters(on("/job:ps"), tf.ConfigProto(device_filters=["/job:a"])) == ["/job:a"]
    for needs_anybody in (on(""), on("/cpu:0"), on("/job:ps", "/task:3")):
        assert filters(needs_anybody) is None
    assert filters(on("/job:ps"), master="") is None and filters(on("/job:ps"), finalize=False) is None

    def calls():
        on("/job:ps")()
        from thalweg.control.functions import Defun

        @Defun(tf.float32)
        def negative(x):
            return -x
        negative(1.0)
    assert filters(calls) is None


def summed_over_tasks():
    """1 + 2 + 3, on each task, by a collective operation."""
    results = []
    for i, place in enumerate(["/job:ps", "/job:worker/task:0", "/job:worker/task:1"]):
        with tf.device(place):
            results.append(tf.raw_ops.CollectiveReduce(input=tf.constant(1.0 + i), group_size=3, group_key=1, instance_key=1, merge_op="Add",
                                                       final_op="Id", subdiv_offsets=[0]))
    return results


def test_a_task_comes_back_at_another_address(servers):
    """The ps hears of it by the next session's configuration; its state is as it was."""
    ports = free_ports(4)
    before, after = cluster_of(ports[:3]), cluster_of([ports[0], ports[3], ports[2]])
    servers += [tf.train.Server(before, "ps", 0), tf.train.Server(before, "worker", 0), tf.train.Server(before, "worker", 1)]
    assert trained(servers[1].target, "/job:worker/task:0", 3) == 3
    servers.pop(1).stop()
    servers.append(tf.train.Server(after, "worker", 0))
    told = tf.ConfigProto(cluster_def=after.as_cluster_def())
    assert trained(servers[-1].target, "/job:worker/task:0", 4, chief=False, config=told) == 7
    with tf.Graph().as_default(), tf.Session(servers[0].target, config=told) as session:  # of a third task, and among themselves
        assert session.run(summed_over_tasks()) == [6.0, 6.0, 6.0]
    # The other worker's master has known it elsewhere.
    assert trained(servers[1].target, "/job:worker/task:0", 2, chief=False, config=told) == 9
    assert trained(servers[1].target, "/job:worker/task:0", 1, chief=False) == 10  # and knows it from then on


def test_a_worker_joins(servers):
    ports = free_ports(3)
    servers += [tf.train.Server(cluster_of(ports[:2]), job, 0) for job in ("ps", "worker")]
    assert trained(servers[1].target, "/job:worker/task:0", 1) == 1
    whole = cluster_of(ports)
    servers.append(tf.train.Server(whole, "worker", 1))
    assert trained(servers[2].target, "/job:worker/task:1", 2, chief=False) == 3
    with tf.Graph().as_default(), tf.Session(servers[1].target, config=tf.ConfigProto(cluster_def=whole.as_cluster_def())) as s:
        assert len(s.list_devices()) == 3
        with tf.device("/job:worker/task:1"):
            assert s.run(tf.constant(20.0) + 1.0) == 21.0


def test_a_malformed_cluster_is_refused_and_changes_nothing(servers):
    ports = free_ports(2)
    servers += [tf.train.Server(cluster_of(ports), job, 0) for job in ("ps", "worker")]
    for address, message in (("nowhere", "nowhere"), (f"127.0.0.1:{ports[1]}", "have one address")):
        wrong = cluster_of(ports).as_cluster_def()
        wrong.job[0].tasks[7] = address
        with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.Session(servers[1].target, config=tf.ConfigProto(cluster_def=wrong)).run(tf.constant(1.0))
    assert trained(servers[1].target, "/job:worker/task:0", 1) == 1

# SPDX-License-Identifier: Apache-2.0
"""Whole programs of clusters as users wrote them for TensorFlow 1, one process a task: what they import, how they learn which
task they are, and that a step trains or counts."""
import json
import os
import subprocess
import sys
import textwrap

import pytest
from thalweg.cluster.local_cluster import free_ports

WORDS = {"a.txt": "to be or not to be", "b.txt": "that is the question", "c.txt": "be", "d.txt": ""}

# Every task asks contrib.learn's RunConfig, which reads TF_CONFIG.
MAP_REDUCE = """
    import os, sys
    import tensorflow as tf

    config = tf.contrib.learn.RunConfig()
    server = tf.train.Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id)
    with tf.device("/job:files/task:0"):
        names = tf.FIFOQueue(capacity=10, dtypes=[tf.string], shapes=[[]], shared_name="names")
        done = tf.FIFOQueue(capacity=10, dtypes=[tf.int32], shapes=[[]], shared_name="done")
        read = tf.FIFOQueue(capacity=10, dtypes=[tf.int32], shapes=[[]], shared_name="read")
        over = tf.FIFOQueue(capacity=10, dtypes=[tf.int32], shapes=[[]], shared_name="over")
    with tf.device("/job:reduce/task:0"):
        total = tf.VariableV1(0, name="total")
        words = tf.placeholder(tf.int32, [])
        more = tf.assign_add(total, words, use_locking=True)
    mine = "/job:%s/task:%d" % (config.task_type, config.task_id)  # without filters a session waits for mappers that may have ended
    session = tf.Session(server.target, config=tf.ConfigProto(device_filters=["/job:files", "/job:reduce", mine]))
    if config.task_type == "files":
        for name in sorted(os.listdir("texts")):
            session.run(names.enqueue([name]))
        session.run(names.close())
        session.run(over.dequeue())
    elif config.task_type == "reduce":
        session.run(total.initializer)
        session.run(done.enqueue_many([[0, 0]]))
        session.run(read.dequeue_many(2))
        print("total", session.run(total))
        try:
            session.run(over.enqueue(0))
        except tf.errors.UnavailableError:  # told, it may be gone before it has answered
            pass
    else:
        session.run(done.dequeue())
        next_name = names.dequeue()
        while True:
            try:
                name = session.run(next_name).decode()
            except tf.errors.OutOfRangeError:
                break
            with open(os.path.join("texts", name)) as text:
                session.run(more, {words: len(text.read().split())})
        session.run(read.enqueue(0))
"""

# Flags say which task it is; variables lie where the setter and its strategy put them; gradients of all workers make a step.
PARAMETER_SERVERS = """
    import time
    import numpy as np
    import tensorflow as tf
    from tensorflow.contrib.training import GreedyLoadBalancingStrategy, byte_size_load_fn
    from tensorflow.core.protobuf import rewriter_config_pb2
    from tensorflow.python.client import timeline
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import data_flow_ops, variables
    from tensorflow.python.platform import gfile
    from tensorflow.python.training import monitored_session
    from tensorflow.python.util import nest

    tf.flags.DEFINE_string("job_name", "worker", "ps or worker")
    tf.flags.DEFINE_integer("task_index", 0, "number of the task")
    tf.flags.DEFINE_list("ps_hosts", [], "addresses")
    tf.flags.DEFINE_list("worker_hosts", [], "addresses")
    tf.flags.DEFINE_boolean("cross_replica_sync", True, "one step of all")
    FLAGS = tf.flags.FLAGS

    class Speed(tf.train.SessionRunHook):
        def before_run(self, run_context):
            self.begin = time.time()
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, run_context, run_values):
            assert run_values.results >= 0 and time.time() >= self.begin

    def main(_):
        cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts, "worker": FLAGS.worker_hosts})
        config = tf.ConfigProto(allow_soft_placement=True, inter_op_parallelism_threads=2)
        config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.ON
        config.gpu_options.allow_growth = True
        server = tf.train.Server(cluster, FLAGS.job_name, FLAGS.task_index, config=config)
        # Of sessions, not of the server, whose filters would count beside theirs. Without any they wait for tasks that may have ended.
        mine = "/job:%s/task:%d" % (FLAGS.job_name, FLAGS.task_index)
        config.device_filters.extend([mine] if FLAGS.job_name == "ps" else ["/job:ps", mine])
        ends = []
        for task in range(len(FLAGS.ps_hosts)):
            with tf.device("/job:ps/task:%d" % task):
                ends.append(data_flow_ops.FIFOQueue(8, [tf.int32], [[]], shared_name="end_%d" % task))
        if FLAGS.job_name == "ps":
            with tf.Session(server.target, config=config) as session:
                session.run(ends[FLAGS.task_index].dequeue_many(len(FLAGS.worker_hosts)))
            return
        strategy = GreedyLoadBalancingStrategy(len(FLAGS.ps_hosts), byte_size_load_fn)
        setter = tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % FLAGS.task_index, ps_strategy=strategy)
        with tf.device(setter):
            step = tf.train.get_or_create_global_step()
            rows = np.random.RandomState(FLAGS.task_index).rand(32, 3).astype(np.float32)
            w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer(), use_resource=True)
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
            assert isinstance(b, tf.VariableV1) and isinstance(b, variables.VariableV1)
            assert {w.device, b.device, step.device} == {"/job:ps/task:0", "/job:ps/task:1"}, (w.device, b.device, step.device)
            loss = tf.losses.mean_squared_error(rows.sum(1, keepdims=True), tf.matmul(rows, w) + b)
            optimizer = tf.train.GradientDescentOptimizer(0.2)
            hooks = [Speed(), tf.train.StopAtStepHook(last_step=60)]
            if FLAGS.cross_replica_sync:
                workers = len(FLAGS.worker_hosts)
                optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=workers, total_num_replicas=workers)
                hooks.append(optimizer.make_session_run_hook(FLAGS.task_index == 0))
            train = optimizer.minimize(loss, global_step=step)
        tell = [end.enqueue(0) for end in ends]
        start, last = float(np.mean(rows.sum(1) ** 2)), None  # the loss of zeros; another worker may have gone on from there
        with tf.train.MonitoredTrainingSession(server.target, is_chief=FLAGS.task_index == 0, hooks=hooks, config=config) as session:
            while not session.should_stop():
                last = session.run([loss, train])[0]
        print("total", int(last is None or last < start / 2))  # None: the other had made all steps before this one came
        with tf.Session(server.target, config=config) as session:
            for told in tell:  # one by one: a ps that everybody has told may be gone before it has answered
                try:
                    session.run(told)
                except tf.errors.UnavailableError:
                    pass

    tf.app.run()
"""


def run_tasks(tmp_path, program, tasks):
    """What the processes print, each given a minute or two; `tasks`: (environment, arguments) of each."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    started = [subprocess.Popen([sys.executable, "-m", "thalweg.as_tensorflow", str(path), *arguments], cwd=tmp_path, text=True,
                                env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for environment, arguments in tasks]
    ended = []
    for process in started:
        try:
            ended.append(process.communicate(timeout=300))
        except subprocess.TimeoutExpired:
            for each in started:
                each.kill()
            ended.append(process.communicate())
    failed = [f"{arguments[:2]} ended with {process.returncode}:\n{errors[-2000:]}"
              for process, (_, arguments), (_, errors) in zip(started, tasks, ended) if process.returncode != 0]
    assert not failed, "\n".join(failed)
    return [line for out, _ in ended for line in out.splitlines()]


def test_words_are_counted_by_two_mappers(tmp_path):
    (tmp_path / "texts").mkdir()
    for name, text in WORDS.items():
        (tmp_path / "texts" / name).write_text(text)
    roles = [("files", 0), ("reduce", 0), ("map", 0), ("map", 1)]
    addresses = iter(f"127.0.0.1:{port}" for port in free_ports(len(roles)))
    cluster = {}
    for job, _ in roles:
        cluster.setdefault(job, []).append(next(addresses))
    tasks = [({"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})}, []) for job, index in roles]
    assert run_tasks(tmp_path, MAP_REDUCE, tasks) == ["total 11"]


@pytest.mark.parametrize("sync", [True, False])
def test_two_workers_train_on_two_parameter_servers(tmp_path, sync):
    addresses = [f"127.0.0.1:{port}" for port in free_ports(4)]
    common = [f"--ps_hosts={','.join(addresses[:2])}", f"--worker_hosts={','.join(addresses[2:])}", f"--cross_replica_sync={sync}"]
    tasks = [({}, [f"--job_name={job}", f"--task_index={index}", *common]) for job in ("ps", "worker") for index in range(2)]
    said = run_tasks(tmp_path, PARAMETER_SERVERS, tasks)
    assert said == ["total 1"] * 2

# SPDX-License-Identifier: Apache-2.0
"""Suites of the package on a device whose memory the host cannot address (thalweg/devices/fake): what forgets a copy, or makes
one too many, ends its process there."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "python" / "tests"
# Tests that say what a machine with CPUs alone does.
OF_THE_CPU = {
    "own_clusters": ["test_devices_are_called_what_the_session_says", "test_nodes_run_where_they_are_placed",
                     "test_sessions_with_different_clusters_at_once", "test_device_filters_leave_tasks_out", "test_an_empty_cluster_is_none"],
    "server": ["test_a_session_of_a_server_trains", "test_a_graph_spans_a_cluster", "test_a_cluster_says_where_nodes_are_and_why"],
    "session": ["test_two_virtual_devices", "test_placement_by_cost_says_what_each_device_would_take"],  # count the devices
    "training": ["test_gradient_of_a_weight_used_at_every_step_of_an_unrolled_network"],  # looks for what a pass of the CPU's makes
}
SUITES = ("session", "control_flow", "functions", "training", "optimizer", "while_gradients", "rnn", "custom_gradients", "saver",
          "reads_after_updates", "partitioned_variables", "second_derivatives", "server", "own_clusters", "cluster_errors",
          "cluster_programs", "sync_replicas")


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_runs_there(suite):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", str(TESTS / f"test_{suite}.py")]
    for test in OF_THE_CPU.get(suite, ()):
        command.append(f"--deselect={TESTS.relative_to(ROOT) / f'test_{suite}.py'}::{test}")
    ran = subprocess.run(command, cwd=ROOT, env={**os.environ, "THALWEG_DEVICE_COUNT": "FAKE=1"}, capture_output=True, text=True,
                         timeout=300)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-3000:]


def run(program, fakes):
    ran = subprocess.run([sys.executable, "-c", program], env={**os.environ, "THALWEG_DEVICE_COUNT": f"FAKE={fakes}"}, capture_output=True,
                         text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran


def test_nodes_are_there():
    program = ("import thalweg as tw\n"
               "print([d.name for d in tw.Session().list_devices()])\n"
               "x = tw.placeholder(tw.float32)\n"
               "with tw.Session(config=tw.ConfigProto(log_device_placement=True)) as s:\n"
               "    print(s.run(x * 2., {x: [1., 2.]}))\n")
    ran = run(program, fakes=1)
    assert "device:FAKE:0" in ran.stdout.splitlines()[0] and "[2. 4.]" in ran.stdout
    assert "(Mul): /job:localhost/replica:0/task:0/device:FAKE:0" in ran.stderr


def test_a_loop_over_two_of_them_and_its_gradient():
    """Values go from the one's memory to the other's, in every iteration and back, to the CPU's bits."""
    program = ("import thalweg as tf, numpy as np\n"
               "def run(first, second):\n"
               "    with tf.Graph().as_default():\n"
               "        with tf.device(first):\n"
               "            w = tf.get_variable('w', initializer=np.float32([[.5, .1], [-.2, .3]]), use_resource=True)\n"
               "            x = tf.placeholder(tf.float32, [2, 2])\n"
               "        def turn(i, a):\n"
               "            with tf.device(first):\n"
               "                a = tf.tanh(tf.matmul(a, w))\n"
               "            with tf.device(second):\n"
               "                return i + 1, tf.cond(tf.reduce_sum(a) > 0., lambda: tf.sin(a), lambda: 2. * a)\n"
               "        _, y = tf.while_loop(lambda i, a: i < 5, turn, [0, x])\n"
               "        with tf.device(second):\n"
               "            loss = tf.reduce_sum(tf.square(y))\n"
               "        step = tf.train.GradientDescentOptimizer(.1).minimize(loss, colocate_gradients_with_ops=True)\n"
               "        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as s:\n"
               "            s.run(tf.global_variables_initializer())\n"
               "            losses = [s.run([loss, step], {x: [[1., 2.], [3., -1.]]})[0] for _ in range(3)]\n"
               "            print(losses, s.run(w).tolist())\n"
               "            traced, ran = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()\n"
               "            s.run(loss, {x: [[1., 2.], [3., -1.]]}, options=traced, run_metadata=ran)\n"
               "            print(sum('from_peer' in n.node_name for d in ran.step_stats.dev_stats for n in d.node_stats))\n"
               "run('/cpu:0', '/cpu:0')\n"
               "run('/device:FAKE:0', '/device:FAKE:1')\n")
    ran = run(program, fakes=2)
    on_cpu, none, on_both, from_peers = ran.stdout.splitlines()
    assert on_cpu == on_both
    assert int(none) == 0 and int(from_peers) >= 5  # of each iteration


def test_collective_operations_in_their_memory_and_by_the_host():
    """Two of them compute together what they have code for; the rest, and what a CPU takes part in, goes by the host: to the CPU's bits."""
    program = ("import thalweg as tf, numpy as np\n"
               "raw, X = tf.raw_ops, np.arange(4, dtype=np.float32).reshape(2, 2) + 1\n"
               "def each(devices, make):\n"
               "    made = []\n"
               "    for i, device in enumerate(devices):\n"
               "        with tf.device(device):\n"
               "            made.append(make(i))\n"
               "    return made\n"
               "def run(*devices):\n"
               "    def keys(instance):\n"
               "        return dict(group_size=2, group_key=1, instance_key=instance)\n"
               "    def reduced(value, instance, merge='Add', final='Id'):\n"
               "        return raw.CollectiveReduce(input=value, merge_op=merge, final_op=final, subdiv_offsets=[0], **keys(instance))\n"
               "    with tf.Graph().as_default():\n"
               "        x = each(devices, lambda i: tf.identity(tf.constant(X) * (i + 1.)))\n"
               "        made = each(devices, lambda i: reduced(x[i], 1, final='Div'))\n"
               "        made += each(devices, lambda i: reduced(x[i], 2, merge='Mul'))\n"
               "        made += each(devices, lambda i: reduced(tf.reduce_sum(x[i]), 3))\n"
               "        made += each(devices, lambda i: raw.CollectiveReduceV2(input=x[i], merge_op='Add', final_op='Id', ordering_token=[], **keys(4)))\n"
               "        made += each(devices, lambda i: raw.CollectiveGatherV2(input=x[i], ordering_token=[], **keys(5)))\n"
               "        made += each(devices, lambda i: raw.CollectiveAllToAllV2(input=x[i], ordering_token=[], **keys(6)))\n"
               "        made += each(devices, lambda i: raw.CollectiveBcastSendV2(input=x[i], **keys(7)) if i == 1 else\n"
               "                     raw.CollectiveBcastRecvV2(T=tf.float32, shape=[2, 2], **keys(7)))\n"
               "        made += tf.while_loop(lambda i, *_: i < 9, lambda i, *v: (i + 1, *each(devices, lambda d: reduced(v[d] * .25, 8) + float(d))), [0, *x])\n"
               "        with tf.Session(config=tf.ConfigProto(device_count={'CPU': 2})) as s:\n"
               "            print([v.tolist() for v in s.run(made)])\n"
               "            print(sum(d in s.explain_placement(m.op.name).splitlines()[0] for m in made[:14] for d in ('FAKE:0', 'FAKE:1')))\n"
               "run('/cpu:0', '/cpu:1')\n"
               "run('/device:FAKE:0', '/device:FAKE:1')\n"
               "run('/cpu:0', '/device:FAKE:1')\n")
    on_cpu, none, on_both, two, mixed, one = run(program, fakes=2).stdout.splitlines()
    assert on_cpu == on_both == mixed
    assert [int(none), int(two), int(one)] == [0, 14, 7]


def test_a_config_hides_them():
    program = ("import thalweg as tw\n"
               "from thalweg.graph.device_lib import list_local_devices\n"
               "def types(count):\n"
               "    return [d.device_type for d in list_local_devices(tw.ConfigProto(device_count=count))]\n"
               "print(types({}), types({'FAKE': 1}), types({'FAKE': 0}), types({'FAKE': 9, 'GPU': 3}))\n"
               "server = tw.train.Server.create_local_server(config=tw.ConfigProto(device_count={'FAKE': 1}))\n"
               "with tw.Session(server.target) as s:\n"
               "    print([d.device_type for d in s.list_devices()])\n")
    ran = run(program, fakes=2)
    assert ran.stdout.splitlines() == ["['CPU', 'FAKE', 'FAKE'] ['CPU', 'FAKE'] ['CPU'] ['CPU', 'FAKE', 'FAKE']", "['CPU', 'FAKE']"]

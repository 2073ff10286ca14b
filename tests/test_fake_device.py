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


def test_nodes_are_there():
    program = ("import thalweg as tw\n"
               "print([d.name for d in tw.Session().list_devices()])\n"
               "x = tw.placeholder(tw.float32)\n"
               "with tw.Session(config=tw.ConfigProto(log_device_placement=True)) as s:\n"
               "    print(s.run(x * 2., {x: [1., 2.]}))\n")
    ran = subprocess.run([sys.executable, "-c", program], env={**os.environ, "THALWEG_DEVICE_COUNT": "FAKE=1"}, capture_output=True,
                         text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "device:FAKE:0" in ran.stdout.splitlines()[0] and "[2. 4.]" in ran.stdout
    assert "(Mul): /job:localhost/replica:0/task:0/device:FAKE:0" in ran.stderr


def test_a_config_hides_them():
    program = ("import thalweg as tw\n"
               "from thalweg.graph.device_lib import list_local_devices\n"
               "def types(count):\n"
               "    return [d.device_type for d in list_local_devices(tw.ConfigProto(device_count=count))]\n"
               "print(types({}), types({'FAKE': 1}), types({'FAKE': 0}), types({'FAKE': 9, 'GPU': 3}))\n"
               "server = tw.train.Server.create_local_server(config=tw.ConfigProto(device_count={'FAKE': 1}))\n"
               "with tw.Session(server.target) as s:\n"
               "    print([d.device_type for d in s.list_devices()])\n")
    ran = subprocess.run([sys.executable, "-c", program], env={**os.environ, "THALWEG_DEVICE_COUNT": "FAKE=2"}, capture_output=True,
                         text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["['CPU', 'FAKE', 'FAKE'] ['CPU', 'FAKE'] ['CPU'] ['CPU', 'FAKE', 'FAKE']", "['CPU', 'FAKE']"]

# SPDX-License-Identifier: Apache-2.0
"""Clusters of three tasks as processes: worker 0, the ps, worker 1, each served by Thalweg ("ours"), TensorFlow 2.21 ("new", this
very Python) or TensorFlow 1.15 ("old", where its Python is)."""
import contextlib
import json
import os
import signal
import subprocess
import sys

from releases import OLD_PYTHON, ROOT, their_environment

from thalweg.cluster.local_cluster import free_ports

sys.path.append(os.path.join(ROOT, "tests"))
import serving  # noqa: E402

TASKS = [("worker", 0), ("ps", 0), ("worker", 1)]
PYTHONS = {"new": sys.executable, "old": OLD_PYTHON}
THEIR_SERVER = """
import json, sys
import tensorflow.compat.v1 as tf
config = tf.ConfigProto()
config.experimental.collective_group_leader = sys.argv[4]
server = tf.train.Server(json.loads(sys.argv[1]), job_name=sys.argv[2], task_index=int(sys.argv[3]), config=config)
print("ready", server.target, flush=True)
server.join()
"""


@contextlib.contextmanager
def cluster_of(kinds, leader="", every_target=False):
    """The target of worker 0, the master, of a cluster whose tasks run, or the targets of all; `kinds` in the order of TASKS.
    `leader`: of groups of collective operations, as all servers are told."""
    ports = free_ports(3)
    spec = {"worker": [f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[2]}"], "ps": [f"127.0.0.1:{ports[1]}"]}
    leads = ["--collective-leader", leader] if leader else []
    running = []
    try:
        for (job, task), kind in zip(TASKS, kinds):
            quiet = {"stderr": subprocess.DEVNULL}
            running.append((kind, serving.serve(spec, job, task, *leads, **quiet) if kind == "ours" else subprocess.Popen(
                [PYTHONS[kind], "-c", THEIR_SERVER, json.dumps(spec), job, str(task), leader], stdout=subprocess.PIPE, text=True, env=their_environment(),
                **quiet)))
        for _, process in running:
            serving.ready(process)
        targets = [f"grpc://127.0.0.1:{port}" for port in ports]
        yield targets if every_target else targets[0]
    finally:
        for kind, process in running:
            process.send_signal(signal.SIGTERM if kind == "ours" else signal.SIGKILL)
        for kind, process in running:
            with process:
                code = process.wait(20)
            assert kind != "ours" or code == 0

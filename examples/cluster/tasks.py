# SPDX-License-Identifier: Apache-2.0
"""Tasks of a cluster on this machine: each is a process of the calling program, told by TF_CONFIG which one it is.

    with tasks.Cluster({"ps": 1, "worker": 2}, arguments) as cluster:    # in the program that the user starts
        cluster.start("ps", 0) ... cluster.kill("worker", 1)
    spec, job, task = tasks.mine()                                       # in a task; None in the user's process

or, where a process is enough, servers within it: tasks.servers({"ps": 1, "worker": 2}).
"""
import json
import os
import subprocess
import sys

from thalweg.cluster.local_cluster import free_ports


def mine():
    """(addresses by job, job, task) of this process, or None."""
    config = json.loads(os.environ.get("TF_CONFIG", "null"))
    return config and (config["cluster"], config["task"]["type"], config["task"]["index"])


def servers(sizes):
    """(ClusterSpec, the servers by job and task) of a cluster within this process."""
    import thalweg as tf
    ports = iter(free_ports(sum(sizes.values())))
    spec = tf.train.ClusterSpec({job: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for job, n in sizes.items()})
    return spec, {(job, task): tf.train.Server(spec, job, task) for job, n in sizes.items() for task in range(n)}


class Cluster:
    """The processes of a cluster on free loopback ports; what is left of them ends with the with statement."""

    def __init__(self, sizes, arguments=()):
        ports = iter(free_ports(sum(sizes.values())))
        self.spec = {job: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for job, n in sizes.items()}
        self._arguments, self._running = [str(a) for a in arguments], {}

    def start(self, job, task, **options):
        """A process of this program as that task; `options` are Popen's."""
        config = json.dumps({"cluster": self.spec, "task": {"type": job, "index": task}})
        command = [sys.executable, os.path.abspath(sys.argv[0]), *self._arguments]
        self._running[job, task] = made = subprocess.Popen(command, env={**os.environ, "TF_CONFIG": config}, **options)
        return made

    def start_all(self, **options):
        for job, addresses in self.spec.items():
            for task in range(len(addresses)):
                self.start(job, task, **options)

    def __contains__(self, task):
        return task in self._running

    def kill(self, job, task):
        """As a machine that loses its power: the task gets no word of it."""
        process = self._running.pop((job, task))
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for job, task in list(self._running):
            self.kill(job, task)

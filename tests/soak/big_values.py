# SPDX-License-Identifier: Apache-2.0
"""A variable that no message could hold: python big_values.py [GB] [shared|sockets|tcp|calls] (5 GB through shared memory).

It is made on a ps, read by a worker, saved; the ps is killed, another one restores it, and the worker reads it again. Two tasks and
the way between them hold it once each: three times its size must be free. Sockets take its place where files may not grow, which
shared memory is one of; there, over TCP, and by calls (where five times its size must be free), it is not saved. Prints the seconds that each part
took, and the memory of the tasks.
"""
import os
import resource
import signal
import sys
import tempfile
import time

import thalweg as tf
from thalweg.cluster.local_cluster import free_ports

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import serving  # noqa: E402

WAYS = ("shared", "sockets", "tcp", "calls")


def small_files():
    """In a server's process, before it runs."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, 1 << 10))


class Tasks:
    """A ps and a worker."""

    def __init__(self, way):
        self._way, self._running = way, {}
        self.spec = {job: [f"127.0.0.1:{port}"] for job, port in zip(("ps", "worker"), free_ports(2))}
        self.target = "grpc://" + self.spec["worker"][0]

    def start(self, job):
        options = ["--channels", self._way] if self._way in ("tcp", "calls") else []
        before = small_files if self._way == "sockets" else None
        self._running[job] = serving.serve(self.spec, job, 0, *options, preexec_fn=before)
        serving.ready(self._running[job])

    def kill(self, job):
        process = self._running.pop(job)
        process.kill()
        process.wait()
        process.stdout.close()

    def peak(self, job):
        """GB that the task held at most."""
        with open(f"/proc/{self._running[job].pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1e6

    def __enter__(self):
        for job in self.spec:
            self.start(job)
        return self

    def __exit__(self, *error):
        for job in list(self._running):
            self.kill(job)


class Clocked:
    """Runs parts and says how long each took."""

    def __init__(self, gigabytes):
        self._gigabytes = gigabytes

    def run(self, what, call):
        begin = time.monotonic()
        value = call()
        seconds = time.monotonic() - begin
        print(f"{what}: {seconds:.1f} s, {self._gigabytes / seconds:.2f} GB/s", flush=True)
        return value


def play(gigabytes, way, folder):
    numbers, clock = int(gigabytes * 1e9) // 4, Clocked(gigabytes)
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps"):
            v = tf.get_variable("v", [numbers], initializer=tf.ones_initializer())
            mark = tf.scatter_update(v, [0, numbers - 1], [3.0, 7.0])
            saver = tf.train.Saver([v])
        with tf.device("/job:worker"):
            received = tf.identity(v)
            ends = tf.stack([received[0], received[numbers // 2], received[numbers - 1], tf.reduce_max(received)])
    with Tasks(way) as tasks:
        with tf.Session(tasks.target, graph=graph) as session:
            clock.run("made", lambda: session.run(v.initializer))
            session.run(mark.op)
            for what in ("sent", "sent again"):
                assert clock.run(what, lambda: session.run(ends)).tolist() == [3.0, 1.0, 7.0, 7.0]
            if way == "shared":
                path = clock.run("saved", lambda: saver.save(session, os.path.join(folder, "v")))
        print(f"peak: ps {tasks.peak('ps'):.1f} GB, worker {tasks.peak('worker'):.1f} GB", flush=True)
        if way != "shared":
            return
        tasks.kill("ps")
        tasks.start("ps")
        with tf.Session(tasks.target, graph=graph) as session:
            clock.run("restored", lambda: saver.restore(session, path))
            assert clock.run("sent", lambda: session.run(ends)).tolist() == [3.0, 1.0, 7.0, 7.0]
        print(f"peak: ps {tasks.peak('ps'):.1f} GB, worker {tasks.peak('worker'):.1f} GB", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:] + ["5", "shared"][len(sys.argv) - 1:]
    if len(given) != 2 or given[1] not in WAYS:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        play(float(given[0]), given[1], temporary)

# SPDX-License-Identifier: Apache-2.0
"""Servers of a cluster as processes of a benchmark, of Thalweg or of TensorFlow; each ends when the benchmark does."""
import ctypes
import itertools
import os
import random
import signal
import socket
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "tests"))
import serving
from serving import ready  # noqa: F401  (for those who start servers)


def cluster(**sizes):
    """{job: addresses} of jobs of these sizes, no two the same; free now, below those of outgoing connections (32768 on Linux)."""
    held = {}
    while len(held) < sum(sizes.values()):
        s, port = socket.socket(), random.randrange(10000, 32000)
        try:
            s.bind(("127.0.0.1", port))
            held[port] = s
        except OSError:
            s.close()
    for s in held.values():
        s.close()
    addresses = iter("127.0.0.1:%d" % port for port in held)
    return {job: list(itertools.islice(addresses, size)) for job, size in sizes.items()}


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def start(command, **options):
    """A process that ends when this one does, however it does."""
    return subprocess.Popen(command, preexec_fn=_die_with_parent, text=True, **options)


def serve(cluster, job, task, *options):
    """`thalweg serve` as such a process."""
    return serving.serve(cluster, job, task, *options, preexec_fn=_die_with_parent)


def end(children):
    for child in children:
        child.kill()
        child.wait()

# SPDX-License-Identifier: Apache-2.0
"""Servers of a cluster as processes of a benchmark, of Thalweg or of TensorFlow; each ends when the benchmark does."""
import ctypes
import os
import random
import signal
import socket
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "tests"))
from serving import ready  # noqa: F401  (for those who start servers)


def ports(n):
    """Addresses that are free now, below those of outgoing connections (32768 on Linux)."""
    held = {}
    while len(held) < n:
        s, port = socket.socket(), random.randrange(10000, 32000)
        try:
            s.bind(("127.0.0.1", port))
            held[port] = s
        except OSError:
            s.close()
    for s in held.values():
        s.close()
    return ["127.0.0.1:%d" % port for port in held]


def start(command, **options):
    """A process that ends when this one does, however it does."""
    die_with_parent = 1  # prctl's PR_SET_PDEATHSIG
    libc = ctypes.CDLL(None)
    return subprocess.Popen(command, preexec_fn=lambda: libc.prctl(die_with_parent, signal.SIGKILL), text=True, **options)


def end(children):
    for child in children:
        child.kill()
        child.wait()

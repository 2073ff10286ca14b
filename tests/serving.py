# SPDX-License-Identifier: Apache-2.0
"""Servers as processes for tests: `thalweg serve`, heard with a deadline."""
import json
import os
import select
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMAND = os.environ.get("THALWEG_COMMAND", os.path.join(ROOT, "build", "release", "bin", "thalweg"))


def serve(spec, job, task=0, *options, around=(), **popen):
    """A task of the cluster `spec` (addresses by job) as a process that writes "ready TARGET"; `around`: a command that runs it;
    `popen` as Popen has it."""
    return subprocess.Popen([*around, COMMAND, "serve", "--cluster", json.dumps(spec), "--job", job, "--task", str(task), *options],
                            stdout=subprocess.PIPE, text=True, **popen)


def ready(process, seconds=60):
    """The target of a server that has just been started."""
    can_be_read, _, _ = select.select([process.stdout], [], [], seconds)
    assert can_be_read, f"{process.args} is not ready after {seconds} s"
    line = process.stdout.readline()
    assert line.startswith("ready grpc"), f"{process.args} said {line!r}"
    return line.split()[1]


def wait_for(condition, seconds=60):
    """What the condition gave last: asked until it holds, fifty times a second."""
    end = time.monotonic() + seconds
    while not (held := condition()) and time.monotonic() < end:
        select.select([], [], [], 0.02)
    return held

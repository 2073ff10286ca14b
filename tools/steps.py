# SPDX-License-Identifier: Apache-2.0
"""The steps of .ci/run and ./dev check: tools/steps.txt, and how one of them is run."""
import collections
import glob
import os
import signal
import subprocess
import time

Step = collections.namedtuple("Step", "minutes limit when command")  # when: as in tools/steps.txt; command: 'fuzz 60 parsers'


def read(path):
    steps = []
    with open(path) as f:
        for line in f:
            words = line.split()
            if words and not line.startswith("#"):
                minutes, limit, when, *command = words
                if when not in ("always", "rooms", "whole") or not command:
                    raise ValueError(f"{path}: '{line.strip()}' is not MINUTES LIMIT always|rooms|whole VERB...")
                steps.append(Step(int(minutes), int(limit), when, " ".join(command)))
    return steps


def processes_of(session):
    """Ids of the processes of a session that have not ended: a step's own children may have process groups of their own."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                number, _, rest = f.read().partition(" (")
        except OSError:
            continue
        state, _, _, its_session = rest.rpartition(") ")[2].split()[:4]
        if state != "Z" and int(its_session) == session:
            yield int(number)


def end(process):
    """Ends a process that leads a session, and all of that session: by SIGTERM, after ten seconds by SIGKILL."""
    for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        for each in processes_of(process.pid):
            try:
                os.kill(each, number)
            except ProcessLookupError:
                pass
        limit = time.monotonic() + patience
        while any(True for _ in processes_of(process.pid)) and time.monotonic() < limit:
            time.sleep(0.05)
    process.wait()


def run(step, root, environment):
    """(exit status, seconds) of `./dev COMMAND` in root; 124 where it took longer than its limit. What it started ends with it."""
    begun = time.monotonic()
    # A signal that came between the start and the try would leave the process to itself.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    process = subprocess.Popen(["./dev", *step.command.split()], cwd=root, env=environment, stdin=subprocess.DEVNULL,
                               start_new_session=True, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before))
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        status = process.wait(step.limit * 60)
    except subprocess.TimeoutExpired:
        status = 124
    finally:
        end(process)
    return status, time.monotonic() - begun

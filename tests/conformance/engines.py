# SPDX-License-Identifier: Apache-2.0
"""The engines as processes: TensorFlow 2.21, TensorFlow 1.15 (Python 3.7) and Thalweg answer files of requests."""
import os
import resource
import subprocess
import sys
import time

from cases import ROOT
from releases import OLD_PYTHON, their_environment
from wire import read_records, write_record

FOLDER = os.path.join(ROOT, "build", "conformance")
SPACE = 3 << 30  # of addresses: a kernel that asks for more fails as on a small machine


class Run:
    """One engine's way through its requests."""

    def __init__(self, name, python, module):
        self.name, self.command = name, [python, os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py"), module]
        os.makedirs(FOLDER, exist_ok=True)
        self.requests, self.answers = (os.path.join(FOLDER, f"{name}.{what}") for what in ("requests", "answers"))
        self.ids, self.file = [], open(self.requests, "wb")
        open(self.answers, "wb").close()
        self.found, self.process, self.at, self.crashes = {}, None, 0, {}

    def add(self, header, blocks):
        self.ids.append(header["id"])
        write_record(self.file, header, blocks)

    def start(self):
        self.file.close()
        if not self.ids:
            return
        own = os.path.join(FOLDER, self.name + ".files")
        os.makedirs(own, exist_ok=True)  # files that cases write are the engine's own
        environment = None if self.command[-1] == "thalweg" else their_environment()
        with open(self.answers + ".log", "wb") as log:
            self.process = subprocess.Popen([*self.command, self.requests, self.answers], env=environment, cwd=own, stdout=log, stderr=log,
                                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE)))

    def poll(self):
        """Whether it is still at work."""
        if self.process is None or self.process.poll() is None:
            return self.process is not None
        self.read()
        self.process = None
        for key in set(self.ids) - set(self.found):
            raise RuntimeError(f"the process of {self.name} ended before {key}: see {self.answers}.log")
        return False

    def read(self):
        with open(self.answers, "rb") as f:
            f.seek(self.at)
            for header, blocks in read_records(f):
                self.found[header["id"]] = header, blocks
                self.at = f.tell()
                if "crash" in header:
                    self.crashes[header["id"]] = header["crash"]


def at_work(runs, say):
    """Until all have ended; a line of progress now and then."""
    last = time.monotonic()
    for r in runs:
        r.start()
    while any([r.poll() for r in runs]):
        time.sleep(0.2)
        if time.monotonic() - last > 15:
            last = time.monotonic()
            for r in runs:
                r.read()
            say(", ".join(f"{r.name} {len(r.found)} of {len(r.ids)}" for r in runs))
    return {r.name: r for r in runs}


def engines(prefix="", recorded=None):
    """Those that are here: ours, TensorFlow 2.21 (this very Python), TensorFlow 1.15 if its own Python is; else what makes a record of it."""
    made = {"thalweg": Run(prefix + "thalweg", sys.executable, "thalweg"), "2.21": Run(prefix + "2.21", sys.executable, "tensorflow")}
    if os.path.exists(OLD_PYTHON):
        made["1.15"] = Run(prefix + "1.15", OLD_PYTHON, "tensorflow")
    elif recorded:
        made["1.15"] = recorded()
    return made

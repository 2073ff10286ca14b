# SPDX-License-Identifier: Apache-2.0
"""A cluster of real server processes, to which faults come."""
import ctypes
import functools
import json
import os
import signal
import sys
import tempfile

import thalweg

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import links
import serving
import waiting

COMMAND = serving.COMMAND
TASKS = {"master": ("worker", 0), "ps": ("ps", 0), "worker": ("worker", 1)}
PROCESS_SECONDS = 60  # for a process to be ready, to stand, to be gone


@functools.cache
def _library():
    lib = ctypes.CDLL(os.path.join(os.path.dirname(thalweg.__file__), "libthalweg.so.0"))  # the one that is open already
    lib.tw_debug_dump.restype = lib.tw_buffer_data.restype = ctypes.c_void_p
    lib.tw_debug_dump.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p]
    lib.tw_buffer_data.argtypes = lib.tw_buffer_free.argtypes = [ctypes.c_void_p]
    lib.tw_buffer_size.argtypes, lib.tw_buffer_size.restype = [ctypes.c_void_p], ctypes.c_size_t
    return lib


def dump(address, timeout=2.0):
    """What the server at the address says of itself; None when it does not answer."""
    library = _library()
    buffer = library.tw_debug_dump(f"grpc://{address}".encode(), int(timeout * 1000), None)
    if not buffer:
        return None
    text = ctypes.string_at(library.tw_buffer_data(buffer), library.tw_buffer_size(buffer))
    library.tw_buffer_free(buffer)
    return json.loads(text)


def end(process):
    """Kills it, also where it is stopped, and waits until it is gone."""
    process.kill()
    process.wait(PROCESS_SECONDS)
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()


def state_of(process):
    """In words, for who reads of a failure."""
    if process.poll() is not None:
        return f"has ended with {process.returncode}"
    with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as f:
        return f"is there, in state {f.read().rsplit(')', 1)[1].split()[0]}"


class Cluster:
    """A master, a ps and a worker, each a process, that reach each other and the client over `network`. `by_calls`: as where no
    channel can be made; else steps go through channels where they can."""

    def __init__(self, stuck_after=-1, before=None, by_calls=True, network=None, lost_after=3.0):
        self.network = network or links.Proxies(TASKS)
        self.processes, self._errors = {}, {}
        self._options = ["--stuck-after", str(stuck_after), "--lost-after", str(lost_after), "--threads", "1", *self.network.options]
        if by_calls:
            self._options += ["--max-message-bytes", str(1 << 30)]  # where messages have a limit, there are no channels
        self._before = before or {}
        try:
            for name in TASKS:
                self.processes[name] = self._start(name)
            for name in TASKS:
                self._await_ready(name)
        except BaseException:
            self.close()
            raise

    def _start(self, name):
        jobs = {"worker": {}, "ps": {}}
        for other, (j, t) in TASKS.items():
            jobs[j][str(t)] = self.network.address(name, other)
        self._errors[name] = tempfile.TemporaryFile()  # pylint: disable=consider-using-with  # as long as the process
        return serving.serve(jobs, *TASKS[name], *self._options, around=self.network.around(name), stderr=self._errors[name],
                             preexec_fn=self._before.get(name))

    def _await_ready(self, name):
        try:
            target = serving.ready(self.processes[name], PROCESS_SECONDS)
        except AssertionError as e:
            raise AssertionError(f"{e}; {self.said(name)}") from e
        self.network.started(name, target[len("grpc://"):])

    @property
    def target(self):
        return "grpc://" + self.network.client_address()

    def patient_target(self, seconds):
        """For a client that gives its master so long."""
        return f"{self.target}?lost-after={seconds}"

    def said(self, name):
        """What the task has written to its standard error."""
        file = self._errors[name]
        return os.pread(file.fileno(), 1 << 20, max(0, os.fstat(file.fileno()).st_size - (1 << 20))).decode(errors="replace")

    def dump(self, name):
        return dump(self.network.here(name))

    def kill(self, name):
        self.network.ends(name)
        self.processes[name].kill()
        self.processes[name].wait(PROCESS_SECONDS)

    def stop(self, name):
        """Until it stands: threads that run take notice of the signal later."""
        os.kill(self.processes[name].pid, signal.SIGSTOP)
        seen = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG
        assert waiting.wait_for(lambda: os.waitid(os.P_PID, self.processes[name].pid, seen), PROCESS_SECONDS), f"{name} does not stand"

    def partition(self, name):
        self.network.partition(name)

    def slow(self, name):
        self.network.slow(name)

    def narrow(self, name):
        self.network.narrow(name)

    def repair(self, name, fault):
        """What an operator or a supervisor does about it."""
        if fault == "stop":
            os.kill(self.processes[name].pid, signal.SIGCONT)
        elif fault == "kill" and name in TASKS:
            self.network.ends(name)
            end(self.processes[name])
            self.processes[name] = self._start(name)
            self._await_ready(name)
        self.network.mend(name)

    def is_heard(self, name):
        """The master has a heartbeat of the task."""
        job, task = TASKS[name]
        told = self.dump("master") or {"tasks": []}
        return any(f"/job:{job}/replica:0/task:{task} alive" in line and "resident" in line for line in told["tasks"])

    def open_steps(self, names):
        """Steps that these tasks have open; None for a task that does not answer."""
        return {name: (d["steps"] if (d := self.dump(name)) is not None else None) for name in names}

    def told(self):
        """All that there is to say of it, for who reads of a failure."""
        text = ""
        for name, process in list(self.processes.items()):
            text += f"---- {name}, process {process.pid}, {state_of(process)}\n"
            if name in TASKS:
                shown = self.dump(name) if process.poll() is None else None
                text += f"{json.dumps(shown, indent=1)}\n{self.said(name)[-8000:]}"
        return text

    def close(self):
        for process in self.processes.values():
            end(process)
        self.network.close()
        for file in self._errors.values():
            file.close()

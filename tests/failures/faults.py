# SPDX-License-Identifier: Apache-2.0
"""Real server processes, and links between them that can be cut, slowed and watched: no privileges are needed."""
import ctypes
import functools
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time

import thalweg

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = os.path.join(ROOT, "build", "release", "bin", "thalweg")
TASKS = {"master": ("worker", 0), "ps": ("ps", 0), "worker": ("worker", 1)}
LOST_AFTER = 2.0


class RunningTime:
    """Seconds in which this process ran: where the whole test is stopped or starved, the time that it missed does not count."""

    STEP, MOST, AWAY = 0.02, 0.2, 0.5

    def __init__(self):
        self._seconds = 0.0
        self.times_away = 0  # how often all of this was stopped, and who was stopped by a test perhaps went on with it
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self):
        last = time.monotonic()
        while True:
            select.select([], [], [], self.STEP)
            now = time.monotonic()
            self._seconds += min(now - last, self.MOST)
            self.times_away += now - last > self.AWAY
            last = now

    def now(self):
        return self._seconds


@functools.cache
def running_time():
    return RunningTime()


class Link:
    """A listening port whose connections go on to `target_port`. While it is cut, nothing passes and nothing is refused, as behind a
    broken network. Actions run before the bytes pass that set them off."""

    def __init__(self):
        self.target_port = None
        self.delay = 0.0
        self._open = threading.Event()
        self._open.set()
        self._asked, self._answered = [], []
        self._sockets, self._closed = [], False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def when_asked(self, words, action):
        """When the asking side sends these bytes: the path of a method passes as it is when it is first called."""
        self._asked.append([words, action])

    def when_answered(self, count, action):
        """When so many bytes have come back on one connection."""
        self._answered.append([count, action])

    def cut(self):
        self._open.clear()

    def mend(self):
        self._open.set()

    def close(self):
        self._closed = True
        self._open.set()
        self._listener.close()
        for s in self._sockets:
            s.close()

    def _accept(self):
        while not self._closed:
            try:
                asking, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(asking,), daemon=True).start()

    def _connect(self, asking):
        self._open.wait()
        try:
            answering = socket.create_connection(("127.0.0.1", self.target_port), 5)
        except OSError:
            asking.close()
            return
        self._sockets += [asking, answering]
        for args in ((asking, answering, self._look_at_asked), (answering, asking, self._look_at_answered)):
            threading.Thread(target=self._copy, args=args, daemon=True).start()

    def _look_at_asked(self, seen, chunk):
        tail = seen[-64:] + chunk
        for entry in self._asked:
            if entry[1] is not None and entry[0] in tail:
                action, entry[1] = entry[1], None
                action()
        return tail

    def _look_at_answered(self, seen, chunk):
        count = (seen or 0) + len(chunk)
        for entry in self._answered:
            if entry[1] is not None and count >= entry[0]:
                action, entry[1] = entry[1], None
                action()
        return count

    def _copy(self, source, sink, look):
        seen = b"" if look == self._look_at_asked else 0
        try:
            while True:
                if self.delay:
                    select.select([], [], [], self.delay)
                chunk = source.recv(1 << 16)
                if not chunk:
                    break
                seen = look(seen, chunk)
                self._open.wait()
                sink.sendall(chunk)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


@functools.cache
def _library():
    lib = ctypes.CDLL(os.path.join(os.path.dirname(thalweg.__file__), "libthalweg.so.0"))  # the one that is open already
    lib.tw_debug_dump.restype = lib.tw_buffer_data.restype = ctypes.c_void_p
    lib.tw_debug_dump.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p]
    lib.tw_buffer_data.argtypes = lib.tw_buffer_free.argtypes = [ctypes.c_void_p]
    lib.tw_buffer_size.argtypes, lib.tw_buffer_size.restype = [ctypes.c_void_p], ctypes.c_size_t
    return lib


def dump(port, timeout=2.0):
    """What the server at the port says of itself; None when it does not answer."""
    library = _library()
    buffer = library.tw_debug_dump(f"grpc://127.0.0.1:{port}".encode(), int(timeout * 1000), None)
    if not buffer:
        return None
    text = ctypes.string_at(library.tw_buffer_data(buffer), library.tw_buffer_size(buffer))
    library.tw_buffer_free(buffer)
    return json.loads(text)


class Cluster:
    """A master, a ps and a worker, each a process, with a link for each direction of each pair and one for the client. As on
    several machines, tasks speak to each other by calls, which go through the links; on one, steps go through channels."""

    def __init__(self, stuck_after=-1, before=None, one_machine=False):
        self.links = {(a, b): Link() for a in [*TASKS, "client"] for b in TASKS if a != b}
        self.processes, self.ports = {}, {}
        self._options = ["--stuck-after", str(stuck_after)]
        if not one_machine:
            self._options += ["--max-message-bytes", str(1 << 30)]  # where messages have a limit, there are no channels
        self._before = before or {}
        for name in TASKS:
            self.processes[name] = self._start(name)
        for name in TASKS:
            self._await_ready(name)

    def _start(self, name):
        jobs = {"worker": {}, "ps": {}}
        for other, (j, t) in TASKS.items():
            jobs[j][str(t)] = f"127.0.0.1:{self.links[name, other].port if other != name else 0}"
        job, task = TASKS[name]
        return subprocess.Popen(
            [COMMAND, "serve", "--cluster", json.dumps(jobs), "--job", job, "--task", str(task), "--threads", "1",
             "--lost-after", str(LOST_AFTER), *self._options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=self._before.get(name))

    def _await_ready(self, name):
        ready = self.processes[name].stdout.readline()
        assert ready.startswith("ready grpc://"), (ready, self.processes[name].stderr.read(), self.processes[name].wait())
        self.ports[name] = int(ready.rsplit(":", 1)[1])
        for (_, b), link in self.links.items():
            if b == name:
                link.target_port = self.ports[name]

    @property
    def target(self):
        return f"grpc://127.0.0.1:{self.links['client', 'master'].port}"

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def stop(self, name):
        """Until it stands: threads that run take notice of the signal later."""
        os.kill(self.processes[name].pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.processes[name].pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def partition(self, name):
        for link in self._links_of(name):
            link.cut()

    def slow(self, name):
        for link in self._links_of(name):
            link.delay = 0.01

    def repair(self, name, fault):
        """What an operator or a supervisor does about it."""
        if fault == "stop":
            os.kill(self.processes[name].pid, signal.SIGCONT)
        elif fault == "kill" and name in TASKS:
            self.processes[name].stdout.close()
            self.processes[name].stderr.close()
            self.processes[name] = self._start(name)
            self._await_ready(name)
        for link in self._links_of(name):
            link.delay = 0.0
            link.mend()

    def _links_of(self, name):
        return [link for pair, link in self.links.items() if name in pair]

    def is_heard(self, name):
        """The master has a heartbeat of the task."""
        job, task = TASKS[name]
        told = dump(self.ports["master"]) or {"tasks": []}
        return any(f"/job:{job}/replica:0/task:{task} alive" in line and "resident" in line for line in told["tasks"])

    def open_steps(self, names):
        """Steps that these tasks have open; None for a task that does not answer."""
        return {name: (d["steps"] if (d := dump(self.ports[name])) is not None else None) for name in names}

    def close(self):
        for process in self.processes.values():
            process.kill()  # a stopped one, too
            process.wait()
            process.stdout.close()
            if process.stderr:
                process.stderr.close()
        for link in self.links.values():
            link.close()


def wait_for(condition, seconds):
    """Asks again and again; what it gave last."""
    clock = running_time()
    end = clock.now() + seconds
    while True:
        value = condition()
        if value or clock.now() > end:
            return value
        select.select([], [], [], 0.02)

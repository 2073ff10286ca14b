# SPDX-License-Identifier: Apache-2.0
"""Links between tasks of this host that can be cut, slowed and watched: no privileges are needed."""
import select
import socket
import threading


class Link:
    """A listening port whose connections go on to `target_port`. While it is cut, nothing passes and nothing is refused, as behind a
    broken network. Actions run before the bytes pass that set them off."""

    def __init__(self):
        self.target_port = None  # None: nobody is there, and connections end
        self.delay = 0.0  # seconds by which each piece of data is late
        self.rate = None  # bytes a second, of all connections and each direction; None: as fast as it goes
        self._turns = {"asked": threading.Lock(), "answered": threading.Lock()}
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
        self.delay, self.rate = 0.0, None
        self._open.set()

    def close(self):
        self._closed = True
        self._open.set()
        for s in [self._listener, *self._sockets]:
            try:
                s.shutdown(socket.SHUT_RDWR)  # wakes who waits for it
            except OSError:
                pass
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
        target = self.target_port
        try:
            answering = socket.create_connection(("127.0.0.1", target), 5) if target else None
        except OSError:
            answering = None
        if answering is None:
            asking.close()
            return
        answering.settimeout(None)
        self._sockets += [asking, answering]
        for args in ((asking, answering, "asked", self._look_at_asked), (answering, asking, "answered", self._look_at_answered)):
            threading.Thread(target=self._copy, args=args, daemon=True).start()

    def _look_at_asked(self, seen, chunk):
        tail = (seen or b"")[-64:] + chunk
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

    def _hold(self, direction, size):
        if self.delay:
            select.select([], [], [], self.delay)
        rate = self.rate
        if rate:
            with self._turns[direction]:  # one line for all connections
                select.select([], [], [], size / rate)

    def _copy(self, source, sink, direction, look):
        seen = None
        try:
            while chunk := source.recv(1 << 16 if not self.rate else 1 << 13):
                self._hold(direction, len(chunk))
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


class Proxies:
    """How the tasks of a cluster reach each other: a link for each direction of each pair, and one for the client."""

    def __init__(self, tasks):
        self._links = {(a, b): Link() for a in [*tasks, "client"] for b in tasks if a != b}
        self.options = ()
        self._ports = {}

    def __getitem__(self, pair):
        return self._links[pair]

    def address(self, a, b):
        """Of task b for a, its own for itself."""
        return f"127.0.0.1:{self._links[a, b].port if a != b else 0}"

    def around(self, name):  # pylint: disable=unused-argument  # every host has one
        """What the task's command is begun with."""
        return ()

    def started(self, name, target):
        self._ports[name] = int(target.rsplit(":", 1)[1])
        for (_, b), link in self._links.items():
            if b == name:
                link.target_port = self._ports[name]

    def ends(self, name):
        """The task is about to be gone. Its port may be another cluster's soon, to whom no link of this one may lead."""
        for (_, b), link in self._links.items():
            if b == name:
                link.target_port = None

    def here(self, name):
        """Where the task listens, past all links."""
        return f"127.0.0.1:{self._ports[name]}"

    def client_address(self):
        return self.address("client", "master")

    def partition(self, name):
        for link in self._of(name):
            link.cut()

    def slow(self, name):
        for link in self._of(name):
            link.delay = 0.01

    def narrow(self, name):
        for link in self._of(name):
            link.rate = 2e6

    def mend(self, name):
        for link in self._of(name):
            link.mend()

    def in_a_transfer(self, sender, receiver, action):
        """When a megabyte of what the sender was asked for has passed."""
        self._links[receiver, sender].when_answered(1 << 20, action)

    def _of(self, name):
        return [link for pair, link in self._links.items() if name in pair]

    def close(self):
        for link in self._links.values():
            link.close()

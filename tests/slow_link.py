# SPDX-License-Identifier: Apache-2.0
"""A way to a server on which what the server says arrives late."""
import contextlib
import queue
import socket
import threading
import time


class SlowLink:
    """with SlowLink(port_of_the_server) as link: clients connect to link.port; link.delay = 0.005"""

    def __init__(self, port):
        self._server, self.delay = ("127.0.0.1", port), 0.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._sockets, self._threads = [], []
        self._start(self._accept)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(30)

    def _start(self, act, *arguments):
        self._threads.append(threading.Thread(target=act, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        with contextlib.suppress(OSError):  # it is closed: the end
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                late = queue.Queue()
                self._start(self._read, client, server.sendall)
                self._start(self._read, server, lambda data, late=late: late.put((time.monotonic() + self.delay, data)))
                self._start(self._write_late, late, client)

    @staticmethod
    def _read(source, give):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                give(data)
        with contextlib.suppress(OSError):
            give(b"")

    @staticmethod
    def _write_late(late, client):
        with contextlib.suppress(OSError):
            while True:
                due, data = late.get()
                if not data:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                time.sleep(max(0.0, due - time.monotonic()))
                client.sendall(data)

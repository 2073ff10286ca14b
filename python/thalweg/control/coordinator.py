# SPDX-License-Identifier: Apache-2.0
"""Coordinator: stops a set of threads together and re-raises the first error of any of them."""
from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

from thalweg import errors, logging as tw_logging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from threading import Thread
    from typing import Any


class Coordinator:
    """Lets threads end together: each asks should_stop(), and join() raises the error of the one that ended them.

    Parameters
    ----------
    clean_stop_exception_types : tuple of exception types, optional
        Which errors are a normal end; errors.OutOfRangeError unless given.

    Examples
    --------
    >>> import threading
    >>> coord = tw.train.Coordinator()
    >>> def work():
    ...     while not coord.should_stop():
    ...         coord.request_stop()
    >>> thread = threading.Thread(target=work)
    >>> thread.start()
    >>> coord.join([thread])
    """

    def __init__(self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._error = None
        self._joined = False
        self._threads = set()

    def request_stop(self, ex: BaseException | tuple[Any, ...] | None = None) -> None:
        """Asks all threads to stop.

        Parameters
        ----------
        ex : Exception, or tuple of sys.exc_info(), optional
            Why; join() raises the first of those given.

        Examples
        --------
        >>> coord = tw.train.Coordinator()
        >>> coord.request_stop()
        >>> coord.should_stop()
        True
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if isinstance(error, self._clean):
            error = None
        with self._lock:
            if self._joined:
                if error is not None:
                    raise error
                return
            if not self._stop_event.is_set():
                if error is not None:
                    tw_logging.info("Error reported to Coordinator: %s, %s", type(error), error)
                    self._error = error
                self._stop_event.set()

    def clear_stop(self) -> None:
        """As before any request."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop_event.clear()

    def should_stop(self) -> bool:
        """Says whether a thread shall stop: whether a stop was requested.

        Returns
        -------
        bool

        Examples
        --------
        >>> tw.train.Coordinator().should_stop()
        False
        """
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """An exception inside stops all threads and does not go further."""
        try:
            yield
        except:  # noqa: E722  (whatever it is, join() raises it)
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """True once a stop was requested, False when the time has passed."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread: Thread) -> None:
        """join() waits for this thread too."""
        with self._lock:
            self._threads.add(thread)

    def _forget_threads(self, threads):
        """join() does not wait for these."""
        with self._lock:
            self._threads.difference_update(threads)

    def join(self, threads: Iterable[Thread] | None = None, stop_grace_period_secs: float = 120,
             ignore_live_threads: bool = False) -> None:
        """Waits until the threads have ended, after a stop for so long at most; raises the first error."""
        with self._lock:
            threads = self._threads.union(threads or ())
        pause, begun_by = 0.001, time.monotonic() + 1

        def runs(thread):  # one that is about to be started by somebody else counts, for a second
            return thread.is_alive() or (thread.ident is None and time.monotonic() < begun_by)
        while any(runs(t) for t in threads) and not self.wait_for_stop(pause):
            pause = min(pause * 2, 0.1)
        until = time.monotonic() + stop_grace_period_secs
        for thread in threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(until - time.monotonic(), 0))
        alive = [t.name for t in threads if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
            if self._error is not None:
                raise self._error
            if alive:
                message = f"Coordinator stopped with threads still running: {' '.join(alive)}"
                if not ignore_live_threads:
                    raise RuntimeError(message)
                tw_logging.info(message)

    @property
    def joined(self) -> bool:
        """Whether join() has ended."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the error that a thread has given, if any."""
        with self._lock:
            if self._error is not None:
                raise self._error


class LooperThread(threading.Thread):
    """Calls a target again and again, or once in so many seconds, until the coordinator stops."""

    def __init__(self, coord: Coordinator, timer_interval_secs: float, target: Callable[..., object] | None = None,
                 args: Sequence[object] | None = None, kwargs: Mapping[str, object] | None = None) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._function, self._arguments, self._keywords = target, args or (), kwargs or {}
        if not target and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        coord.register_thread(self)

    @staticmethod
    def loop(coord: Coordinator, timer_interval_secs: float, target: Callable[..., object], args: Sequence[object] | None = None,
             kwargs: Mapping[str, object] | None = None) -> LooperThread:
        """A thread that is started already."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                at = time.monotonic()
                while not self._coord.wait_for_stop(max(at - time.monotonic(), 0)):
                    at += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once before the first run_loop."""

    def stop_loop(self) -> None:
        """Called once after the last run_loop."""

    def run_loop(self) -> None:
        if self._function:
            self._function(*self._arguments, **self._keywords)

# SPDX-License-Identifier: Apache-2.0
"""Waits that end: by a clock that leaves out what the machine took away from a test."""
import concurrent.futures
import functools
import select
import sys
import threading
import time
import traceback

PRESSURE = "/proc/pressure/cpu"


def starved_seconds():
    """How long somebody on this machine has waited for a processor since it was started; 0 where the kernel does not say."""
    try:
        with open(PRESSURE, encoding="ascii") as f:
            return int(f.readline().rsplit("total=", 1)[1]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


class RunningTime:
    """Seconds that a test had to itself. Time does not count in which the whole test stood still, nor, but for a fifth (so that every
    wait ends), time in which somebody waited for a processor: a verdict does not depend on what else the machine does."""

    STEP, MOST, AWAY, LEAST = 0.02, 0.2, 0.5, 0.2

    def __init__(self):
        self._seconds = 0.0
        self.times_away = 0  # how often all of this was stopped, and who was stopped by a test perhaps went on with it
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self):
        last, starved, owed = time.monotonic(), starved_seconds(), 0.0
        while True:
            select.select([], [], [], self.STEP)
            now, before = time.monotonic(), starved
            starved = starved_seconds()  # the kernel adds it up every two seconds: what came at once is taken off bit by bit
            owed += starved - before
            ran = min(now - last, self.MOST)
            taken = min(owed, ran * (1 - self.LEAST))
            owed -= taken
            self._seconds += ran - taken
            self.times_away += now - last > self.AWAY
            last = now

    def now(self):
        return self._seconds


@functools.cache
def running_time():
    return RunningTime()


def wait_for(condition, seconds):
    """Asks again and again; what it gave last."""
    clock = running_time()
    end = clock.now() + seconds
    while True:
        value = condition()
        if value or clock.now() > end:
            return value
        select.select([], [], [], 0.02)


def read_line(stream, seconds, who):
    """The one line that is awaited from a process."""
    assert wait_for(lambda: select.select([stream], [], [], 0)[0], seconds), f"{who} has said nothing for {seconds} s"
    return stream.readline()


class Later:
    """A call in a thread of its own, that nobody waits for without a limit."""

    def __init__(self, call, *args):
        self._what = getattr(call, "__qualname__", str(call))
        self._future = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, args=(call, args), daemon=True)
        self._thread.start()

    def _run(self, call, args):
        try:
            self._future.set_result(call(*args))
        except BaseException as e:  # pylint: disable=broad-except  # who asks for the result gets it
            self._future.set_exception(e)

    def ends_within(self, seconds):
        return wait_for(self._future.done, seconds)

    def result(self, seconds):
        assert self.ends_within(seconds), f"{self._what} has not ended after {seconds} s:\n{self.stack()}"
        return self._future.result()

    def stack(self):
        """Where the call is now."""
        frame = sys._current_frames().get(self._thread.ident)
        return "".join(traceback.format_stack(frame)) if frame is not None else "it has ended"

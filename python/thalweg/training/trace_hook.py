# SPDX-License-Identifier: Apache-2.0
"""TraceHook: training that records why some of its steps are slow."""
from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from thalweg import errors, logging as tw_logging
from thalweg.files.trace_file import write_trace
from thalweg.messages import RunMetadata, RunOptions
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues

if TYPE_CHECKING:
    from thalweg.control.coordinator import Coordinator
    from thalweg.graph.session import Session


def _seconds(run_metadata: RunMetadata) -> float:
    """How long a step took by its own record, from the begin of its first node to the end of its last: other hooks, which run before and
    after it, have no part in that. Clocks of tasks differ, so it is the longest of theirs."""
    begins, ends = {}, {}
    for device in run_metadata.step_stats.dev_stats:
        task = device.device.partition("/device:")[0]
        for node in device.node_stats:
            begins[task] = min(begins.get(task, node.all_start_micros), node.all_start_micros)
            ends[task] = max(ends.get(task, 0), node.all_start_micros + node.all_end_rel_micros)
    return max((ends[task] - begins[task] for task in ends), default=0) / 1e6


class TraceHook(SessionRunHook):
    """Writes RunMetadata files of runs, which `thalweg trace` opens.

    A file is called `step-12.pb` for the thirteenth run of the session. Runs in `steps` are traced and kept; with `slower_than`, every run from
    `first_step` on is traced, and kept where its nodes took longer; with `failing`, where it ends with an error, as
    `step-12-failed.pb` with what was seen until then.

    Parameters
    ----------
    folder : str
        Where the files go; it is made where it is not there. A file of an earlier session is replaced.
    steps : iterable of int, optional
        Numbers of runs, from 0 on. The first runs also make plans: leave them out.
    slower_than : float, optional
        Seconds.
    first_step : int
        The first run that `slower_than` and `failing` look at.
    most : int
        How many files these two write in a training; after that nothing more is traced for them.
    failing : bool
        Runs that fail, too, of a session of this process; those of a server's sessions `tw.debugging.record` records. That the data has
        ended is no failure.
    compact : bool
        Files in some tenth of the bytes, with the ending `.trace`, for `thalweg trace` and `read_trace`.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> y = tw.constant(1.0) + 1.0
    >>> folder = tempfile.mkdtemp()
    >>> with tw.train.MonitoredSession(hooks=[tw.train.TraceHook(folder, steps=[1, 2])]) as session:
    ...     for _ in range(4):
    ...         value = session.run(y)
    >>> sorted(os.listdir(folder))
    ['step-1.pb', 'step-2.pb']
    """

    def __init__(self, folder: str, steps: Iterable[int] = (), slower_than: float | None = None, first_step: int = 1, most: int = 10,
                 failing: bool = False, compact: bool = False) -> None:
        if isinstance(steps, (str, bytes)) or not isinstance(steps, Iterable):
            raise TypeError(f"steps must be numbers of runs, got {steps!r}")
        self._steps = frozenset(steps)
        none = next((n for n in self._steps if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0), None)
        if none is not None:
            raise ValueError(f"steps must be numbers of runs, from 0 on, got {none!r} among them")
        if not self._steps and slower_than is None and not failing:
            raise ValueError("TraceHook needs steps, slower_than or failing: which runs are kept?")
        if slower_than is not None and not (isinstance(slower_than, numbers.Real) and slower_than >= 0):
            raise ValueError(f"slower_than must be 0 or more seconds, got {slower_than!r}")
        for name, number in (("first_step", first_step), ("most", most)):
            if isinstance(number, bool) or not isinstance(number, numbers.Integral) or number < 0:
                raise ValueError(f"{name} must be a whole number from 0 on, got {number!r}")
        self._folder, self._slower_than = folder, slower_than
        self._first_step, self._most, self._left, self._step = first_step, most, most, -1
        self._wants_failures, self._context = failing, None
        self._ending = ".trace" if compact else ".pb"

    def begin(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        self._left = self._most

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        self._step = -1

    def _may_be_kept(self):
        return (self._slower_than is not None or self._wants_failures) and self._left > 0 and self._step >= self._first_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._step, self._context = self._step + 1, run_context
        if self._step not in self._steps and not self._may_be_kept():
            return None
        return SessionRunArgs(None, options=RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        is_kept, self._context = self._step in self._steps, None
        if not is_kept and self._slower_than is not None and self._may_be_kept() and _seconds(run_values.run_metadata) > self._slower_than:
            is_kept = True
            self._left -= 1
        if is_kept:
            self._write(run_values.run_metadata, f"step-{self._step}{self._ending}")

    def _run_failed(self) -> None:
        """Called by the session where a run failed."""
        context, self._context = self._context, None
        seen = None if context is None else context._run_metadata
        if not self._wants_failures or not self._may_be_kept() or seen is None or isinstance(sys.exc_info()[1], errors.OutOfRangeError):
            return
        if not seen.step_stats.dev_stats:
            return
        self._left -= 1
        try:
            self._write(seen, f"step-{self._step}-failed{self._ending}")
        except (OSError, errors.OpError) as error:  # the run's own error is the one to hear, and by it sessions recover
            tw_logging.warning("The trace of the run that failed is lost: %s", error)

    def _write(self, metadata, name):
        write_trace(os.path.join(self._folder, name), metadata)

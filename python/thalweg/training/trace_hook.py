# SPDX-License-Identifier: Apache-2.0
"""TraceHook: training that records why some of its steps are slow."""
from __future__ import annotations

import os
import time
from collections.abc import Collection

from thalweg.messages import RunOptions
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues


class TraceHook(SessionRunHook):
    """Writes RunMetadata files of runs, which `thalweg trace` opens.

    A file is called `step-12.pb` for the thirteenth run of the session. Runs in `steps` are traced and kept; with `slower_than`, every run from
    `first_step` on is traced, and kept where it took longer.

    Parameters
    ----------
    folder : str
        Where the files go; it is made where it is not there. A file of an earlier training is replaced.
    steps : collection of int, optional
        Numbers of runs, from 0 on. The first runs also make plans: leave them out.
    slower_than : float, optional
        Seconds.
    first_step : int
        The first run that `slower_than` looks at.
    most : int
        How many files `slower_than` writes; after that nothing more is traced for it.

    Examples
    --------
    >>> y = tw.constant(1.0) + 1.0
    >>> folder = tempfile.mkdtemp()
    >>> with tw.train.MonitoredSession(hooks=[tw.train.TraceHook(folder, steps=[1, 2])]) as session:
    ...     for _ in range(4):
    ...         value = session.run(y)
    >>> sorted(os.listdir(folder))
    ['step-1.pb', 'step-2.pb']
    """

    def __init__(self, folder: str, steps: Collection[int] = (), slower_than: float | None = None, first_step: int = 1, most: int = 10) -> None:
        if not steps and slower_than is None:
            raise ValueError("TraceHook needs steps or slower_than: which runs are kept?")
        if slower_than is not None and slower_than < 0:
            raise ValueError(f"slower_than must be 0 or more seconds, got {slower_than!r}")
        self._folder, self._steps, self._slower_than = folder, frozenset(steps), slower_than
        self._first_step, self._left = first_step, most
        self._step, self._begin = -1, 0.0

    def begin(self) -> None:
        os.makedirs(self._folder, exist_ok=True)

    def _may_be_kept(self):
        return self._slower_than is not None and self._left > 0 and self._step >= self._first_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._step += 1
        if self._step not in self._steps and not self._may_be_kept():
            return None
        self._begin = time.monotonic()
        return SessionRunArgs(None, options=RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        is_kept = self._step in self._steps
        if not is_kept and self._may_be_kept() and time.monotonic() - self._begin > self._slower_than:
            is_kept = True
            self._left -= 1
        if not is_kept:
            return
        path = os.path.join(self._folder, f"step-{self._step}.pb")
        temporary = f"{path}.tmp{os.getpid()}"
        with open(temporary, "wb") as file:
            file.write(run_values.run_metadata.SerializeToString())
        os.replace(temporary, path)

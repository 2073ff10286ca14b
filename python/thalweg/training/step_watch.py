# SPDX-License-Identifier: Apache-2.0
"""StepWatch: looks at a step that lasts long, while it lasts. StepWatchHook: a hook that has one."""
from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from thalweg import errors, logging as tw_logging
from thalweg.training.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.graph.session import Session
    from thalweg.training.session_run_hook import SessionRunContext, SessionRunValues


class StepWatch:
    """Calls look(session) when a step has lasted for `after` seconds, and again in as many as that gives, in a thread of its own,
    which ends with the steps."""

    def __init__(self, session: Session, after: float, look: Callable[[Session], float]) -> None:
        self._session, self._after, self._look = session, after, look
        self._changed = threading.Condition()
        self._thread = self._until = None

    def arm(self) -> None:
        """A step begins."""
        with self._changed:
            self._until = time.monotonic() + self._after
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()

    def disarm(self) -> None:
        """It has ended."""
        with self._changed:
            self._until = None

    def stop(self) -> None:
        """There will be no more steps."""
        with self._changed:
            self._until, self._session = None, None
            self._changed.notify_all()

    def _watch(self):
        session = self._due()
        while session is not None:
            try:
                again = self._look(session)
            except (errors.OpError, RuntimeError) as error:  # the step says so too, or the session is over
                tw_logging.debug("A step that lasts is not looked at: %s", error)
                again = self._after
                self.stop()
            session = self._due(again)

    def _due(self, again=None):
        """The session, when a step has lasted; None when nobody has run one for long. `again`: in how many seconds the step that
        runs is to be looked at next."""
        with self._changed:
            if again is not None and self._until is not None:
                self._until = max(self._until, time.monotonic() + max(again, 0.001))
            while self._session is not None:
                if self._until is None:
                    if not self._changed.wait(self._after) and self._until is None:
                        break
                elif (left := self._until - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    return self._session
            self._thread = None
            return None


class StepWatchHook(SessionRunHook):
    """Looks at the steps of its session from `_watch_steps` on until `_watch_no_more`; without the first, at none."""

    def __init__(self) -> None:
        self._step_watch = None

    def _watch_steps(self, session: Session, after: float, look: Callable[[Session], float]) -> None:
        self._watch_no_more()
        self._step_watch = StepWatch(session, after, look)

    def _watch_no_more(self) -> None:
        if self._step_watch is not None:
            self._step_watch.stop()
            self._step_watch = None

    def before_run(self, run_context: SessionRunContext) -> None:
        if self._step_watch is not None:
            self._step_watch.arm()

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._run_failed()

    def _run_failed(self) -> None:
        """Called by the session where a run failed: its step is over as well."""
        if self._step_watch is not None:
            self._step_watch.disarm()

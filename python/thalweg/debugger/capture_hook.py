# SPDX-License-Identifier: Apache-2.0
"""CaptureHook: training that keeps its failing step."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.debugger.capture import Capture, capture, checked_state
from thalweg.training.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from thalweg.control.coordinator import Coordinator
    from thalweg.graph.session import Session


class CaptureHook(SessionRunHook):
    """`tw.debugging.capture` around all runs of a training, those of other hooks too.

    Parameters
    ----------
    folder : str
        Where the files go.
    state : str
        Which values of variables are kept: "before", "after" or "none".
    first_run : int
        From which run of the session on.
    most : int
        How many files are written in all.

    Examples
    --------
    >>> import tempfile
    >>> x = tw.placeholder(tw.float32, [])
    >>> loss = tw.check_numerics(tw.log(x), "the loss")
    >>> hook = tw.train.CaptureHook(tempfile.mkdtemp())
    >>> try:
    ...     with tw.train.MonitoredSession(hooks=[hook]) as session:
    ...         session.run(loss, {x: -1.0})
    ... except tw.errors.InvalidArgumentError:
    ...     print(tw.debugging.replay(hook.files[0]).is_the_same)
    True
    """

    def __init__(self, folder: str, state: str = "after", first_run: int = 0, most: int = 1) -> None:
        self.files: list[str] = []  # that were written
        self._wishes = folder, checked_state(state), first_run, most
        self._capture: Capture | None = None

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        self._capture = capture(session, *self._wishes).__enter__()
        self._capture.files = self.files

    def end(self, session: Session) -> None:
        self._capture.end()

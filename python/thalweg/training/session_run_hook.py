# SPDX-License-Identifier: Apache-2.0
"""What a hook of a monitored session is, and what it is given."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.control.coordinator import Coordinator
    from thalweg.graph.session import Session
    from thalweg.messages import RunMetadata, RunOptions


class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What a hook adds to a run.

    Parameters
    ----------
    fetches : object
        What Session.run() takes; its values come to after_run().
    feed_dict : dict, optional
        What is fed.
    options : RunOptions, optional
        How to run.

    Examples
    --------
    >>> tw.train.SessionRunArgs("loss:0").fetches
    'loss:0'
    """

    def __new__(cls, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None) -> Self:
        return super().__new__(cls, fetches, feed_dict, options)


class SessionRunValues(collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])):
    """What came of a run: the values of the hook's own fetches."""


class SessionRunContext:
    """The run that is about to begin, or has ended."""

    def __init__(self, original_args: SessionRunArgs, session: Session) -> None:
        self._original_args, self._session, self._stop_requested = original_args, session, False
        self._run_metadata: RunMetadata | None = None  # that the session has made for its hooks

    @property
    def original_args(self) -> SessionRunArgs:
        """What the caller of run() asked for."""
        return self._original_args

    @property
    def session(self) -> Session:
        """The session beneath: its runs call no hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has asked for the end."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Makes should_stop() of the session true."""
        self._stop_requested = True


class SessionRunHook:
    """Base of all hooks; each member may be left out.

    Examples
    --------
    >>> class Printing(tw.train.SessionRunHook):
    ...     def before_run(self, run_context):
    ...         return tw.train.SessionRunArgs("x:0")
    ...     def after_run(self, run_context, run_values):
    ...         print("x was", run_values.results)
    >>> x = tw.constant(7, name="x")
    >>> y = x + 1
    >>> with tw.train.MonitoredSession(hooks=[Printing()]) as sess:
    ...     print(sess.run(y))
    x was 7
    8
    """

    def begin(self) -> None:
        """Called before the session is made; may add to the graph."""

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Called when a session was made; the graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Gives a SessionRunArgs of what to add to the run, or None."""

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after a run that did not fail."""

    def end(self, session: Session) -> None:
        """Called at the end, when nothing failed."""

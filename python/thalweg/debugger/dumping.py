# SPDX-License-Identifier: Apache-2.0
"""Sessions and hooks whose runs write what they compute: DumpingDebugWrapperSession, DumpingDebugHook."""
from __future__ import annotations

import os
import re
import shutil
import threading
import time
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.debugger import steps, watches
from thalweg.debugger.watches import WatchOptions
from thalweg.graph.default_session import DefaultSession
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.control.coordinator import Coordinator
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation
    from thalweg.messages import RunMetadata, RunOptions
    from thalweg.training.session_run_hook import SessionRunContext, SessionRunValues


class WrappedSession:
    """A session around another: what it has not itself is that one's."""

    def __init__(self, sess: Session, thread_name_filter: str | None = None) -> None:
        self._sess = sess
        self._threads = None if thread_name_filter is None else re.compile(thread_name_filter)
        self.run_call_count = 0
        self._scopes: list[Any] = []

    @property
    def session(self) -> Session:
        """The session beneath."""
        return self._sess

    def __getattr__(self, name):
        return getattr(self._sess, name)

    def as_default(self) -> DefaultSession:
        """with session.as_default(): tensor.eval() runs in it."""
        return DefaultSession(self)

    def __enter__(self) -> Self:
        scopes = self._sess.graph.as_default(), self.as_default()
        for scope in scopes:
            scope.__enter__()
        self._scopes.append(scopes)
        return self

    def __exit__(self, *error: object) -> None:
        for scope in reversed(self._scopes.pop()):
            scope.__exit__(None, None, None)
        self.close()

    def increment_run_call_count(self) -> int:
        """Counts a run."""
        self.run_call_count += 1
        return self.run_call_count

    def _is_of_other_thread(self):
        return is_of_other_thread(self._threads)


def is_of_other_thread(thread_name_filter: str | re.Pattern[str] | None) -> bool:
    """Whether this thread is none of those that are looked at."""
    return thread_name_filter is not None and not re.match(thread_name_filter, threading.current_thread().name)


class Watcher:
    """Runs of a session that write what they compute into folders, one a run."""

    def __init__(self, session: Session, root: str) -> None:
        if os.path.exists(root) and not os.path.isdir(root):
            raise ValueError(f"session_root path points to a file: {root}")
        os.makedirs(root, exist_ok=True)
        self._session, self._root, self._runs = session, root, 0
        self._staging = os.path.join(root, f".running_{os.getpid()}_{id(self):x}")
        self._dumps = watches.Dumps(session, self._staging)

    def begin(self, fetches: Fetches, feed_dict: FeedDict | None, wanted: WatchOptions) -> list[Operation]:
        """The taps that a run with these fetches must have."""
        graph = self._session.graph
        self._fetches, self._keys = fetches, (feed_dict or {}).keys()
        self._flat, self._feeds = steps.flat_fetches(graph, fetches), steps.flat_feeds(graph, feed_dict)
        self._ops = steps.needed(self._flat, self._feeds)
        debug_ops = [wanted.debug_ops] if isinstance(wanted.debug_ops, str) else list(wanted.debug_ops)
        self._taps = self._dumps.taps(self._ops, lambda x: debug_ops if wanted.watches(x) else ())
        shutil.rmtree(self._staging, ignore_errors=True)  # of a run that was interrupted
        os.makedirs(self._staging)
        return self._taps

    def end(self) -> str:
        """Puts what the run has written in its place, also where it has failed."""
        self._runs += 1
        folder = os.path.join(self._root, f"run_{int(time.time() * 1e6)}_{self._runs - 1}")
        self._dumps.finish(folder, self._ops, self._taps, watches.page_of(self._flat, self._feeds, self._runs), self._fetches, self._keys)
        return folder


class DumpingDebugWrapperSession(WrappedSession):
    """A session whose runs write what they compute to `session_root/run_...`, which `DebugDumpDir` reads.

    Parameters
    ----------
    sess : Session
    session_root : str
        A folder, which is made where it is not there.
    watch_fn : callable, optional
        Of (fetches, feeds); gives the WatchOptions of a run. All tensors are watched without it.
    thread_name_filter : str, optional
        A regular expression: runs of threads of other names write nothing.
    pass_through_operrors, log_usage : object
        Of no effect here: a run that fails writes what it has computed, and raises.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> from thalweg.debugger.dump_dir import DebugDumpDir
    >>> from thalweg.debugger.dumping import DumpingDebugWrapperSession
    >>> y = tw.constant(1.0) + 1.0
    >>> folder = tempfile.mkdtemp()
    >>> with tw.Session() as session:
    ...     value = DumpingDebugWrapperSession(session, folder).run(y)
    >>> dump = DebugDumpDir(os.path.join(folder, os.listdir(folder)[0]))
    >>> print(dump.get_tensors("add", 0, "DebugIdentity")[0])
    2.0
    """

    def __init__(self, sess: Session, session_root: str, watch_fn: Callable[[Any, Any], WatchOptions] | None = None,
                 thread_name_filter: str | None = None, pass_through_operrors: object = None, log_usage: object = True) -> None:
        super().__init__(sess, thread_name_filter)
        _check_watch_fn(watch_fn)
        self._watch_fn, self._watcher = watch_fn, Watcher(sess, session_root)

    def run(self, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None, run_metadata: RunMetadata | None = None,
            **others: object) -> Any:
        """Session.run, which writes what it computes."""
        self.increment_run_call_count()
        if self._is_of_other_thread():
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        wanted = WatchOptions() if self._watch_fn is None else self._watch_fn(fetches, feed_dict)
        taps = self._watcher.begin(fetches, feed_dict, wanted)
        try:
            values = self._sess.run([fetches, taps], feed_dict, options, run_metadata)[0]
        except errors.OpError:
            watches.after_failure(self._watcher.end)
            raise
        self._watcher.end()
        return values


def _check_watch_fn(watch_fn):
    if watch_fn is not None and not callable(watch_fn):
        raise TypeError("watch_fn is not callable")


class DumpingDebugHook(SessionRunHook):
    """DumpingDebugWrapperSession as a hook of a training."""

    def __init__(self, session_root: str, watch_fn: Callable[[Any, Any], WatchOptions] | None = None, thread_name_filter: str | None = None,
                 log_usage: object = True) -> None:
        _check_watch_fn(watch_fn)
        self._root, self._watch_fn, self._thread_name_filter = session_root, watch_fn, thread_name_filter
        self._watcher: Watcher | None = None
        self._is_running = False

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        self._watcher = Watcher(session, self._root)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        if is_of_other_thread(self._thread_name_filter):
            return None
        asked = run_context.original_args
        wanted = WatchOptions() if self._watch_fn is None else self._watch_fn(asked.fetches, asked.feed_dict)
        taps = self._watcher.begin(asked.fetches, asked.feed_dict, wanted)
        self._is_running = True
        return SessionRunArgs(taps)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._end()

    def _run_failed(self):
        watches.after_failure(self._end)

    def _end(self):
        if self._is_running:
            self._is_running = False
            self._watcher.end()



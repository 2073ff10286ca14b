# SPDX-License-Identifier: Apache-2.0
"""FileWriter: events in files that TensorBoard reads."""
from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING

from thalweg import errors, messages, python_io
from thalweg.files import records
from thalweg.graph import graph as graph_module
from thalweg.saving import meta_graph
from thalweg.summary.growing_file import GrowingFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self, SupportsInt

    from thalweg.base.typing import PathLike
    from thalweg.graph.graph import Graph
    from thalweg.messages import Event, GraphDef, MetaGraphDef, RunMetadata, SessionLog, Summary

_PATIENCE = 600  # seconds that a call waits for a write of another thread


class FileWriter:
    """Writes events to a file that TensorBoard reads.

    Events are kept until there are `max_queue` of them or `flush_secs` have passed since the last flush, and written
    by the thread that adds the next one. What is written are whole records: a process that is killed leaves a file that can be
    read. A process that was forked writes to a file of its own.

    Parameters
    ----------
    logdir : str or path
        The directory, which is made.
    graph : Graph, optional
        A graph for TensorBoard to draw.
    max_queue : int
        How many events may wait.
    flush_secs : float
        How many seconds they may wait.
    graph_def : GraphDef, optional
        Old form of `graph`.
    filename_suffix : str, optional
        Ends the name of the file.
    session : Session, optional
        Of no effect here.

    Raises
    ------
    errors.ResourceExhaustedError
        The disk is full, here or when events are written. The events wait, and are written when there is room.
    errors.PermissionDeniedError, errors.FailedPreconditionError
        It may not be written there, or there is no directory.
    errors.NotFoundError
        When events are written: the file was removed. They wait, and are written to another file after close() and reopen().

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Graph().as_default() as graph, tw.Session() as sess:
    ...     loss = tw.summary.scalar("loss", 0.5)
    ...     with tw.summary.FileWriter(folder, graph) as writer:
    ...         writer.add_summary(sess.run(loss), global_step=3)
    ...     events = list(tw.train.summary_iterator(os.path.join(folder, os.listdir(folder)[0])))
    ...     print(events[-1].step, events[-1].summary.value[0].simple_value)
    3 0.5
    """

    def __init__(self, logdir: PathLike, graph: Graph | None = None, max_queue: int = 10, flush_secs: float = 120,
                 graph_def: GraphDef | None = None, filename_suffix: str | None = None, session: object = None) -> None:
        self._logdir = os.fsdecode(logdir)
        self._folder = os.path.abspath(self._logdir)  # also where the process goes to another one
        self._max_queue, self._flush_seconds = max_queue, flush_secs
        self._suffix = filename_suffix or ""
        self._session = session
        self._pending, self._file, self._closed, self._seen = [], None, False, set()
        self._begin()
        self._file = GrowingFile(self._folder, self._suffix)
        _writers.add(self)
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
        if graph is not None:
            self.add_meta_graph(meta_graph.export_meta_graph(graph=graph))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, unused_type: type[BaseException] | None, unused_value: BaseException | None,
                 unused_traceback: TracebackType | None) -> None:
        self.close()

    def _begin(self):
        self._lock, self._file_lock = threading.RLock(), threading.Lock()  # of the events that wait; of the file, while it is written
        self._last_flush = time.monotonic()

    def _forked(self):
        """In a process that was forked: what waits is the other's to write, and so is its file."""
        self._begin()
        self._pending, self._seen = [], set()
        if self._file is not None:
            self._file.close()
            self._file = None

    def get_logdir(self) -> str:
        """The directory of the file."""
        return self._logdir

    def add_event(self, event: Event) -> None:
        """Adds an Event as it is."""
        with self._lock:
            if self._closed:
                warnings.warn("Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                              "explicitly reopened.")
                return
            self._pending.append(records.frame(event.SerializeToString()))
            due = len(self._pending) >= self._max_queue or time.monotonic() - self._last_flush >= self._flush_seconds
        if due:
            self.flush()

    def _add(self, event, global_step):
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def add_summary(self, summary: Summary | bytes, global_step: SupportsInt | None = None) -> None:
        """Adds a summary.

        Parameters
        ----------
        summary : bytes or Summary
            What session.run gave for a summary operation, or a message.
        global_step : int, optional
            The step that it belongs to.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, tw.summary.FileWriter(folder) as writer:
        ...     writer.add_summary(tw.Summary(value=[tw.Summary.Value(tag="loss", simple_value=0.5)]), global_step=1)
        """
        if hasattr(summary, "SerializeToString") and not isinstance(summary, messages.Summary):
            summary = summary.SerializeToString()  # a message of the protobuf package, such as TensorBoard's own
        if isinstance(summary, bytes) or hasattr(summary, "tobytes"):
            summary = messages.Summary.FromString(bytes(summary) if isinstance(summary, bytes) else summary.item())
        event = messages.Event()
        event.summary.CopyFrom(summary)
        for value in event.summary.value:  # which plugin shows a tag is said once
            if not value.HasField("metadata"):
                continue
            if value.tag in self._seen:
                value.ClearField("metadata")
            else:
                self._seen.add(value.tag)
        self._add(event, global_step)

    def add_session_log(self, session_log: SessionLog, global_step: SupportsInt | None = None) -> None:
        """Adds a SessionLog message.

        Parameters
        ----------
        session_log : SessionLog
            The message.
        global_step : int, optional
            The step that it belongs to.
        """
        event = messages.Event()
        event.session_log.CopyFrom(session_log)
        self._add(event, global_step)

    def add_graph(self, graph: Graph | None, global_step: SupportsInt | None = None, graph_def: GraphDef | None = None) -> None:
        """Adds a graph, for TensorBoard to draw.

        Parameters
        ----------
        graph : Graph
            The graph.
        global_step : int, optional
            The step that it belongs to.
        graph_def : GraphDef, optional
            Old form of `graph`.

        Raises
        ------
        ValueError
            If both `graph` and `graph_def` are given.
        TypeError
            If it is no graph.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, tw.summary.FileWriter(folder) as writer:
        ...     writer.add_graph(tw.get_default_graph())
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph_def if graph is None else graph
        if isinstance(given, graph_module.Graph):
            data = given._export(False)
        elif isinstance(given, messages.GraphDef):
            data = given.SerializeToString()
        else:
            raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        self._add(messages.Event(graph_def=data), global_step)

    def add_meta_graph(self, meta_graph_def: MetaGraphDef, global_step: SupportsInt | None = None) -> None:
        """Adds a MetaGraphDef message.

        Parameters
        ----------
        meta_graph_def : MetaGraphDef
            The message.
        global_step : int, optional
            The step that it belongs to.

        Raises
        ------
        TypeError
            If it is no MetaGraphDef.
        """
        if not isinstance(meta_graph_def, messages.MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(messages.Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata: RunMetadata, tag: str, global_step: SupportsInt | None = None) -> None:
        """Adds what a run told about itself; a tag is given once."""
        if ("run_metadata", tag) in self._seen:
            raise ValueError("The provided tag was already used for this event type")
        self._seen.add(("run_metadata", tag))
        event = messages.Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = run_metadata.SerializeToString()
        self._add(event, global_step)

    def flush(self, timeout: float | None = None) -> None:
        """Writes all events to the file.

        Parameters
        ----------
        timeout : float, optional
            How many seconds it may take, for a disk that may not answer. Without it the calling thread writes.

        Raises
        ------
        errors.DeadlineExceededError
            If it took longer; the write goes on.
        errors.ResourceExhaustedError, errors.NotFoundError
            If they cannot be written, as the class says. They wait.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, tw.summary.FileWriter(folder) as writer:
        ...     writer.add_graph(tw.get_default_graph())
        ...     writer.flush()
        ...     len(list(tw.train.summary_iterator(os.path.join(folder, os.listdir(folder)[0]))))
        2
        """
        if timeout is None:
            self._write(_PATIENCE)
            return
        failed = []

        def write():
            try:
                self._write(timeout)
            except errors.OpError as error:
                failed.append(error)
        thread = threading.Thread(target=write, name="FileWriter.flush", daemon=True)
        thread.start()
        thread.join(timeout)
        if thread.is_alive():
            raise self._late(timeout)
        if failed:
            raise failed[0]

    def _late(self, seconds):
        return errors.DeadlineExceededError(None, None, f"the events of '{self._logdir}' were not written within {seconds} s: the disk does "
                                            "not answer")

    def _write(self, patience):
        """Writes what waits; on an error it waits on."""
        if not self._file_lock.acquire(timeout=patience):
            raise self._late(patience)
        try:
            with self._lock:
                if self._closed:
                    return
                taken, self._pending, self._last_flush, file = self._pending, [], time.monotonic(), self._file
            try:
                if taken:
                    file = file or self._begun()
                    file.append(b"".join(taken))
            except errors.OpError as error:
                with self._lock:
                    self._pending[:0] = taken
                raise type(error)(None, None, f"{error.message}; {len(taken)} events wait until they can be written") from None
        finally:
            self._file_lock.release()

    def _begun(self):
        """A new file, the writer's own unless that was closed meanwhile."""
        file = GrowingFile(self._folder, self._suffix)
        with self._lock:
            if not self._closed:
                self._file = file
                return file
        file.close()
        raise errors.FailedPreconditionError(None, None, f"the writer of '{self._logdir}' was closed while it wrote")

    def close(self) -> None:
        """Writes all events and closes the file, also where they cannot be written; reopen() starts another, to which they go then."""
        with self._lock:
            if self._closed:
                return
        patience = 0
        try:
            self.flush()
            patience = _PATIENCE
        finally:
            is_ours = self._file_lock.acquire(timeout=patience)  # else a write that does not end still has the file
            with self._lock:
                self._closed, file, self._file = True, self._file, None
            if is_ours:
                if file is not None:
                    file.close()
                self._file_lock.release()

    def reopen(self) -> None:
        """Begins another file, where this one was closed."""
        with self._lock:
            if self._closed:
                self._file, self._closed = GrowingFile(self._folder, self._suffix), False
                self._seen = {tag for tag in self._seen if isinstance(tag, tuple)}  # the file that said the others may be gone

    def _close_or_warn(self):
        try:
            self.close()
        except errors.OpError as error:
            warnings.warn(f"events are lost: {error.message.partition('; ')[0]}", RuntimeWarning, stacklevel=3)

    def __del__(self):
        if not getattr(self, "_closed", True):
            self._close_or_warn()


_writers = weakref.WeakSet()


def _after_fork():
    FileWriterCache._lock = threading.Lock()  # a thread that is not here may have held it
    for writer in list(_writers):
        writer._forked()


os.register_at_fork(after_in_child=_after_fork)


class FileWriterCache:
    """One writer for each directory."""

    _writers = {}
    _lock = threading.Lock()

    @staticmethod
    def clear() -> None:
        """Closes all writers, also those whose directory is gone: what they could not write is a warning."""
        with FileWriterCache._lock:
            writers, FileWriterCache._writers = FileWriterCache._writers, {}
        for writer in writers.values():
            writer._close_or_warn()

    @staticmethod
    def get(logdir: PathLike) -> FileWriter:
        """The writer of a directory, made when it is asked for first, and again where its file was removed since."""
        with FileWriterCache._lock:
            found = FileWriterCache._writers.get(logdir)
            if found is not None and found._file is not None and found._file.is_removed():
                found._close_or_warn()
                found = None
            if found is None:
                found = FileWriterCache._writers[logdir] = FileWriter(logdir, graph=graph_module.get_default_graph())
            return found


def summary_iterator(path: PathLike) -> Iterator[messages.Event]:
    """The events of an event file; DataLossError where it is damaged."""
    for record in python_io.tf_record_iterator(path):
        yield messages.Event.FromString(record)

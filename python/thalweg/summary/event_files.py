# SPDX-License-Identifier: Apache-2.0
"""FileWriter: events in files that TensorBoard reads."""
import os
import socket
import threading
import time
import warnings

from thalweg import messages, python_io
from thalweg.files import records
from thalweg.graph import graph as graph_module
from thalweg.saving import meta_graph


class FileWriter:
    """FileWriter(logdir, sess.graph).add_summary(sess.run(merged), step).

    Events are kept until there are `max_queue` of them or `flush_secs` have passed since the last flush, and written
    by the thread that adds the next one.
    """

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None, session=None):
        self._logdir = os.fsdecode(logdir)
        self._max_queue, self._flush_seconds = max_queue, flush_secs
        self._suffix = filename_suffix or ""
        self._session = session
        self._lock = threading.RLock()
        self._pending, self._file, self._closed, self._seen = [], None, False, set()
        self._last_flush = time.monotonic()
        os.makedirs(self._logdir, exist_ok=True)
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
        if graph is not None:
            self.add_meta_graph(meta_graph.export_meta_graph(graph=graph))

    def __enter__(self):
        return self

    def __exit__(self, unused_type, unused_value, unused_traceback):
        self.close()

    def _open(self):
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}{self._suffix}"
        self._path = os.path.join(self._logdir, name)
        number = 0
        while os.path.exists(self._path):  # another writer of this second
            number += 1
            self._path = os.path.join(self._logdir, f"{name[:-len(self._suffix) or None]}.{number}{self._suffix}")
        self._file = open(self._path, "wb")
        self._file.write(records.frame(messages.Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString()))
        self._file.flush()

    def get_logdir(self):
        return self._logdir

    def add_event(self, event):
        """Adds an Event as it is."""
        with self._lock:
            if self._closed:
                warnings.warn("Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                              "explicitly reopened.")
                return
            self._pending.append(event.SerializeToString())
            if len(self._pending) >= self._max_queue or time.monotonic() - self._last_flush >= self._flush_seconds:
                self.flush()

    def _add(self, event, global_step):
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def add_summary(self, summary, global_step=None):
        """Adds a Summary, or what session.run gave for a summary operation."""
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

    def add_session_log(self, session_log, global_step=None):
        event = messages.Event()
        event.session_log.CopyFrom(session_log)
        self._add(event, global_step)

    def add_graph(self, graph, global_step=None, graph_def=None):
        """Adds the graph, for TensorBoard to draw."""
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

    def add_meta_graph(self, meta_graph_def, global_step=None):
        if not isinstance(meta_graph_def, messages.MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(messages.Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Adds what a run told about itself; a tag is given once."""
        if ("run_metadata", tag) in self._seen:
            raise ValueError("The provided tag was already used for this event type")
        self._seen.add(("run_metadata", tag))
        event = messages.Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = run_metadata.SerializeToString()
        self._add(event, global_step)

    def flush(self):
        """Writes all events to the file."""
        with self._lock:
            if self._closed:
                return
            self._file.write(b"".join(map(records.frame, self._pending)))
            self._pending = []
            self._file.flush()
            self._last_flush = time.monotonic()

    def close(self):
        """Writes all events and closes the file; reopen() starts another."""
        with self._lock:
            if not self._closed:
                self.flush()
                self._file.close()
                self._closed = True

    def reopen(self):
        with self._lock:
            if self._closed:
                self._closed = False
                self._open()

    def __del__(self):
        if getattr(self, "_file", None) is not None:
            self.close()


class FileWriterCache:
    """One writer for each directory."""

    _writers = {}
    _lock = threading.Lock()

    @staticmethod
    def clear():
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()

    @staticmethod
    def get(logdir):
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._writers:
                FileWriterCache._writers[logdir] = FileWriter(logdir, graph=graph_module.get_default_graph())
            return FileWriterCache._writers[logdir]


def summary_iterator(path):
    """The events of an event file; DataLossError where it is damaged."""
    for record in python_io.tf_record_iterator(path):
        yield messages.Event.FromString(record)

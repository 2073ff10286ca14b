# SPDX-License-Identifier: Apache-2.0
"""Writers of event files that are resources of a session: tw.compat.v2.summary and tw.contrib.summary write to them in steps."""
from __future__ import annotations

import abc
import contextlib
import threading
from typing import TYPE_CHECKING

from thalweg import dtypes, logging
from thalweg.base.text import as_bytes
from thalweg.control.control_flow import smart_cond
from thalweg.graph import default_session, graph
from thalweg.graph.graph import control_dependencies, device, get_collection, name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.graph.tensor_util import constant_value
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Self

    from thalweg.base.typing import IntLike, PathLike, TensorLike, Text
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation

    Condition = bool | Tensor | Callable[[], bool | Tensor]

SUMMARIES, INITIALIZERS = "_SUMMARY_V2", "_SUMMARY_WRITER_V2"  # collections


class _State(threading.local):
    writer = step = recording = None


state = _State()


class SummaryWriter(abc.ABC):
    """What summaries are written to while it is the default."""

    def set_as_default(self, step: IntLike | None = None) -> None:
        """Makes it the writer of this thread; with a `step` also sets that."""
        state.writer = self
        if step is not None:
            set_step(step)

    @contextlib.contextmanager
    def as_default(self, step: IntLike | None = None) -> Iterator[Self]:
        """with writer.as_default(): summaries that are made go to it. What waits is written when it ends where operations run at
        once; else flush() is an operation."""
        before = state.writer, state.step
        self.set_as_default(step)
        try:
            yield self
        finally:
            if graph.get_default_graph()._executes:
                self.flush()
            state.writer = before[0]
            if step is not None:
                state.step = before[1]

    @abc.abstractmethod
    def init(self) -> Operation | None:
        """The operation that opens the file, which a session must have run before it writes."""

    @abc.abstractmethod
    def flush(self) -> Operation | None:
        """An operation that writes what waits."""

    @abc.abstractmethod
    def close(self) -> Operation | None:
        """An operation that writes what waits and closes the file."""


class ResourceWriter(SummaryWriter):
    """A writer that a session holds. `opener`: the operation that opens it, and its inputs after the handle."""

    def __init__(self, shared_name: Text | None, opener: tuple[str, list[Tensor]], name: Text | None = None) -> None:
        self.resource = apply("SummaryWriter", [], {"shared_name": shared_name or ""}, name=name)
        self._init = apply(opener[0], [self.resource, *opener[1]])
        graph.add_to_collection(INITIALIZERS, self._init)

    def init(self) -> Operation:
        return self._init

    def flush(self) -> Operation:
        with device("cpu:0"):
            return apply("FlushSummaryWriter", [self.resource])

    def close(self) -> Operation:
        with control_dependencies([self.flush()]), device("cpu:0"):
            return apply("CloseSummaryWriter", [self.resource])


class NoopWriter(SummaryWriter):
    """A writer that writes nothing."""

    def init(self) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing: what is made while it is the default is not recorded."""
    return NoopWriter()


def _or(value, standard, dtype):
    return constant(standard, dtype) if value is None else convert_to_tensor(value, dtype=dtype)


def file_inputs(logdir: PathLike | Tensor, max_queue: IntLike | None, flush_millis: IntLike | None,
                filename_suffix: TensorLike | None) -> list[Tensor]:
    """What the operation that opens an event file takes, with the defaults of all writers."""
    suffix = _or(filename_suffix, ".v2", dtypes.string)
    return [convert_to_tensor(_path(logdir), dtype=dtypes.string), _or(max_queue, 10, dtypes.int32),
            _or(flush_millis, 120000, dtypes.int32), suffix]


def create_file_writer(logdir: PathLike | Tensor | None, max_queue: IntLike | None = None, flush_millis: IntLike | None = None,
                       filename_suffix: TensorLike | None = None, name: Text | None = None) -> SummaryWriter:
    """A writer of an event file, which a session opens when it runs init().

    Parameters
    ----------
    logdir : str, path or Tensor
        The directory, which is made.
    max_queue : int, optional
        How many events may wait; 10 by default.
    flush_millis : int, optional
        How long they may wait; two minutes by default.
    filename_suffix : str, optional
        Ends the name of the file; ".v2" by default.
    name : str, optional
        Name of the scope of its operations, and of the resource.

    Returns
    -------
    SummaryWriter
        With init(), flush() and close(), which are operations, and as_default().

    Raises
    ------
    ValueError
        If there is no `logdir`.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     writer = tw.compat.v2.summary.create_file_writer(folder)
    ...     with writer.as_default():
    ...         loss = tw.compat.v2.summary.scalar("loss", 0.5, step=3)
    ...     sess.run(writer.init())
    ...     done, _ = sess.run(loss), sess.run(writer.close())
    ...     events = list(tw.train.summary_iterator(os.path.join(folder, os.listdir(folder)[0])))
    ...     print(done, events[-1].step, tw.make_ndarray(events[-1].summary.value[0].tensor))
    True 3 0.5
    """
    if logdir is None:
        raise ValueError("Argument `logdir` cannot be None: create_noop_writer() writes nothing")
    with name_scope(name, "create_file_writer") as scope, device("cpu:0"):
        inputs = file_inputs(logdir, max_queue, flush_millis, filename_suffix)
        return ResourceWriter(scope.rstrip("/"), ("CreateSummaryFileWriter", inputs), name)


def _path(logdir):
    return logdir if isinstance(logdir, (Tensor, str, bytes)) or not hasattr(logdir, "__fspath__") else logdir.__fspath__()


@contextlib.contextmanager
def record_if(condition: Condition) -> Iterator[None]:
    """with record_if(...): summaries are recorded where the condition holds: a bool, a Tensor, or a function that gives one."""
    before, state.recording = state.recording, condition
    try:
        yield
    finally:
        state.recording = before


def recording(standard: bool) -> bool | Tensor:
    """Whether summaries are recorded here; `standard` where nothing was said of it."""
    if state.writer is None or isinstance(state.writer, NoopWriter):
        return False
    asked = state.recording() if callable(state.recording) else state.recording
    if asked is None:
        return standard
    known = constant_value(asked) if isinstance(asked, Tensor) else asked
    return asked if known is None else bool(known)


def should_record_summaries() -> bool | Tensor:
    """Whether there is a writer and record_if says nothing else: a bool where it is known, else a Tensor."""
    return recording(True)


def get_step() -> Any:
    """The step that set_step gave in this thread, or None."""
    return state.step


def set_step(step: Any) -> None:
    """Gives the step of summaries that name none: a number, a Variable or a Tensor; None takes it away."""
    state.step = step


def recorded(make: Callable[[], object], standard: bool, name: Text | None) -> Tensor:
    """A bool Tensor: whether the operation that `make` makes has run. It joins the collection of recorded summaries."""
    def record():
        with device("cpu:0"), control_dependencies([make()]):
            return constant(True)
    with device("cpu:0"):
        made = smart_cond(recording(standard), record, lambda: constant(False), name=name)
    graph.add_to_collection(SUMMARIES, made)
    return made


def all_v2_summary_ops() -> list[Tensor]:
    """All summaries of the graph that are written to writers: what a step runs to write them."""
    return get_collection(SUMMARIES)


def summary_writer_initializer_op() -> list[Operation]:
    """The operations that open the graph's writers."""
    return get_collection(INITIALIZERS)


def flush(writer: SummaryWriter | Tensor | None = None, name: Text | None = None) -> Operation:
    """An operation that writes what waits in a writer, or in its handle; in the default one without it."""
    writer = state.writer if writer is None else writer
    if writer is None or isinstance(writer, NoopWriter):
        return apply("NoOp", [])
    with device("cpu:0"):
        return apply("FlushSummaryWriter", [getattr(writer, "resource", writer)], name=name)


def import_event(tensor: TensorLike, name: Text | None = None) -> Operation:
    """An operation that writes a serialized Event."""
    if not isinstance(state.writer, ResourceWriter):
        raise ValueError("import_event needs a default writer: with writer.as_default()")
    return apply("ImportEvent", [state.writer.resource, tensor], name=name)


def write_graph(step: TensorLike, tensor: TensorLike, name: Text | None = None) -> Operation:
    """An operation that writes a serialized GraphDef."""
    if not isinstance(state.writer, ResourceWriter):
        return apply("NoOp", [])
    with device("cpu:0"):
        return apply("WriteGraphSummary", [state.writer.resource, step, array_ops.identity(tensor)], name=name)


def initialize(graph: Graph | None = None, session: Session | None = None) -> None:
    """Opens the graph's writers in a session, and writes a graph to the default one.

    Parameters
    ----------
    graph : Graph or GraphDef, optional
        What TensorBoard is to draw.
    session : Session, optional
        The default session by default.

    Raises
    ------
    RuntimeError
        If there is no default writer.
    ValueError
        If there is no session.
    """
    if state.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = default_session.get_default_session() if session is None else session
    if session is None:
        raise ValueError("Argument `session` must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        with session.graph.as_default():
            written = write_graph(constant(0, dtypes.int64), constant(as_bytes(serialized_graph(graph))))
        session.run(written)


def serialized_graph(given: object) -> bytes:
    """The bytes of a Graph or a GraphDef."""
    if isinstance(given, graph.Graph):
        return given._export(False)
    return given.SerializeToString()


def trace_on(graph: bool = True, profiler: bool = False) -> None:
    """Traces functions that run eagerly; there are none here, which it says."""
    logging.warning("Must enable trace in eager mode; in a graph, FileWriter.add_run_metadata writes what a traced run tells.")


def trace_export(name: Text, step: TensorLike | None = None, profiler_outdir: Text | None = None) -> None:
    """Writes what trace_on traced; there is nothing here, which it says."""
    logging.warning("Can only export trace while executing eagerly; in a graph, FileWriter.add_run_metadata writes what a traced run tells.")


def trace_off() -> None:
    """Ends trace_on."""

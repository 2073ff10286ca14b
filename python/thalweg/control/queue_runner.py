# SPDX-License-Identifier: Apache-2.0
"""QueueRunner: threads that fill a queue, each running an enqueue operation until there is nothing more."""
from __future__ import annotations

import functools
import threading
import weakref
from typing import TYPE_CHECKING

from thalweg import errors, logging as tw_logging, messages
from thalweg.graph import graph, proto_functions
from thalweg.graph.default_session import get_default_session
from thalweg.graph.graph import GraphKeys
from thalweg.graph.session import Session
from thalweg.graph.tensor import Operation
from thalweg.operations.data_flow_ops import QueueBase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Thread

    from thalweg.control.coordinator import Coordinator
    from thalweg.messages import QueueRunnerDef

# An enqueue operation runs again and again without Python, until its coordinator is asked once more.
REPEATED_SECONDS = 0.002


class QueueRunner:
    """QueueRunner(queue, [enqueue_op] * 4) fills `queue` with four threads."""

    def __init__(self, queue: QueueBase | None = None, enqueue_ops: Sequence[Operation] | None = None,
                 close_op: Operation | None = None, cancel_op: Operation | None = None,
                 queue_closed_exception_types: tuple[type[BaseException], ...] | None = None,
                 queue_runner_def: QueueRunnerDef | None = None, import_scope: str | None = None) -> None:
        if queue and queue_runner_def:
            raise ValueError("queue_runner_def and queue are mutually exclusive.")
        if queue_runner_def:
            self._read(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._queue, self._enqueue_ops = queue, list(enqueue_ops)
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            if queue_closed_exception_types is None:
                queue_closed_exception_types = (errors.OutOfRangeError,)
            if not isinstance(queue_closed_exception_types, tuple) or not queue_closed_exception_types or \
                    not all(issubclass(t, errors.OpError) for t in queue_closed_exception_types):
                raise TypeError("queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: "
                                f"{queue_closed_exception_types}")
            self._closed_types = queue_closed_exception_types
        self._lock = threading.Lock()
        self._running = weakref.WeakKeyDictionary()  # session -> threads that still fill
        self._exceptions = []

    @property
    def queue(self) -> QueueBase: return self._queue
    @property
    def enqueue_ops(self) -> list[Operation]: return self._enqueue_ops
    @property
    def close_op(self) -> Operation | None: return self._close_op
    @property
    def cancel_op(self) -> Operation | None: return self._cancel_op
    @property
    def queue_closed_exception_types(self) -> tuple[type[BaseException], ...]: return self._closed_types
    @property
    def exceptions_raised(self) -> list[BaseException]: return self._exceptions
    @property
    def name(self) -> str: return self._queue.name

    def _fill(self, sess, enqueue_op, coord):
        ended = False
        try:
            enqueue = sess.make_callable(enqueue_op)
            if hasattr(enqueue, "_repeat") and isinstance(enqueue_op, Operation):
                enqueue = functools.partial(enqueue._repeat, REPEATED_SECONDS)
            while not (coord and coord.should_stop()):
                try:
                    enqueue()
                except self._closed_types:
                    with self._lock:
                        self._running[sess] -= 1
                        ended = True
                        last = self._running[sess] == 0
                    if last:
                        self._end(sess, self._close_op)
                    return
        except Exception as error:
            if coord:
                if not coord.joined:  # afterwards it is the end of the session that ended this
                    coord.request_stop(error)
            else:
                tw_logging.error("Exception in QueueRunner: %s", error)
                with self._lock:
                    self._exceptions.append(error)
                raise
        finally:
            if not ended:
                with self._lock:
                    self._running[sess] -= 1

    @staticmethod
    def _end(sess, op):
        """Closes the queue; that it is closed already, or the session gone, is no error."""
        try:
            sess.run(op)
        except Exception as error:
            tw_logging.debug("Ignored exception: %s", error)

    def _close_on_stop(self, sess, coord):
        coord.wait_for_stop()
        self._end(sess, self._cancel_op)

    def create_threads(self, sess: Session, coord: Coordinator | None = None, daemon: bool = False,
                       start: bool = False) -> list[Thread]:
        """The threads that fill the queue of `sess`, and one that ends them when `coord` stops."""
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions = []
        threads = [threading.Thread(target=self._fill, args=(sess, op, coord), name=f"QueueRunnerThread-{self.name}-{op.name}")
                   for op in self._enqueue_ops]
        if coord:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, coord),
                                            name=f"QueueRunnerThread-{self.name}-close_on_stop"))
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """A QueueRunnerDef."""
        codes = [t.error_code for t in self._closed_types]
        return messages.QueueRunnerDef(queue_name=self.name, enqueue_op_name=[op.name for op in self._enqueue_ops],
                                       close_op_name=self._close_op.name, cancel_op_name=self._cancel_op.name,
                                       queue_closed_exception_types=codes)

    @staticmethod
    def from_proto(queue_runner_def: QueueRunnerDef, import_scope: str | None = None) -> QueueRunner:
        """The runner that a QueueRunnerDef describes, of nodes in the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    def _read(self, proto, scope):
        target, prefix = graph.get_default_graph(), f"{scope}/" if scope else ""

        def element(name):
            return target.as_graph_element(prefix + name)
        ref = element(proto.queue_name.split(":")[0]).outputs[0]
        self._queue = QueueBase(ref.op.get_attr("component_types"), None, None, ref)
        self._enqueue_ops = [element(n) for n in proto.enqueue_op_name]
        self._close_op, self._cancel_op = element(proto.close_op_name), element(proto.cancel_op_name)
        classes = {t.error_code: t for t in errors.OpError.__subclasses__()}
        self._closed_types = tuple(classes[c] for c in proto.queue_closed_exception_types) or (errors.OutOfRangeError,)


proto_functions.register_proto_function(GraphKeys.QUEUE_RUNNERS, messages.QueueRunnerDef, proto_functions.to_proto, QueueRunner.from_proto)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Remembers a runner, for start_queue_runners."""
    graph.add_to_collection(collection, qr)


def start_queue_runners(sess: Session | None = None, coord: Coordinator | None = None, daemon: bool = True, start: bool = True,
                        collection: str = GraphKeys.QUEUE_RUNNERS) -> list[Thread]:
    """Starts the threads of all queue runners in a collection of the graph.

    Parameters
    ----------
    sess : Session, optional
        Where they run; the default session unless given.
    coord : Coordinator, optional
        Stops the threads, and hears their errors.
    daemon : bool
        Whether the program may end while they run.
    start : bool
        Whether they are started; else they are only made.
    collection : str
        The key of the runners.

    Returns
    -------
    list of Thread

    Raises
    ------
    ValueError
        There is no session.

    Examples
    --------
    >>> name = tw.train.string_input_producer(["a", "b"], shuffle=False).dequeue()
    >>> coord = tw.train.Coordinator()
    >>> with tw.Session() as sess:
    ...     sess.run(tw.local_variables_initializer())
    ...     threads = tw.train.start_queue_runners(sess, coord)
    ...     print(sess.run(name))
    ...     coord.request_stop()
    ...     coord.join(threads)
    b'a'
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError("Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or "
                             "pass an explicit session to tf.start_queue_runners(sess=sess)")
    if not isinstance(sess, Session):
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []  # it has started them itself
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    threads = []
    for runner in sess.graph.get_collection(collection):
        threads.extend(runner.create_threads(sess, coord=coord, daemon=daemon, start=start))
    return threads

# SPDX-License-Identifier: Apache-2.0
"""Supervisor: prepares a session, saves checkpoints and summaries by threads of its own, and stops them all."""
from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from thalweg import errors, logging as tw_logging, summary
from thalweg.control.coordinator import Coordinator, LooperThread
from thalweg.control.queue_runner import start_queue_runners
from thalweg.graph import graph as graph_module
from thalweg.graph.graph import GraphKeys
from thalweg.saving.meta_graph import write_graph
from thalweg.saving.saver import Saver
from thalweg.training.global_steps import get_global_step
from thalweg.training.monitored_session import Scaffold, _merge_all
from thalweg.training.session_manager import SessionManager
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from threading import Thread

    from thalweg.base.typing import FeedDict, PathLike
    from thalweg.control.queue_runner import QueueRunner
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.messages import ConfigProto, RunOptions, Summary
    from thalweg.summary.event_files import FileWriter
    from thalweg.variables.variables import Variable


def _first(collection, make):
    """The first element of a collection, or a new one, which is put there."""
    found = graph_module.get_collection(collection)
    if found:
        return found[0]
    made = make()
    if made is not None:
        graph_module.add_to_collection(collection, made)
    return made


class Supervisor:
    """Begins sessions, saves checkpoints and summaries by threads, and stops all of them.

    with Supervisor(logdir="dir").managed_session() as sess: while not sv.should_stop(): sess.run(train_op).

    Parameters
    ----------
    graph : Graph, optional
        The default graph by default; it cannot change any more.
    ready_op, ready_for_local_init_op : Tensor, optional
        The names of variables that are not initialized; made by default, not there with None.
    is_chief : bool
        Whether this task initializes and saves; others wait for it.
    init_op : Operation, optional
        Initializes global variables; made by default.
    init_feed_dict : dict, optional
        What `init_op` is fed.
    local_init_op : Operation, optional
        Initializes local variables and tables; made by default.
    logdir : str or path, optional
        Where checkpoints and summaries are; without it there are none.
    summary_op : Tensor, optional
        All summaries; made by default, not written with None.
    saver : Saver, optional
        Writes and reads checkpoints; made by default.
    global_step : Tensor or Variable, optional
        Counts the steps; that of the graph by default.
    save_summaries_secs, save_model_secs : float
        How often summaries and checkpoints are saved; 0: never.
    recovery_wait_secs : float
        How long to wait between looks whether the chief is ready.
    stop_grace_secs : float
        How long threads have to end.
    checkpoint_basename : str
        How the names of checkpoints begin.
    session_manager : SessionManager, optional
        Makes the sessions.
    summary_writer : FileWriter, optional
        Where summaries go; made by default.
    init_fn : callable, optional
        init_fn(session), behind `init_op`.
    local_init_run_options : RunOptions, optional
        Of `local_init_op`.

    Examples
    --------
    >>> v = tw.Variable(2.0)
    >>> supervisor = tw.train.Supervisor()
    >>> with supervisor.managed_session() as sess:
    ...     print(sess.run(v))
    2.0
    """

    USE_DEFAULT = 0

    def __init__(self, graph: Graph | None = None, ready_op: object = USE_DEFAULT, ready_for_local_init_op: object = USE_DEFAULT,
                 is_chief: bool = True, init_op: object = USE_DEFAULT, init_feed_dict: FeedDict | None = None,
                 local_init_op: object = USE_DEFAULT, logdir: PathLike | None = None, summary_op: object = USE_DEFAULT,
                 saver: object = USE_DEFAULT, global_step: object = USE_DEFAULT, save_summaries_secs: float = 120,
                 save_model_secs: float = 600, recovery_wait_secs: float = 30, stop_grace_secs: float = 120,
                 checkpoint_basename: str = "model.ckpt", session_manager: SessionManager | None = None,
                 summary_writer: object = USE_DEFAULT, init_fn: Callable[[Session], object] | None = None,
                 local_init_run_options: RunOptions | None = None) -> None:
        self._graph = graph_module.get_default_graph() if graph is None else graph

        def chosen(value, collection, make):
            return _first(collection, make) if value is Supervisor.USE_DEFAULT else value
        with self._graph.as_default():
            self._ready_op = chosen(ready_op, GraphKeys.READY_OP, variables.report_uninitialized_variables)
            self._ready_for_local_init_op = chosen(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: variables.report_uninitialized_variables(variables.global_variables()))
            self._init_op = chosen(init_op, GraphKeys.INIT_OP, variables.global_variables_initializer)
            self._local_init_op = chosen(local_init_op, GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op)
            self._saver = chosen(saver, GraphKeys.SAVERS, lambda: Saver() if variables.global_variables() else None)
            self._summary_op = chosen(summary_op, GraphKeys.SUMMARY_OP, _merge_all)
            self._global_step = get_global_step() if global_step is Supervisor.USE_DEFAULT else global_step
        self._init_feed_dict, self._init_fn, self._is_chief, self._logdir = init_feed_dict, init_fn, is_chief, logdir
        self._save_summaries_secs, self._save_model_secs = save_summaries_secs, save_model_secs
        self._grace, self._save_path = stop_grace_secs, os.path.join(logdir, checkpoint_basename) if logdir else None
        self._writer = summary_writer
        if summary_writer is Supervisor.USE_DEFAULT:
            self._writer = summary.FileWriter(logdir) if logdir and is_chief else None
        self._coord = Coordinator()
        self._started = False
        self._manager = session_manager or SessionManager(
            self._local_init_op, self._ready_op, self._ready_for_local_init_op if self._local_init_op is not None else None,
            self._graph, recovery_wait_secs, local_init_run_options)
        self._graph.finalize()

    @property
    def is_chief(self) -> bool:
        """Whether this task initializes and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """What makes sessions."""
        return self._manager

    @property
    def coord(self) -> Coordinator:
        """What stops the threads."""
        return self._coord

    @property
    def init_op(self) -> Operation | None:
        """Initializes global variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> FeedDict | None:
        """What `init_op` is fed."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Tensor | None:
        """The names of variables that are not initialized."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Tensor | None:
        """The names of variables that the local initialization needs and that are not initialized."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> FileWriter | None:
        """Where summaries go."""
        return self._writer

    @property
    def summary_op(self) -> Tensor | None:
        """All summaries."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float:
        """How often summaries are saved."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Variable | Tensor | None:
        """What counts the steps."""
        return self._global_step

    @property
    def saver(self) -> Saver | None:
        """Writes and reads checkpoints."""
        return self._saver

    @property
    def save_model_secs(self) -> float:
        """How often checkpoints are saved."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """How the names of checkpoints begin."""
        return self._save_path

    def prepare_or_wait_for_session(self, master: str = "", config: ConfigProto | None = None, wait_for_checkpoint: bool = False,
                                    max_wait_secs: float = 7200, start_standard_services: bool = True) -> Session:
        """A session that is ready, with the threads that save and fill."""
        self._coord.clear_stop()
        if self._is_chief:
            sess = self._manager.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
                init_feed_dict=self._init_feed_dict, init_fn=self._init_fn)
            if self._logdir:
                write_graph(self._graph, self._logdir, "graph.pbtxt")
            if self._writer is not None:
                self._writer.add_graph(self._graph)
        else:
            sess = self._manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services and self._is_chief:
            self.start_standard_services(sess)
        self.start_queue_runners(sess)
        self._started = True
        return sess

    def start_standard_services(self, sess: Session) -> list[Thread]:
        """Threads that write summaries, the rate of steps, and checkpoints."""
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services. Because only chief supervisors can write "
                               "events.")
        if not self._logdir:
            tw_logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return []
        threads = []
        if self._save_summaries_secs and self._writer is not None and self._summary_op is not None:
            threads.append(self.loop(self._save_summaries_secs, self._write_summary, (sess,), wait_first=False))
        if self._save_model_secs and self._saver is not None:
            threads.append(self.loop(self._save_model_secs, self._save, (sess,), wait_first=True))
        return threads

    def _step_of(self, sess):
        return None if self._global_step is None else int(sess.run(self._global_step))

    def _write_summary(self, sess):
        self._writer.add_summary(sess.run(self._summary_op), self._step_of(sess))

    def _save(self, sess):
        self._saver.save(sess, self._save_path, global_step=self._step_of(sess))

    def start_queue_runners(self, sess: Session, queue_runners: Sequence[QueueRunner] | None = None) -> list[Thread]:
        """Starts the given runners, or those of the graph."""
        with self._graph.as_default():
            if queue_runners is None:
                return start_queue_runners(sess, self._coord)
        return [t for r in queue_runners for t in r.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    def loop(self, timer_interval_secs: float, target: Callable[..., object], args: Sequence[object] | None = None,
             kwargs: Mapping[str, object] | None = None, wait_first: bool = False) -> LooperThread:
        """A thread that calls target every so many seconds."""
        if wait_first:
            began, call = [], target

            def target(*a, **k):
                if began:
                    call(*a, **k)
                began.append(True)
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def summary_computed(self, sess: Session, summary: Summary | bytes, global_step: int | None = None) -> None:
        """Writes a summary that the program has computed itself."""
        if self._writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        self._writer.add_summary(summary, self._step_of(sess) if global_step is None else global_step)

    def stop(self, threads: Sequence[Thread] | None = None, close_summary_writer: bool = True,
             ignore_live_threads: bool = False) -> None:
        """Stops all threads; raises what the first of them failed with."""
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._grace, ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self._writer is not None and self._started:
                self._writer.close()
            self._started = False

    def request_stop(self, ex: BaseException | None = None) -> None:
        """Asks all threads to end, because of an error if one is given."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether the end was asked for."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """A with statement that asks for the end where an error leaves it."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until the end is asked for."""
        self._coord.wait_for_stop()

    @contextlib.contextmanager
    def managed_session(self, master: str = "", config: ConfigProto | None = None, start_standard_services: bool = True,
                        close_summary_writer: bool = True) -> Iterator[Session]:
        """Gives a session, and starts and ends all that belongs to it, for the time of a `with` statement.

        Parameters
        ----------
        master : str
            The target of the session.
        config : ConfigProto, optional
        start_standard_services : bool
            Whether summaries, steps per second and checkpoints are written beside it.
        close_summary_writer : bool
            Whether the writer is closed at the end.

        Returns
        -------
        context manager
            Gives a Session whose variables are initialized or restored.

        Raises
        ------
        Exception
            What the body or a thread of the supervisor has raised.

        Examples
        --------
        >>> w = tw.get_variable("w", initializer=1.0)
        >>> with tw.train.Supervisor(logdir="logs").managed_session() as sess:
        ...     print(sess.run(w))
        1.0
        """
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(master, config=config, start_standard_services=start_standard_services)
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                # Threads end with what they do; a thread that waits at a queue is woken by its runner.
                self.stop(close_summary_writer=close_summary_writer, ignore_live_threads=True)
            finally:
                if sess is not None:
                    sess.close()

    # The older names.
    PrepareSession, StartStandardServices, StartQueueRunners = (
        prepare_or_wait_for_session, start_standard_services, start_queue_runners)
    Loop, SummaryComputed, Stop, RequestStop = loop, summary_computed, stop, request_stop
    ShouldStop, StopOnException, WaitForStop = should_stop, stop_on_exception, wait_for_stop


def basic_train_loop(supervisor: Supervisor, train_step_fn: Callable[..., object], args: Sequence[object] | None = None,
                     kwargs: Mapping[str, object] | None = None, master: str = "") -> None:
    """Calls train_step_fn(session, ...) until the supervisor stops; restarts after a session was lost."""
    args, kwargs = args or [], kwargs or {}
    should_retry = True
    while should_retry:
        try:
            should_retry = False
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *args, **kwargs)
        except errors.AbortedError:
            should_retry = True
            time.sleep(0.1)

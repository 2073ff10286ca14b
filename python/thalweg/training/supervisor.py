# SPDX-License-Identifier: Apache-2.0
"""Supervisor: prepares a session, saves checkpoints and summaries by threads of its own, and stops them all."""
import contextlib
import os
import time

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
    """with Supervisor(logdir="dir").managed_session() as sess: while not sv.should_stop(): sess.run(train_op)."""

    USE_DEFAULT = 0

    def __init__(self, graph=None, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT, is_chief=True,
                 init_op=USE_DEFAULT, init_feed_dict=None, local_init_op=USE_DEFAULT, logdir=None, summary_op=USE_DEFAULT,
                 saver=USE_DEFAULT, global_step=USE_DEFAULT, save_summaries_secs=120, save_model_secs=600,
                 recovery_wait_secs=30, stop_grace_secs=120, checkpoint_basename="model.ckpt", session_manager=None,
                 summary_writer=USE_DEFAULT, init_fn=None, local_init_run_options=None):
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

    is_chief = property(lambda self: self._is_chief)
    session_manager = property(lambda self: self._manager)
    coord = property(lambda self: self._coord)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    summary_writer = property(lambda self: self._writer)
    summary_op = property(lambda self: self._summary_op)
    save_summaries_secs = property(lambda self: self._save_summaries_secs)
    global_step = property(lambda self: self._global_step)
    saver = property(lambda self: self._saver)
    save_model_secs = property(lambda self: self._save_model_secs)
    save_path = property(lambda self: self._save_path)

    def prepare_or_wait_for_session(self, master="", config=None, wait_for_checkpoint=False, max_wait_secs=7200,
                                    start_standard_services=True):
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

    def start_standard_services(self, sess):
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

    def start_queue_runners(self, sess, queue_runners=None):
        """Starts the given runners, or those of the graph."""
        with self._graph.as_default():
            if queue_runners is None:
                return start_queue_runners(sess, self._coord)
        return [t for r in queue_runners for t in r.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    def loop(self, timer_interval_secs, target, args=None, kwargs=None, wait_first=False):
        """A thread that calls target every so many seconds."""
        if wait_first:
            began, call = [], target

            def target(*a, **k):
                if began:
                    call(*a, **k)
                began.append(True)
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def summary_computed(self, sess, summary, global_step=None):
        """Writes a summary that the program has computed itself."""
        if self._writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        self._writer.add_summary(summary, self._step_of(sess) if global_step is None else global_step)

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        """Stops all threads; raises what the first of them failed with."""
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._grace, ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self._writer is not None and self._started:
                self._writer.close()
            self._started = False

    def request_stop(self, ex=None):
        self._coord.request_stop(ex=ex)

    def should_stop(self):
        return self._coord.should_stop()

    def stop_on_exception(self):
        return self._coord.stop_on_exception()

    def wait_for_stop(self):
        self._coord.wait_for_stop()

    @contextlib.contextmanager
    def managed_session(self, master="", config=None, start_standard_services=True, close_summary_writer=True):
        """A session, and all that belongs to it, for the time of a with statement."""
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


def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=""):
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

# SPDX-License-Identifier: Apache-2.0
"""MonitoredSession and its kin: sessions that initialize or restore, fill queues, call hooks and close themselves."""
from __future__ import annotations

import abc
import re
import sys
import time
from typing import TYPE_CHECKING

from thalweg import errors, logging as tw_logging, summary
from thalweg.control.coordinator import Coordinator
from thalweg.control.queue_runner import start_queue_runners
from thalweg.graph import graph as graph_module, ops
from thalweg.graph.graph import GraphKeys
from thalweg.graph.session import close_after
from thalweg.messages import RunMetadata, RunOptions
from thalweg.operations import array_ops
from thalweg.saving.saver import Saver
from thalweg.training import basic_session_run_hooks as hooks_module
from thalweg.training.session_manager import SessionManager
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, NoReturn, Self

    from thalweg.base.typing import FeedDict, Fetches, PathLike, T
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.messages import ConfigProto
    from thalweg.training.session_run_hook import SessionRunHook

USE_DEFAULT = object()
# A worker that has gone away comes back: the session is made again.
_PREEMPTED = (errors.AbortedError, errors.UnavailableError)
# As FailedOn of thalweg/cluster/collectives/step_word.h says it.
_FAILED_ELSEWHERE = re.compile(r"the step of all workers has failed on (\S+):")


class Scaffold:
    """The pieces that a session is prepared with; what is not given is made by finalize().

    Parameters
    ----------
    init_op : Operation, optional
        Initializes global variables, where no checkpoint does.
    init_feed_dict : dict, optional
        What `init_op` is fed.
    init_fn : callable, optional
        init_fn(scaffold, session), behind `init_op`.
    ready_op : Tensor, optional
        The names of variables that are not initialized.
    ready_for_local_init_op : Tensor, optional
        The same, of those that `local_init_op` needs.
    local_init_op : Operation, optional
        Initializes local variables and tables.
    summary_op : Tensor, optional
        All summaries.
    saver : Saver, optional
        Writes and reads checkpoints.
    copy_from_scaffold : Scaffold, optional
        Has what is not given.

    Raises
    ------
    TypeError
        If `copy_from_scaffold` is no Scaffold.

    Examples
    --------
    >>> v = tw.Variable(1.0)
    >>> scaffold = tw.train.Scaffold(init_fn=lambda scaffold, sess: v.load(5.0, sess))
    >>> creator = tw.train.ChiefSessionCreator(scaffold)
    >>> with tw.train.MonitoredSession(creator) as sess:
    ...     print(sess.run(v))
    5.0
    """

    def __init__(self, init_op: Operation | None = None, init_feed_dict: FeedDict | None = None,
                 init_fn: Callable[[Scaffold, Session], object] | None = None, ready_op: Tensor | None = None,
                 ready_for_local_init_op: Tensor | None = None, local_init_op: Operation | None = None,
                 summary_op: Tensor | Sequence[Tensor] | None = None, saver: Saver | None = None,
                 copy_from_scaffold: Scaffold | None = None) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        given = dict(init_op=init_op, init_feed_dict=init_feed_dict, ready_op=ready_op, local_init_op=local_init_op,
                     ready_for_local_init_op=ready_for_local_init_op, summary_op=summary_op, saver=saver)
        for name, value in given.items():
            if value is None and copy_from_scaffold is not None:
                value = getattr(copy_from_scaffold, "_" + name)
            setattr(self, "_" + name, value)
        self._user_init_fn = init_fn
        if init_fn is not None:
            self._init_fn = lambda sess: init_fn(self, sess)
        else:
            self._init_fn = copy_from_scaffold._init_fn if copy_from_scaffold is not None else None

    @property
    def init_op(self) -> Operation | None:
        """Initializes global variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> FeedDict | None:
        """What `init_op` is fed."""
        return self._init_feed_dict

    @property
    def init_fn(self) -> Callable[[Session], object] | None:
        """Called with the session behind `init_op`."""
        return self._init_fn

    @property
    def ready_op(self) -> Tensor | None:
        """The names of variables that are not initialized."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Tensor | None:
        """The names of variables that `local_init_op` needs and that are not initialized."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Operation | None:
        """Initializes local variables and tables."""
        return self._local_init_op

    @property
    def summary_op(self) -> Tensor | None:
        """All summaries."""
        return self._summary_op

    @property
    def saver(self) -> Saver | None:
        """Writes and reads checkpoints."""
        return self._saver

    def finalize(self) -> Self:
        """Makes what is missing; afterwards the graph does not change any more."""
        def default(name, collection, make):
            if getattr(self, "_" + name) is None:
                setattr(self, "_" + name, Scaffold.get_or_default(name, collection, make))
        default("init_op", GraphKeys.INIT_OP, variables.global_variables_initializer)
        default("ready_op", GraphKeys.READY_OP,
                lambda: array_ops.concat([variables.report_uninitialized_variables()], 0))
        default("ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: variables.report_uninitialized_variables(variables.global_variables()))
        default("local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op)
        default("summary_op", GraphKeys.SUMMARY_OP, _merge_all)
        default("saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True))
        self._saver.build()
        graph_module.get_default_graph().finalize()
        return self

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], T]) -> T | Any:
        """The one element of a collection, or a new one, which is put there."""
        elements = graph_module.get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(f'More than one item in the collection "{collection_key}". Please indicate which one to use '
                               f"by passing it to the tf.Scaffold constructor by:  tf.Scaffold({arg_name}=item to use)")
        if elements:
            return elements[0]
        made = default_constructor()
        if made is not None:
            graph_module.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Operation:
        """Initializes local variables and tables."""
        tables = graph_module.get_collection(GraphKeys.TABLE_INITIALIZERS)
        return ops.group(variables.local_variables_initializer(), *tables)


def _merge_all():
    return summary.merge_all()


class SessionCreator(abc.ABC):
    """Makes sessions for a MonitoredSession."""

    @abc.abstractmethod
    def create_session(self) -> Session:
        """A new session."""


class ChiefSessionCreator(SessionCreator):
    """Restores or initializes."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config: ConfigProto | None = None,
                 checkpoint_dir: PathLike | None = None, checkpoint_filename_with_path: PathLike | None = None) -> None:
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, config
        self._dir, self._path, self._manager = checkpoint_dir, checkpoint_filename_with_path, None

    def create_session(self) -> Session:
        s = self._scaffold.finalize()
        if self._manager is None:
            self._manager = SessionManager(s.local_init_op, s.ready_op, s.ready_for_local_init_op,
                                           graph_module.get_default_graph())
        return self._manager.prepare_session(
            self._master, saver=s.saver, checkpoint_dir=self._dir, checkpoint_filename_with_path=self._path,
            config=self._config, init_op=s.init_op, init_feed_dict=s.init_feed_dict, init_fn=s.init_fn)


class WorkerSessionCreator(SessionCreator):
    """Waits until the chief has initialized."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config: ConfigProto | None = None,
                 max_wait_secs: float = 30 * 60) -> None:
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, config
        self._max_wait_secs, self._manager = max_wait_secs, None

    def create_session(self) -> Session:
        s = self._scaffold.finalize()
        if self._manager is None:
            self._manager = SessionManager(s.local_init_op, s.ready_op, s.ready_for_local_init_op,
                                           graph_module.get_default_graph())
        return self._manager.wait_for_session(self._master, config=self._config, max_wait_secs=self._max_wait_secs)


class _StepContext:
    """What the function of run_step_fn gets."""

    def __init__(self, session: Session, run_with_hooks: Callable[..., Any]) -> None:
        self._session, self.run_with_hooks = session, run_with_hooks

    @property
    def session(self) -> Session:
        return self._session

    def request_stop(self) -> NoReturn:
        """Ends the step function, and with it the training."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class _HookedSession:
    """A session with hooks around its runs. It neither makes the session nor closes it by itself."""

    _closed = False

    def __init__(self, sess: Session, hooks: Sequence[SessionRunHook]) -> None:
        self._session, self._hooks, self._stops = sess, list(hooks), False

    @property
    def graph(self) -> Graph | None:
        return self._session.graph

    @property
    def sess_str(self) -> bytes:
        return self._session.sess_str

    def run(self, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None,
            run_metadata: RunMetadata | None = None) -> Any:
        """Session.run, with the hooks around it."""
        return self._run_with_hooks(fetches, feed_dict, options, run_metadata)

    def should_stop(self) -> bool:
        """Whether a hook has asked for the end."""
        return self._stops

    def close(self) -> None:
        """Ends the session."""
        self._session.close()

    def _run_with_hooks(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self._stops:
            raise RuntimeError("Run called even after should_stop requested.")
        try:
            return self._run_asking_hooks(fetches, feed_dict, options, run_metadata)
        except BaseException:
            # Hooks are called after runs that did not fail: one that does something while a run lasts must end that too.
            for hook in self._hooks:
                getattr(hook, "_run_failed", lambda: None)()
            raise

    def _run_asking_hooks(self, fetches, feed_dict, options, run_metadata):
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        asked, feeds, options = self._ask_hooks(context, feed_dict, options)
        if options is not None and run_metadata is None:
            context._run_metadata = run_metadata = RunMetadata()
            object.__setattr__(run_metadata, "_of_failures", any(getattr(hook, "_wants_failures", False) for hook in self._hooks))
        try:
            results = self._session.run([fetches] + [f for _, f in asked], feed_dict=feeds, options=options,
                                        run_metadata=run_metadata)
        except _PREEMPTED:
            raise
        except Exception:
            self._raise_first(sys.exc_info()[1])
        by_hook = {id(hook): value for (hook, _), value in zip(asked, results[1:])}
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(by_hook.get(id(hook)), options, run_metadata))
        self._stops = self._stops or context.stop_requested
        return results[0]

    def _raise_first(self, error):
        raise error

    def _ask_hooks(self, context, feed_dict, options):
        """([(hook, its fetches)], all feeds, options)."""
        asked, hook_feeds = [], {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if not isinstance(request, SessionRunArgs):
                raise TypeError(f"before_run of {hook} must give a SessionRunArgs or None, not {request!r}")
            if request.fetches is not None:
                asked.append((hook, request.fetches))
            if request.feed_dict:
                _refuse_common(hook_feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                hook_feeds.update(request.feed_dict)
            if request.options is not None:
                options = _merged_options(options, request.options)
        if feed_dict and hook_feeds:
            _refuse_common(hook_feeds, feed_dict, "Same tensor is fed by a SessionRunHook and user.")
        return asked, {**hook_feeds, **(feed_dict or {})}, options

    def run_step_fn(self, step_fn: Callable[[_StepContext], T]) -> T | None:
        """Runs step_fn(step_context), which may run several fetches as one step."""
        if not callable(step_fn):
            raise ValueError(f"step_fn must be callable, got {step_fn!r}")
        if self._closed:
            raise RuntimeError("Session is already closed.")
        try:
            return step_fn(_StepContext(self._session, self._run_with_hooks))
        except StopIteration:
            self._stops = True
            return None


class _MonitoredSession(_HookedSession):
    """What MonitoredSession and SingularMonitoredSession share."""

    # How it is told that a task is away while the session is made, and for how long that may be from then on.
    _level, _back_within_secs = tw_logging.INFO, float("inf")

    def __init__(self, session_creator: SessionCreator, hooks: Sequence[SessionRunHook], should_recover: bool,
                 stop_grace_period_secs: float = 120) -> None:
        self._graph_was_finalized = graph_module.get_default_graph().finalized
        self._hooks, self._recovers, self._grace = list(hooks or []), should_recover, stop_grace_period_secs
        self._creator = session_creator or ChiefSessionCreator()
        self._session = self._coord = None
        self._closed, self._stops = False, False
        for hook in self._hooks:
            hook.begin()
        self._create()

    def _create(self):
        """The session itself, with its threads. Waits for tasks that are away."""
        until, back_by, pause = time.monotonic() + getattr(self._creator, "_max_wait_secs", 7200), None, 0.05
        while True:
            try:
                self._session = self._creator.create_session()
                self._coord = Coordinator(clean_stop_exception_types=[])
                if graph_module.get_collection(GraphKeys.QUEUE_RUNNERS):
                    start_queue_runners(sess=self._session, coord=self._coord)
                for hook in self._hooks:
                    hook.after_create_session(self._session, self._coord)
                return
            except _PREEMPTED as error:
                self._abandon_session()
                pause, back_by = min(pause * 2, 1.0), back_by or time.monotonic() + self._back_within_secs
                if not self._recovers or time.monotonic() + pause > min(until, back_by):
                    raise
                tw_logging.log(self._level, "An error was raised while a session was being created: %s. A new session will be made.", error)
                time.sleep(pause)

    def _abandon_session(self):
        """Ends a session whose tasks have gone away: what that fails with is known."""
        try:
            self._end_session(failed=True)
        except errors.OpError as error:
            tw_logging.debug("Ignored exception: %s", error)

    @property
    def graph(self) -> Graph | None:
        """The graph; None when the session is closed."""
        return None if self._session is None else self._session.graph

    def run(self, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None,
            run_metadata: RunMetadata | None = None) -> Any:
        """Session.run, with the hooks around it."""
        while True:
            if self._closed:
                raise RuntimeError("Run called even after should_stop requested." if self._stops
                                   else "Session is already closed.")
            try:
                if self._session is None:
                    self._create()
                self._raise_preemption()
                return self._run_with_hooks(fetches, feed_dict, options, run_metadata)
            except _PREEMPTED as error:
                if not self._recovers:
                    raise
                tw_logging.info("An error was raised: %s. The current session will be closed and a new one made.", error)
                self._abandon_session()

    def _raise_preemption(self):
        """A thread that fills a queue may be the first to see that a task has gone away."""
        try:
            self._coord.raise_requested_exception()
        except _PREEMPTED:
            raise
        except Exception:
            pass  # the run fails with it, or closing does

    def _raise_first(self, error):
        """What a thread that fills a queue has failed with comes before what follows from it."""
        try:
            self._coord.raise_requested_exception()
        except _PREEMPTED:
            raise
        except Exception as first:
            if first is not error:
                raise first from error
        raise error

    def _tf_sess(self):
        return self._session

    def should_stop(self) -> bool:
        """Whether the training is over. It is not when a task has gone away: then the session is made anew."""
        if self._closed or self._stops or self._coord is None:
            return self._closed or self._stops
        if self._recovers:
            try:
                self._raise_preemption()
            except _PREEMPTED as error:
                tw_logging.info("An error was raised: %s. The current session will be closed and a new one made.", error)
                self._abandon_session()
                self._create()
        return self._coord.should_stop()

    def _is_closed(self):
        return self._closed

    def close(self) -> None:
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exception_type: type[BaseException] | None, exception_value: BaseException | None,
                 traceback: TracebackType | None) -> bool:
        if exception_type in (errors.OutOfRangeError, StopIteration):
            exception_type = None  # the data has ended
        self._close(exception_type)
        return exception_type is None

    def _close(self, exception_type=None):
        if self._closed:
            raise RuntimeError("Session is already closed.")
        try:
            if not exception_type:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            try:
                self._end_session(failed=exception_type is not None)
            finally:
                self._closed = True
                if not self._graph_was_finalized:
                    graph_module.get_default_graph()._unsafe_unfinalize()

    def _end_session(self, failed=False):
        """Stops the threads and closes the session."""
        session, coord = self._session, self._coord
        self._session = self._coord = None
        try:
            if coord is not None:
                coord.request_stop()
                coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        except _PREEMPTED:
            pass
        except Exception:
            if not failed:  # what is on its way is the first error
                raise
        finally:
            if session is not None:
                close_after(session, failed)


def _refuse_common(feeds, more, message):
    if any(key in feeds for key in more):
        raise RuntimeError(f"{message} Conflicting keys: {[str(k) for k in more if k in feeds]}")


def _merged_options(options, wanted):
    """The larger of both wishes."""
    merged = RunOptions()
    merged.CopyFrom(wanted if options is None else options)
    if options is not None:
        merged.trace_level = max(options.trace_level, wanted.trace_level)
        merged.timeout_in_ms = max(options.timeout_in_ms, wanted.timeout_in_ms)
        merged.output_partition_graphs = options.output_partition_graphs or wanted.output_partition_graphs
        merged.debug_options.debug_tensor_watch_opts.extend(wanted.debug_options.debug_tensor_watch_opts)
    return merged


class MonitoredSession(_MonitoredSession):
    """A session that initializes or restores, calls hooks, and is made anew when a task has gone away.

    Parameters
    ----------
    session_creator : SessionCreator, optional
        Makes the session; a ChiefSessionCreator by default.
    hooks : list of SessionRunHook, optional
        Called around each run, at the beginning and at the end.
    stop_grace_period_secs : float
        How long threads have to end.

    Examples
    --------
    >>> v = tw.Variable(2.0)
    >>> with tw.train.MonitoredSession() as sess:
    ...     print(sess.run(v))
    2.0
    """

    def __init__(self, session_creator: SessionCreator | None = None, hooks: Sequence[SessionRunHook] | None = None,
                 stop_grace_period_secs: float = 120) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SynchronousSession(_MonitoredSession):
    """A MonitoredSession of a worker whose steps are one with those of other workers: it waits for them when it begins, but is not made anew
    when one has gone away, as the variables of the others would not begin anew with it."""

    # Workers that have not started are waited for in the session's first steps; one that has gone away while it is made may be started anew.
    _level, _back_within_secs = tw_logging.WARN, 30

    def __init__(self, session_creator: SessionCreator, hooks: Sequence[SessionRunHook]) -> None:
        super().__init__(session_creator, hooks, True)
        self._recovers = False

    def __exit__(self, exception_type: type[BaseException] | None, exception_value: BaseException | None,
                 traceback: TracebackType | None) -> bool:
        if exception_type is errors.OutOfRangeError and (found := _FAILED_ELSEWHERE.search(str(exception_value))):
            tw_logging.warning("Training ends for all workers, as the input of %s has ended: %s", found[1], exception_value)
        return super().__exit__(exception_type, exception_value, traceback)


class SingularMonitoredSession(_MonitoredSession):
    """A MonitoredSession of one session, which is never made again."""

    def __init__(self, hooks: Sequence[SessionRunHook] | None = None, scaffold: Scaffold | None = None, master: str = "",
                 config: ConfigProto | None = None, checkpoint_dir: PathLike | None = None, stop_grace_period_secs: float = 120,
                 checkpoint_filename_with_path: PathLike | None = None) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Session:
        """The session beneath; runs in it call no hooks."""
        return self._session


MonitoredSession.StepContext = SingularMonitoredSession.StepContext = _StepContext


def MonitoredTrainingSession(master: str = "", is_chief: bool = True, checkpoint_dir: PathLike | None = None,
                             scaffold: Scaffold | None = None, hooks: Sequence[SessionRunHook] | None = None,
                             chief_only_hooks: Sequence[SessionRunHook] | None = None, save_checkpoint_secs: object = USE_DEFAULT,
                             save_summaries_steps: object = USE_DEFAULT, save_summaries_secs: object = USE_DEFAULT,
                             config: ConfigProto | None = None, stop_grace_period_secs: float = 120,
                             log_step_count_steps: int | None = 100, max_wait_secs: float = 7200,
                             save_checkpoint_steps: object = USE_DEFAULT,
                             summary_dir: PathLike | None = None) -> MonitoredSession:
    """A MonitoredSession that saves checkpoints and summaries.

    At a cluster it waits for the tasks that the graph names, or those that the filters of `config` admit.

    Parameters
    ----------
    master : str
        The target of the session: "" or "grpc://host:port".
    is_chief : bool
        Whether this task initializes and saves; others wait for it.
    checkpoint_dir : str or path, optional
        Where checkpoints are; without it there are none.
    scaffold : Scaffold, optional
        How the session begins.
    hooks : list of SessionRunHook, optional
        Called around each run.
    chief_only_hooks : list of SessionRunHook, optional
        The same, of the chief.
    save_checkpoint_secs, save_checkpoint_steps : float and int, optional
        How often checkpoints are saved; every 600 seconds by default.
    save_summaries_steps, save_summaries_secs : int and float, optional
        How often summaries are saved; every 100 steps by default.
    config : ConfigProto, optional
        Of the session.
    stop_grace_period_secs : float
        How long threads have to end.
    log_step_count_steps : int or None
        How often the speed is logged.
    max_wait_secs : float
        How long to wait for the chief.
    summary_dir : str or path, optional
        Where summaries are; `checkpoint_dir` by default.

    Returns
    -------
    MonitoredSession
        The session.

    Examples
    --------
    >>> import tempfile
    >>> step = tw.train.get_or_create_global_step()
    >>> increment = tw.assign_add(step, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tw.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
    ...         print(sess.run(increment))
    ...     with tw.Graph().as_default():
    ...         tw.train.list_variables(folder)
    1
    [('global_step', [])]
    """
    save_summaries_steps, save_summaries_secs = _chosen(save_summaries_steps, save_summaries_secs, (100, None))
    save_checkpoint_steps, save_checkpoint_secs = _chosen(save_checkpoint_steps, save_checkpoint_secs, (None, 600))
    scaffold = scaffold or Scaffold()
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks or [], stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or [])
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(hooks_module.StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps))
        if (save_summaries_steps and save_summaries_steps > 0) or (save_summaries_secs and save_summaries_secs > 0):
            all_hooks.append(hooks_module.SummarySaverHook(scaffold=scaffold, save_steps=save_summaries_steps,
                                                           save_secs=save_summaries_secs, output_dir=summary_dir))
    if checkpoint_dir and ((save_checkpoint_secs and save_checkpoint_secs > 0) or
                           (save_checkpoint_steps and save_checkpoint_steps > 0)):
        all_hooks.append(hooks_module.CheckpointSaverHook(checkpoint_dir, save_steps=save_checkpoint_steps,
                                                          save_secs=save_checkpoint_secs, scaffold=scaffold))
    all_hooks.extend(hooks or [])
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, all_hooks, stop_grace_period_secs)


def _chosen(steps, secs, default):
    """(steps, seconds) between two savings; what is not given is not used, unless nothing is given."""
    if steps is USE_DEFAULT and secs is USE_DEFAULT:
        return default
    return (None if steps is USE_DEFAULT else steps), (None if secs is USE_DEFAULT else secs)

# SPDX-License-Identifier: Apache-2.0
"""Hooks of monitored sessions: what is called before and after each run, at the beginning and at the end."""
from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np

from thalweg import logging as tw_logging, summary
from thalweg.graph import graph as graph_module
from thalweg.graph.graph import GraphKeys
from thalweg.graph.tensor import Operation
from thalweg.messages import Summary
from thalweg.saving.meta_graph import write_graph
from thalweg.saving.wrapped_savers import is_saving, wait_for
from thalweg.training.global_steps import get_global_step
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import Element, FeedDict, Fetches, PathLike
    from thalweg.control.coordinator import Coordinator
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Tensor
    from thalweg.saving.saver import Saver
    from thalweg.summary.event_files import FileWriter
    from thalweg.training.monitored_session import Scaffold
    from thalweg.training.session_run_hook import SessionRunContext, SessionRunValues


class NanLossDuringTrainingError(RuntimeError):
    """The loss is no number any more."""

    def __str__(self):
        return "NaN loss during training."


class SecondOrStepTimer:
    """Every so many seconds or steps."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets when it was last."""
        self._last_triggered_step = self._last_triggered_time = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is time again at this step."""
        if self._last_triggered_step is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_triggered_time + self._every_secs
        return step >= self._last_triggered_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """(seconds, steps) since the time before; (None, None) at the first time."""
        now = time.time()
        since = (None, None)
        if self._last_triggered_time is not None:
            since = now - self._last_triggered_time, step - self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        return since

    def last_triggered_step(self) -> int | None:
        """The step at which it was last, or None."""
        return self._last_triggered_step


def _element(obj):
    """The tensor or operation that an object or a name means."""
    graph = graph_module.get_default_graph()
    if isinstance(obj, str) and ":" not in obj:
        found = graph.as_graph_element(obj)
        if isinstance(found, Operation) and len(found.outputs) == 1:
            return found.outputs[0]
        if isinstance(found, Operation):
            raise ValueError(f"Name {obj} refers to an operation of {len(found.outputs)} outputs, not to a tensor.")
        return found
    return graph.as_graph_element(obj)


def _global_step(user):
    found = get_global_step()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {user}.")
    return found


def _writer(output_dir):
    return summary.FileWriterCache.get(output_dir)


class LoggingTensorHook(SessionRunHook):
    """Logs values every so many runs or seconds."""

    def __init__(self, tensors: Mapping[str, Element] | Sequence[Element], every_n_iter: int | None = None,
                 every_n_secs: float | None = None, at_end: bool = False,
                 formatter: Callable[[dict[str, Any]], str] | None = None) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if not isinstance(tensors, dict):
            tensors = {t if isinstance(t, str) else t.name: t for t in tensors}
        self._tensors, self._formatter, self._at_end = tensors, formatter, at_end
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self) -> None:
        if self._timer is not None:
            self._timer.reset()
        self._runs = 0
        self._current = {tag: _element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._logs = self._timer is not None and self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._current) if self._logs else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._logs:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Session) -> None:
        if self._at_end:
            self._log(session.run(self._current))

    def _log(self, values):
        seconds = self._timer.update_last_triggered_step(self._runs)[0] if self._timer is not None else None
        if self._formatter:
            tw_logging.info(self._formatter(values))
            return
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tensors)
        tw_logging.info(text if seconds is None else f"{text} ({seconds:.3f} sec)")


class StopAtStepHook(SessionRunHook):
    """Stops after `num_steps` more steps, or at `last_step`.

    Parameters
    ----------
    num_steps : int, optional
        How many steps from here.
    last_step : int, optional
        The global step to stop at.

    Raises
    ------
    ValueError
        If none or both of them are given.

    Examples
    --------
    >>> step = tw.train.get_or_create_global_step()
    >>> increment = tw.assign_add(step, 1)
    >>> with tw.train.MonitoredSession(hooks=[tw.train.StopAtStepHook(last_step=3)]) as sess:
    ...     while not sess.should_stop():
    ...         last = sess.run(increment)
    >>> print(last)
    3
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        self._step = _global_step("StopAtStepHook")

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        if self._last_step is None:
            self._last_step = session.run(self._step) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        # The value may be of before the update of this very run.
        if run_values.results + 1 >= self._last_step and run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


class CheckpointSaverListener:
    """Called around each save of a CheckpointSaverHook."""

    def begin(self) -> None:
        """Called before the session is made."""

    def before_save(self, session: Session, global_step_value: int) -> None:
        """Called before each save."""

    def after_save(self, session: Session, global_step_value: int) -> bool | None:
        """Called after each save; True stops the training."""

    def end(self, session: Session, global_step_value: int) -> None:
        """Called at the end."""


def _step_when_due(timer, step, run_context, run_values):
    """The global step, read anew, when the timer is due at it; else None. The run itself may have read it before it was counted on."""
    if not timer.should_trigger_for_step(run_values.results + 1):
        return None
    now = run_context.session.run(step)
    return now if timer.should_trigger_for_step(now) else None


class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints every so many steps or seconds, at the beginning and at the end. With a saver that saves in the background
    listeners hear of a checkpoint after the first run that ends when it is written; the end waits for the last one."""

    def __init__(self, checkpoint_dir: PathLike, save_secs: float | None = None, save_steps: int | None = None,
                 saver: Saver | None = None, checkpoint_basename: str = "model.ckpt", scaffold: Scaffold | None = None,
                 listeners: Sequence[CheckpointSaverListener] | None = None) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._dir, self._scaffold, self._listeners = saver, checkpoint_dir, scaffold, listeners or []
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._unheard = None  # the step of a checkpoint that listeners have not heard of

    def begin(self) -> None:
        self._summaries = _writer(self._dir)
        self._step = _global_step("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        step = session.run(self._step)
        write_graph(session.graph, self._dir, "graph.pbtxt")
        self._summaries.add_graph(session.graph)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        stops = self._unheard is not None and not is_saving(self._saver) and self._tell(run_context.session)
        step = _step_when_due(self._timer, self._step, run_context, run_values)
        if step is not None:
            self._timer.update_last_triggered_step(step)
            stops = self._save(run_context.session, step) or stops
        if stops:
            run_context.request_stop()

    def end(self, session: Session) -> None:
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        if self._unheard is not None:
            self._tell(session)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step):
        """Whether a listener wants to stop."""
        stops = self._unheard is not None and self._tell(session)
        tw_logging.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        saver = self._saver_to_use()
        saver.save(session, self._path, global_step=int(step))
        self._unheard = step
        return stops if is_saving(saver) else self._tell(session) or stops

    def _tell(self, session):
        """Says that a checkpoint is there, when it is; whether a listener wants to stop."""
        step, self._unheard = self._unheard, None
        wait_for(self._saver_to_use())
        self._summaries.add_session_log(summary.SessionLog(status=summary.SessionLog.CHECKPOINT, checkpoint_path=self._path),
                                        int(step))
        return any([listener.after_save(session, step) for listener in self._listeners])

    def _saver_to_use(self):
        if self._saver is None and self._scaffold is not None:
            self._saver = self._scaffold.saver
        if self._saver is None:
            savers = graph_module.get_collection(GraphKeys.SAVERS)
            if not savers:
                raise RuntimeError(f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection or "
                                   "provide a saver or scaffold.")
            if len(savers) > 1:
                raise RuntimeError(f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use "
                                   "by passing it to the constructor.")
            self._saver = savers[0]
        return self._saver


class StepCounterHook(SessionRunHook):
    """Steps in a second, logged and written as a summary."""

    def __init__(self, every_n_steps: int = 100, every_n_secs: float | None = None, output_dir: PathLike | None = None,
                 summary_writer: FileWriter | None = None) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summaries, self._dir = summary_writer, output_dir

    def begin(self) -> None:
        if self._summaries is None and self._dir:
            self._summaries = _writer(self._dir)
        self._step = _global_step("StepCounterHook")
        self._tag = self._step.op.name + "/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = _step_when_due(self._timer, self._step, run_context, run_values)
        if step is not None:
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds is not None:
                self._log_and_record(steps, seconds, step)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
        rate = elapsed_steps / max(elapsed_time, 1e-9)
        if self._summaries is not None:
            self._summaries.add_summary(Summary(value=[Summary.Value(tag=self._tag, simple_value=rate)]), int(global_step))
        tw_logging.info("%s: %g", self._tag, rate)


class NanTensorHook(SessionRunHook):
    """Fails, or stops, when the loss is NaN.

    Parameters
    ----------
    loss_tensor : Tensor or str
        A scalar, or its name.
    fail_on_nan_loss : bool
        Whether to raise NanLossDuringTrainingError, or to ask for the end.

    Examples
    --------
    >>> loss = tw.log(-1.0)
    >>> with tw.train.MonitoredSession(hooks=[tw.train.NanTensorHook(loss, fail_on_nan_loss=False)]) as sess:
    ...     while not sess.should_stop():
    ...         print(sess.run(loss))
    nan
    """

    def __init__(self, loss_tensor: Element, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        if self._fails:
            tw_logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        tw_logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so many steps or seconds."""

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir: PathLike | None = None,
                 summary_writer: FileWriter | None = None, scaffold: Scaffold | None = None,
                 summary_op: Tensor | Sequence[Tensor] | None = None) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._summaries, self._dir = summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        if self._summaries is None and self._dir:
            self._summaries = _writer(self._dir)
        self._next_step = None
        self._step = _global_step("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._asks = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        fetches = {"global_step": self._step}
        ops = self._ops()
        if self._asks and ops:
            fetches["summary"] = ops
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._summaries is None:
            return
        step = run_values.results["global_step"] + 1
        if self._next_step is None or self._asks:
            step = run_context.session.run(self._step)
        if self._next_step is None:
            self._summaries.add_session_log(summary.SessionLog(status=summary.SessionLog.START), int(step))
        if self._asks:
            self._timer.update_last_triggered_step(step)
            for text in run_values.results.get("summary", []):
                self._summaries.add_summary(text, int(step))
        self._next_step = step + 1

    def end(self, session: Session) -> None:
        if self._summaries is not None:
            self._summaries.flush()

    def _ops(self):
        found = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        return [] if found is None else list(found) if isinstance(found, (list, tuple)) else [found]


class GlobalStepWaiterHook(SessionRunHook):
    """Waits, before its first run, until the global step is there."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._is_there = False
        self._step = _global_step("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        while not self._is_there:
            if self._wait_until_step <= 0 or int(run_context.session.run(self._step)) >= self._wait_until_step:
                self._is_there = True
            else:
                time.sleep(0.5)


class FinalOpsHook(SessionRunHook):
    """Runs operations at the end and keeps their values."""

    def __init__(self, final_ops: Fetches, final_ops_feed_dict: FeedDict | None = None) -> None:
        self._ops, self._feeds, self._values = final_ops, final_ops_feed_dict, None

    @property
    def final_ops_values(self) -> Any:
        """The values of the operations, once the session has ended."""
        return self._values

    def end(self, session: Session) -> None:
        if self._ops is not None:
            self._values = session.run(self._ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds what a function gives."""

    def __init__(self, feed_fn: Callable[[], FeedDict]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())

# SPDX-License-Identifier: Apache-2.0
"""Hooks that end training by what evaluate() has measured."""
from __future__ import annotations

import collections
import operator
from typing import TYPE_CHECKING

from thalweg import dtypes, logging as tw_logging
from thalweg.estimator.estimator import Estimator
from thalweg.estimator.measurements import measured
from thalweg.graph.graph import GraphKeys
from thalweg.training.basic_session_run_hooks import SecondOrStepTimer, StopAtStepHook
from thalweg.training.global_steps import get_global_step
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunHook
from thalweg.variables.init_ops import constant_initializer
from thalweg.variables.variable_scopes import AUTO_REUSE, get_variable, variable_scope
from thalweg.variables.variables import assign

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _StopOnPredicateHook(SessionRunHook):
    """Ends training when a function says so, and keeps that in a variable of the model as TensorFlow does."""

    def __init__(self, should_stop_fn, run_every_secs, run_every_steps):
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._should_stop_fn = should_stop_fn
        self._timer = SecondOrStepTimer(every_secs=run_every_secs, every_steps=run_every_steps)

    def begin(self):
        self._step = get_global_step()
        with variable_scope("signal_early_stopping", reuse=AUTO_REUSE):
            told = get_variable("STOP", shape=[], dtype=dtypes.bool, initializer=constant_initializer(False),
                                collections=[GraphKeys.GLOBAL_VARIABLES], trainable=False)
        self._stop = assign(told, True)

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop_fn():
                tw_logging.info("Requesting early stopping at global step %d", step)
                run_context.session.run(self._stop)
                run_context.request_stop()


def make_early_stopping_hook(estimator: Estimator, should_stop_fn: Callable[[], bool], run_every_secs: float | None = 60,
                             run_every_steps: int | None = None) -> SessionRunHook:
    """A hook for training that ends it when `should_stop_fn()` is true; asked every so many seconds or steps."""
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)


def make_stop_at_checkpoint_step_hook(estimator: Estimator, last_step: int,
                                      wait_after_file_check_secs: int = 30) -> SessionRunHook:
    """A hook that ends training at a step: of one process, where no checkpoint is waited for."""
    return StopAtStepHook(last_step=last_step)


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, Any]]:
    """{step: {name: value}} of what evaluate() has written into a directory, in the order of steps."""
    return collections.OrderedDict(sorted(dict(measured(eval_dir, "*.tfevents.*")).items()))


def _values_of(estimator, metric_name, eval_dir, min_steps):
    """(step, value) of a metric, of steps from min_steps on."""
    for step, values in read_eval_metrics(eval_dir or estimator.eval_dir()).items():
        if step >= min_steps:
            if metric_name not in values:
                raise KeyError(f"no metric {metric_name!r} among what evaluate() wrote at step {step}: {sorted(values)}")
            yield step, values[metric_name]


def _stop_at(better, estimator, metric_name, threshold, eval_dir, min_steps, run_every_secs, run_every_steps):
    def reached():
        return any(better(value, threshold) for _, value in _values_of(estimator, metric_name, eval_dir, min_steps))
    return make_early_stopping_hook(estimator, reached, run_every_secs, run_every_steps)


def _stop_without(better, estimator, metric_name, most, eval_dir, min_steps, run_every_secs, run_every_steps):
    def stands_still():
        best = None
        for step, value in _values_of(estimator, metric_name, eval_dir, min_steps):
            if best is None or better(value, best[1]):
                best = step, value
            if step - best[0] >= most:
                return True
        return False
    return make_early_stopping_hook(estimator, stands_still, run_every_secs, run_every_steps)


def stop_if_higher_hook(estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None = None, min_steps: int = 0,
                        run_every_secs: float | None = 60, run_every_steps: int | None = None) -> SessionRunHook:
    """A hook that ends training when a metric was above a threshold."""
    return _stop_at(operator.gt, estimator, metric_name, threshold, eval_dir, min_steps, run_every_secs, run_every_steps)


def stop_if_lower_hook(estimator: Estimator, metric_name: str, threshold: float, eval_dir: str | None = None, min_steps: int = 0,
                       run_every_secs: float | None = 60, run_every_steps: int | None = None) -> SessionRunHook:
    """A hook that ends training when a metric was below a threshold."""
    return _stop_at(operator.lt, estimator, metric_name, threshold, eval_dir, min_steps, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(estimator: Estimator, metric_name: str, max_steps_without_increase: int, eval_dir: str | None = None,
                             min_steps: int = 0, run_every_secs: float | None = 60,
                             run_every_steps: int | None = None) -> SessionRunHook:
    """A hook that ends training when a metric has not risen for so many steps."""
    return _stop_without(operator.gt, estimator, metric_name, max_steps_without_increase, eval_dir, min_steps, run_every_secs,
                         run_every_steps)


def stop_if_no_decrease_hook(estimator: Estimator, metric_name: str, max_steps_without_decrease: int, eval_dir: str | None = None,
                             min_steps: int = 0, run_every_secs: float | None = 60,
                             run_every_steps: int | None = None) -> SessionRunHook:
    """A hook that ends training when a metric has not fallen for so many steps."""
    return _stop_without(operator.lt, estimator, metric_name, max_steps_without_decrease, eval_dir, min_steps, run_every_secs,
                         run_every_steps)

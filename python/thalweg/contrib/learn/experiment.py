# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn.Experiment: an Estimator with what it learns from and what it is measured on."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING

from thalweg.cluster.server import Server
from thalweg.estimator import Estimator, EvalSpec, TrainSpec
from thalweg.estimator.training import train_and_measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.training.basic_session_run_hooks import CheckpointSaverListener
    from thalweg.training.session_run_hook import SessionRunHook

    Measured = tuple[dict[str, Any] | None, list[Any]]


class Experiment:
    """Experiment(estimator, train_input_fn, eval_input_fn, train_steps=1000).train_and_evaluate(): as tw.estimator.train_and_evaluate.

    Training ends at step `train_steps`, or without it when the input does. An evaluation takes `eval_steps` batches, or all; evaluate()
    waits `eval_delay_secs` before it begins. `train_monitors` and `eval_hooks` are hooks of sessions. continuous_train_and_eval()
    measures every `train_steps_per_iteration` steps; without it ten times, or every 1,000 steps where `train_steps` is not given either.
    Other arguments are for distributed training and change nothing.
    """

    def __init__(self, estimator: Estimator, train_input_fn: Callable[..., object], eval_input_fn: Callable[..., object],
                 eval_metrics: None = None, train_steps: int | None = None, eval_steps: int | None = 100,
                 train_monitors: Sequence[SessionRunHook] | None = None, eval_hooks: Sequence[SessionRunHook] | None = None,
                 local_eval_frequency: int | None = None, eval_delay_secs: float = 120, continuous_eval_throttle_secs: float = 60,
                 min_eval_frequency: int | None = None, delay_workers_by_global_step: bool = False, export_strategies: object = None,
                 train_steps_per_iteration: int | None = None, checkpoint_and_export: bool = False,
                 saving_listeners: Sequence[CheckpointSaverListener] | None = None, check_interval_secs: float = 5) -> None:
        if not isinstance(estimator, Estimator):
            raise ValueError("`estimator` must implement `tf.contrib.learn.Evaluable` or `tf.estimator.Estimator`.")
        if eval_metrics is not None:
            raise ValueError("`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use `eval_metric_ops` in "
                             "`tf.estimator.EstimatorSpec` instead.")
        if export_strategies:
            raise NotImplementedError("`export_strategies` of tf.contrib.learn.Experiment are not implemented in Thalweg: use "
                                      "tf.estimator.EvalSpec(exporters=...)")
        self._estimator, self._train_input_fn, self._eval_input_fn = estimator, train_input_fn, eval_input_fn
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._monitors, self._eval_hooks = list(train_monitors or ()), list(eval_hooks or ())
        self._eval_delay_secs, self._steps_per_iteration = eval_delay_secs, train_steps_per_iteration
        self._listeners = list(saving_listeners or ())

    @property
    def estimator(self) -> Estimator:
        return self._estimator

    @property
    def eval_metrics(self) -> None:
        """Metrics are those of the model function."""
        return

    @property
    def train_steps(self) -> int | None:
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: Sequence[SessionRunHook]) -> None:
        """More hooks for training."""
        self._monitors.extend(additional_hooks)

    def train(self, delay_secs: float | None = None) -> Estimator:
        """Trains up to step `train_steps`, after a while."""
        time.sleep(delay_secs or 0)
        return self._train(max_steps=self._train_steps)

    def _train(self, **steps):
        return self._estimator.train(self._train_input_fn, hooks=list(self._monitors), saving_listeners=self._listeners, **steps)

    def _measure(self, name=None):
        return self._estimator.evaluate(self._eval_input_fn, steps=self._eval_steps, hooks=list(self._eval_hooks), name=name)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """The metrics of the newest checkpoint, after a while."""
        time.sleep(self._eval_delay_secs if delay_secs is None else delay_secs)
        return self._measure(name)

    def train_and_evaluate(self) -> Measured:
        """Trains, and measures after each checkpoint; the last metrics, and an empty list."""
        return train_and_measure(self._estimator, TrainSpec(self._train_input_fn, self._train_steps, self._monitors),
                                 EvalSpec(self._eval_input_fn, self._eval_steps, hooks=self._eval_hooks, start_delay_secs=0,
                                          throttle_secs=0), self._listeners)

    local_run = train_and_evaluate

    def continuous_train_and_eval(self, continuous_eval_predicate_fn: Callable[[Mapping[str, Any] | None], bool] | None = None) -> Measured:
        """Trains for a while and measures, in turns, until `train_steps` are done or the predicate is false of the metrics."""
        steps = self._steps_per_iteration
        if steps is None:
            steps = 1000 if self._train_steps is None else self._train_steps // 10
        found = None
        while continuous_eval_predicate_fn is None or continuous_eval_predicate_fn(found):
            self._train(steps=steps)
            found = self._measure("intermediate_export")
            if self._train_steps is not None and found["global_step"] >= self._train_steps:
                break
        return found, []

    def run_std_server(self) -> None:
        """Serves as this process's task of the cluster, without end."""
        config = self._estimator.config
        Server(config.cluster_spec, config.task_type, config.task_id).join()

    def test(self) -> dict[str, Any]:
        """The metrics after one step of training."""
        self._train(steps=1)
        return self._estimator.evaluate(self._eval_input_fn, steps=1, name="one_pass")

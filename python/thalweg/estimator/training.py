# SPDX-License-Identifier: Apache-2.0
"""train_and_evaluate: training that stops to measure where a checkpoint was saved."""
from __future__ import annotations

import abc
import collections
import os
import time
from typing import TYPE_CHECKING

from thalweg.cluster.cluster_resolver import config_of_environment
from thalweg.distribute.multi_worker import MultiWorkerMirroredStrategy, worker_of
from thalweg.estimator import cluster_tasks
from thalweg.graph.graph import GraphKeys
from thalweg.messages import ConfigProto
from thalweg.training.basic_session_run_hooks import CheckpointSaverListener

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self

    from thalweg.base.typing import PathLike
    from thalweg.estimator.estimator import Estimator
    from thalweg.training.session_run_hook import SessionRunHook


class TrainSpec(collections.namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks"])):
    """What to train on, and until when."""

    def __new__(cls, input_fn: Callable[..., object], max_steps: int | None = None,
                hooks: Sequence[SessionRunHook] | None = None) -> Self:
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, tuple(hooks or ()))


class EvalSpec(collections.namedtuple("EvalSpec", ["input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs",
                                                   "throttle_secs"])):
    """What to measure on, how long, and how often at most."""

    def __new__(cls, input_fn: Callable[..., object], steps: int | None = 100, name: str | None = None,
                hooks: Sequence[SessionRunHook] | None = None, exporters: Exporter | Sequence[Exporter] | None = None,
                start_delay_secs: float = 120, throttle_secs: float = 600) -> Self:
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if start_delay_secs < 0 or throttle_secs < 0:
            raise ValueError("start_delay_secs and throttle_secs must not be negative")
        exporters = exporters or ()
        exporters = tuple(exporters) if isinstance(exporters, (list, tuple, set)) else (exporters,)
        return super().__new__(cls, input_fn, steps, name, tuple(hooks or ()), exporters, start_delay_secs, throttle_secs)


class Exporter(abc.ABC):
    """Writes a model somewhere after it was measured."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the folder below export/."""

    @abc.abstractmethod
    def export(self, estimator: Estimator, export_path: PathLike, checkpoint_path: PathLike, eval_result: Mapping[str, Any],
               is_the_final_export: bool) -> object:
        """Writes it."""


class _Measurer(CheckpointSaverListener):
    """Measures after a checkpoint was saved, if the last time was long enough ago."""

    def __init__(self, estimator, spec, max_steps):
        self._estimator, self._spec, self._max_steps = estimator, spec, max_steps
        self._first, self._last_time, self._measured_at, self.result = True, None, None, (None, [])

    def begin(self):
        self._last_time = time.monotonic()

    def after_save(self, session, global_step_value):
        if self._first:  # nothing is learned yet
            self._first = False
            return
        if time.monotonic() - self._last_time >= self._spec.throttle_secs:
            self._measure(global_step_value)

    def end(self, session, global_step_value):
        self._measure(global_step_value)

    def _measure(self, step):
        if step != self._measured_at:
            self._last_time = time.monotonic()
            self.measure(self._estimator.latest_checkpoint())

    def measure(self, path: PathLike) -> int:
        """Measures a checkpoint and lets the exporters write it. Gives its step."""
        spec, estimator = self._spec, self._estimator
        found = estimator.evaluate(spec.input_fn, spec.steps, list(spec.hooks), path, spec.name)
        step = self._measured_at = int(found[GraphKeys.GLOBAL_STEP])
        final = self._max_steps is not None and step >= self._max_steps
        exports = [e.export(estimator, os.path.join(estimator.model_dir, "export", e.name), path, found, final) for e in spec.exporters]
        self.result = found, exports
        return step


def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec,
                       eval_spec: EvalSpec) -> tuple[dict[str, Any] | None, list[Any]] | None:
    """Trains, and measures in between and at the end. Gives (the last metrics, what exporters gave).

    In a cluster of TF_CONFIG it does what this task is for, and gives nothing: the chief and the workers train, the evaluator measures
    each new checkpoint until one of `max_steps` is there, a master trains and measures, a parameter server serves until it is ended.
    """
    if not isinstance(train_spec, TrainSpec) or not isinstance(eval_spec, EvalSpec):
        raise TypeError("`train_spec` must have type `TrainSpec` and `eval_spec` must have type `EvalSpec`")
    config = estimator.config
    if not config.cluster_spec and config.task_type != cluster_tasks.EVALUATOR:
        return train_and_measure(estimator, train_spec, eval_spec)
    if config.task_type == cluster_tasks.EVALUATOR:
        _measure_until_done(estimator, train_spec, eval_spec)
    elif config.task_type == cluster_tasks.PS:
        cluster_tasks.start_server(config).join()
    elif config.task_type in (cluster_tasks.CHIEF, cluster_tasks.MASTER, cluster_tasks.WORKER):
        _train_in_cluster(estimator, train_spec, eval_spec)
    else:
        raise ValueError(f"Task type {config.task_type} is not supported. Supported task types are chief, master, worker, ps and evaluator.")
    return None


_LOOKS_EVERY = 0.1  # seconds
_DELAY_OF_WORKER, _LONGEST_DELAY = 5, 60  # seconds: workers begin one after the other, so that the first steps are not lost on one another


def _train_in_cluster(estimator, train_spec, eval_spec):
    config = estimator.config
    in_step = isinstance(config.train_distribute, MultiWorkerMirroredStrategy)
    if config.master and config_of_environment().get("environment") != "google":  # which brings servers of its own
        cluster_tasks.start_server(config, _names_leader(config) if in_step else None)
    if config.task_type == cluster_tasks.MASTER:
        train_and_measure(estimator, train_spec, eval_spec)
        return
    if config.task_type == cluster_tasks.WORKER and not in_step:
        longest = config.experimental_max_worker_delay_secs
        time.sleep(min(_LONGEST_DELAY if longest is None else longest, (config.task_id + 1) * _DELAY_OF_WORKER))
    if in_step:
        estimator._train(train_spec.input_fn, list(train_spec.hooks), None, train_spec.max_steps, None)
        return
    estimator.train(train_spec.input_fn, hooks=list(train_spec.hooks), max_steps=train_spec.max_steps)


def _names_leader(config):
    """What a server of workers in step is told, so that they know of each other before they have sessions."""
    made = ConfigProto()
    made.experimental.collective_group_leader = worker_of(config.cluster_spec, config.task_type, config.task_id).leader
    return made


def _measure_until_done(estimator, train_spec, eval_spec):
    measurer, measured = _Measurer(estimator, eval_spec, train_spec.max_steps), None
    time.sleep(eval_spec.start_delay_secs)
    while True:
        began, path = time.monotonic(), estimator.latest_checkpoint()
        if path is not None and path != measured:
            step, measured = measurer.measure(path), path
            if train_spec.max_steps is not None and step >= train_spec.max_steps:
                return
        time.sleep(max(_LOOKS_EVERY, eval_spec.throttle_secs - (time.monotonic() - began)))


def train_and_measure(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec,
                      saving_listeners: Sequence[CheckpointSaverListener] = ()) -> tuple[dict[str, Any] | None, list[Any]]:
    """train_and_evaluate with listeners to each checkpoint."""
    measurer = _Measurer(estimator, eval_spec, train_spec.max_steps)
    estimator.train(train_spec.input_fn, hooks=list(train_spec.hooks), max_steps=train_spec.max_steps,
                    saving_listeners=[*saving_listeners, measurer])
    return measurer.result

# SPDX-License-Identifier: Apache-2.0
"""train_and_evaluate: training that stops to measure where a checkpoint was saved."""
from __future__ import annotations

import abc
import collections
import time
from typing import TYPE_CHECKING

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
        if step == self._measured_at:
            return
        import os
        self._last_time, self._measured_at = time.monotonic(), step
        spec, path = self._spec, self._estimator.latest_checkpoint()
        found = self._estimator.evaluate(spec.input_fn, spec.steps, list(spec.hooks), path, spec.name)
        final = self._max_steps is not None and step >= self._max_steps
        exports = [e.export(self._estimator, os.path.join(self._estimator.model_dir, "export", e.name), path, found, final)
                   for e in spec.exporters]
        self.result = found, exports


def train_and_evaluate(estimator: Estimator, train_spec: TrainSpec,
                       eval_spec: EvalSpec) -> tuple[dict[str, Any] | None, list[Any]]:
    """Trains, and measures in between and at the end. Gives (the last metrics, what exporters gave)."""
    if not isinstance(train_spec, TrainSpec) or not isinstance(eval_spec, EvalSpec):
        raise TypeError("`train_spec` must have type `TrainSpec` and `eval_spec` must have type `EvalSpec`")
    return train_and_measure(estimator, train_spec, eval_spec)


def train_and_measure(estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec,
                      saving_listeners: Sequence[CheckpointSaverListener] = ()) -> tuple[dict[str, Any] | None, list[Any]]:
    """train_and_evaluate with listeners to each checkpoint."""
    measurer = _Measurer(estimator, eval_spec, train_spec.max_steps)
    estimator.train(train_spec.input_fn, hooks=list(train_spec.hooks), max_steps=train_spec.max_steps,
                    saving_listeners=[*saving_listeners, measurer])
    return measurer.result

# SPDX-License-Identifier: Apache-2.0
"""A hook that measures while training, without checkpoints."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.training.basic_session_run_hooks import SecondOrStepTimer
from thalweg.training.session_run_hook import SessionRunHook
from thalweg.variables.variables import global_variables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.control.coordinator import Coordinator
    from thalweg.estimator.estimator import Estimator
    from thalweg.graph.session import Session
    from thalweg.training.session_run_hook import SessionRunContext, SessionRunValues


class InMemoryEvaluatorHook(SessionRunHook):
    """Measures in the process that trains, with the variables of that moment: before the first step, every so many steps, and at the end.

    Parameters
    ----------
    estimator : Estimator
        What is trained.
    input_fn : callable
        What to measure on.
    steps : int, optional
        How many batches; all by default.
    hooks : sequence of SessionRunHook, optional
        Of sessions that measure.
    name : str, optional
        Ends the name of the directory that results are written to.
    every_n_iter : int
        How many steps lie between two measurements.

    Raises
    ------
    ValueError
        If `every_n_iter` is not positive.
    """

    def __init__(self, estimator: Estimator, input_fn: Callable[..., object], steps: int | None = None,
                 hooks: Sequence[SessionRunHook] | None = None, name: str | None = None, every_n_iter: int = 100) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._estimator, self._asked = estimator, (input_fn, steps, hooks, name)
        self._timer, self._runs, self._variables = SecondOrStepTimer(every_steps=every_n_iter), 0, {}

    def begin(self) -> None:
        self._timer.reset()
        self._runs, self._variables = 0, {v.op.name: v for v in global_variables()}

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        self._measure(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._runs += 1
        if self._timer.should_trigger_for_step(self._runs):
            self._measure(run_context.session)

    def end(self, session: Session) -> None:
        self._measure(session)

    def _measure(self, session):
        self._timer.update_last_triggered_step(self._runs)
        values = session.run(self._variables)

        def from_values(scaffold, measuring):
            for variable in global_variables():
                if variable.op.name in values:
                    variable.load(values[variable.op.name], measuring)
        input_fn, steps, hooks, name = self._asked
        self._estimator._evaluate(input_fn, steps, hooks, None, name, from_values)

# SPDX-License-Identifier: Apache-2.0
"""Estimators that train or measure over the replicas of a distribution strategy."""
from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from thalweg import logging as tw_logging, train
from thalweg.distribute import starting_step
from thalweg.distribute.current import get_loss_reduction
from thalweg.distribute.multi_worker import MultiWorkerMirroredStrategy
from thalweg.distribute.strategies import ParameterServerStrategy
from thalweg.distribute.values import PerReplica
from thalweg.estimator.spec import ModeKeys
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys
from thalweg.training.basic_session_run_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from thalweg.training.monitored_session import ChiefSessionCreator, SynchronousSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from thalweg.distribute.inputs import InputContext
    from thalweg.distribute.strategy import Strategy
    from thalweg.estimator.run_config import RunConfig
    from thalweg.estimator.spec import EstimatorSpec
    from thalweg.training.session_run_hook import SessionRunHook

_SAVES_EVERY = 1000  # steps, where a RunConfig counts seconds, which workers do not count alike


def of_training(config: RunConfig) -> Strategy | None:
    """The strategy that a training takes. In a cluster of parameter servers an Estimator puts variables there without one."""
    if config.train_distribute is None or (isinstance(config.train_distribute, ParameterServerStrategy) and config.num_ps_replicas):
        return None
    if isinstance(config.train_distribute, MultiWorkerMirroredStrategy):
        return _configured(config.train_distribute, config)
    if config.num_worker_replicas > 1 or config.num_ps_replicas:
        raise NotImplementedError("in a cluster an Estimator trains without a strategy, or with ParameterServerStrategy: others are not "
                                  "implemented in Thalweg")
    return config.train_distribute


def _configured(strategy, config):
    """The strategy as the worker's that this process is, though it may have been made before TF_CONFIG was there."""
    if strategy.num_replicas_in_sync == 1 and config.num_worker_replicas > 1:
        strategy.configure(None, config.cluster_spec, config.task_type, config.task_id)
    return strategy


def trains_in_step(config: RunConfig) -> bool:
    """Whether this process is one of several workers whose steps are one."""
    return isinstance(config.train_distribute, MultiWorkerMirroredStrategy) and bool(config.cluster_spec)


class _SameStepCreator(ChiefSessionCreator):
    """Restores or initializes where all workers begin at the same step."""

    def __init__(self, strategy, scaffold, master, config, folder):
        super().__init__(scaffold, master, config, folder)
        self._strategy = strategy

    def create_session(self):
        starting_step.check(self._strategy, self._dir, self._master, self._config)
        return super().create_session()


@contextlib.contextmanager
def session_in_step(strategy: Strategy, config: RunConfig, spec: EstimatorSpec, hooks: Sequence[SessionRunHook]) -> Iterator[SynchronousSession]:
    """The session in which a worker trains. All of them save and summarize, since what they save may be merged of all, at the same steps; what
    is of no chief's goes to a folder that is removed at the end."""
    every, kept, is_chief = config.save_checkpoints_steps, config.model_dir, strategy.extended.should_checkpoint
    folder = kept if is_chief else os.path.join(kept, f"tmp_{config.task_type}_{config.task_id}")
    if config.save_checkpoints_secs:
        every = _SAVES_EVERY
        tw_logging.warning("Workers that train in step save every %d steps: they do not count save_checkpoints_secs alike; give "
                           "save_checkpoints_steps instead.", every)
    own = list(hooks)
    if config.log_step_count_steps:
        own.append(StepCounterHook(output_dir=folder, every_n_steps=config.log_step_count_steps))
    if config.save_summary_steps:
        own.append(SummarySaverHook(scaffold=spec.scaffold, save_steps=config.save_summary_steps, output_dir=folder))
    if every:
        own.append(CheckpointSaverHook(folder, save_steps=every, scaffold=spec.scaffold))
    session_config = strategy.update_config_proto(config.session_config)
    try:
        with SynchronousSession(_SameStepCreator(strategy, spec.scaffold, config.master, session_config, kept), own) as session:
            yield session
    finally:
        if not is_chief:
            shutil.rmtree(folder, ignore_errors=True)


def of_measuring(config: RunConfig) -> Strategy | None:
    """The strategy that a measurement takes, which is of this process alone."""
    strategy = config.eval_distribute
    is_alone = isinstance(strategy, MultiWorkerMirroredStrategy) and strategy.num_replicas_in_sync == 1
    if strategy is not None and strategy.extended.experimental_between_graph and not is_alone:
        raise NotImplementedError("an Estimator measures in one process: eval_distribute over the tasks of a cluster is not implemented in Thalweg")
    return strategy


def spec_of_all(strategy: Strategy, make_input: Callable[[InputContext], object], model_fn: Callable[..., EstimatorSpec],
                config: RunConfig) -> EstimatorSpec:
    """What the replicas' model functions give as one: losses merged, all train operations; hooks and scaffold are the first one's."""
    specs = []
    with strategy.scope(), strategy._scaling_losses():
        _for_each(strategy, make_input, lambda features, labels: specs.append(model_fn(features, labels, ModeKeys.TRAIN, config)))
        loss = strategy.reduce(get_loss_reduction(), PerReplica([spec.loss for spec in specs]))
        return specs[0]._replace(loss=loss, train_op=ops.group(*[spec.train_op for spec in specs]))


def measured_by_all(strategy: Strategy, make_input: Callable[[InputContext], object], model_fn: Callable[..., EstimatorSpec], config: RunConfig,
                    metric_tensors: Callable[[EstimatorSpec], tuple[dict[str, Any], list[Any]]]) -> tuple[EstimatorSpec, dict[str, Any], list[Any]]:
    """The first replica's spec, the metrics of all replicas by name, and the updates of each."""
    specs, measured = [], []

    def replica(features, labels):
        specs.append(model_fn(features, labels, ModeKeys.EVAL, config))
        measured.append(metric_tensors(specs[-1]))

    with strategy.scope():
        _for_each(strategy, make_input, replica)
    return specs[0], measured[0][0], [updates for _, updates in measured]


def _for_each(strategy, make_input, replica):
    """replica(features, labels) for each, of batches of its own."""
    train.get_or_create_global_step()
    iterator = strategy.make_input_fn_iterator(lambda context: _dataset(make_input(context)))
    graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    element = iterator.get_next()
    if isinstance(element, (list, tuple)) and len(element) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    strategy.experimental_run_v2(replica, tuple(element) if isinstance(element, (list, tuple)) else (element, None))


def _dataset(given):
    if not hasattr(given, "make_initializable_iterator"):
        raise ValueError(f"Under a distribution strategy input_fn must return a tf.data.Dataset, not {given}")
    return given

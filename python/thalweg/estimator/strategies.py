# SPDX-License-Identifier: Apache-2.0
"""Estimators that train or measure over the replicas of a distribution strategy."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import train
from thalweg.distribute.current import get_loss_reduction
from thalweg.distribute.strategies import ParameterServerStrategy
from thalweg.distribute.values import PerReplica
from thalweg.estimator.spec import ModeKeys
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.distribute.strategy import Strategy
    from thalweg.estimator.run_config import RunConfig
    from thalweg.estimator.spec import EstimatorSpec


def of_training(config: RunConfig) -> Strategy | None:
    """The strategy that a training takes. In a cluster of parameter servers an Estimator puts variables there without one."""
    if config.train_distribute is None or (isinstance(config.train_distribute, ParameterServerStrategy) and config.num_ps_replicas):
        return None
    if config.num_worker_replicas > 1 or config.num_ps_replicas:
        raise NotImplementedError("in a cluster an Estimator trains without a strategy, or with ParameterServerStrategy: others are not "
                                  "implemented in Thalweg")
    return config.train_distribute


def of_measuring(config: RunConfig) -> Strategy | None:
    """The strategy that a measurement takes, which is of this process alone."""
    if config.eval_distribute is not None and config.eval_distribute.extended.experimental_between_graph:
        raise NotImplementedError("an Estimator measures in one process: eval_distribute over the tasks of a cluster is not implemented in Thalweg")
    return config.eval_distribute


def spec_of_all(strategy: Strategy, make_input: Callable[[], object], model_fn: Callable[..., EstimatorSpec], config: RunConfig) -> EstimatorSpec:
    """What the replicas' model functions give as one: losses merged, all train operations; hooks and scaffold are the first one's."""
    specs = []
    with strategy.scope(), strategy._scaling_losses():
        _for_each(strategy, make_input, lambda features, labels: specs.append(model_fn(features, labels, ModeKeys.TRAIN, config)))
        loss = strategy.reduce(get_loss_reduction(), PerReplica([spec.loss for spec in specs]))
        return specs[0]._replace(loss=loss, train_op=ops.group(*[spec.train_op for spec in specs]))


def measured_by_all(strategy: Strategy, make_input: Callable[[], object], model_fn: Callable[..., EstimatorSpec], config: RunConfig,
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
    iterator = strategy.make_input_fn_iterator(lambda context: _dataset(make_input()))
    graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    element = iterator.get_next()
    if isinstance(element, (list, tuple)) and len(element) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    strategy.experimental_run_v2(replica, tuple(element) if isinstance(element, (list, tuple)) else (element, None))


def _dataset(given):
    if not hasattr(given, "make_initializable_iterator"):
        raise ValueError(f"Under a distribution strategy input_fn must return a tf.data.Dataset, not {given}")
    return given

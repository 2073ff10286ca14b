# SPDX-License-Identifier: Apache-2.0
"""What the ready-made models share: optimizers by name, partitioners, heads, checks of features."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import losses, train
from thalweg.estimator.class_heads import MultiClassHead, OlderBinaryClassHead
from thalweg.estimator.heads import Head
from thalweg.estimator.regression_heads import RegressionHead
from thalweg.variables.partitioners import min_max_variable_partitioner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import Partitioner
    from thalweg.training.optimizer import Optimizer

_BY_NAME = {"Adagrad": train.AdagradOptimizer, "Adam": train.AdamOptimizer, "Ftrl": train.FtrlOptimizer,
            "RMSProp": train.RMSPropOptimizer, "SGD": train.GradientDescentOptimizer}


def optimizer_of(given: Any, learning_rate: float) -> Optimizer:
    """An optimizer by its name with a learning rate, what a function gives, or itself."""
    if isinstance(given, str):
        if given not in _BY_NAME:
            raise ValueError(f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(_BY_NAME))}")
        return _BY_NAME[given](learning_rate=learning_rate)
    if callable(given) and not hasattr(given, "minimize"):
        given = given()
    if not hasattr(given, "minimize"):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {given}")
    return given


def large_parts(config: Any) -> Partitioner:
    """Of variables of 64 MiB and more a part for each parameter server."""
    return min_max_variable_partitioner(max_partitions=config.num_ps_replicas if config else 0, min_slice_size=64 << 20)


def class_head(n_classes: int, weight_column: Any, label_vocabulary: Sequence[str] | None, loss_reduction: str) -> Head:
    """The head of a classifier of so many classes."""
    if n_classes == 2:
        return OlderBinaryClassHead(weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)


def regression_head(label_dimension: int, weight_column: Any, loss_reduction: str) -> Head:
    """The head of a regression of so many numbers."""
    return RegressionHead(label_dimension, weight_column, loss_reduction=loss_reduction)


def check_features(features: Mapping[str, Any]) -> None:
    """Features are by name."""
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")


SUM = losses.Reduction.SUM

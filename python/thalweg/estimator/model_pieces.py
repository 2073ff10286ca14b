# SPDX-License-Identifier: Apache-2.0
"""What the ready-made models share: optimizers by name, partitioners, heads, checks of features."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import losses, train
from thalweg.estimator.older_heads import _binary_logistic_or_multi_class_head
from thalweg.estimator.regression_heads import RegressionHead
from thalweg.variables.partitioners import min_max_variable_partitioner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import Partitioner
    from thalweg.estimator.heads import Head
    from thalweg.training.optimizer import Optimizer

_BY_NAME = {"Adagrad": train.AdagradOptimizer, "Adam": train.AdamOptimizer, "Ftrl": train.FtrlOptimizer,
            "RMSProp": train.RMSPropOptimizer, "SGD": train.GradientDescentOptimizer}


def get_optimizer_instance(opt: Any, learning_rate: float | None = None) -> Optimizer:
    """An optimizer by its name with a learning rate, what a function gives, or itself."""
    if isinstance(opt, str):
        if opt not in _BY_NAME:
            raise ValueError(f"Unsupported optimizer name: {opt}. Supported names are: {tuple(sorted(_BY_NAME))}")
        if not learning_rate:
            raise ValueError("learning_rate must be specified when opt is string.")
        return _BY_NAME[opt](learning_rate=learning_rate)
    if callable(opt) and not hasattr(opt, "minimize"):
        opt = opt()
    if not hasattr(opt, "minimize"):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {opt}")
    return opt


def large_parts(config: Any) -> Partitioner:
    """Of variables of 64 MiB and more a part for each parameter server."""
    return min_max_variable_partitioner(max_partitions=config.num_ps_replicas if config else 0, min_slice_size=64 << 20)


def layer_parts(config: Any) -> Partitioner:
    """Of dense layers' variables of 256 KiB and more, parts for the parameter servers."""
    return min_max_variable_partitioner(max_partitions=config.num_ps_replicas if config else 0)


def class_head(n_classes: int, weight_column: Any, label_vocabulary: Sequence[str] | None, loss_reduction: str) -> Head:
    """The head of a classifier of so many classes."""
    return _binary_logistic_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction)


def regression_head(label_dimension: int, weight_column: Any, loss_reduction: str) -> Head:
    """The head of a regression of so many numbers."""
    return RegressionHead(label_dimension, weight_column, loss_reduction)


def check_features(features: Mapping[str, Any]) -> None:
    """Features are by name."""
    if not isinstance(features, dict):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")


SUM = losses.Reduction.SUM

# SPDX-License-Identifier: Apache-2.0
"""Models that look at no feature: what others must be better than."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.estimator.estimator import Estimator
from thalweg.estimator.model_pieces import SUM, check_features, class_head, get_optimizer_instance, regression_head
from thalweg.graph.graph import name_scope
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops
from thalweg.training.global_steps import get_global_step
from thalweg.variables.init_ops import zeros_initializer
from thalweg.variables.variable_scopes import get_variable, variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import PathLike
    from thalweg.estimator.heads import Head
    from thalweg.estimator.run_config import RunConfig

LEARNING_RATE = 0.3


def _rows(features):
    """How many rows a batch has."""
    if not features:
        raise ValueError("features must not be empty: the rows of a batch are counted by one of them")
    first = features[sorted(features)[0]]
    return first.dense_shape[0] if isinstance(first, SparseTensor) else array_ops.shape(first)[0]


def _model_fn(head, optimizer):
    def model_fn(features, labels, mode):
        check_features(features)
        with variable_scope("baseline", values=list(features.values())):
            bias = get_variable("bias", [head.logits_dimension], initializer=zeros_initializer())
            with name_scope("logits"):
                logits = array_ops.tile(array_ops.expand_dims(bias, 0), array_ops.stack([_rows(features), 1]))
        return head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits,
                                          train_op_fn=lambda loss: _step(optimizer, loss))
    return model_fn


def _step(optimizer, loss):
    return get_optimizer_instance(optimizer, LEARNING_RATE).minimize(loss, global_step=get_global_step())


class BaselineEstimator(Estimator):
    """A bias alone, with a head that is given.

    Parameters
    ----------
    head : Head
        Makes loss, predictions and metrics of the logits.
    model_dir, optimizer, config
        As of BaselineClassifier.
    """

    def __init__(self, head: Head, model_dir: PathLike | None = None, optimizer: Any = "Ftrl",
                 config: RunConfig | None = None) -> None:
        super().__init__(_model_fn(head, optimizer), model_dir, config)


class BaselineClassifier(Estimator):
    """A classifier that says of each example how frequent the classes are.

    Parameters
    ----------
    model_dir : str or path, optional
        Where checkpoints and summaries are.
    n_classes : int
        How many classes there are.
    weight_column : str or NumericColumn, optional
        The feature that weighs examples.
    label_vocabulary : sequence of str, optional
        Names of the classes: labels are strings then.
    optimizer : str or Optimizer or callable
        "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD"; an optimizer, or a function that gives one.
    config : RunConfig, optional
        How sessions run and what they save.
    loss_reduction : str
        How the losses of the examples of a batch become one: their sum.
    """

    def __init__(self, model_dir: PathLike | None = None, n_classes: int = 2, weight_column: Any = None,
                 label_vocabulary: Sequence[str] | None = None, optimizer: Any = "Ftrl", config: RunConfig | None = None,
                 loss_reduction: str = SUM) -> None:
        super().__init__(_model_fn(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), optimizer), model_dir, config)


class BaselineRegressor(Estimator):
    """A regression that says of each example the mean of the labels.

    Parameters
    ----------
    label_dimension : int
        How many numbers a label has.
    model_dir, weight_column, optimizer, config, loss_reduction
        As of BaselineClassifier.
    """

    def __init__(self, model_dir: PathLike | None = None, label_dimension: int = 1, weight_column: Any = None, optimizer: Any = "Ftrl",
                 config: RunConfig | None = None, loss_reduction: str = SUM) -> None:
        super().__init__(_model_fn(regression_head(label_dimension, weight_column, loss_reduction), optimizer), model_dir, config)

# SPDX-License-Identifier: Apache-2.0
"""Linear models: LinearClassifier, LinearRegressor, LinearEstimator."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import summary
from thalweg.estimator.estimator import Estimator
from thalweg.estimator.linear_sdca import LinearSDCA, loss_of, sdca_train_op
from thalweg.estimator.model_pieces import SUM, check_features, class_head, get_optimizer_instance, large_parts, regression_head
from thalweg.estimator.spec import ModeKeys
from thalweg.feature_column.linear import sums_of
from thalweg.nn.statistics import zero_fraction
from thalweg.operations import array_ops
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from thalweg.base.typing import Partitioner, PathLike
    from thalweg.estimator.estimator import WarmStartSettings
    from thalweg.estimator.heads import Head
    from thalweg.estimator.run_config import RunConfig
    from thalweg.graph.tensor import Tensor

LEARNING_RATE = 0.2


def linear_logit_fn_builder(units: int, feature_columns: Iterable[Any], sparse_combiner: str = "sum") -> Callable[[Any], Tensor]:
    """A function from features to the logits of a linear model."""
    return lambda features: _logits(features, feature_columns, units, sparse_combiner, "linear_model")[0]


def _logits(features, feature_columns, units, sparse_combiner, scope):
    """The logits, {column: its variables, "bias": those of the bias} and {dense column: its numbers}."""
    variables, numbers = {}, {}
    logits = sums_of(features, feature_columns, units, sparse_combiner, cols_to_vars=variables, scope=scope, cols_to_numbers=numbers)
    bias = variables["bias"][0]
    if units > 1:
        summary.histogram("bias", bias)
    else:
        summary.scalar("bias", bias[0])
    weights = [array_ops.reshape(v, [-1]) for column, parts in variables.items() if column != "bias" for v in parts]
    summary.scalar("fraction_of_zero_weights", zero_fraction(array_ops.concat(weights, 0)))
    return logits, variables, numbers


def _model_fn(head, columns, optimizer, partitioner, combiner, scope="linear_model"):
    sdca_loss = loss_of(head, combiner) if isinstance(optimizer, LinearSDCA) else None

    def model_fn(features, labels, mode, config):
        check_features(features)
        with variable_scope("linear", values=list(features.values()), partitioner=partitioner or large_parts(config),
                            use_resource=True):
            logits, variables, numbers = _logits(features, columns, head.logits_dimension, combiner, scope)
            if sdca_loss and mode == ModeKeys.TRAIN:
                step = sdca_train_op(optimizer, sdca_loss, head, features, labels, logits, variables, numbers)
                how = {"train_op_fn": lambda _: step}
            elif sdca_loss:
                how = {}
            else:
                how = {"optimizer": get_optimizer_instance(optimizer, LEARNING_RATE)}
            return head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits, **how)
    return model_fn


class LinearEstimator(Estimator):
    """A linear model with a head that is given.

    Parameters
    ----------
    head : Head
        Makes loss, predictions and metrics of the logits.
    feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner
        As of LinearClassifier.
    """

    def __init__(self, head: Head, feature_columns: Sequence[Any], model_dir: PathLike | None = None, optimizer: Any = "Ftrl",
                 config: RunConfig | None = None, partitioner: Partitioner | None = None, sparse_combiner: str = "sum") -> None:
        scope = "linear/linear_model" if isinstance(optimizer, LinearSDCA) else "linear_model"  # as 1.15 names its variables
        super().__init__(_model_fn(head, tuple(feature_columns or []), optimizer, partitioner, sparse_combiner, scope), model_dir, config)


class LinearClassifier(Estimator):
    """A linear classifier of two classes or more.

    Parameters
    ----------
    feature_columns : sequence of FeatureColumn
        What the model takes of the features, dense or of categories.
    model_dir : str or path, optional
        Where checkpoints and summaries are.
    n_classes : int
        How many classes there are.
    weight_column : str or NumericColumn, optional
        The feature that weighs examples.
    label_vocabulary : sequence of str, optional
        Names of the classes: labels are strings then.
    optimizer : str or Optimizer or callable
        "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD"; an optimizer, or a function that gives one. Or a
        LinearSDCA.
    config : RunConfig, optional
        How sessions run and what they save.
    partitioner : callable, optional
        Of the variables.
    warm_start_from : str or WarmStartSettings, optional
        A checkpoint that training begins from.
    loss_reduction : str
        How the losses of the examples of a batch become one: their sum.
    sparse_combiner : str
        "sum", "mean" or "sqrtn" of the weights where a row has several categories of a column.

    Examples
    --------
    >>> age = tw.feature_column.numeric_column("age")
    >>> model = tw.estimator.LinearClassifier([tw.feature_column.bucketized_column(age, [18.0])])
    >>> data = tw.estimator.inputs.numpy_input_fn({"age": np.array([5.0, 30.0])}, np.array([0, 1]), num_epochs=None, shuffle=False)
    >>> trained = model.train(data, steps=20)
    >>> asked = tw.estimator.inputs.numpy_input_fn({"age": np.array([7.0, 40.0])}, shuffle=False)
    >>> [int(row["class_ids"][0]) for row in model.predict(asked)]
    [0, 1]
    """

    def __init__(self, feature_columns: Sequence[Any], model_dir: PathLike | None = None, n_classes: int = 2,
                 weight_column: Any = None, label_vocabulary: Sequence[str] | None = None, optimizer: Any = "Ftrl",
                 config: RunConfig | None = None, partitioner: Partitioner | None = None,
                 warm_start_from: str | WarmStartSettings | None = None, loss_reduction: str = SUM,
                 sparse_combiner: str = "sum") -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(_model_fn(head, tuple(feature_columns or []), optimizer, partitioner, sparse_combiner), model_dir, config,
                         warm_start_from=warm_start_from)


class LinearRegressor(Estimator):
    """A linear regression.

    Parameters
    ----------
    label_dimension : int
        How many numbers a label has.
    feature_columns, model_dir, weight_column, optimizer, config, partitioner, warm_start_from, loss_reduction, sparse_combiner
        As of LinearClassifier.
    """

    def __init__(self, feature_columns: Sequence[Any], model_dir: PathLike | None = None, label_dimension: int = 1,
                 weight_column: Any = None, optimizer: Any = "Ftrl", config: RunConfig | None = None,
                 partitioner: Partitioner | None = None, warm_start_from: str | WarmStartSettings | None = None,
                 loss_reduction: str = SUM, sparse_combiner: str = "sum") -> None:
        head = regression_head(label_dimension, weight_column, loss_reduction)
        super().__init__(_model_fn(head, tuple(feature_columns or []), optimizer, partitioner, sparse_combiner), model_dir, config,
                         warm_start_from=warm_start_from)

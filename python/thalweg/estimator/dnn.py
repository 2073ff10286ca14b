# SPDX-License-Identifier: Apache-2.0
"""Networks of dense layers: DNNClassifier, DNNRegressor, DNNEstimator."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import layers, summary
from thalweg.estimator.estimator import Estimator
from thalweg.estimator.model_pieces import SUM, check_features, class_head, get_optimizer_instance, large_parts, layer_parts, regression_head
from thalweg.estimator.spec import ModeKeys
from thalweg.feature_column.layer_of_columns import layer_of
from thalweg.nn.activations import relu
from thalweg.nn.statistics import zero_fraction
from thalweg.variables.init_ops import glorot_uniform_initializer
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from thalweg.base.typing import Activation, Partitioner, PathLike
    from thalweg.estimator.estimator import WarmStartSettings
    from thalweg.estimator.heads import Head
    from thalweg.estimator.run_config import RunConfig
    from thalweg.graph.tensor import Tensor

LEARNING_RATE = 0.05
_MOMENTUM = 0.999  # of normalized layers


def _dense(net, units, activation_fn, scope):
    """A dense layer whose variables are in the scope itself."""
    return layers.Dense(units, activation=activation_fn, kernel_initializer=glorot_uniform_initializer(), _scope=scope)(net)


def _summarize(value, name):
    summary.scalar(f"{name}/fraction_of_zero_values", zero_fraction(value))
    summary.histogram(f"{name}/activation", value)


def dnn_logit_fn_builder(units: int, hidden_units: Sequence[int], feature_columns: Iterable[Any], activation_fn: Activation | None,
                         dropout: float | None, input_layer_partitioner: Partitioner | None,
                         batch_norm: bool) -> Callable[..., Tensor]:
    """A function from features and a mode to the logits of a network of dense layers."""
    def dnn_logit_fn(features, mode):
        with variable_scope("input_from_feature_columns", values=list(features.values()), partitioner=input_layer_partitioner):
            net = layer_of(features, feature_columns, scope="input_layer")
        for i, count in enumerate(hidden_units):
            with variable_scope(f"hiddenlayer_{i}", values=[net]) as scope:
                net = _dense(net, count, activation_fn, scope)
                if dropout is not None and mode == ModeKeys.TRAIN:
                    net = layers.dropout(net, rate=dropout, training=True)
                if batch_norm:
                    net = layers.batch_normalization(net, momentum=_MOMENTUM, training=mode == ModeKeys.TRAIN, name=f"batchnorm_{i}")
            _summarize(net, scope.name)
        with variable_scope("logits", values=[net]) as scope:
            logits = _dense(net, units, None, scope)
        _summarize(logits, scope.name)
        return logits
    return dnn_logit_fn


def _model_fn(head, hidden_units, columns, optimizer, activation_fn, dropout, partitioner, batch_norm):
    def model_fn(features, labels, mode, config):
        check_features(features)
        with variable_scope("dnn", values=list(features.values()), partitioner=layer_parts(config), use_resource=True):
            logits = dnn_logit_fn_builder(head.logits_dimension, hidden_units, columns, activation_fn, dropout,
                                          partitioner or large_parts(config), batch_norm)(features, mode)
            return head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits,
                                              optimizer=get_optimizer_instance(optimizer, LEARNING_RATE))
    return model_fn


class DNNEstimator(Estimator):
    """A network of dense layers with a head that is given.

    Parameters
    ----------
    head : Head
        Makes loss, predictions and metrics of the logits.
    hidden_units, feature_columns, model_dir, optimizer, activation_fn, dropout, input_layer_partitioner, config, warm_start_from, batch_norm
        As of DNNClassifier.
    """

    def __init__(self, head: Head, hidden_units: Sequence[int], feature_columns: Sequence[Any], model_dir: PathLike | None = None,
                 optimizer: Any = "Adagrad", activation_fn: Activation | None = relu, dropout: float | None = None,
                 input_layer_partitioner: Partitioner | None = None, config: RunConfig | None = None,
                 warm_start_from: str | WarmStartSettings | None = None, batch_norm: bool = False) -> None:
        made = _model_fn(head, hidden_units, tuple(feature_columns or []), optimizer, activation_fn, dropout, input_layer_partitioner,
                         batch_norm)
        super().__init__(made, model_dir, config, warm_start_from=warm_start_from)


class DNNClassifier(Estimator):
    """A network of dense layers that classifies.

    Parameters
    ----------
    hidden_units : sequence of int
        Widths of the hidden layers.
    feature_columns : sequence of DenseColumn
        What the network takes of the features.
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
    activation_fn : callable, optional
        Of hidden layers.
    dropout : float, optional
        Which share of a hidden layer's values is dropped in training.
    input_layer_partitioner : callable, optional
        Of the embeddings and weights of columns; dense layers have parts of 256 KiB and more for each parameter server.
    config : RunConfig, optional
        How sessions run and what they save.
    warm_start_from : str or WarmStartSettings, optional
        A checkpoint that training begins from.
    loss_reduction : str
        How the losses of the examples of a batch become one: their sum.
    batch_norm : bool
        Whether hidden layers are normalized.

    Examples
    --------
    >>> model = tw.estimator.DNNClassifier([8], [tw.feature_column.numeric_column("x", shape=(2,))],
    ...                                    config=tw.estimator.RunConfig(tf_random_seed=1))
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    >>> data = tw.estimator.inputs.numpy_input_fn({"x": rows}, np.array([0, 1]), num_epochs=None, shuffle=False)
    >>> trained = model.train(data, steps=50)
    >>> [int(row["class_ids"][0]) for row in model.predict(tw.estimator.inputs.numpy_input_fn({"x": rows}, shuffle=False))]
    [0, 1]
    """

    def __init__(self, hidden_units: Sequence[int], feature_columns: Sequence[Any], model_dir: PathLike | None = None,
                 n_classes: int = 2, weight_column: Any = None, label_vocabulary: Sequence[str] | None = None,
                 optimizer: Any = "Adagrad", activation_fn: Activation | None = relu, dropout: float | None = None,
                 input_layer_partitioner: Partitioner | None = None, config: RunConfig | None = None,
                 warm_start_from: str | WarmStartSettings | None = None, loss_reduction: str = SUM, batch_norm: bool = False) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        made = _model_fn(head, hidden_units, tuple(feature_columns or []), optimizer, activation_fn, dropout, input_layer_partitioner,
                         batch_norm)
        super().__init__(made, model_dir, config, warm_start_from=warm_start_from)


class DNNRegressor(Estimator):
    """A network of dense layers for a regression.

    Parameters
    ----------
    label_dimension : int
        How many numbers a label has.
    hidden_units, feature_columns, model_dir, weight_column, optimizer, activation_fn, dropout, input_layer_partitioner, config
        As of DNNClassifier.
    warm_start_from, loss_reduction, batch_norm
        As of DNNClassifier.
    """

    def __init__(self, hidden_units: Sequence[int], feature_columns: Sequence[Any], model_dir: PathLike | None = None,
                 label_dimension: int = 1, weight_column: Any = None, optimizer: Any = "Adagrad",
                 activation_fn: Activation | None = relu, dropout: float | None = None,
                 input_layer_partitioner: Partitioner | None = None, config: RunConfig | None = None,
                 warm_start_from: str | WarmStartSettings | None = None, loss_reduction: str = SUM, batch_norm: bool = False) -> None:
        head = regression_head(label_dimension, weight_column, loss_reduction)
        made = _model_fn(head, hidden_units, tuple(feature_columns or []), optimizer, activation_fn, dropout, input_layer_partitioner,
                         batch_norm)
        super().__init__(made, model_dir, config, warm_start_from=warm_start_from)

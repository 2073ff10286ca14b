# SPDX-License-Identifier: Apache-2.0
"""Wide and deep models: a linear model and a network of dense layers, trained together."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.estimator.dnn import dnn_logit_fn_builder
from thalweg.estimator.estimator import Estimator
from thalweg.estimator.linear import linear_logit_fn_builder
from thalweg.estimator.model_pieces import SUM, check_features, class_head, get_optimizer_instance, large_parts, layer_parts, regression_head
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.graph.ops import group
from thalweg.nn.activations import relu
from thalweg.training.global_steps import get_global_step
from thalweg.variables.variable_scopes import variable_scope
from thalweg.variables.variables import assign_add

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import Activation, Partitioner, PathLike
    from thalweg.estimator.estimator import WarmStartSettings
    from thalweg.estimator.heads import Head
    from thalweg.estimator.run_config import RunConfig

DNN_LEARNING_RATE, LINEAR_LEARNING_RATE = 0.001, 0.005


class _Parts:
    """The two models and how they are trained."""

    def __init__(self, linear_columns, linear_optimizer, combiner, dnn_columns, dnn_optimizer, hidden_units, activation_fn, dropout,
                 partitioner, batch_norm):
        self.linear_columns, self.dnn_columns = tuple(linear_columns or []), tuple(dnn_columns or [])
        if not (self.linear_columns or self.dnn_columns):
            raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
        if self.dnn_columns and not hidden_units:
            raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
        self.linear_optimizer, self.combiner, self.dnn_optimizer = linear_optimizer, combiner, dnn_optimizer
        self.hidden_units, self.activation_fn, self.dropout = hidden_units, activation_fn, dropout
        self.partitioner, self.batch_norm = partitioner, batch_norm

    def logits(self, features, mode, config, units):
        """{scope: logits} of each model that there is."""
        found, values, parts = {}, list(features.values()), self.partitioner or large_parts(config)
        if self.dnn_columns:
            with variable_scope("dnn", values=values, partitioner=layer_parts(config), use_resource=True):
                found["dnn"] = dnn_logit_fn_builder(units, self.hidden_units, self.dnn_columns, self.activation_fn, self.dropout,
                                                    parts, self.batch_norm)(features, mode)
        if self.linear_columns:
            with variable_scope("linear", values=values, partitioner=parts, use_resource=True):
                found["linear"] = linear_logit_fn_builder(units, self.linear_columns, self.combiner)(features)
        return found

    def step(self, loss, scopes):
        """Each model's variables by its own optimizer, then the step is counted."""
        made = {"dnn": lambda: get_optimizer_instance(self.dnn_optimizer, DNN_LEARNING_RATE),
                "linear": lambda: get_optimizer_instance(self.linear_optimizer, LINEAR_LEARNING_RATE)}
        steps = [made[scope]().minimize(loss, var_list=graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=scope))
                 for scope in scopes]
        counter = get_global_step()
        with graph.control_dependencies([group(*steps)]), graph.colocate_with(counter.op):
            return assign_add(counter, 1).op

    def model_fn(self, head):
        """The model function with this head."""
        def model_fn(features, labels, mode, config):
            check_features(features)
            parts = self.logits(features, mode, config, head.logits_dimension)
            logits = parts["dnn"] + parts["linear"] if len(parts) == 2 else next(iter(parts.values()))
            return head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits,
                                              train_op_fn=lambda loss: self.step(loss, list(parts)))
        return model_fn


class DNNLinearCombinedEstimator(Estimator):
    """A linear model and a network of dense layers with a head that is given.

    Parameters
    ----------
    head : Head
        Makes loss, predictions and metrics of the logits.
    model_dir, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn
        As of DNNLinearCombinedClassifier.
    dnn_dropout, input_layer_partitioner, config, linear_sparse_combiner
        As of DNNLinearCombinedClassifier.
    """

    def __init__(self, head: Head, model_dir: PathLike | None = None, linear_feature_columns: Sequence[Any] | None = None,
                 linear_optimizer: Any = "Ftrl", dnn_feature_columns: Sequence[Any] | None = None, dnn_optimizer: Any = "Adagrad",
                 dnn_hidden_units: Sequence[int] | None = None, dnn_activation_fn: Activation | None = relu,
                 dnn_dropout: float | None = None, input_layer_partitioner: Partitioner | None = None,
                 config: RunConfig | None = None, linear_sparse_combiner: str = "sum") -> None:
        parts = _Parts(linear_feature_columns, linear_optimizer, linear_sparse_combiner, dnn_feature_columns, dnn_optimizer,
                       dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner, False)
        super().__init__(parts.model_fn(head), model_dir, config)


class DNNLinearCombinedClassifier(Estimator):
    """A classifier that adds a linear model and a network of dense layers: wide and deep.

    Parameters
    ----------
    model_dir : str or path, optional
        Where checkpoints and summaries are.
    linear_feature_columns : sequence of FeatureColumn, optional
        What the linear model takes of the features.
    linear_optimizer : str or Optimizer or callable
        Of the linear model.
    dnn_feature_columns : sequence of DenseColumn, optional
        What the network takes of the features.
    dnn_optimizer : str or Optimizer or callable
        Of the network.
    dnn_hidden_units : sequence of int, optional
        Widths of the hidden layers.
    dnn_activation_fn : callable, optional
        Of hidden layers.
    dnn_dropout : float, optional
        Which share of a hidden layer's values is dropped in training.
    n_classes : int
        How many classes there are.
    weight_column : str or NumericColumn, optional
        The feature that weighs examples.
    label_vocabulary : sequence of str, optional
        Names of the classes: labels are strings then.
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
    linear_sparse_combiner : str
        "sum", "mean" or "sqrtn" of the weights where a row has several categories of a column.

    Raises
    ------
    ValueError
        If there are no columns, or columns of a network without layers.
    """

    def __init__(self, model_dir: PathLike | None = None, linear_feature_columns: Sequence[Any] | None = None,
                 linear_optimizer: Any = "Ftrl", dnn_feature_columns: Sequence[Any] | None = None, dnn_optimizer: Any = "Adagrad",
                 dnn_hidden_units: Sequence[int] | None = None, dnn_activation_fn: Activation | None = relu,
                 dnn_dropout: float | None = None, n_classes: int = 2, weight_column: Any = None,
                 label_vocabulary: Sequence[str] | None = None, input_layer_partitioner: Partitioner | None = None,
                 config: RunConfig | None = None, warm_start_from: str | WarmStartSettings | None = None, loss_reduction: str = SUM,
                 batch_norm: bool = False, linear_sparse_combiner: str = "sum") -> None:
        parts = _Parts(linear_feature_columns, linear_optimizer, linear_sparse_combiner, dnn_feature_columns, dnn_optimizer,
                       dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner, batch_norm)
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(parts.model_fn(head), model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedRegressor(Estimator):
    """A regression that adds a linear model and a network of dense layers.

    Parameters
    ----------
    label_dimension : int
        How many numbers a label has.
    model_dir, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn
        As of DNNLinearCombinedClassifier.
    dnn_dropout, weight_column, input_layer_partitioner, config, warm_start_from, loss_reduction, batch_norm, linear_sparse_combiner
        As of DNNLinearCombinedClassifier.
    """

    def __init__(self, model_dir: PathLike | None = None, linear_feature_columns: Sequence[Any] | None = None,
                 linear_optimizer: Any = "Ftrl", dnn_feature_columns: Sequence[Any] | None = None, dnn_optimizer: Any = "Adagrad",
                 dnn_hidden_units: Sequence[int] | None = None, dnn_activation_fn: Activation | None = relu,
                 dnn_dropout: float | None = None, label_dimension: int = 1, weight_column: Any = None,
                 input_layer_partitioner: Partitioner | None = None, config: RunConfig | None = None,
                 warm_start_from: str | WarmStartSettings | None = None, loss_reduction: str = SUM, batch_norm: bool = False,
                 linear_sparse_combiner: str = "sum") -> None:
        parts = _Parts(linear_feature_columns, linear_optimizer, linear_sparse_combiner, dnn_feature_columns, dnn_optimizer,
                       dnn_hidden_units, dnn_activation_fn, dnn_dropout, input_layer_partitioner, batch_norm)
        head = regression_head(label_dimension, weight_column, loss_reduction)
        super().__init__(parts.model_fn(head), model_dir, config, warm_start_from=warm_start_from)

# SPDX-License-Identifier: Apache-2.0
"""Boosted trees: BoostedTreesClassifier, BoostedTreesRegressor, BoostedTreesEstimator."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg import dtypes, losses, train
from thalweg.control.control_flow import cond
from thalweg.estimator import tree_explanations
from thalweg.estimator.class_heads import BinaryClassHead
from thalweg.estimator.estimator import Estimator
from thalweg.estimator.model_pieces import check_features
from thalweg.estimator.older_heads import _binary_logistic_or_multi_class_head as class_head, regression_head
from thalweg.estimator.regression_heads import RegressionHead
from thalweg.estimator.spec import ModeKeys
from thalweg.estimator.tree_features import TreeFeatures, names_of_features
from thalweg.estimator.tree_resources import PruningMode, TreeEnsemble
from thalweg.graph.graph import colocate_with, control_dependencies, name_scope
from thalweg.graph.ops import apply, convert_to_tensor, group
from thalweg.operations import array_ops, gradient_ops, math_ops
from thalweg.operations.data_flow_ops import ConditionalAccumulator
from thalweg.training.global_steps import get_global_step
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunHook
from thalweg.variables import variables
from thalweg.variables.variable_scopes import get_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from thalweg.base.typing import PathLike
    from thalweg.estimator.heads import Head
    from thalweg.estimator.run_config import RunConfig

_Terms = collections.namedtuple("_Terms", ["n_trees", "max_depth", "learning_rate", "l1", "l2", "tree_complexity", "min_node_weight",
                                           "center_bias", "pruning_mode", "batches_per_layer", "epsilon", "weight_column"])
_MEAN = losses.Reduction.SUM_OVER_BATCH_SIZE
_EXPLANATION = "boosted_trees_explanation"  # among predictions: DebugOutput messages


class _StopWhenGrown(SessionRunHook):
    """Stops when all trees are grown, or when nothing has grown for as many layers as all trees have."""

    def __init__(self, ensemble, step, terms):
        with control_dependencies([step]):
            _, _, finalized, attempted, _ = ensemble.get_states()
        self._states, self._terms = [finalized, attempted], terms

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the states after the step."""
        return SessionRunArgs(self._states)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends the training."""
        finalized, attempted = run_values.results
        if finalized >= self._terms.n_trees or attempted > 2 * self._terms.n_trees * self._terms.max_depth:
            run_context.request_stop()


class _Grower:
    """Makes the step that grows a layer of the ensemble. Of several workers all give their batches, and the chief alone grows."""

    def __init__(self, ensemble, terms, features, config):
        self._ensemble, self._terms, self._is_chief = ensemble, terms, config.is_chief
        self._is_direct = terms.batches_per_layer == 1 and config.num_worker_replicas <= 1
        self._splits = max((1 << terms.max_depth) - 1, 1)
        self._features, self._buckets = features, features.buckets
        counts = sorted({b.count for b in self._buckets})
        self._groups = [(count, [i for i, b in enumerate(self._buckets) if b.count == count]) for count in counts]
        self.stamp, _, _, _, self._range = ensemble.get_states()

    def step(self, gradients: Any, hessians: Any, node_ids: Any, global_step: Any) -> Any:
        """An operation: one of n_batches_per_layer batches. Those that only make boundaries of numbers are no global steps."""
        summaries = [apply("BoostedTreesMakeStatsSummary", [node_ids, gradients, hessians, [self._buckets[i].values for i in members]],
                           {"max_splits": self._splits, "num_buckets": count}) for count, members in self._groups]
        # TensorFlow's checkpoints have both variables in any case.
        centers = get_variable("boosted_trees/center_bias_needed", initializer=self._terms.center_bias, trainable=False)
        ready = get_variable("boosted_trees/are_boundaries_ready", initializer=False, trainable=False)
        grow = self._layer(gradients, hessians, summaries, centers)

        def counted():
            with control_dependencies([grow()]):
                return variables.assign_add(global_step, 1).op
        if self._features.quantiles is None:
            return counted()
        bound = self._step_of([[]], lambda _: self._bound(ready), "quantiles", self._features.quantiles.resource_handle)

        def gathered():
            with control_dependencies([self._features.add_summaries()]):
                return bound([array_ops.identity(convert_to_tensor(0.0))])
        return cond(ready, lambda: _after(counted()), lambda: _after(gathered())).op

    def _layer(self, gradients, hessians, summaries, centers):
        """A function that makes the operation by which a layer grows, or the bias moves."""
        grow = self._step_of([s.shape for s in summaries], self._grow, "stats", self._ensemble.resource_handle)
        if not self._terms.center_bias:
            return lambda: grow(summaries)
        means = [math_ops.reduce_mean(t, 0, keepdims=True) for t in (gradients, hessians)]
        center = self._step_of([m.shape for m in means], lambda values: self._center(values, centers), "bias",
                               self._ensemble.resource_handle)
        return lambda: cond(centers, lambda: _after(center(means)), lambda: _after(grow(summaries))).op

    def _step_of(self, shapes, done, name, beside):
        """A function of values, of these shapes, that makes the step: done(values), or, of several batches, done(their means) after the
        last of them.

        Batches of an ensemble that has grown since are dropped."""
        if self._is_direct:
            return done
        with colocate_with(beside.op):  # one for all workers
            kept = [ConditionalAccumulator(dtypes.float32, shape, shared_name=f"{name}_{i}") for i, shape in enumerate(shapes)]

        def make(values):
            given = [a.apply_grad(v, self.stamp) for a, v in zip(kept, values)]
            if not self._is_chief:
                return group(*given)
            with control_dependencies(given):
                enough = apply("GreaterEqual", [_least([a.num_accumulated() for a in kept]), self._terms.batches_per_layer])

                return cond(enough, of_all, lambda: convert_to_tensor(False)).op

        def of_all():
            with control_dependencies([done([a.take_grad(1) for a in kept])]):
                return _after(group(*[a.set_global_step(self.stamp + 1) for a in kept]))
        return make

    def _bound(self, ready):
        """Boundaries of all that the streams have."""
        with control_dependencies([self._features.quantiles.flush()]):
            return variables.assign(ready, True).op

    def _center(self, means, centers):
        terms = self._terms
        goes_on = apply("BoostedTreesCenterBias", [self._ensemble.resource_handle, *means, terms.l1, terms.l2])
        return variables.assign(centers, goes_on).op

    def _grow(self, summaries):
        terms = self._terms
        by_feature = {}
        for (_, members), summary in zip(self._groups, summaries):
            features = array_ops.unstack(summary, num=len(members), axis=0)
            found = apply("BoostedTreesCalculateBestGainsPerFeature",
                          [self._range, features, terms.l1, terms.l2, terms.tree_complexity, terms.min_node_weight],
                          {"max_splits": self._splits})
            for at, i in enumerate(members):
                by_feature[i] = [each[at] for each in found]
        order = sorted(by_feature)
        lists = [[by_feature[i][k] for i in order] for k in range(5)]
        return apply("BoostedTreesUpdateEnsemble",
                     [self._ensemble.resource_handle, order, *lists, terms.max_depth, terms.learning_rate],
                     {"pruning_mode": terms.pruning_mode})


def _after(operation):
    """True, once the operation has run: what a branch gives."""
    with control_dependencies([operation]):
        return array_ops.identity(convert_to_tensor(True))


def _least(numbers):
    found = numbers[0]
    for number in numbers[1:]:
        found = apply("Minimum", [found, number])
    return found


def _derivatives(loss, logits):
    """First and second derivatives of the loss by each logit."""
    gradients = gradient_ops.gradients(loss, logits)[0]
    return gradients, gradient_ops.gradients(gradients, logits)[0]


def _model_fn(head, columns, terms, explains=False):
    if head.logits_dimension != 1:
        raise ValueError(f"For now only one dimensional outputs are supported: logits_dimension is {head.logits_dimension}.")

    def model_fn(features, labels, mode, config):
        check_features(features)
        with name_scope("boosted_trees") as scope:
            ensemble = TreeEnsemble(name=scope)
            parts = TreeFeatures(features, columns, terms.epsilon, terms.weight_column)
            values = [b.values for b in parts.buckets]
            if mode != ModeKeys.TRAIN:
                logits = apply("BoostedTreesPredict", [ensemble.resource_handle, values], {"logits_dimension": 1})
                spec = head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits)
                if not explains:
                    return spec
                paths = apply("BoostedTreesExampleDebugOutputs", [ensemble.resource_handle, values], {"logits_dimension": 1})
                return spec._replace(predictions={**spec.predictions, _EXPLANATION: paths})
            nowhere = array_ops.zeros_like(values[0])
            grower = _Grower(ensemble, terms, parts, config)
            with control_dependencies([grower.stamp]):  # else another worker's growth between the two would not be seen
                logits, _, node_ids = apply("BoostedTreesTrainingPredict", [ensemble.resource_handle, nowhere, nowhere - 1, values],
                                            {"logits_dimension": 1})

            def train_op_fn(loss):
                gradients, hessians = _derivatives(loss, logits)
                return grower.step(gradients, hessians, node_ids, get_global_step())
            spec = head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits, train_op_fn=train_op_fn)
            return spec._replace(training_hooks=(*spec.training_hooks, _StopWhenGrown(ensemble, spec.train_op, terms)))
    return model_fn


def _checked(n_batches_per_layer, n_trees, max_depth, pruning_mode, **numbers):
    if n_batches_per_layer < 1 or n_trees < 1 or max_depth < 1:
        raise ValueError(f"n_batches_per_layer, n_trees and max_depth must be positive, got {n_batches_per_layer}, {n_trees}, {max_depth}")
    return _Terms(n_trees=n_trees, max_depth=max_depth, pruning_mode=PruningMode.from_str(pruning_mode),
                  batches_per_layer=n_batches_per_layer, **numbers)


class BoostedTreesEstimator(Estimator):
    """Boosted trees with a head that is given, of one logit.

    Parameters
    ----------
    feature_columns : sequence of NumericColumn, BucketizedColumn or IndicatorColumn
        What the trees split by. The buckets of a NumericColumn are quantiles of the first n_batches_per_layer batches.
    n_batches_per_layer : int
        From how many batches a layer of a tree is grown.
    head : Head
        Makes loss, predictions and metrics of the logits.
    model_dir : str or path, optional
        Where checkpoints and summaries are.
    weight_column : str or NumericColumn, optional
        The feature that weighs examples in quantiles. The head has its own, which weighs their losses.
    n_trees, max_depth : int
        How many trees there are, and how many layers each has.
    learning_rate : float
        By what every tree is shrunk.
    l1_regularization, l2_regularization : float
        What large leaves cost.
    tree_complexity : float
        What a leaf costs.
    min_node_weight : float
        How large the sum of the hessians of a node's examples must be for it to be split.
    config : RunConfig, optional
        How sessions run and what they save.
    center_bias : bool
        Whether a bias is found first.
    pruning_mode : str
        "none", "pre" or "post": when splits that gain nothing are taken back.
    quantile_sketch_epsilon : float
        By what share of all examples the rank of a NumericColumn's boundary may be wrong.
    """

    def __init__(self, feature_columns: Sequence[Any], n_batches_per_layer: int, head: Head, model_dir: PathLike | None = None,
                 weight_column: Any = None, n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1,
                 l1_regularization: float = 0.0, l2_regularization: float = 0.0, tree_complexity: float = 0.0,
                 min_node_weight: float = 0.0, config: RunConfig | None = None, center_bias: bool = False, pruning_mode: str = "none",
                 quantile_sketch_epsilon: float = 0.01) -> None:
        terms = _checked(n_batches_per_layer, n_trees, max_depth, pruning_mode, learning_rate=learning_rate, l1=l1_regularization,
                         l2=l2_regularization, tree_complexity=tree_complexity, min_node_weight=min_node_weight, center_bias=center_bias,
                         epsilon=quantile_sketch_epsilon, weight_column=weight_column)
        self._head, self._columns, self._terms = head, tuple(feature_columns), terms
        super().__init__(_model_fn(head, self._columns, terms), model_dir, config)

    def experimental_predict_with_explanations(self, input_fn: Callable[..., object], predict_keys: Sequence[str] | None = None,
                                               hooks: Sequence[SessionRunHook] | None = None,
                                               checkpoint_path: PathLike | None = None) -> Iterator[dict[str, Any]]:
        """Yields the predictions of each row, each with what the features add to it.

        Parameters
        ----------
        input_fn, hooks, checkpoint_path
            As of predict.
        predict_keys : sequence of str, optional
            Which predictions are wanted; `bias` and `dfc` come in any case.

        Yields
        ------
        dict
            The predictions; `bias`, the prediction for who is not looked at, a float; `dfc`, an OrderedDict from the names of columns to
            what each adds, the largest first. Bias and contributions sum to the prediction: the second class's probability, or the number.

        Raises
        ------
        ValueError
            If the trees have no centered bias, are not grown, or have a head of another kind.
        """
        if not self._terms.center_bias:
            raise ValueError("center_bias must be enabled during estimator instantiation when using experimental_predict_with_explanations.")
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            raise ValueError(f"There is nothing to explain: no checkpoint is in {self.model_dir}. Train first.")
        if isinstance(self._head, BinaryClassHead):
            activation = tree_explanations.sigmoid
        elif type(self._head) is RegressionHead:
            activation = tree_explanations.identity
        else:
            raise ValueError(f"Predictions of a {type(self._head).__name__} are not explained: only those of two classes, and of a regression.")
        names = names_of_features(self._columns)
        explaining = Estimator(_model_fn(self._head, self._columns, self._terms, explains=True), self.model_dir, self.config)
        keys = None if predict_keys is None else [*predict_keys, _EXPLANATION]
        for row in explaining.predict(input_fn, keys, hooks, path):
            row["bias"], row["dfc"] = tree_explanations.contributions(row.pop(_EXPLANATION), names, activation)
            yield row

    def experimental_feature_importances(self, normalize: bool = False) -> dict[str, float]:
        """What the splits of each column gain in the latest checkpoint, an OrderedDict, the largest first.

        Parameters
        ----------
        normalize : bool
            Whether they sum to one.

        Raises
        ------
        ValueError
            If there is no checkpoint, or nothing by which to normalize.
        """
        path = self.latest_checkpoint()
        if path is None:
            raise ValueError(f"There are no importances: no checkpoint is in {self.model_dir}. Train first.")
        serialized = train.load_variable(path, "boosted_trees:0_serialized")
        return tree_explanations.importances(serialized, names_of_features(self._columns), normalize)


class BoostedTreesClassifier(BoostedTreesEstimator):
    """Boosted trees that tell two classes apart.

    Parameters
    ----------
    feature_columns, n_batches_per_layer, model_dir, n_trees, max_depth, learning_rate, l1_regularization, l2_regularization
        As of BoostedTreesEstimator.
    tree_complexity, min_node_weight, config, center_bias, pruning_mode, quantile_sketch_epsilon
        As of BoostedTreesEstimator.
    n_classes : int
        Two.
    weight_column : str or NumericColumn, optional
        The feature that weighs examples.
    label_vocabulary : sequence of str, optional
        Names of the classes: labels are strings then.
    train_in_memory : bool
        Of no effect: contrib.estimator.boosted_trees_classifier_train_in_memory keeps examples.
    """

    def __init__(self, feature_columns: Sequence[Any], n_batches_per_layer: int, model_dir: PathLike | None = None, n_classes: int = 2,
                 weight_column: Any = None, label_vocabulary: Sequence[str] | None = None, n_trees: int = 100, max_depth: int = 6,
                 learning_rate: float = 0.1, l1_regularization: float = 0.0, l2_regularization: float = 0.0,
                 tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: RunConfig | None = None,
                 center_bias: bool = False, pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
                 train_in_memory: bool = False) -> None:
        super().__init__(feature_columns, n_batches_per_layer, class_head(n_classes, weight_column, label_vocabulary, _MEAN), model_dir,
                         weight_column, n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
                         min_node_weight, config, center_bias, pruning_mode, quantile_sketch_epsilon)


class BoostedTreesRegressor(BoostedTreesEstimator):
    """Boosted trees for a regression of one number.

    Parameters
    ----------
    label_dimension : int
        One.
    feature_columns, n_batches_per_layer, model_dir, weight_column, n_trees, max_depth, learning_rate, l1_regularization
        As of BoostedTreesClassifier.
    l2_regularization, tree_complexity, min_node_weight, config, center_bias, pruning_mode, quantile_sketch_epsilon, train_in_memory
        As of BoostedTreesClassifier.
    """

    def __init__(self, feature_columns: Sequence[Any], n_batches_per_layer: int, model_dir: PathLike | None = None,
                 label_dimension: int = 1, weight_column: Any = None, n_trees: int = 100, max_depth: int = 6,
                 learning_rate: float = 0.1, l1_regularization: float = 0.0, l2_regularization: float = 0.0,
                 tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: RunConfig | None = None,
                 center_bias: bool = False, pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
                 train_in_memory: bool = False) -> None:
        super().__init__(feature_columns, n_batches_per_layer, regression_head(weight_column, label_dimension, _MEAN), model_dir,
                         weight_column, n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
                         min_node_weight, config, center_bias, pruning_mode, quantile_sketch_epsilon)

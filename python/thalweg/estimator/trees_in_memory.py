# SPDX-License-Identifier: Apache-2.0
"""Boosted trees that are grown in one call, from examples that are kept in memory."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.data.dataset import Dataset
from thalweg.estimator.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import PathLike
    from thalweg.estimator.run_config import RunConfig
    from thalweg.training.session_run_hook import SessionRunHook


def _kept(input_fn):
    """An input function that reads what another gives first, once, and gives it again and again."""
    def kept():
        given = input_fn()
        dataset = given if isinstance(given, Dataset) else Dataset.from_tensors(given)
        return dataset.take(1).cache().repeat()
    return kept


def boosted_trees_classifier_train_in_memory(train_input_fn: Callable[[], Any], feature_columns: Sequence[Any],
                                             model_dir: PathLike | None = None, n_classes: int = 2, weight_column: Any = None,
                                             label_vocabulary: Sequence[str] | None = None, n_trees: int = 100, max_depth: int = 6,
                                             learning_rate: float = 0.1, l1_regularization: float = 0.0, l2_regularization: float = 0.0,
                                             tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: RunConfig | None = None,
                                             train_hooks: Sequence[SessionRunHook] | None = None, center_bias: bool = False,
                                             pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01) -> BoostedTreesClassifier:
    """A BoostedTreesClassifier, trained until its trees are grown.

    Parameters
    ----------
    train_input_fn : callable
        Gives (features, labels), or a dataset whose first element they are: all examples at once.
    train_hooks : sequence of SessionRunHook, optional
        What accompanies the training.
    feature_columns, model_dir, n_classes, weight_column, label_vocabulary, n_trees, max_depth, learning_rate, l1_regularization
        As of BoostedTreesClassifier.
    l2_regularization, tree_complexity, min_node_weight, config, center_bias, pruning_mode, quantile_sketch_epsilon
        As of BoostedTreesClassifier.
    """
    model = BoostedTreesClassifier(feature_columns, 1, model_dir, n_classes, weight_column, label_vocabulary, n_trees, max_depth,
                                   learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight, config,
                                   center_bias, pruning_mode, quantile_sketch_epsilon)
    return model.train(_kept(train_input_fn), train_hooks)


def boosted_trees_regressor_train_in_memory(train_input_fn: Callable[[], Any], feature_columns: Sequence[Any],
                                            model_dir: PathLike | None = None, label_dimension: int = 1, weight_column: Any = None,
                                            n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1,
                                            l1_regularization: float = 0.0, l2_regularization: float = 0.0,
                                            tree_complexity: float = 0.0, min_node_weight: float = 0.0, config: RunConfig | None = None,
                                            train_hooks: Sequence[SessionRunHook] | None = None, center_bias: bool = False,
                                            pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01) -> BoostedTreesRegressor:
    """A BoostedTreesRegressor, trained until its trees are grown.

    Parameters
    ----------
    label_dimension : int
        One.
    train_input_fn, feature_columns, model_dir, weight_column, n_trees, max_depth, learning_rate, l1_regularization, l2_regularization
        As of boosted_trees_classifier_train_in_memory.
    tree_complexity, min_node_weight, config, train_hooks, center_bias, pruning_mode, quantile_sketch_epsilon
        As of boosted_trees_classifier_train_in_memory.
    """
    model = BoostedTreesRegressor(feature_columns, 1, model_dir, label_dimension, weight_column, n_trees, max_depth, learning_rate,
                                  l1_regularization, l2_regularization, tree_complexity, min_node_weight, config, center_bias,
                                  pruning_mode, quantile_sketch_epsilon)
    return model.train(_kept(train_input_fn), train_hooks)

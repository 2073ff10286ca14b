# SPDX-License-Identifier: Apache-2.0
"""Heads by functions, as tf.contrib.estimator has them and as private modules of TensorFlow did."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import losses
from thalweg.estimator.class_heads import MultiClassHead, OlderBinaryClassHead, OlderMultiLabelHead
from thalweg.estimator.multi_head import MultiHead
from thalweg.estimator.regression_heads import LogisticRegressionHead, PoissonRegressionHead, RegressionHead

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.estimator.heads import Head

OVER_BATCH = losses.Reduction.SUM_OVER_BATCH_SIZE


def binary_classification_head(weight_column: Any = None, thresholds: Sequence[float] | None = None,
                               label_vocabulary: Sequence[str] | None = None, loss_reduction: str = OVER_BATCH,
                               loss_fn: Callable[..., Any] | None = None, name: str | None = None) -> Head:
    """tw.estimator.BinaryClassHead."""
    return OlderBinaryClassHead(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def multi_class_head(n_classes: int, weight_column: Any = None, label_vocabulary: Sequence[str] | None = None,
                     loss_reduction: str = OVER_BATCH, loss_fn: Callable[..., Any] | None = None, name: str | None = None) -> Head:
    """tw.estimator.MultiClassHead."""
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def multi_label_head(n_classes: int, weight_column: Any = None, thresholds: Sequence[float] | None = None,
                     label_vocabulary: Sequence[str] | None = None, loss_reduction: str = OVER_BATCH,
                     loss_fn: Callable[..., Any] | None = None, classes_for_class_based_metrics: Sequence[Any] | None = None,
                     name: str | None = None) -> Head:
    """tw.estimator.MultiLabelHead."""
    return OlderMultiLabelHead(n_classes, weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn,
                               classes_for_class_based_metrics, name)


def regression_head(weight_column: Any = None, label_dimension: int = 1, loss_reduction: str = OVER_BATCH,
                    loss_fn: Callable[..., Any] | None = None, inverse_link_fn: Callable[[Any], Any] | None = None,
                    name: str | None = None) -> Head:
    """tw.estimator.RegressionHead."""
    return RegressionHead(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


def poisson_regression_head(weight_column: Any = None, label_dimension: int = 1, loss_reduction: str = OVER_BATCH,
                            compute_full_loss: bool = True, name: str | None = None) -> Head:
    """tw.estimator.PoissonRegressionHead."""
    return PoissonRegressionHead(label_dimension, weight_column, loss_reduction, compute_full_loss, name)


def logistic_regression_head(weight_column: Any = None, loss_reduction: str = OVER_BATCH, name: str | None = None) -> Head:
    """tw.estimator.LogisticRegressionHead."""
    return LogisticRegressionHead(weight_column, loss_reduction, name)


def multi_head(heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> Head:
    """tw.estimator.MultiHead."""
    return MultiHead(heads, head_weights)


def _binary_logistic_head_with_sigmoid_cross_entropy_loss(weight_column=None, thresholds=None, label_vocabulary=None,
                                                          loss_reduction=losses.Reduction.SUM, loss_fn=None, name=None):
    """What the ready-made classifiers of two classes have."""
    return binary_classification_head(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def _multi_class_head_with_softmax_cross_entropy_loss(n_classes, weight_column=None, label_vocabulary=None,
                                                      loss_reduction=losses.Reduction.SUM, loss_fn=None, name=None):
    """What the ready-made classifiers of more classes have."""
    return multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def _regression_head(weight_column=None, label_dimension=1, loss_reduction=losses.Reduction.SUM, loss_fn=None, inverse_link_fn=None,
                     name=None):
    """What the ready-made regressions have."""
    return regression_head(weight_column, label_dimension, loss_reduction, loss_fn, inverse_link_fn, name)


_regression_head_with_mean_squared_error_loss = _regression_head


def _binary_logistic_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn=None):
    """What the ready-made classifiers have."""
    if n_classes == 2:
        return binary_classification_head(weight_column, None, label_vocabulary, loss_reduction, loss_fn)
    return multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn)

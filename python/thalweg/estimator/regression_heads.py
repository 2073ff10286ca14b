# SPDX-License-Identifier: Apache-2.0
"""Heads of regressions: of numbers, of counts, and of probabilities."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, metrics
from thalweg.estimator.export_outputs import PredictOutput, RegressionOutput
from thalweg.estimator.heads import Head, checked_range, dense_labels
from thalweg.graph.ops import apply
from thalweg.nn.activations import sigmoid
from thalweg.nn.loss_functions import log_poisson_loss, sigmoid_cross_entropy_with_logits
from thalweg.operations import math_ops
from thalweg.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class RegressionHead(Head):
    """The head of a regression, whose loss is the squared error.

    Parameters
    ----------
    label_dimension : int
        How many numbers a label has.
    weight_column : str or NumericColumn, optional
        The feature that weighs examples.
    loss_reduction : str
        "sum_over_batch_size" or "sum" of the losses of examples; or a name of tw.losses.Reduction.
    loss_fn : callable, optional
        loss_fn(labels, logits) in place of the squared error.
    inverse_link_fn : callable, optional
        From logits to predictions: the same by default.
    name : str, optional
        Ends the names of metrics.

    Raises
    ------
    ValueError
        If an argument is not of its kind.

    Examples
    --------
    >>> head = tw.estimator.RegressionHead()
    >>> with tw.Session() as sess:
    ...     float(sess.run(head.loss(labels=[[1.0], [2.0]], logits=tw.constant([[1.0], [4.0]]))))
    2.0
    """

    def __init__(self, label_dimension: int = 1, weight_column: Any = None, loss_reduction: str = "sum_over_batch_size",
                 loss_fn: Callable[..., Any] | None = None, inverse_link_fn: Callable[[Any], Any] | None = None,
                 name: str | None = None) -> None:
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self._dimension, self._inverse_link = label_dimension, inverse_link_fn

    @property
    def logits_dimension(self) -> int:
        """How many numbers a label has."""
        return self._dimension

    def _predictions(self, logits):
        if self._inverse_link is None:
            return {"predictions": logits}
        return {"predictions": self._inverse_link(logits), "logits": logits}

    def _outputs(self, predictions):
        value = RegressionOutput(predictions["predictions"])
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: value, "regression": value, "predict": PredictOutput(predictions)}

    def _labels(self, labels, logits):
        return math_ops.cast(dense_labels(labels, self._dimension, logits), dtypes.float32)

    def _unreduced(self, labels, logits):
        return apply("SquaredDifference", [logits, labels])

    def _metrics(self, predictions, labels, weights):
        return {"prediction/mean": metrics.mean(predictions["predictions"], weights), "label/mean": metrics.mean(labels, weights)}


class PoissonRegressionHead(RegressionHead):
    """The head of a regression of counts: its logits are logarithms of their means.

    Parameters
    ----------
    label_dimension : int
        How many counts a label has.
    weight_column, loss_reduction, name
        As of RegressionHead.
    compute_full_loss : bool
        Whether the loss has the term that only labels decide, as Stirling's formula has it.
    """

    def __init__(self, label_dimension: int = 1, weight_column: Any = None, loss_reduction: str = "sum_over_batch_size",
                 compute_full_loss: bool = True, name: str | None = None) -> None:
        super().__init__(label_dimension, weight_column, loss_reduction, None, lambda x: apply("Exp", [x]), name)
        self._full = compute_full_loss

    def _unreduced(self, labels, logits):
        return log_poisson_loss(labels, logits, self._full)


class LogisticRegressionHead(RegressionHead):
    """The head of a regression of probabilities: labels lie between 0 and 1.

    Parameters
    ----------
    weight_column, loss_reduction, name
        As of RegressionHead.
    """

    def __init__(self, weight_column: Any = None, loss_reduction: str = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(1, weight_column, loss_reduction, None, sigmoid, name)

    def _labels(self, labels, logits):
        message = "Labels must be in range [0, 1]"
        return checked_range(super()._labels(labels, logits), 1, message, message)

    def _unreduced(self, labels, logits):
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

# SPDX-License-Identifier: Apache-2.0
"""Heads: from the logits of a model to its predictions, loss, metrics and step of training."""
from __future__ import annotations

import abc
import collections
import inspect
from typing import TYPE_CHECKING

from thalweg import dtypes, losses, metrics, summary
from thalweg.estimator.spec import EstimatorSpec, ModeKeys
from thalweg.feature_column.column import COLUMNS, _LazyBuilder
from thalweg.feature_column.numeric import numeric_column
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops, checks, math_ops
from thalweg.operations.sparse_ops import sparse_tensor_to_dense
from thalweg.training.global_steps import get_global_step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Operation, Tensor

LossSpec = collections.namedtuple("LossSpec", ["training_loss", "unreduced_loss", "weights", "processed_labels"])
_REDUCTIONS = {"sum_over_batch_size": losses.Reduction.SUM_OVER_BATCH_SIZE, "sum": losses.Reduction.SUM}


class Head(abc.ABC):
    """From the logits of a model to its predictions, loss, metrics and step of training.

    A head of your own has `logits_dimension`, `_predictions`, `_outputs`, `_labels`, `_unreduced` and `_metrics`.
    """

    def __init__(self, weight_column: Any = None, loss_reduction: str = "sum_over_batch_size",
                 loss_fn: Callable[..., Any] | None = None, name: str | None = None) -> None:
        if weight_column is not None and not isinstance(weight_column, (str, *COLUMNS)):
            raise TypeError(f"Weight column must be either a string or NumericColumn. Given type: {type(weight_column)}.")
        if loss_fn is not None:
            _check_loss_function(loss_fn)
        self._weight_column, self._loss_fn, self._name = weight_column, loss_fn, name
        self._given_reduction = loss_reduction
        self._reduction = _REDUCTIONS.get(loss_reduction, loss_reduction)
        if self._reduction not in losses.Reduction.all() or self._reduction == losses.Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")

    @property
    def name(self) -> str | None:
        """The name, which ends those of metrics."""
        return self._name

    @property
    def loss_reduction(self) -> str:
        """How the losses of examples become one."""
        return self._given_reduction

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """How many logits an example has."""

    @abc.abstractmethod
    def _predictions(self, logits):
        """{key: tensor} of a batch."""

    @abc.abstractmethod
    def _outputs(self, predictions):
        """{key: ExportOutput} of an exported model."""

    @abc.abstractmethod
    def _labels(self, labels, logits):
        """Labels as the loss takes them."""

    @abc.abstractmethod
    def _unreduced(self, labels, logits):
        """The loss of each example."""

    @abc.abstractmethod
    def _metrics(self, predictions, labels, weights):
        """{key: (value, update)} beside that of the loss."""

    # ---- what programs call ----
    def predictions(self, logits: Tensor, keys: Sequence[str] | None = None) -> dict[str, Tensor]:
        """What the model says of a batch, by key; of all keys by default."""
        with name_scope("predictions", values=[logits]):
            found = self._predictions(self._checked_logits(logits))
        return found if keys is None else {k: found[k] for k in keys}

    def loss(self, labels: TensorLike, logits: Tensor, features: Mapping[str, Any] | None = None, mode: str | None = None,
             regularization_losses: Sequence[Tensor] | None = None) -> Tensor:
        """The loss of a batch."""
        with name_scope("losses", values=[logits]):
            return _regularized(self.create_loss(features, mode, logits, labels).training_loss, regularization_losses)

    def create_loss(self, features: Mapping[str, Any] | None, mode: str | None, logits: Tensor, labels: Any) -> LossSpec:
        """The loss of a batch, that of each example, their weights and labels."""
        logits = self._checked_logits(logits)
        if labels is None:
            raise ValueError("You must provide a labels Tensor. Given: None.")
        labels = self._labels(labels, logits)
        unreduced = self._own_loss(labels, logits, features) if self._loss_fn is not None else self._unreduced(labels, logits)
        weights = self._weights(features)
        total = losses.compute_weighted_loss(unreduced, 1.0 if weights is None else weights, reduction=self._reduction,
                                             scope="weighted_loss", loss_collection=None)
        graph.add_to_collection(GraphKeys.LOSSES, total)
        return LossSpec(total, unreduced, weights, labels)

    def create_estimator_spec(self, features: Mapping[str, Any], mode: str, logits: Tensor, labels: Any = None,
                              optimizer: Any = None, train_op_fn: Callable[[Tensor], Operation | Tensor] | None = None,
                              trainable_variables: Sequence[Any] | None = None, update_ops: Sequence[Operation] | None = None,
                              regularization_losses: Sequence[Tensor] | None = None) -> EstimatorSpec:
        """What a model function gives: of logits of shape [batch, logits_dimension] in a mode.

        Parameters
        ----------
        features : dict
            Has the weights, if the head has a column of them.
        mode : str
            A name of ModeKeys.
        logits : Tensor
            Of the model.
        labels : Tensor, optional
            Needed in TRAIN and EVAL.
        optimizer : Optimizer, optional
            Makes the step of training from the loss.
        train_op_fn : callable, optional
            Makes the step of training from the loss, in place of an optimizer.
        trainable_variables : sequence of Variable, optional
            What an optimizer updates: all trainable ones by default.
        update_ops : sequence of Operation, optional
            Run with the step of training: those of the collection by default.
        regularization_losses : sequence of Tensor, optional
            Added to the loss.

        Returns
        -------
        EstimatorSpec
            What the mode needs.

        Raises
        ------
        ValueError
            If labels are missing, or both or none of optimizer and train_op_fn are given in TRAIN.
        """
        with name_scope(self._name or "head", values=[logits]):
            logits = self._checked_logits(logits)
            if mode == ModeKeys.PREDICT or mode == ModeKeys.EVAL:
                predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions=predictions, export_outputs=self._outputs(predictions))
            made = self.create_loss(features, mode, logits, labels)
            total = _regularized(made.training_loss, regularization_losses)
            if mode == ModeKeys.EVAL:
                return EstimatorSpec(mode, predictions=predictions, loss=total,
                                     eval_metric_ops=self._all_metrics(predictions, made, regularization_losses))
            step = step_of(total, optimizer, train_op_fn, trainable_variables, update_ops)
            self._summarize(total, made, regularization_losses)
            return EstimatorSpec(mode, loss=total, train_op=step)

    # ---- pieces ----
    def _key(self, key):
        return f"{key}/{self._name}" if self._name else key

    def _checked_logits(self, logits):
        logits = math_ops.cast(convert_to_tensor(logits, name="logits"), dtypes.float32)
        size = logits.shape.as_list()[-1] if logits.shape.ndims else None
        if size is not None and size != self.logits_dimension:
            raise ValueError(f"logits shape must be [D0, D1, ... DN, logits_dimension], got {logits.shape}: logits_dimension is "
                             f"{self.logits_dimension}.")
        return logits

    def _own_loss(self, labels, logits, features):
        """What the given function says, of shape [batch, 1]."""
        taken = inspect.signature(self._loss_fn).parameters
        more = {"features": features, "loss_reduction": self._given_reduction}
        found = self._loss_fn(labels=labels, logits=logits, **{k: v for k, v in more.items() if k in taken})
        rows = logits.shape.as_list()[0]
        if found.shape.ndims is not None and found.shape.as_list()[:1] not in ([rows], [None]) and rows is not None:
            raise ValueError(f"loss_fn must return Tensor of shape [D0, D1, ... DN, 1]. Given: {found.shape}")
        return found

    def _weights(self, features):
        """Of shape [batch, 1], or None."""
        if self._weight_column is None:
            return None
        column = numeric_column(self._weight_column) if isinstance(self._weight_column, str) else self._weight_column
        return math_ops.cast(column._get_dense_tensor(_LazyBuilder(features)), dtypes.float32)

    def _all_metrics(self, predictions, made, regularization_losses):
        with name_scope("metrics"):
            found = {"average_loss": metrics.mean(made.unreduced_loss, made.weights)}
            found.update(self._metrics(predictions, made.processed_labels, made.weights))
            if regularization_losses:
                found["regularization_loss"] = metrics.mean(math_ops.add_n(regularization_losses))
        return {self._key(key): value for key, value in found.items()}

    def _summarize(self, total, made, regularization_losses):
        with name_scope(None):
            summary.scalar(self._key("loss"), total)
            if self._reduction == losses.Reduction.SUM:
                weights = 1.0 if made.weights is None else made.weights
                mean = losses.compute_weighted_loss(made.unreduced_loss, weights, reduction=losses.Reduction.MEAN, loss_collection=None)
                summary.scalar(self._key("average_loss"), mean)
            if regularization_losses:
                summary.scalar(self._key("regularization_loss"), math_ops.add_n(regularization_losses))


def _regularized(loss, regularization_losses):
    return loss if not regularization_losses else math_ops.add_n([loss, *regularization_losses])


def _check_loss_function(loss_fn):
    """It takes labels and logits, and nothing else that it must be given."""
    parameters = inspect.signature(loss_fn).parameters
    for name in ("labels", "logits"):
        if name not in parameters:
            raise ValueError(f"loss_fn must contain argument: {name}. Given arguments: {tuple(parameters)}")
    other = set(parameters) - {"labels", "logits", "features", "loss_reduction"}
    if other:
        raise ValueError(f"loss_fn has unexpected args: {sorted(other)}")


def step_of(loss: Tensor, optimizer: Any, train_op_fn: Callable[[Tensor], Any] | None,
            trainable_variables: Sequence[Any] | None = None, update_ops: Sequence[Any] | None = None) -> Any:
    """A step of training, which the updates of layers belong to."""
    if optimizer is not None:
        if train_op_fn is not None:
            raise ValueError("train_op_fn and optimizer cannot both be set.")
        step = optimizer.minimize(loss, global_step=get_global_step(), var_list=trainable_variables)
    elif train_op_fn is not None:
        step = train_op_fn(loss)
    else:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    updates = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
    return ops.group(step, *updates) if updates else step


def dense_labels(labels: Any, width: int, logits: Tensor) -> Tensor:
    """Labels of shape [batch, width] of a tensor of that shape, or [batch] where the width is one."""
    if isinstance(labels, SparseTensor):
        if labels.dtype == dtypes.string:
            raise ValueError("SparseTensor labels are not supported.")
        labels = sparse_tensor_to_dense(labels)
    labels = convert_to_tensor(labels, name="labels")
    rank = labels.shape.ndims
    if rank is not None and logits.shape.ndims is not None and rank == logits.shape.ndims - 1:
        labels = array_ops.expand_dims(labels, -1)
    size = labels.shape.as_list()[-1] if labels.shape.ndims else None
    if size is not None and size != width:
        raise ValueError(f"Mismatched label shape. Expected labels dimension={width}.  Received {size}.")
    return labels


def checked_range(labels: Tensor, most: float, above: str, below: str) -> Tensor:
    """The labels, each from 0 to `most`; else the step ends with one of the two messages."""
    with name_scope("assert_range"):
        found = [checks.assert_less_equal(labels, convert_to_tensor(most, labels.dtype.base_dtype), message=above),
                 checks.assert_non_negative(labels, message=below)]
    with graph.control_dependencies(found):
        return array_ops.identity(labels)

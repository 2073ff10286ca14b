# SPDX-License-Identifier: Apache-2.0
"""Heads of classifiers: of two classes, of more, and of any number of classes at once."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, metrics
from thalweg.base.text import as_text
from thalweg.estimator.export_outputs import ClassificationOutput, PredictOutput, RegressionOutput
from thalweg.estimator.heads import Head, checked_range, dense_labels
from thalweg.feature_column.vocabularies import index_table_from_tensor, index_to_string_table_from_tensor
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.nn.activations import sigmoid, softmax
from thalweg.nn.loss_functions import sigmoid_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits
from thalweg.operations import array_ops, math_ops
from thalweg.operations.sparse_ops import sparse_to_indicator
from thalweg.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class _ClassHead(Head):
    """What heads of classes share: their names. The ready-made models add up the area below precision and recall in another way than
    the heads that programs make."""

    _area = "careful_interpolation"

    def __init__(self, n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name):
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}")
        if label_vocabulary and len(label_vocabulary) != n_classes:
            raise ValueError(f"Length of label_vocabulary must be n_classes={n_classes}. Given: {label_vocabulary}")
        self._classes, self._vocabulary = n_classes, tuple(label_vocabulary or ())

    def _class_ids(self, labels):
        """Numbers of the classes that labels name."""
        if self._vocabulary:
            if labels.dtype != dtypes.string:
                raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}")
            return index_table_from_tensor(self._vocabulary, name="class_id_lookup").lookup(labels)
        if not labels.dtype.base_dtype.is_integer and not (self._classes == 2 and labels.dtype.is_floating):
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        return labels

    def _in_range(self, ids):
        """Numbers of classes, if that is what they are; else the step ends."""
        return checked_range(ids, self._classes - 1, "Labels must be <= n_classes - 1", "Labels must be >= 0")

    def _names(self, ids):
        """Names of classes by their numbers, as strings."""
        if self._vocabulary:
            return index_to_string_table_from_tensor(self._vocabulary, name="class_string_lookup").lookup(ids)
        return apply("AsString", [ids], name="str_classes")

    def _all_names(self):
        return self._vocabulary or tuple(map(str, range(self._classes)))

    def _for_each_row(self, values, rows, dtype):
        return array_ops.tile(array_ops.expand_dims(convert_to_tensor(values, dtype), 0), array_ops.stack([array_ops.shape(rows)[0], 1]))

    def _best(self, logits, ids):
        """What is said of the best class and of all."""
        return {"class_ids": ids, "classes": self._names(ids),
                "all_class_ids": self._for_each_row(list(range(self._classes)), logits, dtypes.int32),
                "all_classes": self._for_each_row(self._all_names(), logits, dtypes.string)}

    def _classification(self, predictions):
        scores = predictions["probabilities"]
        return ClassificationOutput(scores, self._for_each_row(self._all_names(), scores, dtypes.string))


def checked_thresholds(thresholds: Sequence[float] | None) -> tuple[float, ...]:
    """Probabilities, each between 0 and 1."""
    found = tuple(thresholds or ())
    if any(not 0 < t < 1 for t in found):
        raise ValueError(f"thresholds not in (0, 1): {(found,)}.")
    return found


def _at_thresholds(labels, probabilities, weights, thresholds):
    """Accuracy, precision and recall where a class counts from these probabilities on."""
    found = {}
    for t in thresholds:
        said = math_ops.cast(apply("GreaterEqual", [probabilities, t]), dtypes.float32)
        for name in ("accuracy", "precision", "recall"):
            found[f"{name}/positive_threshold_{t:g}"] = getattr(metrics, name)(labels, said, weights)
    return found


class BinaryClassHead(_ClassHead):
    """The head of a classifier of two classes, of one logit.

    Parameters
    ----------
    weight_column : str or NumericColumn, optional
        The feature that weighs examples.
    thresholds : sequence of float, optional
        Probabilities for which accuracy, precision and recall are measured too.
    label_vocabulary : sequence of str, optional
        Names of the classes: labels are strings then.
    loss_reduction : str
        "sum_over_batch_size" or "sum" of the losses of examples; or a name of tw.losses.Reduction.
    loss_fn : callable, optional
        loss_fn(labels, logits) in place of the cross entropy, of shape [batch, 1].
    name : str, optional
        Ends the names of metrics.

    Raises
    ------
    ValueError
        If an argument is not of its kind.

    Examples
    --------
    >>> head = tw.estimator.BinaryClassHead()
    >>> with tw.Session() as sess:
    ...     round(float(sess.run(head.loss(labels=[[1], [0]], logits=tw.constant([[0.0], [0.0]])))), 4)
    0.6931
    """

    def __init__(self, weight_column: Any = None, thresholds: Sequence[float] | None = None,
                 label_vocabulary: Sequence[str] | None = None, loss_reduction: str = "sum_over_batch_size",
                 loss_fn: Callable[..., Any] | None = None, name: str | None = None) -> None:
        self._thresholds = checked_thresholds(thresholds)
        super().__init__(2, weight_column, label_vocabulary, loss_reduction, loss_fn, name)

    @property
    def logits_dimension(self) -> int:
        """One."""
        return 1

    def _predictions(self, logits):
        logistic = sigmoid(logits, name="logistic")
        both = array_ops.concat([array_ops.zeros_like(logits), logits], -1)
        ids = array_ops.expand_dims(apply("ArgMax", [both, -1], {"output_type": dtypes.int64}, name="class_ids"), -1)
        return {"logits": logits, "logistic": logistic, "probabilities": softmax(both, name="probabilities"), **self._best(logits, ids)}

    def _outputs(self, predictions):
        classes = self._classification(predictions)
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: classes, "classification": classes,
                "regression": RegressionOutput(predictions["logistic"]), "predict": PredictOutput(predictions)}

    def _labels(self, labels, logits):
        found = self._class_ids(dense_labels(labels, 1, logits))
        return self._in_range(math_ops.cast(found, dtypes.float32))

    def _unreduced(self, labels, logits):
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _metrics(self, predictions, labels, weights):
        logistic, ids = predictions["logistic"], predictions["class_ids"]
        label_mean = metrics.mean(labels, weights)
        return {
            "accuracy": metrics.accuracy(labels, ids, weights), "precision": metrics.precision(labels, ids, weights),
            "recall": metrics.recall(labels, ids, weights), "prediction/mean": metrics.mean(logistic, weights), "label/mean": label_mean,
            "accuracy_baseline": tuple(apply("Maximum", [part, 1 - part]) for part in metrics.mean(labels, weights)),
            "auc": metrics.auc(labels, logistic, weights),
            "auc_precision_recall": metrics.auc(labels, logistic, weights, curve="PR", summation_method=self._area),
            **_at_thresholds(labels, logistic, weights, self._thresholds)}


class MultiClassHead(_ClassHead):
    """The head of a classifier of more than two classes, of a logit for each.

    Parameters
    ----------
    n_classes : int
        How many classes there are.
    weight_column, label_vocabulary, loss_reduction, loss_fn, name
        As of BinaryClassHead.

    Raises
    ------
    ValueError
        If there are not more than two classes, or an argument is not of its kind.
    """

    def __init__(self, n_classes: int, weight_column: Any = None, label_vocabulary: Sequence[str] | None = None,
                 loss_reduction: str = "sum_over_batch_size", loss_fn: Callable[..., Any] | None = None,
                 name: str | None = None) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)

    @property
    def logits_dimension(self) -> int:
        """The number of classes."""
        return self._classes

    def _predictions(self, logits):
        ids = array_ops.expand_dims(apply("ArgMax", [logits, -1], {"output_type": dtypes.int64}, name="class_ids"), -1)
        return {"logits": logits, "probabilities": softmax(logits, name="probabilities"), **self._best(logits, ids)}

    def _outputs(self, predictions):
        classes = self._classification(predictions)
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: classes, "classification": classes, "predict": PredictOutput(predictions)}

    def _labels(self, labels, logits):
        return self._in_range(self._class_ids(dense_labels(labels, 1, logits)))

    def _unreduced(self, labels, logits):
        found = sparse_softmax_cross_entropy_with_logits(labels=array_ops.squeeze(labels, [-1]), logits=logits)
        return array_ops.expand_dims(found, -1)

    def _metrics(self, predictions, labels, weights):
        return {"accuracy": metrics.accuracy(labels, predictions["class_ids"], weights)}


class MultiLabelHead(_ClassHead):
    """The head of a classifier whose examples are of any number of classes, of a logit for each.

    Parameters
    ----------
    n_classes : int
        How many classes there are.
    thresholds : sequence of float, optional
        Probabilities for which accuracy, precision and recall are measured too.
    classes_for_class_based_metrics : sequence of int or str, optional
        Classes that are measured by themselves too.
    weight_column, label_vocabulary, loss_reduction, loss_fn, name
        As of BinaryClassHead.

    Raises
    ------
    ValueError
        If there are not two classes or more, or an argument is not of its kind.
    """

    def __init__(self, n_classes: int, weight_column: Any = None, thresholds: Sequence[float] | None = None,
                 label_vocabulary: Sequence[str] | None = None, loss_reduction: str = "sum_over_batch_size",
                 loss_fn: Callable[..., Any] | None = None, classes_for_class_based_metrics: Sequence[Any] | None = None,
                 name: str | None = None) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-class classification. Given: {n_classes}")
        self._thresholds = checked_thresholds(thresholds)
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        names = [as_text(name) for name in self._vocabulary]
        given = [as_text(c) if isinstance(c, (str, bytes)) else c for c in classes_for_class_based_metrics or ()]
        unknown = [c for c in given if isinstance(c, str) and c not in names]
        if unknown:
            raise ValueError(f"classes_for_class_based_metrics not in label_vocabulary: {unknown}. Vocabulary: {names}")
        self._measured = [names.index(c) if isinstance(c, str) else c for c in given]
        if any(not 0 <= c < n_classes for c in self._measured):
            raise ValueError(f"All classes_for_class_based_metrics must be in range [0, {n_classes}). Given: {self._measured}")

    @property
    def logits_dimension(self) -> int:
        """The number of classes."""
        return self._classes

    def _predictions(self, logits):
        return {"logits": logits, "probabilities": sigmoid(logits, name="probabilities")}

    def _outputs(self, predictions):
        classes = self._classification(predictions)
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: classes, "classification": classes, "predict": PredictOutput(predictions)}

    def _labels(self, labels, logits):
        """Which classes an example is of, as 0 and 1."""
        if isinstance(labels, SparseTensor):
            ids = math_ops.cast(self._class_ids(labels.values), dtypes.int64)
            named = SparseTensor(labels.indices, ids, labels.dense_shape)
            return math_ops.cast(sparse_to_indicator(named, self._classes), dtypes.float32)
        labels = dense_labels(labels, self._classes, logits)
        if not (labels.dtype.is_integer or labels.dtype.base_dtype == dtypes.bool or labels.dtype.is_floating):
            raise ValueError(f"labels must be an integer or a SparseTensor. Given: {labels.dtype}")
        message = "labels must be an integer tensor with values 0 or 1"
        return checked_range(math_ops.cast(labels, dtypes.float32), 1, message, message)

    def _unreduced(self, labels, logits):
        found = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return math_ops.reduce_mean(found, axis=-1, keepdims=True)

    def _metrics(self, predictions, labels, weights):
        said = predictions["probabilities"]
        found = {"auc": metrics.auc(labels, said, weights),
                 "auc_precision_recall": metrics.auc(labels, said, weights, curve="PR", summation_method=self._area),
                 **_at_thresholds(labels, said, weights, self._thresholds)}
        for c in self._measured:
            name = f"/{as_text(self._vocabulary[c])}" if self._vocabulary else f"/class{c}"
            truth, own = labels[:, c:c + 1], said[:, c:c + 1]
            found["probability_mean" + name] = metrics.mean(own, weights)
            found["auc" + name] = metrics.auc(truth, own, weights)
            found["auc_precision_recall" + name] = metrics.auc(truth, own, weights, curve="PR", summation_method=self._area)
        return found


class OlderBinaryClassHead(BinaryClassHead):
    """The head of ready-made classifiers of two classes, and of tf.contrib.estimator."""

    _area = "trapezoidal"


class OlderMultiLabelHead(MultiLabelHead):
    """The head of tf.contrib.estimator for any number of classes."""

    _area = "trapezoidal"

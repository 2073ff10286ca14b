# SPDX-License-Identifier: Apache-2.0
"""A head of several heads."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import metrics, summary
from thalweg.estimator.export_outputs import PredictOutput
from thalweg.estimator.heads import Head, LossSpec, step_of
from thalweg.estimator.spec import EstimatorSpec, ModeKeys
from thalweg.graph.graph import name_scope
from thalweg.operations import math_ops
from thalweg.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.graph.tensor import Tensor


class MultiHead(Head):
    """Several heads of one model, whose losses are added.

    Parameters
    ----------
    heads : sequence of Head
        Each with a name.
    head_weights : sequence of float, optional
        Of their losses.

    Raises
    ------
    ValueError
        If there are no heads, one has no name of its own, or weights are not as many.

    Examples
    --------
    >>> head = tw.estimator.MultiHead([tw.estimator.BinaryClassHead(name="clicked"), tw.estimator.RegressionHead(name="spent")])
    >>> head.name, head.logits_dimension
    ('clicked_spent', 2)
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError("heads and head_weights must have the same size. Given len(heads): "
                             f"{len(heads)}. Given len(head_weights): {len(head_weights)}.")
        for head in heads:
            if not head.name:
                raise ValueError(f"All given heads must have name specified. Given: {head}")
        if len({head.name for head in heads}) != len(heads):
            raise ValueError(f"All given heads must have names of their own. Given: {[head.name for head in heads]}")
        super().__init__()
        self._heads, self._head_weights = tuple(heads), tuple(head_weights or ())

    @property
    def name(self) -> str:
        """The names of the heads."""
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        """The sum of those of the heads."""
        return sum(head.logits_dimension for head in self._heads)

    def _split(self, logits):
        """{name: logits} of a tensor that has them side by side."""
        if isinstance(logits, dict):
            self._check_keys(logits, "logits")
            return logits
        found, begin = {}, 0
        for head in self._heads:
            found[head.name] = logits[..., begin:begin + head.logits_dimension]
            begin += head.logits_dimension
        return found

    def _check_keys(self, given, what):
        for head in self._heads:
            if head.name not in given:
                raise ValueError(f"{what} has a missing key: {head.name}. Given keys: {sorted(given)}")

    def _losses(self, features, mode, logits, labels):
        if not isinstance(labels, dict):
            raise ValueError(f"labels must be a dictionary by the names of heads. Given: {labels}")
        self._check_keys(labels, "labels")
        return {head.name: head.create_loss(features, mode, logits[head.name], labels[head.name]) for head in self._heads}

    def _sum(self, made, regularization_losses):
        parts = [made[head.name].training_loss for head in self._heads]
        if self._head_weights:
            parts = [part * weight for part, weight in zip(parts, self._head_weights)]
        return math_ops.add_n([*parts, *(regularization_losses or [])])

    def create_loss(self, features: Mapping[str, Any] | None, mode: str | None, logits: Any, labels: Any) -> LossSpec:
        """The sum of the losses; {name: the rest} of each head."""
        made = self._losses(features, mode, self._split(logits), labels)
        return LossSpec(self._sum(made, None), *({n: spec[i] for n, spec in made.items()} for i in range(1, 4)))

    def create_estimator_spec(self, features: Mapping[str, Any], mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
                              train_op_fn: Callable[[Tensor], Any] | None = None, trainable_variables: Sequence[Any] | None = None,
                              update_ops: Sequence[Any] | None = None,
                              regularization_losses: Sequence[Tensor] | None = None) -> EstimatorSpec:
        """What a model function gives, of logits side by side or {name of head: logits}; labels are {name of head: labels}."""
        with name_scope("multi_head"):
            logits = self._split(logits)
            predictions = {head.name: head.predictions(logits[head.name]) for head in self._heads}
            flat = {(name, key): value for name, found in predictions.items() for key, value in found.items()}
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions=flat, export_outputs=self._all_outputs(predictions, flat))
            made = self._losses(features, mode, logits, labels)
            total = self._sum(made, regularization_losses)
            if mode == ModeKeys.EVAL:
                return EstimatorSpec(mode, predictions=flat, loss=total, eval_metric_ops=self._metrics_of_heads(predictions, made))
            step = step_of(total, optimizer, train_op_fn, trainable_variables, update_ops)
            with name_scope(None):
                for head in self._heads:
                    summary.scalar(f"loss/{head.name}", made[head.name].training_loss)
                summary.scalar("loss", total)
            return EstimatorSpec(mode, predictions=flat, loss=total, train_op=step)

    def _all_outputs(self, predictions, flat):
        found = {}
        for head in self._heads:
            for key, output in head._outputs(predictions[head.name]).items():
                found[head.name if key == DEFAULT_SERVING_SIGNATURE_DEF_KEY else f"{head.name}/{key}"] = output
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: found[self._heads[0].name], **found, "predict": PredictOutput(flat)}

    def _metrics_of_heads(self, predictions, made):
        found = {}
        for head in self._heads:
            found.update(head._all_metrics(predictions[head.name], made[head.name], None))
            found[f"loss/{head.name}"] = metrics.mean(made[head.name].training_loss)
        return found

    # What heads of one kind of logits have: each of the heads has its own.
    def _predictions(self, logits):
        logits = self._split(logits)
        return {(head.name, key): value for head in self._heads for key, value in head._predictions(logits[head.name]).items()}

    def _outputs(self, predictions):
        raise NotImplementedError("each head has its outputs")

    _labels = _unreduced = _metrics = _outputs

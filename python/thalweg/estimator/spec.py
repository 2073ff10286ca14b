# SPDX-License-Identifier: Apache-2.0
"""What a model function gives: EstimatorSpec."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from thalweg.estimator.export_outputs import default_outputs
from thalweg.graph.tensor import Operation, Tensor
from thalweg.operations import array_ops
from thalweg.training.monitored_session import Scaffold
from thalweg.training.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self


class ModeKeys:
    """What a model is built for: TRAIN, EVAL or PREDICT.

    Examples
    --------
    >>> tw.estimator.ModeKeys.TRAIN, tw.estimator.ModeKeys.EVAL, tw.estimator.ModeKeys.PREDICT
    ('train', 'eval', 'infer')
    """
    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


class EstimatorSpec(collections.namedtuple("EstimatorSpec", [
        "mode", "predictions", "loss", "train_op", "eval_metric_ops", "export_outputs", "training_chief_hooks",
        "training_hooks", "scaffold", "evaluation_hooks", "prediction_hooks"])):
    """The tensors and operations of a model in one mode: what a model function gives.

    Parameters
    ----------
    mode : str
        A name of ModeKeys.
    predictions : Tensor or dict of Tensor, optional
        Needed in PREDICT.
    loss : Tensor, optional
        A scalar; needed in TRAIN and EVAL.
    train_op : Operation or Tensor, optional
        Needed in TRAIN.
    eval_metric_ops : dict, optional
        {name: (value, update operation)}.
    export_outputs : dict, optional
        What an exported model offers.
    training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks : sequence of SessionRunHook, optional
        Of sessions of that mode.
    scaffold : Scaffold, optional
        How sessions begin.

    Raises
    ------
    ValueError
        If what the mode needs is missing.
    TypeError
        If something is of the wrong kind.

    Examples
    --------
    >>> spec = tw.estimator.EstimatorSpec("infer", predictions={"y": tw.constant([1.0])})
    >>> spec.mode, sorted(spec.predictions)
    ('infer', ['y'])
    """

    def __new__(cls, mode: str, predictions: Tensor | Mapping[str, Tensor] | None = None, loss: Tensor | None = None,
                train_op: Operation | Tensor | None = None, eval_metric_ops: Mapping[str, object] | None = None,
                export_outputs: Mapping[str, object] | None = None, training_chief_hooks: Sequence[SessionRunHook] | None = None,
                training_hooks: Sequence[SessionRunHook] | None = None, scaffold: Scaffold | None = None,
                evaluation_hooks: Sequence[SessionRunHook] | None = None,
                prediction_hooks: Sequence[SessionRunHook] | None = None) -> Self:
        if mode == ModeKeys.TRAIN and train_op is None:
            raise ValueError("Missing train_op.")
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL) and loss is None:
            raise ValueError("Missing loss.")
        if mode == ModeKeys.PREDICT and predictions is None:
            raise ValueError("Missing predictions.")
        if train_op is not None and not isinstance(train_op, (Operation, Tensor)):
            raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
        if mode == ModeKeys.PREDICT or export_outputs is not None:
            export_outputs = default_outputs(export_outputs, predictions)
        hooks = [tuple(h or ()) for h in (training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks)]
        _check_hooks(h for some in hooks for h in some)
        if scaffold is not None and not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(cls, mode, {} if predictions is None else predictions, _scalar(loss), train_op,
                               _checked_metrics(eval_metric_ops), export_outputs, hooks[0], hooks[1], scaffold or Scaffold(),
                               hooks[2], hooks[3])


def _scalar(loss):
    if loss is None:
        return None
    shape = loss.shape
    if not (shape.is_compatible_with([]) or shape.is_compatible_with([1])):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    return loss if shape.is_compatible_with([]) else array_ops.reshape(loss, [])


def _checked_metrics(metrics):
    metrics = dict(metrics or {})
    for key, value in metrics.items():
        if hasattr(value, "result") and hasattr(value, "updates"):
            continue
        if not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {value} for key: {key}")
    return metrics


def _check_hooks(hooks):
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")

# SPDX-License-Identifier: Apache-2.0
"""Estimators made from others, and logits of functions that take what they name."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from thalweg.estimator.estimator import Estimator
from thalweg.estimator.export_outputs import PredictOutput
from thalweg.estimator.spec import ModeKeys
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor import Tensor
from thalweg.operations.sparse_ops import sparse_tensor_to_dense
from thalweg.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_TAKEN = ("features", "labels", "predictions", "config")


def _changed(estimator, mode, change):
    """An estimator of the same model and directory, whose EstimatorSpec in a mode is change(spec, features, labels, config)."""
    def model_fn(features, labels, mode, config):
        spec = estimator.model_fn(features, labels, mode, config)
        return change(spec, features, labels, config) if mode == changed_mode else spec
    changed_mode = mode
    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator._warm)


def add_metrics(estimator: Estimator, metric_fn: Callable[..., dict[str, Any]]) -> Estimator:
    """An estimator of the same model and directory that measures more: what metric_fn(features, labels, predictions, config) gives, a
    dictionary as eval_metric_ops; it takes those of these arguments that it names."""
    names = list(inspect.signature(metric_fn).parameters)
    other = [name for name in names if name not in _TAKEN]
    if other:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {other}")

    def measuring(spec, features, labels, config):
        given = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **metric_fn(**{name: given[name] for name in names})})
    return _changed(estimator, ModeKeys.EVAL, measuring)


def forward_features(estimator: Estimator, keys: str | Sequence[str] | None = None,
                     sparse_default_values: Mapping[str, Any] | None = None) -> Estimator:
    """An estimator of the same model and directory whose predictions have features beside them: of these keys, all by default. A
    SparseTensor becomes dense with its default value."""
    if keys is not None and not (isinstance(keys, str) or isinstance(keys, (list, tuple)) and all(isinstance(k, str) for k in keys)):
        raise ValueError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
    wanted, defaults = ([keys] if isinstance(keys, str) else keys), dict(sparse_default_values or {})

    def forwarding(spec, features, labels, config):
        if not isinstance(spec.predictions, dict):
            raise ValueError(f"Predictions should be a dict to be able to forward features. Given: {type(spec.predictions)}")
        found = {}
        for key in features if wanted is None else wanted:
            if key not in features:
                raise ValueError(f"keys should be exist in features. Key \"{key}\" is not in features dict. features dict has following "
                                 f"keys: {list(features)}.")
            if key in spec.predictions:
                raise ValueError(f"Cannot forward feature key ({key}). Since it does exist in predictions. Existing prediction keys: "
                                 f"{list(spec.predictions)}.")
            value = features[key]
            if isinstance(value, SparseTensor):
                value = sparse_tensor_to_dense(value, default_value=defaults.get(key))
            found[key] = value
        outputs = {name: PredictOutput({**output.outputs, **found}) if isinstance(output, PredictOutput) and name in (
            "predict", DEFAULT_SERVING_SIGNATURE_DEF_KEY) else output for name, output in spec.export_outputs.items()}
        return spec._replace(predictions={**spec.predictions, **found}, export_outputs=outputs)
    return _changed(estimator, ModeKeys.PREDICT, forwarding)


def call_logit_fn(logit_fn: Callable[..., Any], features: Any, mode: str, params: object, config: object) -> Any:
    """What a function of features gives, which takes of mode, params and config those that it names: logits, or {name: logits}."""
    names, given = inspect.signature(logit_fn).parameters, {"mode": mode, "params": params, "config": config}
    found = logit_fn(features=features, **{name: value for name, value in given.items() if name in names})
    if not (isinstance(found, Tensor) or isinstance(found, dict) and all(isinstance(v, Tensor) for v in found.values())):
        raise ValueError("logit_fn should return a Tensor or a dictionary mapping strings to Tensors")
    return found

# SPDX-License-Identifier: Apache-2.0
"""Estimators made from others."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from thalweg.estimator.estimator import Estimator
from thalweg.estimator.spec import ModeKeys

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TAKEN = ("features", "labels", "predictions", "config")


def add_metrics(estimator: Estimator, metric_fn: Callable[..., dict[str, Any]]) -> Estimator:
    """An estimator of the same model and directory that measures more: what metric_fn(features, labels, predictions, config) gives, a
    dictionary as eval_metric_ops; it takes those of these arguments that it names."""
    names = list(inspect.signature(metric_fn).parameters)
    other = [name for name in names if name not in _TAKEN]
    if other:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {other}")

    def model_fn(features, labels, mode, config):
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        given = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **metric_fn(**{name: given[name] for name in names})})
    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator._warm)

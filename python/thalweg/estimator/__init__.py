# SPDX-License-Identifier: Apache-2.0
"""tw.estimator: a model function, trained, measured and asked by sessions that save themselves. Local, one process."""
from thalweg import names
from thalweg.estimator.estimator import Estimator, WarmStartSettings
from thalweg.estimator.run_config import RunConfig
from thalweg.estimator.spec import EstimatorSpec, ModeKeys
from thalweg.estimator.training import EvalSpec, Exporter, TrainSpec, train_and_evaluate


def __getattr__(name):
    if name == "inputs":
        import importlib
        return importlib.import_module("thalweg.estimator.inputs")
    raise AttributeError(f"module 'thalweg.estimator' has no attribute '{name}'")


names.complete(globals())
__all__ = ["Estimator", "EstimatorSpec", "EvalSpec", "Exporter", "ModeKeys", "RunConfig", "TrainSpec", "WarmStartSettings",
           "train_and_evaluate"]

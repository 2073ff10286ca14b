# SPDX-License-Identifier: Apache-2.0
"""tw.estimator: a model function, trained, measured and asked by sessions that save themselves. Local, one process."""
from thalweg.base import names
from thalweg.estimator.estimator import Estimator, WarmStartSettings
from thalweg.estimator.run_config import RunConfig
from thalweg.estimator.spec import EstimatorSpec, ModeKeys
from thalweg.estimator.training import EvalSpec, Exporter, TrainSpec, train_and_evaluate

# What tf.train has under the same name.
_OF_TRAIN = frozenset("""CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook
NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook
SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook VocabInfo""".split())


def __getattr__(name):
    if name == "inputs":
        import importlib
        return importlib.import_module("thalweg.estimator.inputs")
    if name in _OF_TRAIN:
        from thalweg import train
        return getattr(train, name)
    raise AttributeError(f"module 'thalweg.estimator' has no attribute '{name}'")


__all__ = ["Estimator", "EstimatorSpec", "EvalSpec", "Exporter", "ModeKeys", "RunConfig", "TrainSpec", "WarmStartSettings",
           "train_and_evaluate"]
names.complete(globals())

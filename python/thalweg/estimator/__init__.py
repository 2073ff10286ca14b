# SPDX-License-Identifier: Apache-2.0
"""tw.estimator: a model function, trained, measured and asked by sessions that save themselves; ready-made models. Local, one process."""
import importlib

from thalweg.base import names
from thalweg.estimator.estimator import Estimator, WarmStartSettings
from thalweg.estimator.run_config import RunConfig
from thalweg.estimator.spec import EstimatorSpec, ModeKeys
from thalweg.estimator.training import EvalSpec, Exporter, TrainSpec, train_and_evaluate

# What tf.train has under the same name.
_OF_TRAIN = frozenset("""CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook
NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook
SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook VocabInfo""".split())
# Modules that are public under their own name.
_MODULES = ("experimental", "export", "inputs")
# Where the rest lives, which most programs do not load.
_PLACES = {name: module for module, listed in {
    "boosted_trees": "BoostedTreesClassifier BoostedTreesEstimator BoostedTreesRegressor",
    "baseline": "BaselineClassifier BaselineEstimator BaselineRegressor",
    "class_heads": "BinaryClassHead MultiClassHead MultiLabelHead",
    "dnn": "DNNClassifier DNNEstimator DNNRegressor",
    "dnn_linear_combined": "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor",
    "example_specs": "classifier_parse_example_spec regressor_parse_example_spec",
    "exporters": "BestExporter FinalExporter LatestExporter",
    "extenders": "add_metrics",
    "heads": "Head",
    "linear": "LinearClassifier LinearEstimator LinearRegressor",
    "multi_head": "MultiHead",
    "regression_heads": "LogisticRegressionHead PoissonRegressionHead RegressionHead"}.items() for name in listed.split()}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"thalweg.estimator.{name}")
    if name in _PLACES:
        return getattr(importlib.import_module(f"thalweg.estimator.{_PLACES[name]}"), name)
    if name in _OF_TRAIN:
        from thalweg import train
        return getattr(train, name)
    raise AttributeError(f"module 'thalweg.estimator' has no attribute '{name}'")


__all__ = ["Estimator", "EstimatorSpec", "EvalSpec", "Exporter", "ModeKeys", "RunConfig", "TrainSpec", "WarmStartSettings",
           "train_and_evaluate"]
names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""tw.estimator.export: what models receive and offer where they are exported."""
from thalweg.base import names
from thalweg.estimator.export_outputs import ClassificationOutput, ExportOutput, PredictOutput, RegressionOutput
from thalweg.estimator.serving import (
    ServingInputReceiver,
    TensorServingInputReceiver,
    build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn,
)

__all__ = ["ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput", "ServingInputReceiver",
           "TensorServingInputReceiver", "build_parsing_serving_input_receiver_fn", "build_raw_serving_input_receiver_fn"]
names.complete(globals())

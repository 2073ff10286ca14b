# SPDX-License-Identifier: Apache-2.0
"""tw.saved_model: a graph with its signatures, variables and files in a directory, for programs that serve it.

    tw.saved_model.simple_save(sess, "model", inputs={"x": x}, outputs={"y": y})
    tw.saved_model.loader.load(sess, [tw.saved_model.tag_constants.SERVING], "model")
"""
from thalweg.base import names
from thalweg.saved_model.constants import *  # noqa: F403
from thalweg.saved_model.reader import load, maybe_saved_model_directory
from thalweg.saved_model.signatures import (
    build_signature_def,
    build_tensor_info,
    classification_signature_def,
    get_tensor_from_tensor_info,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from thalweg.saved_model.writer import Builder, main_op_with_restore, simple_save

contains_saved_model = maybe_saved_model_directory

__all__ = ["Builder", "build_signature_def", "build_tensor_info", "classification_signature_def", "contains_saved_model",
           "get_tensor_from_tensor_info", "is_valid_signature", "load", "main_op_with_restore", "maybe_saved_model_directory",
           "predict_signature_def", "regression_signature_def", "simple_save"]

names.complete(globals())

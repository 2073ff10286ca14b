# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn: the modes of a model function; texts as numbers of words."""
from thalweg.names import NotYetImplementedError


class ModeKeys:
    TRAIN, EVAL, INFER = "train", "eval", "infer"


def __getattr__(name):
    if name == "preprocessing":
        import importlib
        return importlib.import_module("thalweg.contrib.learn.preprocessing")
    if name.startswith("_"):
        raise AttributeError(name)
    raise NotYetImplementedError(f"tf.contrib.learn.{name} of TensorFlow 1.15 is not implemented in Thalweg")

# SPDX-License-Identifier: Apache-2.0
"""tw.estimator: the modes of a model function."""
from thalweg.names import NotYetImplementedError


class ModeKeys:
    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    raise NotYetImplementedError(f"tf.estimator.{name} of TensorFlow 1.15 is not implemented yet in Thalweg")

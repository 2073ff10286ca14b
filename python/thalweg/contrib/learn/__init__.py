# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn: the modes of a model function; where a process is in its cluster; experiments; texts as numbers of words; files
of examples."""
import importlib

from thalweg.base import names


class ModeKeys:
    """What a model is built for: TRAIN, EVAL or INFER.

    Examples
    --------
    >>> tw.contrib.learn.ModeKeys.TRAIN
    'train'
    """
    TRAIN, EVAL, INFER = "train", "eval", "infer"


def __getattr__(name):
    if name in ("datasets", "learn_runner", "preprocessing"):
        return importlib.import_module("thalweg.contrib.learn." + name)
    raise AttributeError(f"module 'thalweg.contrib.learn' has no attribute '{name}'")


names.complete(globals(), {"contrib.learn.experiment": "Experiment", "contrib.learn.run_config": "RunConfig"})

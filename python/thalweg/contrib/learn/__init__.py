# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn: the modes of a model function; where a process is in its cluster; texts as numbers of words."""
from thalweg.base import names


class ModeKeys:
    """What a model is built for: TRAIN, EVAL or INFER."""
    TRAIN, EVAL, INFER = "train", "eval", "infer"


def __getattr__(name):
    if name == "preprocessing":
        import importlib
        return importlib.import_module("thalweg.contrib.learn.preprocessing")
    if name == "RunConfig":
        from thalweg.contrib.learn import run_config
        return run_config.RunConfig
    raise AttributeError(f"module 'thalweg.contrib.learn' has no attribute '{name}'")


names.complete(globals())

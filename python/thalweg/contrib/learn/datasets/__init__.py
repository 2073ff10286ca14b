# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn.datasets: sets of examples in arrays, read from local files."""
import importlib

from thalweg.base import names


def __getattr__(name):
    if name in ("base", "mnist"):
        return importlib.import_module("thalweg.contrib.learn.datasets." + name)
    raise AttributeError(f"module 'thalweg.contrib.learn.datasets' has no attribute '{name}'")


names.complete(globals())

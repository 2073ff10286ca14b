# SPDX-License-Identifier: Apache-2.0
"""What of tf.keras TensorFlow 1 programs use beside its models: tw.keras."""
import importlib

from thalweg.base import names

# Modules that are public under their own name.
_MODULES = ("activations", "constraints", "initializers", "regularizers", "utils")


def __getattr__(name):
    if name in _MODULES:
        value = globals()[name] = importlib.import_module("thalweg.keras." + name)
        return value
    raise AttributeError(f"module 'thalweg.keras' has no attribute '{name}'")


__all__ = _MODULES
names.complete(globals())

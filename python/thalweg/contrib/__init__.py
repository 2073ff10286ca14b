# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow 1 programs find under tf.contrib: thalweg.contrib."""
import importlib

# Modules that are public under their own name, in order.
_MODULES = ()


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module 'thalweg.contrib' has no attribute '{name}'")
    value = globals()[name] = importlib.import_module("thalweg.contrib." + name)
    return value


def __dir__():
    return sorted(_MODULES)

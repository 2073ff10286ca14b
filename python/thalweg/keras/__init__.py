# SPDX-License-Identifier: Apache-2.0
"""What of tf.keras TensorFlow 1 programs use beside its models: tw.keras."""
import importlib

from thalweg.names import NotYetImplementedError

# Modules that are public under their own name.
_MODULES = ("activations", "constraints", "initializers", "regularizers")


def __getattr__(name):
    if name in _MODULES:
        value = globals()[name] = importlib.import_module("thalweg.keras." + name)
        return value
    if name.startswith("_"):
        raise AttributeError(name)
    raise NotYetImplementedError(f"tf.keras.{name} of TensorFlow 1.15 is not implemented in Thalweg")


def __dir__():
    return sorted(_MODULES)

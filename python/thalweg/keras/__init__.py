# SPDX-License-Identifier: Apache-2.0
"""tf.keras: tw.keras. What needs no model is here; models, layers and the rest come from the package `keras` where it is installed."""
import importlib
import sys
import types

from thalweg.base import later, names
from thalweg.keras import loading

# Modules that are public under their own name.
_MODULES = ("activations", "constraints", "experimental", "initializers", "optimizers", "regularizers", "utils")
# Those of which the names come from the package.
_NAMESPACES = frozenset(("applications", "backend", "callbacks", "datasets", "layers", "losses", "metrics", "models", "preprocessing", "wrappers"))
_NESTED = frozenset(("applications", "datasets", "preprocessing", "wrappers"))  # those that have such namespaces themselves
_MODELS = frozenset(("Input", "Model", "Sequential"))

__version__ = "2.2.4-tf"  # what tf.keras of 1.15 calls itself


def _finder(path):
    """The __getattr__ of tf.keras.PATH."""
    def find(name):
        if not name.startswith("_") and loading.installed():
            module = loading.module(path)
            if path in _NESTED and loading.has(f"{path}.{name}"):
                return _namespace(f"{path}.{name}")
            value = getattr(module, name, None)
            if value is not None and not isinstance(value, types.ModuleType):
                return value
        raise AttributeError(f"module 'thalweg.keras.{path}' has no attribute '{name}'")
    return find


def _namespace(path):
    """The module tf.keras.PATH, whose names are those of the module of the package."""
    name = "thalweg.keras." + path
    if name not in sys.modules:
        made = types.ModuleType(name, f"tf.keras.{path}, from the package `keras`.")
        made.__path__, made.__getattr__ = [], _finder(path)
        if path in _NAMESPACES:
            names.complete(made.__dict__)
        sys.modules[name] = made
    return sys.modules[name]


def __getattr__(name):
    if name in _MODULES:
        value = globals()[name] = importlib.import_module("thalweg.keras." + name)
        return value
    if name in _NAMESPACES:
        return _namespace(name)
    if name in _MODELS and loading.installed():
        return getattr(loading.module(), name)
    raise AttributeError(f"module 'thalweg.keras' has no attribute '{name}'")


later.says_more("tf.keras.", loading.missing)
__all__ = _MODULES
names.complete(globals())

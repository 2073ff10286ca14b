# SPDX-License-Identifier: Apache-2.0
"""The package `keras`, loaded a second time as thalweg.keras.library: what tf.keras is made of.

Keras 2.3 is a program of TensorFlow 1. What it imports of tensorflow is Thalweg here (`below.py`), whether programs have that name or
not, and what differs in tf.keras of 1.15 is changed in this copy alone (`adapted.py`): `import keras` gives what is installed.
"""
from __future__ import annotations

import builtins
import collections
import collections.abc
import functools
import importlib
import importlib.machinery
import importlib.util
import sys
import types
from typing import TYPE_CHECKING

from thalweg.base import old_numpy

if TYPE_CHECKING:
    from typing import Any

NAME = "thalweg.keras.library"
NEEDED = "2.3."
# Modules of the package in the place of which are ours, which know the names of TensorFlow.
_OURS = ("activations", "constraints", "initializers", "optimizers", "regularizers")


@functools.cache
def installed() -> bool:
    """Whether the package is there, of the version that can be adapted."""
    from importlib import metadata  # slow, and only programs with models come here
    try:
        return importlib.util.find_spec("keras") is not None and metadata.version("keras").startswith(NEEDED)
    except (ImportError, ValueError):  # a module without a package, or one that is half loaded
        return False


def missing() -> str:
    """What is said behind the name of what is missing, where the package is not there."""
    return "" if installed() else f"; models of tf.keras need Keras {NEEDED}1: pip install thalweg[keras]"


_NUMPY = old_numpy.copy()
_COLLECTIONS = types.SimpleNamespace(**vars(collections.abc), **{n: getattr(collections, n) for n in collections.__all__})


def _import(name, scope=None, local=None, fromlist=(), level=0):
    """Python's own, but for tensorflow, and for names that Python and numpy had then."""
    if level == 0 and name.partition(".")[0] == "tensorflow":
        below = builtins.__import__("thalweg.keras.below", fromlist=["tensorflow"])
        return below if fromlist else below.tensorflow
    if level == 0 and name == "collections":
        return _COLLECTIONS
    if level == 0 and name == "numpy":
        return _NUMPY
    return builtins.__import__(name, scope, local, fromlist, level)


_BUILTINS = {**vars(builtins), "__import__": _import}


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs a file of the package with an import of our own."""

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = _BUILTINS
        if module.__name__ == NAME:
            for name in _OURS:
                ours = sys.modules[f"{NAME}.{name}"] = importlib.import_module(f"thalweg.keras.{name}")
                setattr(module, name, ours)
        super().exec_module(module)
        importlib.import_module("thalweg.keras.adapted").adapt(module, module.__name__.removeprefix(NAME + "."))


class _Backend:
    """The module that chooses a backend, which there is one of."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        for part in ("common", "tensorflow_backend"):
            found = importlib.import_module(f"{NAME}.backend.{part}")
            module.__dict__.update((n, v) for n, v in vars(found).items() if not n.startswith("__"))
        module.backend = lambda: "tensorflow"


class _Finder:
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != NAME and not fullname.startswith(NAME + "."):
            return None
        if not installed():
            raise ModuleNotFoundError(f"tf.keras of TensorFlow 1.15 is not implemented in Thalweg{missing()}", name=fullname)
        if fullname == NAME + ".backend.load_backend":
            return importlib.machinery.ModuleSpec(fullname, _Backend())
        if fullname == NAME:
            there = importlib.util.find_spec("keras")
            return importlib.util.spec_from_file_location(fullname, there.origin, loader=_Loader(fullname, there.origin),
                                                          submodule_search_locations=there.submodule_search_locations)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def module(path: str = "") -> types.ModuleType:
    """A module of the package: "" is the package itself, "layers.core" one of its modules."""
    return importlib.import_module(f"{NAME}.{path}" if path else NAME)


def has(path: str) -> bool:
    """Whether the package has a module of this path."""
    full = f"{NAME}.{path}"
    try:
        return importlib.util.find_spec(full) is not None
    except ModuleNotFoundError as error:  # nor has it the one that it would lie in
        if not full.startswith(f"{error.name}."):
            raise
        return False


# Where names of TensorFlow's modules are whose files Keras has not, or calls otherwise.
_PLACES = {
    "engine.base_layer_utils": "engine.base_layer",
    "engine.input_spec": "engine.base_layer",
    "engine.node": "engine.base_layer",
    "layers.normalization_v2": "layers.normalization",
    "layers.recurrent_v2": "layers.recurrent",
    "saving.hdf5_format": "engine.saving",
    "saving.model_config": "engine.saving",
    "saving.save": "engine.saving",
}


def place(path: str) -> str | None:
    """The module of the package for a module below tensorflow.python.keras; None when it has none."""
    parent = path.rpartition(".")[0]
    path = _PLACES.get(path) or _PLACES.get(parent) or path
    if parent and not has(parent) and path not in _PLACES.values():
        return None
    return path if has(path) else None


sys.meta_path.insert(0, _Finder())

# SPDX-License-Identifier: Apache-2.0
"""Operations and kernels from shared objects."""
from __future__ import annotations

import os
import types
from typing import TYPE_CHECKING

from thalweg import raw_ops
from thalweg.graph.environment import environment
from thalweg.graph.op_definitions import all_definitions

if TYPE_CHECKING:
    from types import ModuleType


def load_op_library(library_filename: str) -> ModuleType:
    """Loads operations and kernels of a shared object (thalweg/kernel_api.h); gives a module with a function for each."""

    def names():
        return {op.name for op in all_definitions()}
    before = names()
    environment().load_library(library_filename)
    module = types.ModuleType("thalweg_loaded_ops")
    for name in sorted(names() - before):
        lower = "".join("_" + c.lower() if c.isupper() and i and not name[i - 1].isupper() else c.lower()
                        for i, c in enumerate(name))
        setattr(module, lower, raw_ops.function(name, lower))
    return module


def load_library(library_location: str) -> None:
    """Loads a library of operations, or all in a directory."""
    if os.path.isdir(library_location):
        for file in sorted(os.listdir(library_location)):
            if file.endswith(".so"):
                load_op_library(os.path.join(library_location, file))
    elif os.path.exists(library_location):
        load_op_library(library_location)
    else:
        raise OSError(2, f"The file or folder to load kernel libraries from does not exist: {library_location}")


def load_file_system_library(library_filename: str) -> None:
    """TensorFlow's plugins for file systems do not fit here."""
    raise NotImplementedError("file systems by library are not there: " + str(library_filename))

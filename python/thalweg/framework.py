# SPDX-License-Identifier: Apache-2.0
"""Operations from outside."""
import types

from thalweg import graph


def load_op_library(library_filename):
    """Loads operations and kernels of a shared object (thalweg/kernel_api.h); gives a module with a function for each."""
    from thalweg import messages, raw_ops
    environment = graph.environment()

    def names():
        return {op.name for op in messages.OpList.FromString(environment.op_list(False)).op}
    before = names()
    environment.load_library(library_filename)
    module = types.ModuleType("thalweg_loaded_ops")
    for name in sorted(names() - before):
        lower = "".join("_" + c.lower() if c.isupper() and i and not name[i - 1].isupper() else c.lower()
                        for i, c in enumerate(name))
        setattr(module, lower, raw_ops.function(name, lower))
    return module


def disable_v2_behavior():
    """For programs written against TensorFlow 2's compat.v1: what they ask for is how this package always is."""

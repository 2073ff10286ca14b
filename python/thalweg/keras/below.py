# SPDX-License-Identifier: Apache-2.0
"""What the package `keras` takes from tensorflow: `import tensorflow` gives `tensorflow`, and what it imports from modules of
tensorflow is a name here."""
from __future__ import annotations

import types
from typing import NoReturn

import thalweg
from thalweg import gfile, image
from thalweg.graph import device_specs as device  # noqa: F401  (names of this module, as backend and ctc_ops)
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor import Tensor
from thalweg.keras import graph_backend as backend  # noqa: F401
from thalweg.nn import ctc_ops  # noqa: F401
from thalweg.variables import variables as state_ops  # noqa: F401


class _TensorFlow(types.ModuleType):
    """The package under the name and the version that Keras asks for."""

    __version__ = "1.15.0"

    def __getattr__(self, name):
        return getattr(thalweg, name)


class ops:
    """Stands for tensorflow.python.framework.ops."""

    _TensorLike = (Tensor, SparseTensor)
    colocate_with = staticmethod(thalweg.colocate_with)
    convert_to_tensor = staticmethod(thalweg.convert_to_tensor)
    init_scope = staticmethod(thalweg.init_scope)

    @staticmethod
    def is_dense_tensor_like(value: object) -> bool:
        return isinstance(value, state_ops.Variable)


class tf_utils:
    """Stands for tensorflow.python.keras.utils.tf_utils."""

    @staticmethod
    def get_reachable_from_inputs(inputs: object, targets: object = None) -> tuple[()]:
        """What depends on the learning phase, which every model is fed here."""
        return ()


class functional_ops:
    """Stands for tensorflow.python.ops.functional_ops."""

    scan = staticmethod(thalweg.scan)


class projector:
    """Stands for tensorflow.contrib.tensorboard.plugins.projector, which the callback that writes for TensorBoard takes."""

    @staticmethod
    def ProjectorConfig() -> NoReturn:
        raise NotImplementedError("embeddings of tf.keras.callbacks.TensorBoard are not implemented in Thalweg")


class file_io:
    """Stands for tensorflow.python.lib.io.file_io."""

    FileIO = gfile.GFile
    file_exists = staticmethod(gfile.Exists)


tensorflow = _TensorFlow("tensorflow")
context = None  # stands for tensorflow.python.eager.context, which is asked in eager execution only
image_ops, math_ops = image, thalweg.math

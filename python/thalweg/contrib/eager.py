# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.eager, where it makes sense in graphs: defun."""
from thalweg.eager import executing_eagerly, init_scope  # noqa: F401
from thalweg.graph_functions import defun  # noqa: F401
from thalweg.names import missing_below

__getattr__ = missing_below("tf.contrib.eager")

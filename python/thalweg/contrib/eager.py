# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.eager, where it makes sense in graphs: defun."""
from thalweg.base import names
from thalweg.variables.eager import executing_eagerly, init_scope  # noqa: F401
from thalweg.variables.graph_functions import defun  # noqa: F401

names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""What the real TensorFlow and this package, in one process, made of a program; whether that is the same."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow.compat.v1 as tf
from compare import TOLERANCE

tf.disable_v2_behavior()


class Outcome:
    """What one engine made of a case: the outputs, or the class of its error."""

    def __init__(self, outputs=None, error=None):
        self.outputs, self.error = outputs, error

    def __str__(self):
        if not self.error:
            return f"{self.outputs}"
        lines = [line.strip() for line in str(self.error).splitlines() if "Graph execution error" not in line and "File " not in line]
        return f"{type(self.error).__name__}: {' '.join(filter(None, lines))[:300]}"


PLAIN = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
PLAIN.graph_options.rewrite_options.disable_meta_optimizer = True


def same_error(a, b):
    """The same class; or both have no kernel; or we refused earlier, when the node was made."""
    if type(a).__name__ == type(b).__name__ or not isinstance(a, tf.errors.OpError):
        return True
    if ("kernel" in str(a).lower() or "Signature mismatch" in str(a)) and "no kernel" in str(b):
        return True
    return isinstance(b, ValueError) and isinstance(a, tf.errors.InvalidArgumentError)


def differ(a, b, factor=1):
    """Why two outcomes are not the same, or None."""
    if a.error or b.error:
        return None if a.error and b.error and same_error(a.error, b.error) else f"theirs {a}; ours {b}"
    for i, (x, y) in enumerate(zip(a.outputs, b.outputs)):
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype != y.dtype and str(x.dtype) != str(y.dtype):
            return f"output {i}: theirs is {x.dtype}, ours {y.dtype}"
        if x.shape != y.shape:
            return f"output {i}: theirs is of shape {x.shape}, ours {y.shape}"
        kind = str(x.dtype)
        if kind in TOLERANCE:
            relative, absolute = (t * factor for t in TOLERANCE[kind])
            wide = complex if x.dtype.kind == "c" else float
            near = np.isclose(y.astype(wide), x.astype(wide), rtol=relative, atol=absolute, equal_nan=True)
        else:
            near = np.equal(x, y)
        if not np.all(near):
            at = tuple(np.argwhere(~np.atleast_1d(near))[0])
            return f"output {i} at {at}: theirs {np.atleast_1d(x)[at]!r}, ours {np.atleast_1d(y)[at]!r}"
    return None

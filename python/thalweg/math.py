# SPDX-License-Identifier: Apache-2.0
"""tw.math: the arithmetic of the package's top level under one name."""
import thalweg

from thalweg import names

_OWN = {"log_sigmoid": "log_sigmoid", "reduce_logsumexp": "reduce_logsumexp"}


def __getattr__(name):
    if name in _OWN:
        from thalweg import math_ops
        return getattr(math_ops, _OWN[name])
    if name in ("softmax", "log_softmax", "softplus", "softsign", "l2_normalize", "top_k", "in_top_k", "zero_fraction"):
        from thalweg import nn
        return getattr(nn, name)
    if name in ("polyval", "reciprocal_no_nan", "reduce_euclidean_norm", "reduce_std", "reduce_variance"):
        from thalweg import math_statistics
        return getattr(math_statistics, name)
    if name in thalweg._OPERATIONS or thalweg._found.get(name, ("",))[0] in ("math_ops", "array_ops"):
        return getattr(thalweg, name)
    raise AttributeError(f"module 'thalweg.math' has no attribute '{name}'")


names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""tw.math: the arithmetic of the package's top level under one name."""
import thalweg
from thalweg.base import names


def __getattr__(name):
    if name in thalweg._OPERATIONS or thalweg._found.get(name, ("",))[0] in ("operations.math_ops", "operations.array_ops"):
        return getattr(thalweg, name)
    raise AttributeError(f"module 'thalweg.math' has no attribute '{name}'")


names.complete(globals(), {
    "nn.activations": "log_softmax softmax softplus softsign",
    "nn.statistics": "in_top_k l2_normalize top_k zero_fraction",
    "operations.math_ops": "log_sigmoid reduce_logsumexp",
    "operations.math_statistics": "polyval reciprocal_no_nan reduce_euclidean_norm reduce_std reduce_variance"})

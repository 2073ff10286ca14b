# SPDX-License-Identifier: Apache-2.0
"""Initializers of tw.contrib.layers."""
import math

from thalweg import dtypes
from thalweg.operations import random_ops


def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=dtypes.float32):
    """Random values of a variance of factor / n, where n counts inputs, outputs, or is their mean."""
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def _initializer(shape, dtype=dtype, partition_info=None):
        if not dtypes.as_dtype(dtype).is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        sizes = [float(d) for d in shape]
        fan_in = sizes[-2] if len(sizes) > 1 else sizes[-1] if sizes else 1.0
        fan_out = sizes[-1] if sizes else 1.0
        field = math.prod(sizes[:-2])
        n = {"FAN_IN": fan_in * field, "FAN_OUT": fan_out * field, "FAN_AVG": (fan_in + fan_out) * field / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_ops.random_uniform(shape, -limit, limit, dtype, seed=seed)
        return random_ops.truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)
    return _initializer


def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    """Values that keep the scale of gradients about the same in all layers (Glorot and Bengio 2010)."""
    return variance_scaling_initializer(factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype)


xavier_initializer_conv2d = xavier_initializer

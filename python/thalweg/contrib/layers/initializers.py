# SPDX-License-Identifier: Apache-2.0
"""Initializers of tw.contrib.layers."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.operations import random_ops

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, Initializer


def variance_scaling_initializer(factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None,
                                 dtype: DTypeLike = dtypes.float32) -> Initializer:
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


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> Initializer:
    """Values that keep the scale of gradients about the same in all layers (Glorot and Bengio 2010).

    Parameters
    ----------
    uniform : bool
        Whether values are uniform in [-limit, limit], limit = sqrt(6 / (inputs + outputs)), or of a truncated normal distribution.
    seed : int, optional
        Seed of what is drawn.
    dtype : DType
        Type of the values: a floating one.

    Returns
    -------
    callable
        An initializer: shape -> Tensor.

    Raises
    ------
    TypeError
        If `dtype` is no floating type.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     values = sess.run(tw.contrib.layers.xavier_initializer(seed=1)([100, 200]))
    >>> values.shape, bool(abs(values).max() <= (6 / 300) ** 0.5)
    ((100, 200), True)
    """
    return variance_scaling_initializer(factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype)


xavier_initializer_conv2d = xavier_initializer

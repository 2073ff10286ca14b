# SPDX-License-Identifier: Apache-2.0
"""Regularizers: functions of weights that give a loss."""
from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys
from thalweg.operations import math_ops

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from thalweg.base.typing import Regularizer
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable


def _checked(scale, name="scale"):
    if isinstance(scale, numbers.Integral) and not isinstance(scale, bool):
        raise ValueError(f"{name} cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError(f"Setting a {name} less than 0 on a regularizer: {scale}")
    return isinstance(scale, numbers.Real) and scale == 0.0


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """scale * sum of absolute values."""
    if _checked(scale):
        return lambda _: None

    def l1(weights, name=None):
        with graph.name_scope(scope, "l1_regularizer", [weights]) as name:
            weights = ops.convert_to_tensor(weights)
            factor = ops.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return math_ops.multiply(factor, math_ops.reduce_sum(math_ops.abs_(weights)), name=name)
    return l1


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """scale * half the sum of squares."""
    if _checked(scale):
        return lambda _: None

    def l2(weights):
        with graph.name_scope(scope, "l2_regularizer", [weights]) as name:
            weights = ops.convert_to_tensor(weights)
            factor = ops.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return math_ops.multiply(factor, nn.l2_loss(weights), name=name)
    return l2


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Regularizer:
    """Both, added."""
    _checked(scale_l1, "scale_l1"), _checked(scale_l2, "scale_l2")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list: Iterable[Regularizer | None], scope: str | None = None) -> Regularizer | None:
    """The sum of several."""
    kept = [r for r in regularizer_list if r is not None]
    if not kept:
        return None

    def sum_reg(weights):
        with graph.name_scope(scope, "sum_regularizer", [weights]) as name:
            found = [r for r in (regularizer(weights) for regularizer in kept) if r is not None]
            return math_ops.add_n(found, name=name) if found else None
    return sum_reg


def apply_regularization(regularizer: Regularizer, weights_list: Sequence[Tensor | Variable] | None = None) -> Tensor:
    """The sum of the losses of all weights, in REGULARIZATION_LOSSES."""
    weights_list = weights_list or graph.get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with graph.name_scope("get_regularization_penalty", values=weights_list) as scope:
        found = [p if p is not None else ops.constant(0.0) for p in map(regularizer, weights_list)]
        if any(p.shape.ndims != 0 for p in found):
            raise ValueError("regularizer must return a scalar Tensor")
        total = math_ops.add_n(found, name=scope)
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total

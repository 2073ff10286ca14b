# SPDX-License-Identifier: Apache-2.0
"""tw.keras.activations: functions of a layer's result, and by name."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.base import names
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.keras import utils
from thalweg.operations import math_ops
from thalweg.operations.array_ops import where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.base.typing import Activation, TensorLike
    from thalweg.graph.tensor import Tensor


def softmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Chances that add up to 1 along the axis."""
    rank = convert_to_tensor(x).shape.ndims
    if rank is not None and rank < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    return nn.softmax(x, axis=axis)


def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """x above 0, alpha (exp(x) - 1) below."""
    made = apply("Elu", [x])
    if alpha == 1:
        return made
    return where(convert_to_tensor(x) > 0, made, alpha * made)


def selu(x: TensorLike) -> Tensor:
    """An elu that is scaled so that activations keep mean 0 and variance 1."""
    return apply("Selu", [x])


def softplus(x: TensorLike) -> Tensor:
    """log(exp(x) + 1)."""
    return apply("Softplus", [x])


def softsign(x: TensorLike) -> Tensor:
    """x / (1 + abs(x))."""
    return apply("Softsign", [x])


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Tensor:
    """x above the threshold and up to max_value; alpha (x - threshold) below."""
    x = convert_to_tensor(x)
    if alpha == 0 and max_value is None and threshold == 0:
        return apply("Relu", [x])
    dtype = x.dtype.base_dtype
    above = x * math_ops.cast(apply("Greater", [x, math_ops.cast(threshold, dtype)]), dtype)
    if max_value is not None:
        above = apply("Minimum", [above, math_ops.cast(max_value, dtype)])
    return above - alpha * apply("Relu", [math_ops.cast(threshold, dtype) - x]) if alpha != 0 else above


def tanh(x: TensorLike) -> Tensor:
    """The hyperbolic tangent."""
    return apply("Tanh", [x])


def sigmoid(x: TensorLike) -> Tensor:
    """1 / (1 + exp(-x))."""
    return apply("Sigmoid", [x])


def exponential(x: TensorLike) -> Tensor:
    """exp(x)."""
    return apply("Exp", [x])


def hard_sigmoid(x: TensorLike) -> Tensor:
    """0.2 x + 0.5 between 0 and 1."""
    x = convert_to_tensor(x)
    moved = x * math_ops.cast(0.2, x.dtype.base_dtype) + math_ops.cast(0.5, x.dtype.base_dtype)
    return apply("ClipByValue", [moved, math_ops.cast(0, x.dtype.base_dtype), math_ops.cast(1, x.dtype.base_dtype)])


def linear(x: TensorLike) -> Tensor:
    """x itself."""
    return x


_NAMED = {f.__name__: f for f in (softmax, elu, selu, softplus, softsign, relu, tanh, sigmoid, exponential, hard_sigmoid, linear)}


def serialize(activation: Activation) -> str:
    """The name of a function."""
    return activation.__name__


def deserialize(name: str, custom_objects: Mapping[str, object] | None = None) -> Activation:
    """The function of a name."""
    found = {**_NAMED, **utils.get_custom_objects(), **(custom_objects or {})}.get(name)
    if found is None:
        raise ValueError(f"Unknown activation function:{name}")
    return found


def get(identifier: object) -> Activation:
    """A function by its name, or itself; None keeps what it gets."""
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")


names.complete(globals())

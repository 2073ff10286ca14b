# SPDX-License-Identifier: Apache-2.0
"""tw.keras.constraints: what weights are made to keep after each update."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.graph.ops import apply
from thalweg.keras import utils
from thalweg.operations import math_ops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.graph.tensor import Tensor

_SMALL = 1e-7


def _norms(w, axis):
    return apply("Sqrt", [math_ops.reduce_sum(apply("Square", [w]), axis, keepdims=True)])


class Constraint:
    """Base: a call gives the weights as they may be."""

    def __call__(self, w: Tensor) -> Tensor:
        return w

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {}


class MaxNorm(Constraint):
    """Norms of at most max_value along the axis."""

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        wanted = apply("ClipByValue", [norms, math_ops.cast(0, norms.dtype), math_ops.cast(self.max_value, norms.dtype)])
        return w * (wanted / (_SMALL + norms))

    def get_config(self) -> dict[str, Any]:
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """Nothing below 0."""

    def __call__(self, w: Tensor) -> Tensor:
        return w * math_ops.cast(apply("GreaterEqual", [w, 0.0]), w.dtype.base_dtype)


class UnitNorm(Constraint):
    """Norms of 1 along the axis."""

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axis

    def __call__(self, w: Tensor) -> Tensor:
        return w / (_SMALL + _norms(w, self.axis))

    def get_config(self) -> dict[str, Any]:
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Norms between two values along the axis, approached at a rate."""

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | Sequence[int] = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        clipped = apply("ClipByValue", [norms, math_ops.cast(self.min_value, norms.dtype), math_ops.cast(self.max_value, norms.dtype)])
        return w * ((self.rate * clipped + (1 - self.rate) * norms) / (_SMALL + norms))

    def get_config(self) -> dict[str, Any]:
        return {"min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis}


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm
_NAMED = {"MaxNorm": MaxNorm, "NonNeg": NonNeg, "UnitNorm": UnitNorm, "MinMaxNorm": MinMaxNorm, "max_norm": MaxNorm,
          "non_neg": NonNeg, "unit_norm": UnitNorm, "min_max_norm": MinMaxNorm}


def serialize(constraint: Constraint | None) -> dict[str, Any] | None:
    """The class and the configuration; None of None."""
    return None if constraint is None else {"class_name": type(constraint).__name__, "config": constraint.get_config()}


def deserialize(config: str | Mapping[str, Any], custom_objects: Mapping[str, object] | None = None) -> Constraint:
    """A constraint of a class and a configuration, or of a name."""
    name, arguments = (config["class_name"], config.get("config", {})) if isinstance(config, dict) else (config, {})
    found = {**_NAMED, **utils.get_custom_objects(), **(custom_objects or {})}.get(name)
    if found is None:
        raise ValueError(f"Unknown constraint: {name}")
    return found(**arguments)


def get(identifier: object) -> Constraint | None:
    """A constraint by its name or configuration, or itself."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (dict, str)):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret constraint identifier: {identifier}")


names.complete(globals())

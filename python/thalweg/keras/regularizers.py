# SPDX-License-Identifier: Apache-2.0
"""tw.keras.regularizers: penalties on weights."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.graph.ops import apply, constant
from thalweg.keras import utils
from thalweg.operations import math_ops

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from thalweg.graph.tensor import Tensor


class Regularizer:
    """Base: a call gives the penalty of a tensor."""

    def __call__(self, x: Tensor) -> Tensor | float:
        return 0.0

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """A regularizer of what get_config gave."""
        return cls(**config)


class L1L2(Regularizer):
    """l1 sum |x| + l2 sum x^2."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x: Tensor) -> Tensor | float:
        if not self.l1 and not self.l2:
            return constant(0.0)
        penalty = 0.0
        if self.l1:
            penalty += self.l1 * math_ops.reduce_sum(apply("Abs", [x]))
        if self.l2:
            penalty += self.l2 * math_ops.reduce_sum(apply("Square", [x]))
        return penalty

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {"l1": self.l1, "l2": self.l2}


def l1(l: float = 0.01) -> L1L2:
    """l times the sum of the absolute values."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:
    """l times the sum of the squares."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """l1 times the sum of the absolute values and l2 times the sum of the squares."""
    return L1L2(l1=l1, l2=l2)


def serialize(regularizer: Regularizer | None) -> dict[str, Any] | None:
    """The class and the configuration; None of None."""
    return None if regularizer is None else {"class_name": type(regularizer).__name__, "config": regularizer.get_config()}


def deserialize(config: str | Mapping[str, Any], custom_objects: Mapping[str, object] | None = None) -> Regularizer:
    """A regularizer of a class and a configuration, or of a name."""
    name, arguments = (config["class_name"], config.get("config", {})) if isinstance(config, dict) else (config, {})
    found = {"L1L2": L1L2, "l1": l1, "l2": l2, "l1_l2": l1_l2, **utils.get_custom_objects(), **(custom_objects or {})}.get(name)
    if found is None:
        raise ValueError(f"Unknown regularizer: {name}")
    return found(**arguments)


def get(identifier: object) -> Regularizer | None:
    """A regularizer by its name or configuration, or itself."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (dict, str)):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret regularizer identifier: {identifier}")


names.complete(globals())

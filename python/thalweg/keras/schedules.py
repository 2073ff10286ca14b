# SPDX-License-Identifier: Apache-2.0
"""tf.keras.optimizers.schedules: learning rates that change with the step."""
from __future__ import annotations

from typing import TYPE_CHECKING

import thalweg
from thalweg import train
from thalweg.keras import utils

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


class LearningRateSchedule:
    """A learning rate that depends on how many steps were made: `schedule(step)`."""

    def __call__(self, step: TensorLike) -> Tensor:
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a schedule."""
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """A schedule of what get_config gave."""
        return cls(**config)


Rate = float | LearningRateSchedule


class _Schedule(LearningRateSchedule):
    """One of the functions of tf.train, whose arguments were given before."""

    _FUNCTION = ""

    def __init__(self, **arguments: Any) -> None:
        self._arguments = arguments
        self.__dict__.update(arguments)

    def __call__(self, step: TensorLike) -> Tensor:
        arguments = dict(self._arguments)
        return getattr(train, self._FUNCTION)(arguments.pop("initial_learning_rate"), step, **arguments)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a schedule."""
        return dict(self._arguments)


class _DecayAtRate(_Schedule):
    """Base of those that have a `decay_rate`."""

    def __init__(self, initial_learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False,
                 name: str | None = None) -> None:
        super().__init__(initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, decay_rate=decay_rate, staircase=staircase,
                         name=name)


class ExponentialDecay(_DecayAtRate):
    """The rate is multiplied by `decay_rate` each `decay_steps` steps."""

    _FUNCTION = "exponential_decay"


class InverseTimeDecay(_DecayAtRate):
    """The rate is divided by 1 + `decay_rate` * step / `decay_steps`."""

    _FUNCTION = "inverse_time_decay"


class PolynomialDecay(_Schedule):
    """The rate goes to `end_learning_rate` in `decay_steps` steps."""

    _FUNCTION = "polynomial_decay"

    def __init__(self, initial_learning_rate: float, decay_steps: float, end_learning_rate: float = 0.0001, power: float = 1.0,
                 cycle: bool = False, name: str | None = None) -> None:
        super().__init__(initial_learning_rate=initial_learning_rate, decay_steps=decay_steps, end_learning_rate=end_learning_rate,
                         power=power, cycle=cycle, name=name)


class PiecewiseConstantDecay(LearningRateSchedule):
    """One rate up to each boundary, another behind the last."""

    def __init__(self, boundaries: Sequence[float], values: Sequence[float], name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = list(boundaries), list(values), name

    def __call__(self, step: TensorLike) -> Tensor:
        step = thalweg.convert_to_tensor(step)
        return train.piecewise_constant(step, [thalweg.cast(b, step.dtype) for b in self.boundaries], self.values, name=self.name)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a schedule."""
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


_ALL = (ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay)


def serialize(learning_rate_schedule: LearningRateSchedule) -> dict[str, Any]:
    """The class and the configuration."""
    return {"class_name": type(learning_rate_schedule).__name__, "config": learning_rate_schedule.get_config()}


def deserialize(config: Mapping[str, Any], custom_objects: Mapping[str, object] | None = None) -> LearningRateSchedule:
    """A schedule of a class and a configuration."""
    known = {**{cls.__name__: cls for cls in _ALL}, **utils.get_custom_objects(), **(custom_objects or {})}
    if config["class_name"] not in known:
        raise ValueError(f"Unknown decay: {config['class_name']}")
    return utils.made_of_config(known[config["class_name"]], config["config"], custom_objects)

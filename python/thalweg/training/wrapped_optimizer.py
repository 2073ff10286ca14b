# SPDX-License-Identifier: Apache-2.0
"""What optimizers share that hand their work on to another one, `_opt`. Programs ask which class an optimizer is directly derived
from, so this is no class between them and Optimizer."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.base.typing import Gradient, S
    from thalweg.training.optimizer import Optimizer
    from thalweg.variables.variables import Variable


def wrapping(cls: type[S]) -> type[S]:
    """Class decorator: gradients, slots and variables are those of the optimizer within, where the class has none itself."""
    for method in (compute_gradients, get_slot, get_slot_names, variables):
        if method.__name__ not in vars(cls):
            setattr(cls, method.__name__, method)
    return cls


def compute_gradients(self: Optimizer, *args: object, **kwargs: object) -> list[tuple[Gradient | None, Variable]]:
    """As the optimizer within."""
    return self._opt.compute_gradients(*args, **kwargs)


def get_slot(self: Optimizer, *args: object, **kwargs: object) -> Variable | None:
    """As the optimizer within."""
    return self._opt.get_slot(*args, **kwargs)


def get_slot_names(self: Optimizer, *args: object, **kwargs: object) -> list[str]:
    """As the optimizer within."""
    return self._opt.get_slot_names(*args, **kwargs)


def variables(self: Optimizer, *args: object, **kwargs: object) -> list[Variable]:
    """As the optimizer within."""
    return self._opt.variables(*args, **kwargs)

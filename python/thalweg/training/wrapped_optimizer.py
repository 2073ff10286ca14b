# SPDX-License-Identifier: Apache-2.0
"""What optimizers share that hand their work on to another one, `_opt`. Programs ask which class an optimizer is directly derived
from, so this is no class between them and Optimizer."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.base.typing import S


def wrapping(cls: type[S]) -> type[S]:
    """Class decorator: gradients, slots and variables are those of the optimizer within, where the class has none itself."""
    def through(name):
        def method(self, *args, **kwargs):
            return getattr(self._opt, name)(*args, **kwargs)
        method.__name__, method.__doc__ = name, "As the optimizer within."
        return method
    for name in ("compute_gradients", "get_slot", "get_slot_names", "variables"):
        if name not in vars(cls):
            setattr(cls, name, through(name))
    return cls

# SPDX-License-Identifier: Apache-2.0
"""How a variable that several devices have is kept, and what stands for a variable as a key."""
from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class VariableSynchronization(enum.Enum):
    """When the copies that several devices have of a variable are made equal."""
    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation(enum.Enum):
    """How the changes of several devices become one."""
    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)
    ONLY_FIRST_TOWER = 3


def modes(name: str | None, synchronization: VariableSynchronization | int | None, aggregation: VariableAggregation | int | None,
          trainable: bool | None) -> tuple[VariableSynchronization, VariableAggregation, bool]:
    """(synchronization, aggregation, trainable) with what is not given filled in; the proto's numbers will do too."""
    try:
        synchronization = VariableSynchronization(synchronization or VariableSynchronization.AUTO)
        aggregation = VariableAggregation(aggregation or VariableAggregation.NONE)
    except ValueError as error:
        raise ValueError(f"Invalid variable synchronization or aggregation mode of variable: {name}: {error}") from None
    on_read = synchronization is VariableSynchronization.ON_READ
    if on_read and trainable:
        raise ValueError("Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. You "
                         "have set trainable=True and synchronization=VariableSynchronization.ON_READ.")
    return synchronization, aggregation, not on_read if trainable is None else trainable


class Reference:
    """A variable as a key: equal to another of the same one."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Any:
        """The variable."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._wrapped is other._wrapped

    def __hash__(self):
        return id(self._wrapped)

    def __repr__(self):
        return f"<Reference wrapping {self._wrapped!r}>"

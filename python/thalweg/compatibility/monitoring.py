# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.eager.monitoring: numbers that a library counts of itself, kept in this process by name and labels."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from thalweg import errors

if TYPE_CHECKING:
    from typing import Any

_names: set[str] = set()
_lock = threading.Lock()


class _Cell:
    """One value of a metric."""

    def __init__(self, first: Any) -> None:
        self._value, self._lock = first, threading.Lock()

    def value(self) -> Any:
        """What it is now."""
        return self._value


class CounterCell(_Cell):
    """A number that grows."""

    def increase_by(self, value: int) -> None:
        """Adds a number, which is not below 0."""
        if value < 0:
            raise ValueError(f"A counter is increased by 0 or more, got {value}")
        with self._lock:
            self._value += value


class _GaugeCell(_Cell):
    def set(self, value: Any) -> None:
        """Sets it."""
        self._value = type(self._value)(value)


class IntGaugeCell(_GaugeCell):
    """An integer."""


class StringGaugeCell(_GaugeCell):
    """A text."""


class BoolGaugeCell(_GaugeCell):
    """True or False."""


class Metric:
    """A metric: a cell for each of the values of its labels. Its name is one in the process."""

    _cell: type = _Cell
    _first: Any = 0

    def __init__(self, name: str, description: str, *labels: str) -> None:
        with _lock:
            if name in _names:
                raise errors.AlreadyExistsError(None, None, f"Another metric with the same name already exists: {name}")
            _names.add(name)
        self._name, self._description, self._labels, self._cells = name, description, labels, {}

    def get_cell(self, *labels: str) -> Any:
        """The cell of these values of the labels."""
        if len(labels) != len(self._labels):
            raise ValueError(f"{self._name} has {len(self._labels)} label(s), {list(self._labels)}, got {list(labels)}")
        with _lock:
            return self._cells.setdefault(labels, self._cell(self._first))

    def __del__(self) -> None:
        _names.discard(self.__dict__.get("_name", ""))


class Counter(Metric):
    """Numbers that grow."""

    _cell = CounterCell


class IntGauge(Metric):
    """Integers."""

    _cell = IntGaugeCell


class StringGauge(Metric):
    """Texts."""

    _cell, _first = StringGaugeCell, ""


class BoolGauge(Metric):
    """True or False."""

    _cell, _first = BoolGaugeCell, False

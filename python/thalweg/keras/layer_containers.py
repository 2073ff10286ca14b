# SPDX-License-Identifier: Apache-2.0
"""Layers in the lists, tuples and dictionaries of a program's layer or model: they are parts of it, as those that are attributes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.keras import checkpoints

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any


def _within(value: Any, kind: type) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            if isinstance(each, (kind, dict, list, tuple)):  # a list of many numbers costs little
                yield from _within(each, kind)


def find(layer: Any, module: ModuleType) -> None:
    """Makes the layers that a program's layer has been given its parts, in the order of the attributes."""
    if layer.__dict__.get("_is_graph_network") or type(layer).__module__.startswith("thalweg.keras.library."):
        return
    found = {id(each): each for _, value in checkpoints.attributes(layer) for each in _within(value, module.Layer) if each is not layer}
    if found:
        layer.__dict__["_layers"] = [*{**found, **{id(each): each for each in layer.__dict__.get("_layers", ())}}.values()]

# SPDX-License-Identifier: Apache-2.0
"""Layers in the lists, tuples and dictionaries of a program's layer or model: they are parts of it, as those that are attributes."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

# What the package itself keeps there: layers around it, and those that `_layers` has already.
_OWN = frozenset(("_layers", "_inbound_nodes", "_outbound_nodes", "_input_layers", "_output_layers", "_metrics", "_nodes_by_depth",
                  "_layers_by_depth", "_input_coordinates", "_output_coordinates", "_added_within"))


def _within(value: Any, kind: type) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _within(each, kind)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _within(each, kind)


def find(layer: Any, module: ModuleType) -> None:
    """Makes the layers that a program's layer has been given its parts, in the order of the attributes."""
    if layer.__dict__.get("_is_graph_network") or type(layer).__module__.startswith("thalweg.keras.library."):
        return
    found = []
    for name, value in list(vars(layer).items()):
        if name not in _OWN:
            found.extend(each for each in _within(value, module.Layer) if not any(each is other for other in found) and each is not layer)
    known = layer.__dict__.get("_layers", [])
    if found:
        layer.__dict__["_layers"] = [*found, *(each for each in known if not any(each is other for other in found))]

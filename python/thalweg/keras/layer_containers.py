# SPDX-License-Identifier: Apache-2.0
"""Layers in the lists, tuples and dictionaries of a program's layer or model: they are parts of it, as those that are attributes."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

# Where the package itself keeps layers, variables, metrics and what is computed of them.
INTERNAL = frozenset((
    "_added_within", "_collected_trainable_weights", "_compile_metric_functions", "_compile_metrics", "_compile_weighted_metrics",
    "_feed_loss_fns", "_inbound_nodes", "_input_coordinates", "_input_layers", "_layers", "_layers_by_depth", "_metrics", "_network_nodes",
    "_nodes_by_depth", "_non_trainable_weights", "_outbound_nodes", "_output_coordinates", "_output_layers", "_output_loss_metrics",
    "_per_output_metrics", "_per_output_weighted_metrics", "_trainable_weights", "_weight_names", "loss_functions", "optimizer"))


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
        if name not in INTERNAL:
            found.extend(each for each in _within(value, module.Layer) if not any(each is other for other in found) and each is not layer)
    known = layer.__dict__.get("_layers", [])
    if found:
        layer.__dict__["_layers"] = [*found, *(each for each in known if not any(each is other for other in found))]

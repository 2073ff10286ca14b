# SPDX-License-Identifier: Apache-2.0
"""The lists and dictionaries that a layer of 1.15 holds: they are nodes of a checkpoint too, without a value, and `assert_consumed` there
asks for each of them. The package keeps others, or tuples and numbers in their place."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.training import object_checkpoints

if TYPE_CHECKING:
    from typing import Any

# Of the package's classes, what 1.15 has a list or a dictionary of, in which nothing is that a checkpoint leads to.
_HELD = {"BatchNormalization": ("axis",), "DenseFeatures": ("_feature_columns", "_resources"),
         "Lambda": ("arguments", "_variable_dict", "_trainable_weights", "_non_trainable_weights"), "LayerNormalization": ("axis",)}
# What the package has a list or a dictionary of in layers and models, and 1.15 does not lead to.
_UNTRACKED = frozenset((
    "_feed_input_names", "_feed_input_shapes", "_feed_inputs", "_feed_output_names", "_feed_output_shapes", "_feed_outputs",
    "_feed_sample_weight_modes", "_feed_sample_weights", "_feed_targets", "_function_kwargs", "_input_map", "_losses", "_output_mask_cache",
    "_output_shape_cache", "_output_tensor_cache", "_per_input_losses", "_per_input_updates", "_updates", "input_names", "input_spec",
    "inputs", "loss_weights_list", "output_names", "outputs", "sample_weight_modes", "sample_weights", "skip_target_indices",
    "state_spec", "targets"))


class Container:
    """A list or dictionary as a node of a checkpoint: it leads to what leads on in it, and to the lists and dictionaries there.

    Parameters
    ----------
    value : list or dict
        What it stands for.
    known : dict
        {id: Container} of what was met already; the new one is added.
    """

    def __init__(self, value: list[Any] | dict[Any, Any], known: dict[int, Container]) -> None:
        known[id(value)] = self
        items = value.items() if isinstance(value, dict) else ((str(number), item) for number, item in enumerate(value))
        self._parts = {name: _node(item, known) for name, item in items
                       if isinstance(name, str) and (_is_container(item) or object_checkpoints._is_kept(item))}

    def _checkpoint_parts(self) -> dict[str, Any]:
        return self._parts


def _is_container(value):
    return isinstance(value, (list, dict))


def _node(value, known):
    if not _is_container(value):
        return value
    return known.get(id(value)) or Container(value, known)


def of_layer(layer: Any, attributes: dict[str, Any]) -> dict[str, Container]:
    """{name: what 1.15 holds under it} of a layer, or of a model of a class of the program, that has such attributes of its own."""
    found = {}
    for cls in type(layer).__mro__:
        if cls.__module__.startswith("thalweg.keras."):
            found.update({name: [] for name in _HELD.get(cls.__name__, ())})
            found.update(_inside(layer, cls.__name__))
    if isinstance(vars(layer).get("state_spec"), list):
        found["state_spec"] = []
    if layer._updates:
        found["_updates"] = []
    if _has_losses(layer):
        found["_callable_losses"] = []
    if not type(layer).__module__.startswith("thalweg.keras."):
        found.update({name: value for name, value in attributes.items() if _is_container(value) and name not in _UNTRACKED})
    known: dict[int, Container] = {}
    return {name: _node(value, known) for name, value in found.items()}


def _has_losses(layer):
    """Whether 1.15 would add a loss to the layer itself; the package adds those of what TimeDistributed wraps to the wrapper."""
    weights = (*layer._trainable_weights, *layer._non_trainable_weights)
    return bool(layer._losses and "_input_map" not in vars(layer)) or vars(layer).get("activity_regularizer") is not None or \
        any(hasattr(weight, "_regularizer") for weight in weights)


def _inside(layer, kind):
    """Of a wrapper, the lists of what it wraps."""
    if kind == "Bidirectional":
        return {"_layers": [layer.forward_layer, layer.backward_layer]}
    if kind == "TimeDistributed":
        inputs: dict[str, Any] = {}
        return {"_layers": [layer.layer, inputs], "_input_map": inputs}
    if kind == "StackedRNNCells":
        cells = list(layer.cells)
        return {"cells": cells, "_layers": [cells]}
    if kind == "PReLU" and layer.shared_axes is not None:
        return {"shared_axes": []}
    return {}

# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of models: what leads to which variable, by the names of 1.15, and save_weights and load_weights in TensorFlow's format."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.keras import graph_backend
from thalweg.saving import checkpoint_files
from thalweg.training import object_checkpoints

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_HDF5 = (".h5", ".keras", ".hdf5")
# Attributes in which Keras, and we (`inner_updates.py`), keep layers, variables and metrics beside those that lead to them.
_INTERNAL = frozenset((
    "_added_within", "_collected_trainable_weights", "_compile_metric_functions", "_compile_metrics", "_compile_weighted_metrics", "_feed_loss_fns",
    "_inbound_nodes", "_input_coordinates", "_input_layers", "_layers", "_layers_by_depth", "_metrics", "_network_nodes", "_nodes_by_depth",
    "_non_trainable_weights", "_outbound_nodes", "_output_coordinates", "_output_layers", "_output_loss_metrics", "_per_output_metrics",
    "_per_output_weighted_metrics", "_trainable_weights", "_weight_names", "loss_functions", "optimizer"))


def is_hdf5(path: object) -> bool:
    """Whether weights at this path are an HDF5 file, by its name."""
    return os.fspath(path).endswith(_HDF5)


def attributes(layer: Any) -> Iterator[Any]:
    """(name, value) of the attributes by which a layer may lead to others: not those of Keras itself, nor those that were set within
    tensorflow.python.training.tracking's no_automatic_dependency_tracking_scope."""
    hidden = _INTERNAL.union(vars(layer).get("_untracked", ()))
    return ((name, value) for name, value in list(vars(layer).items()) if name not in hidden)


def parts(layer: Any, is_model: bool = False) -> dict[str, Any]:
    """{name: what a layer or model leads to}: weights, layers within, the optimizer of a model."""
    if is_model and layer._is_graph_network:
        found = _numbered(layer._layers)
    else:
        found = dict(vars(layer).get("_weight_names", {}))
        found.update((name, value) for name, value in attributes(layer) if object_checkpoints._is_kept(value))
    if is_model and hasattr(getattr(layer, "optimizer", None), "_checkpoint_slots"):
        found["optimizer"] = layer.optimizer
    return found


def _numbered(layers):
    """layer-0, layer-1 ... are all layers, layer_with_weights-0 ... those with weights."""
    found, count = {}, 0
    for number, layer in enumerate(layers):
        if layer.weights:
            found[f"layer_with_weights-{count}"] = layer
            count += 1
        found[f"layer-{number}"] = layer
    return found


def check_built(model: Any, what: str) -> None:
    """A ValueError where a model has no weights yet."""
    if not model.built and not model.weights:
        raise ValueError(f"The weights of model {model.name} cannot be {what}: it has none until it is given an `input_shape`, built, called or "
                         "trained")


def save(model: Any, path: str) -> None:
    """Writes the weights, and the variables of the optimizer, as a checkpoint of this prefix."""
    check_built(model, "saved")
    object_checkpoints.write_objects(path, model, graph_backend.get_session())
    checkpoint_files.update_checkpoint_state(os.path.dirname(path) or ".", path, [path])


def load(model: Any, path: str) -> object_checkpoints.RestoreStatus:
    """Sets the weights, and the variables of the optimizer, to those of a checkpoint."""
    check_built(model, "loaded")
    if not os.path.exists(path + ".index"):
        what = " but a folder" if os.path.isdir(path) else ""
        raise errors.NotFoundError(None, None, f"{path} is no checkpoint{what}: there is no {path}.index, and HDF5 files end in "
                                               f"{', '.join(_HDF5)}")
    with graph_backend.get_graph().as_default():
        values, status = object_checkpoints.ObjectReader(path).values(model)
    if not values:
        raise ValueError(f"The checkpoint {path} has no weight of the model {model.name}, whose layers are "
                         f"{[layer.name for layer in model.layers]}")
    graph_backend.batch_set_value(values)
    return status

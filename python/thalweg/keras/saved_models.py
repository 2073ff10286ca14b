# SPDX-License-Identifier: Apache-2.0
"""SavedModels of tf.keras models: a graph with a signature for serving, a checkpoint of objects, and the configuration of the model.

The configuration lies in assets/saved_model.json, where export_saved_model of 1.15 puts it. What `model.save` of 1.15 wrote has it
in the metadata of its objects, which is read too."""
from __future__ import annotations

import importlib
import json
import logging
import os
from typing import TYPE_CHECKING

import numpy as np

from thalweg import graph_util, messages
from thalweg.graph.graph import Graph
from thalweg.keras import checkpoints, graph_backend, object_graphs
from thalweg.saved_model import constants as keys, reader, signatures as signature_defs
from thalweg.saving import meta_graph, meta_graph_import, saver
from thalweg.training import object_checkpoints

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_CONFIGURATION = os.path.join(keys.ASSETS_DIRECTORY, "saved_model.json")
_VARIABLES = os.path.join(keys.VARIABLES_DIRECTORY, keys.VARIABLES_FILENAME)


def _library(path):
    """A module of the package."""
    return importlib.import_module("thalweg.keras.library." + path)


# ---- writing ----
class _Root:
    """A model in a checkpoint, or what stands for it, with its optimizer or without it."""

    def __init__(self, leads, model, include_optimizer):
        self._leads, self._optimizer = leads, model._checkpoint_parts().get("optimizer") if include_optimizer else None

    def _checkpoint_parts(self):
        found = {name: part for name, part in self._leads._checkpoint_parts().items() if name != "optimizer"}
        return found if self._optimizer is None else {**found, "optimizer": self._optimizer}


def _exported(model, training):
    """(the root of the model's object graph, the graph, its functions); None where the model computes with what a file cannot hold."""
    try:
        exported = object_graphs.Exported(model, training, _plain)
        return (exported.root, *exported.write())
    except object_graphs.CannotTraceError as error:
        logging.getLogger("thalweg").warning("The SavedModel of %s has signatures only, and is no model to load_model of TensorFlow 1.15: %s",
                                             model.name, error)
        return None


def _plain(value):
    """What JSON writes of a value that it does not know."""
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if callable(value):
        return value.__name__
    raise TypeError(f"{value!r} of the model's configuration cannot be written as JSON")


def _is_known(optimizer):
    """Whether an optimizer has a configuration, which those of tf.train have not."""
    return hasattr(optimizer, "_checkpoint_slots") and not hasattr(optimizer, "optimizer")


def _training_configuration(model):
    """What compile() was told; None where it was not called, or with an optimizer of tf.train."""
    if not _is_known(model.optimizer):
        return None
    return {"loss": model.loss, "metrics": model._compile_metrics, "weighted_metrics": model._compile_weighted_metrics,
            "sample_weight_mode": model.sample_weight_mode, "loss_weights": model.loss_weights,
            "optimizer_config": {"class_name": type(model.optimizer).__name__, "config": model.optimizer.get_config()}}


def _configuration(model, training):
    """The text that makes such a model again; None for a class of the program."""
    if not model._is_graph_network:
        return None
    made = model._updated_config()
    if training is not None:
        made["training_config"] = training
    return json.dumps(made, default=_plain)


def _graph_of(model, variables, signature):
    """The MetaGraphDef of what the model's outputs need, with a saver of its variables by their keys."""
    held = {id(v) for v in model.weights}
    kept = {key: v for key, v in variables.items() if id(v) in held}
    protos = [v.to_proto() for v in kept.values()]
    taken = [info.name for infos in (signature.inputs, signature.outputs) for info in infos.values()]
    taken += [name for p in protos for name in (p.variable_name, p.initializer_name, p.snapshot_name, p.initial_value_name)]
    whole = graph_backend.get_graph().as_graph_def()
    made = messages.MetaGraphDef()
    made.graph_def.CopyFrom(graph_util.extract_sub_graph(whole, list(dict.fromkeys(name.partition(":")[0] for name in taken))))
    for row, variable in zip(protos, kept.values()):
        made.collection_def["variables"].bytes_list.value.append(row.SerializeToString())
        if variable in model.trainable_weights:
            made.collection_def["trainable_variables"].bytes_list.value.append(row.SerializeToString())
    with Graph().as_default() as graph:
        meta_graph_import.import_meta_graph(made, clear_devices=True)
        by_key = saver.Saver(dict(zip(kept, graph.get_collection("variables"))), allow_empty=True)
        made = meta_graph.export_meta_graph(graph=graph, saver=by_key)
    made.meta_info_def.tags.append(keys.SERVING)
    made.signature_def[keys.DEFAULT_SERVING_SIGNATURE_DEF_KEY].CopyFrom(signature)
    return made


def save(model: Any, path: str, overwrite: bool = True, include_optimizer: bool = True, signatures: object = None,
         with_objects: bool = True) -> None:
    """Writes a model as a SavedModel: the folder `path`, which is made. `with_objects` says whether load_model of TensorFlow 1.15 makes a
    model of it.

    Raises
    ------
    ValueError
        If the model has no weights or inputs yet.
    NotADirectoryError
        If `path` is a file.
    """
    if signatures is not None:
        raise NotImplementedError("`signatures` of tf.keras.models.save_model is not implemented in Thalweg: a model has one signature, "
                                  "serving_default, of its inputs and outputs")
    checkpoints.check_built(model, "saved")
    if not model.inputs:
        raise ValueError(f"Model {model.name} cannot be saved: its input shapes are not set. Call it, fit() or predict() first")
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(f"{path} is a file: a SavedModel is a folder")
    file = os.path.join(path, keys.SAVED_MODEL_FILENAME_PB)
    if not overwrite and os.path.exists(file) and not _library("engine.saving").ask_to_proceed_with_overwrite(path):
        return
    training = _training_configuration(model) if include_optimizer else None
    text = _configuration(model, training)
    session = graph_backend.get_session()
    signature = signature_defs.predict_signature_def(dict(zip(model.input_names, model.inputs)), dict(zip(model.output_names, model.outputs)))
    with graph_backend.get_graph().as_default():
        exported = _exported(model, training) if with_objects else None
        root = _Root(model if exported is None else exported[0], model, include_optimizer)
        made = _graph_of(model, object_checkpoints.object_graph(root)[1], signature)
        if exported is not None:
            made.object_graph_def.CopyFrom(exported[1])
            there = {definition.signature.name for definition in made.graph_def.library.function}
            made.graph_def.library.function.extend(d for d in exported[2] if d.signature.name not in there)
        object_checkpoints.write_objects(os.path.join(path, _VARIABLES), root, session)
    configuration = os.path.join(path, _CONFIGURATION)
    if text is not None:
        os.makedirs(os.path.dirname(configuration), exist_ok=True)
        meta_graph.write_bytes(configuration, text.encode())
    elif os.path.exists(configuration):  # of another model that was saved here
        os.remove(configuration)
    written = messages.SavedModel(saved_model_schema_version=keys.SAVED_MODEL_SCHEMA_VERSION)
    written.meta_graphs.append(made)
    meta_graph.write_bytes(file, written.SerializeToString())


# ---- reading ----
def _read_configuration(path):
    """({class_name, config}, training configuration or None) of the model in a folder."""
    file = os.path.join(path, _CONFIGURATION)
    if os.path.exists(file):
        with open(file, encoding="utf-8") as f:
            made = json.load(f)
        return made, made.get("training_config")
    nodes = reader.read(path, [keys.SERVING])[0].object_graph_def.nodes
    text = nodes[0].user_object.metadata if len(nodes) else ""
    if not text:
        raise ValueError(f"{path} is a SavedModel, but of no tf.keras model: tf.saved_model.load runs it by its signatures")
    made = json.loads(text)
    if "model_config" not in made:
        raise NotImplementedError(f"The model in {path} is a class of the program ({made.get('class_name')}), which has no configuration: "
                                  "make one, and load_weights of its folder's variables/variables")
    return made["model_config"], made.get("training_config")


def _check_folder(path):
    if not any(os.path.exists(os.path.join(path, f)) for f in (keys.SAVED_MODEL_FILENAME_PB, keys.SAVED_MODEL_FILENAME_PBTXT)):
        raise OSError(f"SavedModel file does not exist at: {path}/{{{keys.SAVED_MODEL_FILENAME_PBTXT}|{keys.SAVED_MODEL_FILENAME_PB}}}")
    if not os.path.exists(os.path.join(path, _VARIABLES + ".index")):
        raise OSError(f"The SavedModel {path} has no variables: there is no {_VARIABLES}.index in it")


def _named(value, custom_objects):
    """A loss or metrics of a configuration, with the classes and functions of the program for their names."""
    if isinstance(value, list):
        return [_named(v, custom_objects) for v in value]
    if isinstance(value, dict) and "class_name" not in value:
        return {key: _named(v, custom_objects) for key, v in value.items()}
    if isinstance(value, dict):
        return value
    return custom_objects.get(value, value)


def _compile(model, training, custom_objects):
    optimizers, losses, metrics = (_library(name) for name in ("optimizers", "losses", "metrics"))
    loss = _named(training["loss"], custom_objects)
    if isinstance(loss, dict) and "class_name" in loss:
        loss = losses.deserialize(loss, custom_objects)

    def of_metrics(value):
        if isinstance(value, list):
            return [of_metrics(v) for v in value]
        if isinstance(value, dict):
            return metrics.deserialize(value, custom_objects) if "class_name" in value else {k: of_metrics(v) for k, v in value.items()}
        return value
    model.compile(optimizers.deserialize(training["optimizer_config"], custom_objects), loss,
                  metrics=of_metrics(_named(training["metrics"], custom_objects)),
                  weighted_metrics=of_metrics(_named(training.get("weighted_metrics"), custom_objects)),
                  loss_weights=training["loss_weights"], sample_weight_mode=training["sample_weight_mode"])


def load(path: str, custom_objects: Mapping[str, object] | None = None, compile: bool = True) -> Any:
    """The model in a folder, compiled as it was where `compile` says so and it was.

    Raises
    ------
    OSError
        If the folder has no SavedModel, or one without variables.
    ValueError
        If it holds no tf.keras model, or values of other shapes.
    """
    _check_folder(path)
    config, training = _read_configuration(path)
    custom_objects = dict(custom_objects or {})
    model = _library("layers").deserialize(config, custom_objects=custom_objects)
    if compile and training is not None:
        _compile(model, training, custom_objects)
    with graph_backend.get_graph().as_default():
        values, _ = object_checkpoints.ObjectReader(os.path.join(path, _VARIABLES)).values(model)
    found = {id(variable) for variable, _ in values}
    missing = [weight.name for weight in model.weights if id(weight) not in found]
    if missing:
        raise ValueError(f"The SavedModel {path} has no values of {', '.join(missing)}")
    graph_backend.batch_set_value(values)
    return model

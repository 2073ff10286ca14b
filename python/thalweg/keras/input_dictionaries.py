# SPDX-License-Identifier: Apache-2.0
"""Inputs that are dictionaries: of layers, and of models that come to know their inputs by the first data they are given."""
from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.graph.graph import name_scope
from thalweg.graph.shapes import TensorShape
from thalweg.keras import graph_backend, over_replicas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any


def _library(path):
    return importlib.import_module("thalweg.keras.library." + path)


# ---- layers ----
def flat(layer: Any, inputs: Any, arguments: dict[str, Any]) -> Any:
    """Inputs as Keras takes them: of a dictionary the list of its values.

    Their keys go into `arguments` of the call as `input_keys`, where they are kept with it: models make the call again when they are given
    other inputs, and when they are made of their configurations.
    """
    if isinstance(inputs, dict):
        if not inputs:
            raise ValueError(f"Layer {layer.name} was given a dictionary without inputs")
        if not layer.built and hasattr(layer, "_build_of"):
            layer._build_of({key: TensorSpec(value.shape, value.dtype) for key, value in inputs.items()})
        names = getattr(layer, "input_names", None) if getattr(layer, "_is_graph_network", False) else None
        if names is not None:
            if sorted(names) != sorted(inputs):
                raise ValueError(f"Model {layer.name} has the inputs {names}, and was given {sorted(inputs)}")
            return [inputs[name] for name in names]
        arguments["input_keys"] = sorted(inputs)
        inputs = [inputs[key] for key in arguments["input_keys"]]
    if "input_keys" in arguments and "_takes_keys" not in layer.__dict__:
        layer.__dict__["_takes_keys"] = True
        object.__setattr__(layer, "call", _of_dictionary(layer.call))
        build = layer.build
        object.__setattr__(layer, "build", lambda shapes: build(dict(zip(arguments["input_keys"], _listed(shapes)))))
    return inputs


def _listed(values):
    return values if isinstance(values, list) else [values]


def _of_dictionary(call):
    """`call` of a layer, which `input_keys` make a dictionary of the inputs for."""
    @functools.wraps(call)
    def given(inputs, *args, input_keys=None, **kwargs):
        return call(inputs if input_keys is None else dict(zip(input_keys, _listed(inputs))), *args, **kwargs)
    return given


# ---- models ----
def _placeholder_spec(value):
    """The shape, without the size of the batch, and the type of what is fed for a value or of a specification."""
    dtype = dtypes.as_dtype(value.dtype)
    if not isinstance(value, TensorSpec) and dtype.is_floating:
        dtype = dtypes.as_dtype(graph_backend.floatx())
    shape = TensorShape(value.shape)
    if shape.ndims is None:
        raise ValueError("A model is built of its first data, whose number of dimensions is not known: give its layers an Input")
    return (None, *(shape.as_list()[1:] or [1])), dtype.name


def _build_sequential(self, inputs):
    """Makes a Sequential model one of the inputs of a dictionary, which its first layer takes."""
    make = _library("engine.input_layer").Input
    taken = {layer.name for layer in self._layers}
    tensors = {}
    for key in sorted(inputs):
        shape, dtype = _placeholder_spec(inputs[key])
        tensors[key] = make(batch_shape=shape, dtype=dtype, name=f"{key}_input" if key in taken else key)
    layers, out = list(self._layers), tensors
    with name_scope(self.name):
        for layer in layers:
            out = layer(out)
    self._init_graph_network(list(tensors.values()), [out], name=self.name)
    self._takes_dictionary = True
    self._layers = layers  # what was added, without inputs, as in models that began with another layer
    self.input_names = list(tensors)
    self._feed_input_names = list(tensors)


def _build_class(self, inputs):
    """Gives a model that is a class of the program its inputs and outputs."""
    specs = {key: _placeholder_spec(inputs[key]) for key in sorted(inputs)}
    placeholders = {key: graph_backend.placeholder(shape, dtype=dtype, name=key) for key, (shape, dtype) in specs.items()}
    self._takes_dictionary = True
    self.inputs, self.input_names = list(placeholders.values()), list(placeholders)
    self._feed_inputs, self._feed_input_names = list(self.inputs), list(self.input_names)
    self._feed_input_shapes = [shape for shape, _ in specs.values()]
    with name_scope(self.name):
        outputs = self.call(placeholders)
    self.outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    self.output_names = [f"output_{i + 1}" for i in range(len(self.outputs))]
    self.built = True


def _build_of_inputs(model, inputs):
    if isinstance(inputs, dict):
        model._build_of(inputs)
    elif hasattr(model, "add"):  # a Sequential model
        with name_scope(model.name):
            model.build(_placeholder_spec(inputs)[0])
    else:
        specs = [_placeholder_spec(row) for row in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        model._set_inputs([graph_backend.placeholder(shape, dtype=dtype) for shape, dtype in specs])


def build_of_elements(model: Any, spec: Any) -> None:
    """Gives a model that has no inputs yet those of a dataset's elements, (inputs, targets ...) or inputs alone, and compiles it again."""
    if model.built and model.inputs:
        return
    inputs, trains = (spec[0], len(spec) > 1) if isinstance(spec, tuple) else (spec, False)
    with over_replicas.scope_of(model):
        _build_of_inputs(model, inputs)
    if trains and model.optimizer and not model._is_compiled:
        model.compile(model.optimizer, model.loss, metrics=model._compile_metrics, weighted_metrics=model._compile_weighted_metrics,
                      loss_weights=model.loss_weights, sample_weight_mode=model.sample_weight_mode)


def change_model(module: ModuleType) -> None:
    """Model takes dictionaries before it has inputs."""
    Model = module.Model
    set_inputs, standardize = Model._set_inputs, Model._standardize_user_data

    def _set_inputs(self, inputs, outputs=None, training=None):
        if isinstance(inputs, dict):
            self._build_of(inputs)
        else:
            with name_scope(self.name):
                set_inputs(self, inputs, outputs, training)

    @functools.wraps(standardize)
    def _standardize_user_data(self, x, *args, **kwargs):
        if isinstance(x, dict) and not self.built:
            self._set_inputs(x)
        return standardize(self, x, *args, **kwargs)
    Model._build_of, Model._set_inputs, Model._standardize_user_data = _build_class, _set_inputs, _standardize_user_data


def change_sequential(module: ModuleType) -> None:
    """Sequential begins with a layer of a dictionary."""
    Sequential = module.Sequential
    before: Callable[..., Any] = Sequential.from_config.__func__

    def from_config(cls: Any, config: Any, custom_objects: Mapping[str, object] | None = None) -> Any:
        rows = config["layers"] if isinstance(config, dict) else config
        if isinstance(config, dict) and rows and rows[0].get("class_name") == "DenseFeatures":
            config = {key: value for key, value in config.items() if key != "build_input_shape"}  # 1.15 has one there that says nothing
        model = before(cls, config, custom_objects)
        if not model.inputs and model.layers and hasattr(model.layers[0], "expected_inputs"):
            model._build_of(model.layers[0].expected_inputs())
        return model
    Sequential._build_of = _build_sequential
    Sequential.from_config = classmethod(from_config)

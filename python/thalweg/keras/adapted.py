# SPDX-License-Identifier: Apache-2.0
"""What differs between Keras 2.3 and tf.keras of 1.15: changes of the copy's modules, each made when its module was loaded."""
from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

import thalweg
from thalweg import dtypes, nest
from thalweg.autograph import conversion
from thalweg.graph.graph import control_dependencies, name_scope
from thalweg.graph.shapes import Dimension, TensorShape
from thalweg.keras import (
    array_training,
    batch_normalization,
    batches,
    checkpoints,
    columns,
    graph_backend,
    initializers,
    inner_updates,
    input_dictionaries,
    layer_containers,
    layer_normalization,
    nested_outputs,
    operation_layers,
    over_replicas,
    saved_models,
    utils,
)
from thalweg.variables.variables import Variable, VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from types import ModuleType

_training = threading.local()  # .now: what the calls around this one were told of `training`


def _library(path):
    """A module of the copy."""
    return importlib.import_module("thalweg.keras.library." + path)


def _is_library(cls):
    return cls.__module__.startswith("thalweg.keras.library.")


# ---- layers ----
def _unique_name(cls):
    """dense, dense_1, dense_2 ..."""
    stem = _library("engine.base_layer")._to_snake_case(cls.__name__)
    count = graph_backend.get_uid("layer " + stem) - 1
    return f"{stem}_{count}" if count else stem


def _told_phase(call):
    """`call`, whose argument `training` is that of the call around it where it is not given."""
    position = inspect.getfullargspec(inspect.unwrap(call)).args.index("training") - 1

    @functools.wraps(call)
    def told(*args, **kwargs):
        given = args[position] if len(args) > position else kwargs.get("training")
        around = getattr(_training, "now", None)
        if given is None:
            given = around
            if len(args) <= position:
                kwargs["training"] = given
        _training.now = given
        try:
            return call(*args, **kwargs)
        finally:
            _training.now = around
    return told


def _as_shapes(shapes):
    """One shape, or a list or dictionary of them, as programs see them."""
    if isinstance(shapes, dict):
        return {key: TensorShape(shape) for key, shape in shapes.items()}
    several = isinstance(shapes, list) and shapes and (shapes[0] is None or isinstance(shapes[0], (tuple, list, TensorShape)))
    return [TensorShape(s) for s in shapes] if several else TensorShape(shapes)


def _as_tuples(shapes):
    """One shape or a list of them, as the package has them."""
    if isinstance(shapes, TensorShape):
        return None if shapes.ndims is None else tuple(shapes.as_list())
    if isinstance(shapes, list) and any(isinstance(s, (TensorShape, tuple, list)) for s in shapes):
        return [_as_tuples(s) for s in shapes]
    return tuple(s.value if isinstance(s, Dimension) else s for s in shapes) if isinstance(shapes, (tuple, list)) else shapes


def _told_shape(build):
    """`build` of a program's layer, which is given a TensorShape."""
    return functools.wraps(build)(lambda input_shape: build(_as_shapes(input_shape)))


def _change_shapes(module):
    """Programs give the layers of a module a TensorShape, and get one; the package itself gives and gets tuples."""
    base = _library("engine.base_layer").Layer
    for cls in vars(module).values():
        if not inspect.isclass(cls) or not issubclass(cls, base) or cls.__module__ != module.__name__:
            continue
        if "build" in vars(cls):
            cls.build = _given_tuples(cls.build)
        if "compute_output_shape" in vars(cls):
            cls.compute_output_shape = _computing_shapes(cls.compute_output_shape)


def _given_tuples(build):
    @functools.wraps(build)
    def built(self, input_shape=None, **kwargs):
        return build(self, _as_tuples(input_shape), **kwargs)
    return built


def _computing_shapes(compute):
    @functools.wraps(compute)
    def computed(self, input_shape, *args, **kwargs):
        found = compute(self, _as_tuples(input_shape), *args, **kwargs)
        return found if sys._getframe(1).f_globals.get("__name__", "").startswith("thalweg.keras.library.") else _as_shapes(found)
    return computed


def _wrap_methods(layer):
    call = conversion.traced(layer.call, asked_for=False)
    if call is not layer.call:
        object.__setattr__(layer, "call", call)
    arguments = inspect.getfullargspec(inspect.unwrap(call)).args
    if "training" in arguments:
        object.__setattr__(layer, "call", _told_phase(layer.call))
    if not _is_library(type(layer)) and not _is_library_function(type(layer).build):
        object.__setattr__(layer, "build", _told_shape(layer.build))
    if not _is_library(type(layer)):
        object.__setattr__(layer, "call", nested_outputs.flat(layer, layer.call))


def _is_library_function(function):
    return getattr(function, "__module__", "").startswith("thalweg.keras.library.")


def _add_weight(self, name=None, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, constraint=None,
                partitioner=None, use_resource=None, synchronization=VariableSynchronization.AUTO,
                aggregation=VariableAggregation.NONE, **kwargs):
    """A variable of the layer."""
    if partitioner is not None:
        raise NotImplementedError("partitioner of add_weight of tf.keras.layers.Layer is not implemented in Thalweg")
    shape = tuple(TensorShape(() if shape is None else shape).as_list())
    dtype = dtypes.as_dtype(dtype or self.dtype or graph_backend.floatx())
    if initializer is None:
        initializer = "glorot_uniform" if dtype.is_floating else "zeros"
    initializer = initializers.made(initializer)
    if trainable is None:
        trainable = synchronization != VariableSynchronization.ON_READ
    weight = Variable(lambda: initializer(shape, dtype=dtype), dtype=dtype, name=name or "Variable", constraint=constraint,
                      trainable=trainable, use_resource=True, synchronization=synchronization, aggregation=aggregation)
    weight._keras_shape, weight._uses_learning_phase = shape, False
    if regularizer is not None:
        weight._regularizer = regularizer
        with name_scope("weight_regularizer"):
            self.add_loss(regularizer(weight))
    (self._trainable_weights if trainable else self._non_trainable_weights).append(weight)
    weight._tracked = True
    self.__dict__.setdefault("_weight_names", {})[name or "Variable"] = weight
    return weight


def _as_tensor(value):
    if isinstance(value, (list, tuple)):
        return [_as_tensor(v) for v in value]
    return thalweg.convert_to_tensor(value) if isinstance(value, np.ndarray) else value


def _shape_of(tensor, computed):
    """The shape of an output: what the graph knows, and of the rest what the layer says."""
    known = tensor.shape
    computed = _as_tuples(computed)
    if known.ndims is None:
        return computed
    if computed is None or len(computed) != known.ndims:
        computed = (None,) * known.ndims
    return tuple(c if k is None else k for k, c in zip(known.as_list(), computed))


def _change_base_layer(module):
    Layer = module.Layer
    before = {name: vars(Layer)[name] for name in ("__init__", "__call__", "__setattr__", "_add_inbound_node")}

    def __init__(self, trainable=True, name=None, dtype=None, dynamic=False, **kwargs):
        if dynamic:
            raise NotImplementedError("dynamic=True of tf.keras.layers.Layer is not implemented in Thalweg, which runs graphs")
        if kwargs.pop("time_major", False):  # what recurrent layers of 1.15 write into their configurations
            raise NotImplementedError("time_major=True of recurrent layers of tf.keras is not implemented in Thalweg")
        kwargs.pop("implementation", None)  # of locally connected layers, which there is one of here
        before["__init__"](self, trainable=trainable, name=name or _unique_name(type(self)),
                           dtype=None if dtype is None else dtypes.as_dtype(dtype).name, **kwargs)
        _wrap_methods(self)

    def __call__(self, inputs, *args, **kwargs):
        names = inspect.getfullargspec(inspect.unwrap(self.call)).args
        kwargs.update(zip(names[2:], args))
        inputs = input_dictionaries.flat(self, inputs, kwargs)
        layer_containers.find(self, module)
        if not inner_updates.is_within_call():  # there functions of TensorFlow are those of the layer that is being called
            inputs = operation_layers.wrapped(inputs)
        around = getattr(_training, "now", None)
        if "training" in kwargs and "training" not in names:  # for the layers within
            _training.now = kwargs.pop("training")
        regularizer = self.__dict__.get("activity_regularizer")
        if regularizer is not None:
            self.__dict__["activity_regularizer"] = lambda x: regularizer(x) / thalweg.cast(thalweg.shape(x)[0], x.dtype)
        try:
            inputs = _as_tensor(inputs)
            return nested_outputs.restored(self, lambda: inner_updates.noted(self, inputs, lambda: before["__call__"](self, inputs, **kwargs)))
        finally:
            _training.now = around
            layer_containers.find(self, module)  # with those that its build() made
            if regularizer is not None:
                self.__dict__["activity_regularizer"] = regularizer

    def _add_inbound_node(self, input_tensors, output_tensors, input_masks, output_masks, input_shapes, output_shapes, arguments=None):
        outputs = output_tensors if isinstance(output_tensors, list) else [output_tensors]
        computed = output_shapes if isinstance(output_shapes, list) else [output_shapes]
        if len(computed) != len(outputs):
            computed = [None] * len(outputs)
        before["_add_inbound_node"](self, input_tensors, output_tensors, input_masks, output_masks, input_shapes,
                                    [_shape_of(t, c) for t, c in zip(outputs, computed)], arguments)
        operation_layers.keep(outputs)

    def __setattr__(self, name, value):
        if self.__dict__.get("_setattr_tracking", True):
            before["__setattr__"](self, name, value)
            self.__dict__.get("_untracked", set()).discard(name)
        else:  # see compatibility/tracking.py
            object.__setattr__(self, name, value)
            self.__dict__.setdefault("_untracked", set()).add(name)

    for changed in (__init__, __call__, __setattr__, _add_inbound_node):
        setattr(Layer, changed.__name__, changed)
    Layer.add_metric = over_replicas.adding_metrics(Layer.add_metric)
    Layer.add_weight = Layer.add_variable = _add_weight
    Layer.trainable_variables = property(lambda self: self.trainable_weights)
    Layer.non_trainable_variables = property(lambda self: self.non_trainable_weights)
    Layer.variables = property(lambda self: self.weights)
    Layer._checkpoint_parts = checkpoints.all_parts
    inner_updates.change_layer(Layer)


def _change_network(module):
    Network = module.Network
    base_init, init_graph_network = Network._base_init, Network._init_graph_network
    save_weights, load_weights = Network.save_weights, Network.load_weights

    def _init_graph_network(self, inputs, outputs, *args, **kwargs):
        inputs = [inputs[key] for key in sorted(inputs)] if isinstance(inputs, dict) else inputs
        outputs = operation_layers.wrapped(outputs)
        try:
            init_graph_network(self, inputs, outputs, *args, **kwargs)
        except (AttributeError, ValueError) as error:
            if isinstance(error, ValueError) and "must be the output of a Keras" not in str(error):
                raise
            raise NotImplementedError("Functions of TensorFlow between the layers of a functional model are not implemented in Thalweg: a "
                                      f"tf.keras.layers.Lambda holds them ({error})") from error

    def _base_init(self, name=None, trainable=True, dtype=None):
        base_init(self, name=name or _unique_name(type(self)), trainable=trainable, dtype=dtype)
        _wrap_methods(self)

    def save(self, filepath, overwrite=True, include_optimizer=True, save_format=None, signatures=None, options=None):
        _library("models").save_model(self, filepath, overwrite, include_optimizer, save_format, signatures, options)

    def save_weights_of_format(self, filepath, overwrite=True, save_format=None):
        if save_format not in (None, "h5", "hdf5", "keras", "tf", "tensorflow"):
            raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
        if save_format in ("h5", "hdf5", "keras") or save_format is None and checkpoints.is_hdf5(filepath):
            save_weights(self, filepath, overwrite)
            return
        if checkpoints.is_hdf5(filepath):
            raise ValueError(f'save_weights got save_format="tf"/"tensorflow", but the filepath ("{filepath}") looks like an HDF5 file: omit '
                             "the \".h5\"/\".keras\" when saving in TensorFlow format")
        path = os.fsdecode(filepath)
        if overwrite or not os.path.exists(path + ".index") or _library("engine.saving").ask_to_proceed_with_overwrite(path + ".index"):
            checkpoints.save(self, path)

    def load_weights_of_format(self, filepath, by_name=False, **kwargs):
        is_path = isinstance(filepath, (str, os.PathLike))
        if not is_path or checkpoints.is_hdf5(filepath) or os.path.isfile(filepath) and not os.path.exists(os.fsdecode(filepath) + ".index"):
            return load_weights(self, filepath, by_name, **kwargs)
        if by_name:
            raise NotImplementedError("Weights may only be loaded based on topology into Models when loading TensorFlow-formatted weights (got "
                                      "by_name=True to load_weights).")
        return checkpoints.load(self, os.fsdecode(filepath))

    Network._init_graph_network = _init_graph_network
    Network._base_init, Network.save = _base_init, save
    Network.save_weights, Network.load_weights = save_weights_of_format, load_weights_of_format
    Network._checkpoint_parts = lambda self: checkpoints.all_parts(self, is_model=True)
    layers = Network.layers
    Network.layers = property(lambda self: layer_containers.find(self, _library("engine.base_layer")) or layers.fget(self))
    compute_output_shape = Network.compute_output_shape
    Network.compute_output_shape = functools.wraps(compute_output_shape)(
        lambda self, input_shape: compute_output_shape(self, input_shape) if self._is_graph_network else None)
    Network.uses_learning_phase = property(lambda self: True)
    Network.weights = property(lambda self: [w for layer in self.layers for w in layer.weights])
    Network.trainable_variables = property(lambda self: self.trainable_weights)


# ---- what programs say otherwise ----
def _change_core(module):
    """Flatten takes rows that are flat already."""
    before = module.Flatten.__init__

    @functools.wraps(before)
    def __init__(self, *args, **kwargs):
        before(self, *args, **kwargs)
        self.input_spec = module.InputSpec(min_ndim=2)
    module.Flatten.__init__ = __init__


def _change_recurrent(module):
    for name in ("LSTM", "GRU"):
        for cls in (getattr(module, name), getattr(module, name + "Cell")):
            before = cls.__init__

            def __init__(self, *args, _before=before, **kwargs):
                if len(args) < 3:
                    kwargs.setdefault("recurrent_activation", "hard_sigmoid")
                _before(self, *args, **kwargs)
            cls.__init__ = functools.wraps(before)(__init__)


def _change_input_layer(module):
    """Configurations that 1.15 wrote say that an input is not ragged."""
    before = module.InputLayer.__init__

    @functools.wraps(before)
    def __init__(self, *args, ragged=False, **kwargs):
        if ragged:
            raise NotImplementedError("ragged=True of tf.keras.layers.InputLayer is not implemented in Thalweg")
        before(self, *args, **kwargs)
        operation_layers.keep(self._inbound_nodes[0].output_tensors)
    module.InputLayer.__init__ = __init__


def _change_normalization(module):
    batch_normalization.change_layer(module)
    module.LayerNormalization = layer_normalization.layer_of(module)


def _metric_name(metric, weighted=False):
    """The name of a metric in histories and progress bars: `acc` of "accuracy", mean_absolute_error of "mae"."""
    prefix = "weighted_" if weighted else ""
    if metric in ("accuracy", "acc", "crossentropy", "ce"):
        return prefix + ("acc" if metric in ("accuracy", "acc") else "ce")
    metric = _library("metrics").get(metric)
    return prefix + (metric.name if hasattr(metric, "name") else metric.__name__)


def _change_training_utils(module):
    module.get_metric_name = _metric_name


def _change_metrics(module):
    """What programs say of the variables of a metric, and what its update may be: an operation, a tensor, a list or nothing."""
    @functools.wraps(module.Metric.add_weight)
    def add_weight(self, name, shape=(), aggregation=None, synchronization=None, initializer=None, dtype=None):
        return module.Layer.add_weight(self, name, tuple(TensorShape(shape).as_list()), dtype or self.dtype, initializer, trainable=False,
                                       synchronization=synchronization or VariableSynchronization.ON_READ,
                                       aggregation=aggregation or VariableAggregation.SUM)

    def __call__(self, *args, **kwargs):
        updates = [each for each in nest.flatten(self.update_state(*args, **kwargs)) if each is not None]
        with control_dependencies(updates):
            result = self.result()
        result._metric_obj = self
        return result
    module.Metric.add_weight, module.Metric.__call__ = add_weight, __call__


def _change_losses(module):
    class CosineSimilarity(module.LossFunctionWrapper):
        """How much predictions point where the true values do: from -1 to 1, the same way."""

        def __init__(self, axis=-1, reduction=_library("utils.losses_utils").Reduction.SUM_OVER_BATCH_SIZE, name="cosine_similarity"):
            super().__init__(module.cosine_similarity, reduction=reduction, name=name, axis=axis)
    proximity = module.cosine_proximity

    def cosine_proximity(y_true, y_pred, axis=-1):
        return -proximity(y_true, y_pred, axis=axis)
    module.cosine_similarity = module.cosine_proximity = cosine_proximity
    module.CosineSimilarity = CosineSimilarity


def _change_training(module):
    input_dictionaries.change_model(module)
    over_replicas.change_training(module)
    batches.change_training(module)


def _change_layers(module):
    """Layers that the package has not."""
    module.LayerNormalization = _library("layers.normalization").LayerNormalization
    module.DenseFeatures, module.TensorFlowOpLayer = columns.dense_features(), operation_layers.operation_layer()


def _change_callbacks(module):
    """A loss is the mean over samples for arrays, over steps for generators and datasets, and under a strategy."""
    def on_batch_end(self, batch, logs=None):
        logs = logs or {}
        of_steps = self.params.get("samples") is None or getattr(self.model, "_distribution_strategy", None) is not None
        size = 1 if of_steps else logs.get("size", 0)
        self.seen += size
        totals = self.totals
        for name, value in logs.items():
            if name not in self.stateful_metrics:
                value = float(value) * size if name == "loss" else value * size
                if name in totals:
                    value += totals[name]
            totals[name] = value
    module.BaseLogger.on_batch_end = on_batch_end

    def active(callback, name):
        """The method of a callback that is called for a batch; None where it is that of the base, which does nothing."""
        method = getattr(callback, name)
        if getattr(method, "__func__", None) is not getattr(module.Callback, name):
            return method
        older = name.replace("_train", "")  # on_train_batch_end of the base calls on_batch_end
        return None if older == name else active(callback, older)

    def _batch_methods(self, mode, hook):
        """The methods of callbacks that do something at the beginning or the end of a batch, looked for once an epoch."""
        methods = self._methods.get((mode, hook))
        if methods is None or methods[0] != self.callbacks:
            found = [active(callback, f"on_{mode}_batch_{hook}") for callback in self.callbacks]
            methods = self._methods[mode, hook] = [*self.callbacks], [method for method in found if method is not None]
        return methods[1]

    def _call_batch_hook(self, mode, hook, batch, logs=None):
        """Calls those that do something and measures none: both cost more than a small step."""
        for method in self._batch_methods(mode, hook):
            method(batch, logs or {})
    reset = module.CallbackList._reset_batch_timing

    def _reset_batch_timing(self):
        reset(self)
        self._methods = {}
    module.CallbackList._batch_methods, module.CallbackList._call_batch_hook = _batch_methods, _call_batch_hook
    module.CallbackList._reset_batch_timing = _reset_batch_timing
    over_replicas.change_callbacks(module)
    batches.change_callbacks(module)


def _change_training_generator(module):
    """The loss of an evaluation is the mean over its steps, not that of the last."""
    fit, evaluate = module.fit_generator, module.evaluate_generator
    callbacks_module = module.cbks

    @functools.wraps(fit)
    def fit_generator(model, generator, steps_per_epoch=None, epochs=1, *args, validation_steps=None, initial_epoch=0, **kwargs):
        count, validated = epochs - initial_epoch, kwargs.get("validation_data")
        there = generator.of_epochs(count) if isinstance(generator, batches.Batches) else None
        to_validate = validated.of_epochs(1) if isinstance(validated, batches.Batches) else None
        over_replicas.check_steps(model, "train on", steps_per_epoch, None, count, to_validate or validation_steps, there)
        return fit(model, generator, steps_per_epoch, epochs, *args, validation_steps=validation_steps, initial_epoch=initial_epoch, **kwargs)

    class Losses(callbacks_module.Callback):
        def __init__(self):
            super().__init__()
            self.seen = []

        def on_test_batch_end(self, batch, logs=None):
            self.seen.append(logs["loss"])

    @functools.wraps(evaluate)
    def evaluate_generator(model, generator, steps=None, callbacks=None, *args, **kwargs):
        if not isinstance(callbacks, callbacks_module.CallbackList):  # fit has compared what it validates on
            over_replicas.check_steps(model, "evaluate", steps)
        losses = Losses()
        if isinstance(callbacks, callbacks_module.CallbackList):
            callbacks.append(losses)
        else:
            callbacks = [*(callbacks or []), losses]
        try:
            found = evaluate(model, generator, steps, callbacks, *args, **kwargs)
        finally:
            if isinstance(callbacks, callbacks_module.CallbackList):
                callbacks.callbacks.remove(losses)
        mean = float(np.mean(losses.seen))
        return [mean, *found[1:]] if isinstance(found, list) else mean
    module.fit_generator, module.evaluate_generator = fit_generator, evaluate_generator


# ---- files ----
def _bytes(value):
    """Texts of HDF5 files are bytes to Keras; h5py 3 gives them as str."""
    if isinstance(value, list) or isinstance(value, np.ndarray) and value.dtype == object:
        return [_bytes(v) for v in value]
    return value.encode() if isinstance(value, str) else value


class _Attributes:
    """Attributes of a group of an HDF5 file, whose texts are bytes."""

    def __init__(self, attributes):
        self._attributes = attributes

    def __contains__(self, name):
        return name in self._attributes

    def __getitem__(self, name):
        return _bytes(self._attributes[name])


class _Group:
    """A group of an HDF5 file with such attributes."""

    def __init__(self, group):
        self._group, self.attrs = group, _Attributes(group.attrs)

    def __contains__(self, name):
        return name in self._group

    def __getitem__(self, name):
        found = self._group[name]
        return _Group(found) if hasattr(found, "keys") else found


def _change_io_utils(module):
    H5Dict = module.H5Dict
    getitem = H5Dict.__getitem__

    def __getitem__(self, attr):
        value = getitem(self, attr)
        return value if isinstance(self.data, dict) else _bytes(value)
    H5Dict.__getitem__ = __getitem__


def _change_saving(module):
    for name in ("load_weights_from_hdf5_group", "load_weights_from_hdf5_group_by_name"):
        before = getattr(module, name)
        setattr(module, name, functools.wraps(before)(lambda f, *args, _before=before, **kwargs: _before(_Group(f), *args, **kwargs)))
    save_model, load_model = module.save_model, module.load_model

    def save_model_of_format(model, filepath, overwrite=True, include_optimizer=True, save_format=None, signatures=None, options=None):
        if save_format not in (None, "h5", "hdf5", "keras", "tf", "tensorflow"):
            raise ValueError(f'Unknown format "{save_format}". Was expecting one of {{"tf", "h5"}}.')
        if save_format in ("tf", "tensorflow"):
            if checkpoints.is_hdf5(filepath):
                raise ValueError(f"{filepath} is the name of an HDF5 file, but save_format is 'tf': a SavedModel is a folder")
            saved_models.save(model, os.fsdecode(filepath), overwrite, include_optimizer, signatures)
        elif signatures is not None:
            raise ValueError("`signatures` are of SavedModels: give save_format='tf'")
        elif not model._is_graph_network:
            raise NotImplementedError("A model that is a class of the program has no configuration that could be saved: save_weights keeps "
                                      "its weights")
        else:
            save_model(model, filepath, overwrite, include_optimizer)

    def load_model_of_format(filepath, custom_objects=None, compile=True):
        if isinstance(filepath, (str, os.PathLike)):
            path = os.fsdecode(filepath)
            if os.path.isdir(path):
                return saved_models.load(path, custom_objects, compile)
            if not os.path.exists(path):
                raise OSError(f"SavedModel file does not exist at: {path}: neither a folder nor an HDF5 file is there")
        return load_model(filepath, custom_objects=custom_objects, compile=compile)
    module.save_model = functools.wraps(save_model)(save_model_of_format)
    module.load_model = functools.wraps(load_model)(load_model_of_format)


# ---- what our modules and the copy's share ----
def _change_generic_utils(module):
    module._GLOBAL_CUSTOM_OBJECTS = utils.get_custom_objects()


def _change_data_utils(module):
    module.Sequence = utils.Sequence


CHANGES = {
    "callbacks.callbacks": _change_callbacks,
    "callbacks.tensorboard_v1": over_replicas.change_tensorboard,
    "engine.base_layer": _change_base_layer,
    "engine.input_layer": _change_input_layer,
    "engine.network": _change_network,
    "engine.saving": _change_saving,
    "engine.sequential": input_dictionaries.change_sequential,
    "engine.training": _change_training,
    "engine.training_arrays": array_training.change_training_arrays,
    "engine.training_generator": _change_training_generator,
    "engine.training_utils": _change_training_utils,
    "layers": _change_layers,
    "layers.core": _change_core,
    "layers.normalization": _change_normalization,
    "layers.recurrent": _change_recurrent,
    "losses": _change_losses,
    "metrics": _change_metrics,
    "utils.data_utils": _change_data_utils,
    "utils.generic_utils": _change_generic_utils,
    "utils.io_utils": _change_io_utils,
    "utils.losses_utils": over_replicas.change_losses_utils,
}


def adapt(module: ModuleType, path: str) -> None:
    """Changes a module of the copy that has just been run."""
    if path in CHANGES:
        CHANGES[path](module)
    if path.startswith("layers.") or path in ("engine.base_layer", "engine.network", "engine.sequential", "engine.training"):
        _change_shapes(module)

# SPDX-License-Identifier: Apache-2.0
"""Models of a distribution strategy: the layers called once more for each replica, on its rows of a batch, and functions of all replicas.

What is fed is the batch of all: each replica takes its rows within the graph, so the loops over epochs and batches are those of any model.
Losses that are means are divided by the number of replicas, and summed; variables of metrics are added up where a result is read; gradients
are summed before a variable is updated (`optimizer_base.py`).
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import thalweg
from thalweg import logging, nest
from thalweg.control import replicas
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor import Tensor
from thalweg.keras import graph_backend, inner_updates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType


_DEFAULT_BATCH = 32  # of fit


def _library(path):
    return importlib.import_module("thalweg.keras.library." + path)


class _Replica(NamedTuple):
    """What one replica has of a model."""

    loss: Tensor | None
    outputs: list[Tensor]
    updates: list[Any]  # of layers
    metric_updates: list[Any]


class Replicas:
    """The graph of a model for all replicas.

    Parameters
    ----------
    model : keras.Model
        Compiled, with a strategy.
    measures : bool
        Whether there are losses and metrics, of each replica's rows; without, each replica of this process takes all rows, where those of
        other processes do not take theirs in the same step.
    """

    def __init__(self, model: Any, measures: bool) -> None:
        self._model, self._strategy = model, model._distribution_strategy
        self._measures, self._shares = measures, measures or not self._strategy.extended.experimental_between_graph
        self.inputs = [thalweg.placeholder(x.dtype, [None, *x.shape.as_list()[1:]] if x.shape.ndims else None, name=x.op.name)
                       for x in model._feed_inputs]
        self._given = [*self.inputs, *(model._feed_targets + model._feed_sample_weights if measures else [])]
        self._replicas: dict[int, _Replica] = {}
        before = [(layer, len(layer._inbound_nodes), len(layer._outbound_nodes)) for layer in model._layers]
        self.loss = self._losses = self._strategy.experimental_run_v2(self._of_one)
        for layer, inbound, outbound in before:  # for a program a layer has the outputs that it had
            del layer._inbound_nodes[inbound:], layer._outbound_nodes[outbound:]
        if measures:
            self.loss = self._strategy.reduce("SUM", self._losses)

    def _of_one(self):
        """One replica's part, in its context."""
        model = self._model
        first = thalweg.get_default_graph()._num_nodes()
        parts = self._strategy.extended._own_rows(self._given) if self._shares else self._given
        rows = {id(whole): part for whole, part in zip(self._given, parts)}
        with inner_updates.all_added() as added:
            outputs, masks = _called(model, parts[:len(self.inputs)])
            new = [(layer, kind, each) for layer, kind, each in added if _number(each) >= first]
            loss = None
            if self._measures:
                own = {kind: [rows.get(id(whole), whole) for whole in getattr(model, kind)] for kind in ("targets", "sample_weights")}
                model._handle_metrics(outputs, targets=own["targets"], skip_target_masks=[f is None for f in model.loss_functions],
                                      sample_weights=own["sample_weights"], masks=masks)
                extra = [_mean(each) for _, kind, each in new if kind == "losses"]
                loss = _total_loss(model, outputs, own["targets"], own["sample_weights"], masks, extra, self._strategy.num_replicas_in_sync)
            new = list({id(each): (layer, kind, each) for layer, kind, each in added if _number(each) >= first}.values())
        metric = _library("metrics").Metric
        updates = [(layer, each) for layer, kind, each in new if kind == "updates"]
        self._replicas[replicas.of_a_replica()._index] = _Replica(
            loss, outputs, [each for layer, each in updates if not isinstance(layer, metric) and layer.trainable and model.trainable],
            [each for layer, each in updates if isinstance(layer, metric)])
        return loss

    def of_all(self, name: str) -> list[Any]:
        """The entries of a field of all replicas of this process."""
        return [each for _, replica in sorted(self._replicas.items()) for each in getattr(replica, name)]

    def results(self) -> list[Tensor]:
        """What the metrics are behind a step, of all replicas."""
        with thalweg.control_dependencies(self.of_all("metric_updates")):
            return [metric.result() for metric in self._model._get_training_eval_metrics() if hasattr(metric, "_call_result")]

    def outputs(self) -> list[Tensor]:
        """What the model gives, of all rows."""
        each = [replica.outputs for _, replica in sorted(self._replicas.items())]
        return [parts[0] if len(parts) == 1 else thalweg.concat(parts, 0) for parts in zip(*each)]

    def training(self) -> list[Any]:
        """What changes the weights."""
        model, found = self._model, []

        def step(loss):
            with _scope_of_training(model.optimizer):
                found[:] = model.optimizer.get_updates(params=model._collected_trainable_weights, loss=loss)
        self._strategy.experimental_run_v2(step, args=(self._losses,))
        return found

    def function(self, outputs: Sequence[Tensor], updates: Sequence[Any], name: str) -> graph_backend.Function:
        """A function of a batch of all replicas."""
        return graph_backend.function([*self._given, *([graph_backend.learning_phase()] if self._model._uses_dynamic_learning_phase() else [])],
                                      list(outputs), updates=list(updates), name=name, **getattr(self._model, "_function_kwargs", {}))


def _scope_of_training(optimizer: Any) -> Any:
    """The scope of what an optimizer adds."""
    return thalweg.name_scope(f"training/{type(optimizer).__name__}")


def _number(added):
    """By which operations stand in the order in which they were made."""
    op = added if hasattr(added, "node_def") else getattr(added, "op", None)
    return -1 if op is None else op._id


def _mean(loss):
    return thalweg.reduce_mean(loss) if loss.shape.ndims != 0 else loss


def _told(loss):
    """A loss that was not reduced is told as its mean, and has the gradient of its sum."""
    if loss.shape.ndims == 0:
        return loss
    total = thalweg.reduce_sum(loss)
    mean = thalweg.div_no_nan(total, thalweg.cast(thalweg.size(loss), total.dtype))
    return thalweg.stop_gradient(mean) + (total - thalweg.stop_gradient(total))


def _called(model, inputs):
    """(outputs, masks of them) of a model on other inputs, in which its layers are called one by one."""
    if not model._is_graph_network:
        outputs = nest.flatten(model.call(inputs if len(inputs) > 1 else inputs[0]))
        return outputs, [None] * len(outputs)
    made = {id(whole): part for whole, part in zip(model.inputs, inputs)}
    for depth in sorted(model._nodes_by_depth, reverse=True):
        for node in model._nodes_by_depth[depth]:
            if all(id(tensor) in made for tensor in node.output_tensors):
                continue  # an input
            given = [made[id(tensor)] for tensor in node.input_tensors]
            results = nest.flatten(node.outbound_layer(given if len(given) > 1 else given[0], **(node.arguments or {})))
            made.update((id(tensor), result) for tensor, result in zip(node.output_tensors, results))
    outputs = [made[id(tensor)] for tensor in model.outputs]
    masks = _library("engine.base_layer")._collect_previous_mask(outputs)
    return outputs, masks if isinstance(masks, list) else [masks]


def _total_loss(model, outputs, targets, weights, masks, extra, count):
    """The loss of a replica, which is its part of that of all."""
    reduction = _library("utils.losses_utils")
    total = None
    for i, loss_of in enumerate(model.loss_functions):
        if loss_of is None:
            continue
        with thalweg.name_scope(f"{model.output_names[i]}_loss"):
            weight = weights[i]
            if masks[i] is not None:
                mask = thalweg.cast(masks[i], outputs[i].dtype)
                if weight is not None:
                    mask, _, weight = reduction.squeeze_or_expand_dimensions(mask, None, weight)
                weight = mask if weight is None else weight * mask
            loss = loss_of(targets[i], outputs[i], sample_weight=weight)
        if len(outputs) > 1:
            model._output_loss_metrics[i](loss)
        if count > 1:  # what is not reduced counts a sample as the sum does, but is told as a mean
            if getattr(loss_of, "reduction", None) == reduction.Reduction.NONE:
                loss = thalweg.stop_gradient(loss / count) + (loss - thalweg.stop_gradient(loss))
            elif getattr(loss_of, "reduction", None) != reduction.Reduction.SUM:
                loss = loss / count
        loss = model.loss_weights_list[i] * loss
        total = loss if total is None else total + loss
    extra = extra + [weight._regularizer(weight) for weight in model.weights if getattr(weight, "_regularizer", None) is not None]
    if extra:
        added = thalweg.add_n(extra) / count if count > 1 else thalweg.add_n(extra)
        total = added if total is None else total + added
    if total is None:
        raise ValueError("The model cannot be compiled because it has no loss to optimize.")
    return _told(total)


# ---- what a strategy does not do ----
def _check(model, strategy):
    """Raises where a model, or a way to compile it, does not go with a strategy."""
    for variable in model.weights:
        if not strategy.extended.variable_created_in_scope(variable):
            raise ValueError(f"Variable {variable.name} was not created in the scope of the distribution strategy {type(strategy).__name__}: make "
                             "all layers, the model and compile() below `with strategy.scope():`")
    if model.stateful:
        raise NotImplementedError("Models with stateful layers are not implemented in Thalweg under a distribution strategy")
    if any(isinstance(tensor, SparseTensor) for tensor in model.inputs or ()):
        raise NotImplementedError("Inputs of sparse=True are not implemented in Thalweg under a distribution strategy")
    if len(model._feed_inputs) != len(model.inputs):
        raise ValueError("Input(tensor=...) is not supported with tf.distribute.Strategy: batches are cut among replicas where they are fed")
    if model._is_graph_network and (model._losses or model._metrics):
        raise NotImplementedError("add_loss and add_metric of a model are not implemented in Thalweg under a distribution strategy: a layer of the "
                                  "model may call its own")


def _strategy_of(model):
    """The strategy that a model is compiled for."""
    here = replicas.here()
    if here is not None and not here.strategy.extended._is_default:
        return here.strategy
    of_weights = (getattr(variable, "distribute_strategy", None) for variable in (model.weights if model.built else ()))
    return model._distribution_strategy or next(filter(None, of_weights), None)


def scope_of(model: Any) -> AbstractContextManager[Any]:
    """The scope of a model's strategy, where it has one."""
    strategy = model._distribution_strategy
    return contextlib.nullcontext() if strategy is None else strategy.scope()


def check_steps(model: Any, doing: str, batches: int | None, size: int | None = None, epochs: int = 0, to_validate: int | None = None,
                in_all: int | None = None) -> None:
    """Raises where other workers would make other steps, and each wait for the others; what is not known goes with any."""
    if model._distribution_strategy is not None:
        model._distribution_strategy.extended._check_alike([(f"batches to {doing}", batches or 0), ("samples in a batch", size or 0),
                                                            ("epochs", epochs), ("batches to validate on", to_validate or 0),
                                                            ("batches in all epochs", in_all or 0)])


def change_training(module: ModuleType) -> None:
    """Models of a strategy are compiled, trained, measured and asked over its replicas."""
    Model = module.Model
    Model._distribution_strategy = Model._over_replicas = None
    compile_model, standardize = Model.compile, Model._standardize_user_data

    @functools.wraps(compile_model)
    def compile_over_replicas(self, *args, target_tensors=None, **kwargs):
        strategy = self._distribution_strategy = _strategy_of(self)
        if strategy is None:
            compile_model(self, *args, target_tensors=target_tensors, **kwargs)
            return
        if target_tensors is not None:
            raise ValueError("target_tensors is not supported with tf.distribute.Strategy.")
        if strategy.extended._keras_refusal:
            raise NotImplementedError(strategy.extended._keras_refusal)
        self._over_replicas = None
        with strategy.scope():
            compile_model(self, *args, **kwargs)
        if self._is_compiled:
            _check(self, strategy)

    @functools.wraps(standardize)
    def standardize_over_replicas(self, *args, **kwargs):
        with scope_of(self):  # here a model comes to know its inputs
            return standardize(self, *args, **kwargs)

    Model.compile, Model._standardize_user_data = compile_over_replicas, standardize_over_replicas
    for name, steps in (("fit", "steps_per_epoch"), ("evaluate", "steps"), ("predict", "steps")):
        setattr(Model, name, _with_steps(getattr(Model, name), steps))
    Model._handle_metrics = _of_replicas(Model._handle_metrics)
    Model._prepare_total_loss = _of_replicas(_with_gradient_of_sum(Model._prepare_total_loss))
    for kind, function in (("train", _train_function), ("test", _test_function), ("predict", _predict_function)):
        setattr(Model, f"_make_{kind}_function", _made_over_replicas(getattr(Model, f"_make_{kind}_function"), f"{kind}_function", function))


def _cut_validation(given):
    """Among arguments of fit, so many batches of the arrays to validate on as validation_steps are, where it trains on arrays."""
    steps, arrays = given.get("validation_steps"), given.get("validation_data")
    rows, first = (next(iter(nest.flatten(value)), None) for value in (arrays, given.get("x")))
    if not steps or not isinstance(rows, np.ndarray) or not isinstance(first, np.ndarray):
        return
    size, of_epoch = given.get("batch_size"), given.get("steps_per_epoch")
    size = size or (len(first) // of_epoch if of_epoch else _DEFAULT_BATCH)
    if len(rows) < size * steps:
        raise ValueError(f"validation_steps={steps} of {size} samples are {size * steps}, but validation_data has {len(rows)}")
    cut = nest.map_structure(lambda array: array if array is None else array[:size * steps], arrays)
    given.update(validation_data=cut, validation_steps=None)


def _with_steps(method, name):
    """A method of a model that under a strategy makes so many steps of arrays."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def with_steps(self, *args, **kwargs):
        if self._distribution_strategy is None:
            return method(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        given = bound.arguments
        _cut_validation(given)
        steps, first = given.get(name), next(iter(nest.flatten(given.get("x"))), None)
        if steps is None or not isinstance(first, np.ndarray):
            return method(*bound.args, **bound.kwargs)
        size = given.get("batch_size")
        if size is None and len(first) % steps:
            raise ValueError(f"The number of samples {len(first)} is not divisible by steps {steps}. Please change the number of steps to a value "
                             "that can consume all the samples")
        if size is not None and -(-len(first) // size) != steps:
            raise ValueError(f"Under a distribution strategy {name} of arrays are as many as make an epoch: got {steps} of {size} of "
                             f"{len(first)} samples; a tf.data.Dataset can be read in part")
        given.update({"batch_size": size or len(first) // steps, name: None})
        return method(*bound.args, **bound.kwargs)
    return with_steps


def _with_gradient_of_sum(prepare):
    """The total loss of the package is a mean, of one element where losses are reduced."""
    @functools.wraps(prepare)
    def prepared(self, *args, **kwargs):
        mean = prepare(self, *args, **kwargs)
        of = mean.op.inputs[0] if getattr(mean, "op", None) is not None and mean.op.type == "Mean" else mean
        return mean if of.shape.ndims == 0 else _told(of)
    return prepared


def _of_replicas(method):
    """A method of a model that under a strategy has no meaning but for one replica."""
    @functools.wraps(method)
    def of_replica(self, *args, **kwargs):
        is_across = self._distribution_strategy is not None and replicas.of_a_replica() is None
        return None if is_across else method(self, *args, **kwargs)
    return of_replica


def _made_over_replicas(make: Callable[[Any], None], attribute: str, function: Callable[[Any], graph_backend.Function]) -> Callable[[Any], None]:
    """A method that makes a function of a model, where there is none yet."""
    @functools.wraps(make)
    def made(self):
        strategy = self._distribution_strategy
        if strategy is None or not self._is_compiled or getattr(self, attribute, None) is not None:
            make(self)
            return
        self._check_trainable_weights_consistency()
        with strategy.scope():
            setattr(self, attribute, function(self))
    return made


def _measured(model):
    """The graph of losses and metrics, which training and measuring share."""
    if model._over_replicas is None:
        model._over_replicas = Replicas(model, measures=True)
        model._metric_results = model._over_replicas.results()
    return model._over_replicas


def _train_function(model):
    made = _measured(model)
    updates = [*made.of_all("updates"), *made.training(), *made.of_all("metric_updates")]
    return made.function([made.loss, *model._metric_results], updates, "train_function")


def _test_function(model):
    made = _measured(model)
    return made.function([made.loss, *model._metric_results], made.of_all("metric_updates"), "test_function")


def _predict_function(model):
    made = Replicas(model, measures=False)
    return made.function(made.outputs(), [], "predict_function")


# ---- callbacks, metrics and losses ----
def adding_metrics(add_metric: Callable[..., None]) -> Callable[..., None]:
    """add_metric of a layer: a metric that the layer has when a replica calls it measures what that replica has."""
    def add(self, value, aggregation=None, name=None):
        known = None if replicas.of_a_replica() is None or hasattr(value, "_metric_obj") else self._get_existing_metric(name)
        if known is None:
            add_metric(self, value, name)
        else:
            known(value)
    return add


def _leaves_files(model):
    """Whether what callbacks write is kept; false in workers of which another one is the chief."""
    strategy = getattr(model, "_distribution_strategy", None)
    return strategy is None or strategy.extended.should_checkpoint


def change_callbacks(module: ModuleType) -> None:
    """Of workers that train in step the chief leaves files. All make them, since what is saved may be merged of all."""
    set_model, on_epoch_end = module.CallbackList.set_model, module.ModelCheckpoint.on_epoch_end

    @functools.wraps(set_model)
    def set_model_of_worker(self, model):
        if not _leaves_files(model):
            self.callbacks = [callback for callback in self.callbacks if not getattr(callback, "_chief_worker_only", False)]
        set_model(self, model)

    @functools.wraps(on_epoch_end)
    def save_of_worker(self, epoch, logs=None):
        if _leaves_files(self.model):
            on_epoch_end(self, epoch, logs)
            return
        path = self.filepath
        with tempfile.TemporaryDirectory() as folder:
            self.filepath = os.path.join(folder, os.path.basename(path))
            try:
                on_epoch_end(self, epoch, logs)
            finally:
                self.filepath = path
    module.CallbackList.set_model, module.ModelCheckpoint.on_epoch_end = set_model_of_worker, save_of_worker


def change_tensorboard(module: ModuleType) -> None:
    """TensorBoard writes no gradients under a strategy, and in the chief alone; it has the argument by which 1.15 profiles a batch."""
    before, set_model = module.TensorBoard.__init__, module.TensorBoard.set_model

    @functools.wraps(before)
    def __init__(self, *args, profile_batch=0, **kwargs):
        before(self, *args, **kwargs)

    @functools.wraps(set_model)
    def set_model_of_strategy(self, model):
        if self.write_grads and getattr(model, "_distribution_strategy", None) is not None:
            logging.warning("`write_grads` in the TensorBoard callback is not supported when using DistributionStrategy. Setting `write_grads` to "
                            "`False`.")
            self.write_grads = False
        set_model(self, model)
    module.TensorBoard.__init__ = __init__
    module.TensorBoard.set_model, module.TensorBoard._chief_worker_only = set_model_of_strategy, True


def may_lack_rows() -> bool:
    """Whether code runs for one of several replicas, which may have no row of a last batch."""
    replica = replicas.of_a_replica()
    return replica is not None and replica.num_replicas_in_sync > 1


def change_losses_utils(module: ModuleType) -> None:
    """The mean loss of a replica that has no row of a last batch is 0."""
    reduce_loss = module.reduce_weighted_loss

    @functools.wraps(reduce_loss)
    def reduce_loss_of_replica(weighted_losses, reduction=module.Reduction.SUM_OVER_BATCH_SIZE):
        if not may_lack_rows() or reduction != module.Reduction.SUM_OVER_BATCH_SIZE:
            return reduce_loss(weighted_losses, reduction)
        return thalweg.div_no_nan(thalweg.reduce_sum(weighted_losses), thalweg.cast(thalweg.size(weighted_losses), weighted_losses.dtype))
    module.reduce_weighted_loss = reduce_loss_of_replica

# SPDX-License-Identifier: Apache-2.0
"""The object graph of a SavedModel: what tf.keras.models.load_model of TensorFlow 1.15 makes a model of.

Its nodes are those of the checkpoint beside it: a model, its layers, their variables, and what each layer has for itself under the name
`keras_api`: lists of its variables, layers and losses, and the functions that compute it. A function has a body of nodes for each way in
which it is called (in training and not), in the library of the graph, and lists the variables that its body reads.
"""
from __future__ import annotations

import contextlib
import json
import logging
from typing import TYPE_CHECKING

import thalweg
from thalweg import messages
from thalweg.control import functions
from thalweg.control.type_specs import TensorSpec
from thalweg.graph import op_definitions
from thalweg.graph.graph import control_dependencies, name_scope
from thalweg.graph.tensor import Operation, Tensor
from thalweg.keras import checkpoints, graph_backend
from thalweg.training import object_checkpoints
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

_LISTS = ("variables", "trainable_variables", "non_trainable_variables", "layers", "metrics", "regularization_losses",
          "layer_regularization_losses")
_SHARED = ("variables", "trainable_variables", "regularization_losses", "__call__", "call_and_return_all_conditional_losses")


class CannotTraceError(Exception):
    """A layer computes with what a file cannot hold."""


# ---- values as messages ----
def structured(value: object) -> Any:
    """The StructuredValue of None, numbers, texts, TensorSpecs, and lists, tuples and dictionaries of them."""
    made = messages.StructuredValue()
    if value is None:
        made.none_value.CopyFrom(messages.NoneValue())
    elif isinstance(value, bool):
        made.bool_value = value
    elif isinstance(value, int):
        made.int64_value = value
    elif isinstance(value, str):
        made.string_value = value
    elif isinstance(value, TensorSpec):
        made.tensor_spec_value.CopyFrom(messages.TensorSpecProto(name=value.name or "", shape=value.shape.as_proto(),
                                                                 dtype=value.dtype.as_datatype_enum))
    elif isinstance(value, (list, tuple)):
        kind = "list_value" if isinstance(value, list) else "tuple_value"
        part = messages.ListValue() if isinstance(value, list) else messages.TupleValue()
        for item in value:
            part.values.append(structured(item))
        getattr(made, kind).CopyFrom(part)
    elif isinstance(value, dict):
        fields = messages.DictValue()
        for key, item in value.items():
            fields.fields[key].CopyFrom(structured(item))
        made.dict_value.CopyFrom(fields)
    else:
        raise TypeError(f"{value!r} has no StructuredValue")
    return made


def _arguments(names, defaults):
    """The FunctionSpec of a function of these arguments."""
    fields = {"args": list(names), "varargs": None, "varkw": None, "defaults": tuple(defaults) or None, "kwonlyargs": [],
              "kwonlydefaults": None, "annotations": {}}
    spec = messages.NamedTupleValue(name="FullArgSpec")
    for key, value in fields.items():
        spec.values.append(messages.PairValue(key=key, value=structured(value)))
    made = messages.FunctionSpec()
    made.fullargspec.named_tuple_value.CopyFrom(spec)
    made.input_signature.CopyFrom(structured(None))
    return made


# ---- functions ----
def _without_idle(definition):
    """Leaves out nodes that no result needs: 1.15 runs those that have an effect, as updates of layers that are not trained."""
    nodes = {node.name: node for node in definition.node_def}
    needed, pending = set(), [*definition.ret.values()]
    while pending:
        name = pending.pop().lstrip("^").partition(":")[0]
        if name in nodes and name not in needed:
            needed.add(name)
            pending += nodes[name].input
    kept = [node for node in definition.node_def if node.name in needed]
    del definition.node_def[:]
    definition.node_def.extend(kept)


def _without_clips(definition):
    """Minimum and Maximum in the place of ClipByValue, of which 1.15 has no gradient."""
    clips = {node.name for node in definition.node_def if node.op == "ClipByValue"}
    made = []
    for node in definition.node_def:
        if node.name in clips:
            lower = messages.NodeDef(name=node.name + "/Minimum", op="Minimum", input=[node.input[0], node.input[2], *node.input[3:]])
            lower.attr["T"].CopyFrom(node.attr["T"])
            upper = messages.NodeDef(name=node.name, op="Maximum", input=[f"{lower.name}:z:0", node.input[1]])
            upper.attr["T"].CopyFrom(node.attr["T"])
            made += [lower, upper]
        else:
            made.append(node)
    for node in made:
        node.input[:] = [f"{name.partition(':')[0]}:z:0" if name.partition(":")[0] in clips else name for name in node.input]
    for key, name in definition.ret.items():
        if name.partition(":")[0] in clips:
            definition.ret[key] = f"{name.partition(':')[0]}:z:0"
    del definition.node_def[:]
    definition.node_def.extend(made)


def _without_defaults(definition):
    """Leaves out attributes that have their default: those that came with later releases are unknown to 1.15."""
    for node in definition.node_def:
        known = op_definitions.definition_of(node.op)
        for attribute in known.attr if known is not None else ():
            if attribute.name in node.attr and attribute.HasField("default_value") and \
                    node.attr[attribute.name].SerializeToString() == attribute.default_value.SerializeToString():
                del node.attr[attribute.name]


class _Body:
    """One way to call a function: its definition, the variables that it reads, and what it takes and gives."""

    def __init__(self, name: str, graph: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor], taken: object, given: object) -> None:
        self.handles = list(graph._captures)
        strange = [handle.op.name for handle in self.handles if handle.op.type != "VarHandleOp"]
        if strange:
            raise CannotTraceError(f"it reads {strange}, which is no variable")
        whole = [*inputs, *graph._captures.values()]
        self.name, self.taken, self.given = name, taken, given
        self.definition, self.library = functions.definition_of(graph, name, whole, outputs)
        for definition in (self.definition, *self.library.function):
            _without_idle(definition)
            _without_clips(definition)
            _without_defaults(definition)
        shapes = messages.AttrValue()
        for tensor in whole:
            shapes.list.shape.append(tensor.shape.as_proto())
        self.definition.attr["_input_shapes"].CopyFrom(shapes)

    def does(self) -> bytes:
        """What the body computes, whatever its name is."""
        anonymous = messages.FunctionDef.FromString(self.definition.SerializeToString())
        anonymous.signature.name = ""
        return anonymous.SerializeToString()


class _Function:
    """A node of the object graph that is a function."""

    def __init__(self, names: Sequence[str], defaults: Sequence[object], bodies: Sequence[_Body]) -> None:
        self.names, self.defaults, self.bodies = names, defaults, bodies

    def _checkpoint_parts(self):
        return {}

    def write(self, node: Any) -> None:
        """Fills a SavedObject."""
        node.function.function_spec.CopyFrom(_arguments(self.names, self.defaults))
        node.function.concrete_functions.extend(body.name for body in self.bodies)


class _Signature:
    """A node of the object graph that is the function of a signature, whose arguments have names."""

    def __init__(self, body: _Body, names: Sequence[str]) -> None:
        self.bodies, self.names = [body], names

    def _checkpoint_parts(self):
        return {}

    def write(self, node: Any) -> None:
        """Fills a SavedObject."""
        node.bare_concrete_function.CopyFrom(messages.SavedBareConcreteFunction(
            concrete_function_name=self.bodies[0].name, argument_keywords=self.names, allowed_positional_arguments=len(self.names)))


class _Plain:
    """A node of the object graph that only leads to others."""

    def __init__(self, parts: Mapping[str, Any], kind: str = "_generic_user_object") -> None:
        self.parts, self._kind = dict(parts), kind

    def _checkpoint_parts(self):
        return self.parts

    def write(self, node: Any) -> None:
        """Fills a SavedObject."""
        _write_user_object(node, self._kind)


def _listed(values):
    return _Plain({str(number): value for number, value in enumerate(values)}, "trackable_list_wrapper")


def _write_user_object(node, kind, metadata=""):
    node.user_object.CopyFrom(messages.SavedUserObject(identifier=kind, version=messages.VersionDef(producer=1, min_consumer=1),
                                                       metadata=metadata))


# ---- what is traced ----
_KEPT = ("_losses", "_updates", "_per_input_losses", "_per_input_updates", "_output_tensor_cache", "_output_mask_cache",
         "_output_shape_cache", "_metrics")


@contextlib.contextmanager
def _untouched(layers: Sequence[Any]) -> Iterator[None]:
    """Layers begin without losses and updates, and are afterwards as they were before they were called."""
    before = [(layer, {name: layer.__dict__[name] for name in _KEPT if name in layer.__dict__}) for layer in layers]
    calls = [(layer, name, layer.__dict__[name][:]) for layer in layers for name in ("_inbound_nodes", "_outbound_nodes")]
    nodes = [node for layer in layers for node in layer._inbound_nodes]
    arguments = [node.arguments for node in nodes]
    regularizers = [(layer, layer.__dict__["activity_regularizer"]) for layer in layers
                    if layer.__dict__.get("activity_regularizer") is not None]
    try:
        for layer, values in before:
            layer.__dict__.update({name: type(value)() for name, value in values.items()})
        for node in nodes:
            node.arguments = dict(node.arguments) if node.arguments else node.arguments
        for layer, regularizer in regularizers:
            layer.__dict__["activity_regularizer"] = lambda x, of=regularizer: of(x) / thalweg.cast(thalweg.shape(x)[0], x.dtype)
        yield
    finally:
        for layer, values in before:
            layer.__dict__.update(values)
        for layer, name, kept in calls:
            layer.__dict__[name][:] = kept
        for node, value in zip(nodes, arguments):
            node.arguments = value
        for layer, regularizer in regularizers:
            layer.__dict__["activity_regularizer"] = regularizer


def _within(layer):
    """A layer and all layers in it."""
    found, pending = [], [layer]
    while pending:
        one = pending.pop(0)
        if isinstance(one, (list, tuple)):
            pending += one
        elif isinstance(one, dict):
            pending += one.values()
        elif hasattr(one, "_inbound_nodes") and all(one is not other for other in found):
            found.append(one)
            pending += [*one.__dict__.get("_layers", ()), *checkpoints.parts(one).values()]
    return found


def _flat(value):
    if isinstance(value, dict):
        return [v for key in sorted(value) for v in _flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [v for item in value for v in _flat(item)]
    return [value]


class _Trace:
    """What a layer computes, in a graph of its own: (outputs, losses) of inputs."""

    def __init__(self, graph: Any, specs: Any, inputs: Sequence[Tensor], outputs: Any, losses: list[Tensor], phase: int | None) -> None:
        self.graph, self.inputs, self.outputs, self.losses = graph, inputs, outputs, losses
        self.taken = ((specs,) if inputs else ()) + (() if phase is None else (bool(phase),)), {}

    def body(self, name: str, with_losses: bool) -> _Body:
        """The body that gives the outputs, or these and the losses."""
        whole = (self.outputs, self.losses) if with_losses else self.outputs
        tensors = _flat(whole)
        given = _like(whole, iter(TensorSpec(t.shape, t.dtype, f"output_{n}") for n, t in enumerate(tensors)))
        return _Body(name, self.graph, self.inputs, tensors, self.taken, given)


class _Tracer:
    """Calls layers in graphs of their own, and names what comes of it."""

    def __init__(self, model: Any) -> None:
        self._layers = _within(model)
        self._count = 0

    def name(self, stem: str) -> str:
        """A name that no other function of the file has."""
        self._count += 1
        return f"__inference_{stem}_{self._count}"

    def trace(self, specs: Any, compute: Callable[..., Any], phase: int | None) -> _Trace:
        """What `compute` gives, (outputs, losses), for tensors of specs: one, a list or a dictionary of them, or none."""
        graph = functions.BodyGraph(graph_backend.get_graph())
        graph._keras_phase, graph._keras_is_saved = phase or 0, True
        flat = _flat(specs)
        with _untouched(self._layers), graph.as_default():
            inputs = [graph.argument(spec.dtype, spec.name or "inputs", spec.shape) for spec in flat]
            outputs, losses = compute(*([_like(specs, iter(inputs))] if flat else []))
            updates = [u for layer in self._layers if phase or getattr(layer, "stateful", False) for u in layer.updates if u.graph is graph]
            operations = list({id(op): op for op in (u if isinstance(u, Operation) else u.op for u in updates)}.values())
            with control_dependencies(operations):
                outputs = _like(outputs, iter([thalweg.identity(thalweg.convert_to_tensor(value)) for value in _flat(outputs)]))
        return _Trace(graph, specs, inputs, outputs, losses, phase)

    def functions(self, stem: str, specs: Any, compute: Callable[..., Any]) -> tuple[_Function, _Function]:
        """(the function of the outputs, that of outputs and losses), of inputs, and of `training` where that makes a difference."""
        traces = [self.trace(specs, compute, phase) for phase in (1, 0)]
        names, defaults = ["inputs", "training"], [False]
        if len({trace.body("", True).does() for trace in traces}) == 1:
            names, defaults, traces = ["inputs"], [], [self.trace(specs, compute, None)]
        return tuple(_Function(names, defaults, [trace.body(self.name(stem + end), with_losses) for trace in traces])
                     for end, with_losses in (("_fn", False), ("_and_return_conditional_losses", True)))


def _like(value, flat):
    """A structure with one of `flat` in the place of each of its leaves."""
    if isinstance(value, dict):
        return {key: _like(value[key], flat) for key in sorted(value)}
    if isinstance(value, list):
        return [_like(item, flat) for item in value]
    if isinstance(value, tuple):
        return tuple(_like(item, flat) for item in value)
    return next(flat)


# ---- nodes of layers ----
class _LayerNode:
    """A layer or model as a node of the object graph."""

    def __init__(self, exported: Exported, layer: Any, is_root: bool) -> None:
        self.exported, self.layer, self._is_root = exported, layer, is_root
        self.functions: dict[str, _Function] = {}
        self._parts = None
        specs = exported.specs_of(layer)
        if specs is not None:
            try:
                self._trace(specs)
            except (CannotTraceError, ValueError, TypeError, AttributeError, NotImplementedError) as error:
                if is_root:
                    raise
                logging.getLogger("thalweg").info("The layer %s has no function in the SavedModel: %s", layer.name, error)

    def _trace(self, specs):
        layer, tracer = self.layer, self.exported.tracer

        def compute(inputs):
            if isinstance(inputs, dict) and getattr(layer, "_is_graph_network", False):
                inputs = [inputs[name] for name in layer.input_names]
            with name_scope(layer.name):
                outputs = layer.call(inputs)
            return outputs, [loss for loss in layer.get_losses_for(inputs) if loss.graph is graph_backend.get_graph()]
        call, both = tracer.functions(f"{layer.name}_layer_call", specs, compute)
        self.functions = {"__call__": call, "call_and_return_conditional_losses": both, "call_and_return_all_conditional_losses": both}

    def _checkpoint_parts(self):
        if self._parts is None:
            made = self._wrapped(checkpoints.parts(self.layer, hasattr(self.layer, "_is_graph_network")))
            made.pop("optimizer", None)
            lists = self._lists()
            own = _Plain({**lists, **self.functions})
            shared = {name: value for name, value in {**lists, **self.functions}.items() if name in _SHARED}
            self._parts = {**made, **shared, "keras_api": own}
            if self._is_root:
                self._parts.update(self.exported.of_root())
        return self._parts

    def _lists(self):
        layer = self.layer
        losses = [self.exported.loss_of(weight) for one in _within(layer) for weight in _own_weights(one) if hasattr(weight, "_regularizer")]
        own = [self.exported.loss_of(weight) for weight in _own_weights(layer) if hasattr(weight, "_regularizer")]
        inner = [self.exported.node(one) for one in getattr(layer, "layers", _inner(layer))]
        values = {"variables": layer.weights, "trainable_variables": layer.trainable_weights,
                  "non_trainable_variables": layer.non_trainable_weights, "layers": inner, "metrics": [],
                  "regularization_losses": losses, "layer_regularization_losses": own}
        return {name: _listed(values[name]) for name in _LISTS}

    def _wrapped(self, value):
        """What a layer leads to, with nodes in the place of layers."""
        if hasattr(value, "_inbound_nodes"):
            return self.exported.node(value)
        if isinstance(value, dict):
            return {name: self._wrapped(part) for name, part in value.items()}
        if isinstance(value, (list, tuple)):
            return _listed([self._wrapped(part) for part in value if object_checkpoints._is_kept(part)])
        return value

    def write(self, node: Any) -> None:
        """Fills a SavedObject."""
        layer = self.layer
        kind = self.exported.kind_of(layer)
        stack = kind == "_tf_keras_model" and hasattr(layer, "add")  # of this kind 1.15 makes no model named Sequential that has its weights
        found = {"class_name": "Model" if stack else type(layer).__name__, "name": layer.name, "trainable": layer.trainable,
                 "expects_training_arg": len(self.functions.get("__call__", _Function([], [], [])).names) == 2,
                 "dtype": layer.dtype, "batch_input_shape": getattr(layer, "batch_input_shape", None)}
        with contextlib.suppress(NotImplementedError):
            found["config"] = layer.get_config()
        if kind == "_tf_keras_layer" and layer.__dict__.get("activity_regularizer") is not None:
            found["activity_regularizer"] = self.exported.regularizer_of(layer.activity_regularizer)
        if type(layer).__name__ == "DenseFeatures":
            found["_is_feature_layer"] = True
        if kind != "_tf_keras_layer":
            found.update(self.exported.of_model(layer, self._is_root))
        _write_user_object(node, kind, json.dumps(found, default=self.exported.plain))


def _own_weights(layer):
    return [*layer.__dict__.get("_trainable_weights", ()), *layer.__dict__.get("_non_trainable_weights", ())]


def _inner(layer):
    return [part for part in checkpoints.parts(layer).values() if hasattr(part, "_inbound_nodes")]


class Exported:
    """A model as the root of an object graph.

    Parameters
    ----------
    model : tf.keras.Model
        Built, of the default graph.
    configuration : dict or None
        Its training configuration.
    plain : callable
        What JSON writes of a value that it does not know.

    Raises
    ------
    CannotTraceError
        If the model computes with what a file cannot hold: tensors of the program, tables of words.
    """

    def __init__(self, model: Any, configuration: Mapping[str, Any] | None, plain: Callable[[Any], Any]) -> None:
        self.plain, self._training = plain, configuration
        self.tracer = _Tracer(model)
        self._nodes: dict[int, _LayerNode] = {}
        self._losses: dict[int, _Function] = {}
        self._model = model
        self.root = self._nodes[id(model)] = _LayerNode(self, model, True)
        self._signature = self._signature_of(model)

    def node(self, layer: Any) -> _LayerNode:
        """The node of a layer."""
        if id(layer) not in self._nodes:
            self._nodes[id(layer)] = _LayerNode(self, layer, False)
        return self._nodes[id(layer)]

    def specs_of(self, layer: Any) -> Any:
        """What a layer is called with, as its first call was; None where it has not been called."""
        if hasattr(layer, "input_names"):
            specs = {name: _spec(tensor, name) for tensor, name in zip(layer.inputs or [], layer.input_names)}
            if layer.__dict__.get("_takes_dictionary"):
                return specs
            return None if not specs else list(specs.values()) if len(specs) > 1 else next(iter(specs.values()))
        nodes = layer._inbound_nodes
        if not nodes or not nodes[0].inbound_layers and not nodes[0].input_tensors or type(layer).__name__ == "InputLayer":
            return None
        specs = [_spec(tensor, "inputs" if number == 0 else f"inputs_{number}") for number, tensor in enumerate(nodes[0].input_tensors)]
        keys = (nodes[0].arguments or {}).get("input_keys")
        return dict(zip(keys, specs)) if keys else specs[0] if len(specs) == 1 else specs

    def loss_of(self, weight: Variable) -> _Function:
        """The function that gives the loss of a regularized weight."""
        if id(weight) not in self._losses:
            trace = self.tracer.trace([], lambda: (weight._regularizer(weight), []), None)
            self._losses[id(weight)] = _Function([], [], [trace.body(self.tracer.name("loss_fn"), False)])
        return self._losses[id(weight)]

    def regularizer_of(self, regularizer: Any) -> Any:
        """A regularizer as its class and configuration, or by its name."""
        return self.plain(regularizer)

    def kind_of(self, layer: Any) -> str:
        """What 1.15 calls the kind of an object."""
        if not hasattr(layer, "input_names"):
            return "_tf_keras_layer"
        masks = any(mask is not None for one in layer.layers for node in one._inbound_nodes for mask in node.output_masks)
        return "_tf_keras_sequential" if hasattr(layer, "add") and not masks else "_tf_keras_model"

    def of_model(self, model: Any, is_root: bool) -> dict[str, Any]:
        """What is said of a model beside of what is said of a layer."""
        found = {"is_graph_network": model._is_graph_network, "keras_version": "2.2.4-tf", "backend": "tensorflow"}
        with contextlib.suppress(NotImplementedError):
            found["model_config"] = {"class_name": type(model).__name__, "config": model.get_config()}
        if is_root and self._training is not None:
            found["training_config"] = self._training
        return found

    def _signature_of(self, model):
        """The function serving_default, whose arguments and results have the names of the signature."""
        specs = {name: _spec(tensor, name) for tensor, name in zip(model.inputs, model.input_names)}

        def compute(inputs):
            if not model._is_graph_network and model.__dict__.get("_takes_dictionary"):
                outputs = model.call(inputs)
            else:
                given = [inputs[name] for name in model.input_names]
                outputs = model.call(given if len(given) > 1 else given[0])
            return dict(zip(model.output_names, _flat(outputs))), []
        trace = self.tracer.trace(specs, compute, None)
        given = {name: TensorSpec(t.shape, t.dtype, name) for name, t in trace.outputs.items()}
        body = _Body(self.tracer.name("signature_wrapper"), trace.graph, trace.inputs, _flat(trace.outputs), ((), specs), given)
        return _Signature(body, sorted(specs))

    def of_root(self) -> dict[str, Any]:
        """What the root leads to beside of what all layers do."""
        return {"signatures": _Plain({"serving_default": self._signature}, "signature_map")}

    def write(self) -> tuple[Any, list[Any]]:
        """(SavedObjectGraph, FunctionDefs)."""
        found, _, known = object_checkpoints._nodes(self.root)
        made, definitions = messages.SavedObjectGraph(), {}
        by_handle = {}
        for node in found:
            if isinstance(node.value, Variable):
                by_handle[id(node.value.handle)] = node.number
        for node in found:
            row = made.nodes.add()
            for name, value in node.parts.items():
                row.children.add(node_id=known[id(value)].number, local_name=name)
            if isinstance(node.value, Variable):
                _write_variable(row, node.value)
            elif hasattr(node.value, "write"):
                node.value.write(row)
            else:
                _write_user_object(row, "_generic_user_object")
            for body in getattr(node.value, "bodies", ()):
                definitions[body.name] = body
        for name, body in definitions.items():
            missing = [handle.op.name for handle in body.handles if id(handle) not in by_handle]
            if missing:
                raise CannotTraceError(f"{name} reads {missing}, which no layer of the model holds")
            made.concrete_functions[name].CopyFrom(messages.SavedConcreteFunction(
                bound_inputs=[by_handle[id(handle)] for handle in body.handles],
                canonicalized_input_signature=structured(body.taken), output_signature=structured(body.given)))
        library = {f.signature.name: f for body in definitions.values() for f in [*body.library.function, body.definition]}
        return made, list(library.values())


def _spec(tensor, name):
    return TensorSpec(tensor.shape if tensor.shape.ndims is None else [None, *tensor.shape.as_list()[1:]], tensor.dtype, name)


def _write_variable(row, variable):
    row.variable.CopyFrom(messages.SavedVariable(
        dtype=variable.dtype.base_dtype.as_datatype_enum, shape=variable.shape.as_proto(), trainable=variable.trainable,
        synchronization=variable.synchronization.value, aggregation=variable.aggregation.value, name=variable.name.partition(":")[0]))

# SPDX-License-Identifier: Apache-2.0
"""tf.function and tf.contrib.eager.defun in graphs: a Python function that is traced once for each signature.

    @tw.function
    def step(x, rate=0.1):
        weights.assign_sub(rate * x)       # effects happen in the order in which they are written
        return {"weights": weights.read_value()}

A call is one operation of the default graph. Tensors and arrays are arguments of the traced function, other values are part of
its signature. Python's `while`, `for` and `if` on tensors become loops and conditionals of the graph (thalweg/autograph).
"""
from __future__ import annotations

import functools
import inspect
import weakref
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes, nest
from thalweg.autograph import conversion
from thalweg.autograph.features import feature_set
from thalweg.control import functions, type_specs
from thalweg.graph import graph as graph_module, ops
from thalweg.graph.op_definitions import is_stateful
from thalweg.graph.tensor import IndexedSlices, Operation, Tensor
from thalweg.operations import custom_gradients
from thalweg.variables import variable_scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from thalweg.graph.graph import Graph
    from thalweg.messages import FunctionDef


class _Effects:
    """Stateful operations run in the order in which they are made, outside of loops and conditionals within."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self.context, self.last = graph, graph._state.context, None

    def _is_one(self, op, context):
        return context is self.context and op != "Placeholder" and (
            is_stateful(op) or op in self._graph.__dict__.get("_stateful_functions", ()))

    def before(self, op: str, inputs: Sequence[Tensor | None], controls: list[Operation], context: object) -> list[Operation]:
        """What an operation that is to be made waits for."""
        last = self.last
        if last is None or not self._is_one(op, context) or last in controls or any(t is not None and t.op is last for t in inputs):
            return controls
        return [*controls, last]

    def made(self, op: Operation, context: object) -> None:
        """An operation has been made."""
        if self._is_one(op.type, context):
            self.last = op

    def inner(self) -> _Effects:
        """Those of the conditional or loop whose branch or body is made now."""
        return _Effects(self._graph)


def in_order(function: Callable[[], Sequence[Tensor]]) -> tuple[Tensor, ...]:
    """The tensors that a function gives, once its effects have happened, in the order in which they are made."""
    graph = graph_module.get_default_graph()
    outer = graph._state.effects
    effects = graph._state.effects = _Effects(graph)
    try:
        results = function()
    finally:
        graph._state.effects = outer
    with graph_module.control_dependencies([] if effects.last is None else [effects.last]):
        return tuple(ops.apply("Identity", [ops.convert_to_tensor(r)]) for r in results)


class _TracedGraph(functions.BodyGraph):
    """A body whose effects come in the order in which they are made."""

    def __new__(cls, outer: Graph, may_make_variables: bool):
        return super().__new__(cls, outer)

    def __init__(self, outer: Graph, may_make_variables: bool) -> None:
        super().__init__(outer)
        self._variable_store = variable_scopes._store()  # names and scopes are those of the caller
        self._state.effects = _Effects(self)
        self._may_make_variables = may_make_variables
        self.made_variables = False

    def _lift_variable(self):
        """Called when a variable is to be made: it will live outside."""
        if not self._may_make_variables:
            raise ValueError("tf.function-decorated function tried to create variables on non-first call.")
        self.made_variables = True


def _is_tensor(value):
    return isinstance(value, (Tensor, np.ndarray, np.generic)) or hasattr(value, "_as_graph_element")


class ConcreteFunction:
    """One trace: its inputs' types and shapes are fixed."""

    def __init__(self, func: Any, name: str, args: Sequence[object], kwargs: Mapping[str, object], specs: Iterable[Any],
                 may_make_variables: bool) -> None:
        """`specs` stands in the place of each tensor of args and kwargs, in the order of nest.flatten."""
        outer = graph_module.get_default_graph()
        body = _TracedGraph(outer, may_make_variables)
        specs = list(specs)
        self._function, self._arguments = func, nest.pack_sequence_as((args, kwargs), specs)
        with body.as_default():
            flat = [body.argument(s.dtype, s.name or f"args_{i}", s.shape) if isinstance(s, type_specs.TensorSpec) else s
                    for i, s in enumerate(specs)]
            args, kwargs = nest.pack_sequence_as((args, kwargs), flat)
            results = func(*args, **kwargs)
            if isinstance(results, Operation):
                results = None
            self._results = results
            made = [body.inside(ops.convert_to_tensor(r)) for r in nest.flatten(results)
                    if r is not None and not isinstance(r, Operation)]
        self.graph, self.inputs, self.outputs = body, [t for t in flat if isinstance(t, Tensor)], made
        self.made_variables = body.made_variables
        self._variables_read = list(body.__dict__.get("_variables_read", {}).values())  # where operations run at once
        self._captured = list(body._captures)
        inputs = self.inputs + list(body._captures.values())
        definition, library = functions.definition_of(body, "_", inputs, made)
        self.name = f"__inference_{name}_{functions._digest(definition)}"
        definition.signature.name = self.name
        self._traced = functions.DefinedFunction(func, [], [], func_name=self.name)
        self._traced._definition, self._traced._library, self._traced._captured = definition, library, self._captured
        self._traced._sites = functions.sites_of(body, self.name)
        self._stateful = definition.signature.is_stateful
        self._is_written_out = bool(custom_gradients.between(body, made))

    @property
    def structured_outputs(self) -> Any:
        """What the Python function gave, with tensors in the place of values."""
        return self._packed(self.outputs)

    @property
    def captured_inputs(self) -> list[Tensor]: return self._captured
    @property
    def function_def(self) -> FunctionDef: return self._traced.definition

    def add_to_graph(self, g: Graph | None = None) -> None:
        self._traced.add_to_graph(g or graph_module.get_default_graph())

    def _packed(self, tensors):
        left = iter(tensors)
        flat = [None if r is None or isinstance(r, Operation) else next(left) for r in nest.flatten(self._results)]
        return nest.pack_sequence_as(self._results, flat)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        flat = [v for v in nest.flatten((args, kwargs)) if _is_tensor(v)]
        return self._call(flat)

    def _call(self, tensors):
        """A call with the tensors that stand for `inputs`."""
        if len(tensors) != len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} tensors, got {len(tensors)}")
        given = [ops.convert_to_tensor(t, dtype=i.dtype) for t, i in zip(tensors, self.inputs)]
        for variable in self._variables_read:
            variable._is_read()
        if self._is_written_out:
            return self._write_out(given)
        op = "StatefulPartitionedCall" if self._stateful else "PartitionedCall"
        types = [t.dtype.base_dtype for t in self.outputs]
        made = ops.apply(op, [given + self._captured], {"Tout": types, "f": self._traced})
        if not self.outputs:
            if graph_module.get_default_graph()._executes:
                return self._packed([])
            return made if isinstance(made, Operation) else graph_module.get_default_graph().get_operations()[-1]
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        for outside, inside in zip(made, self.outputs):
            outside.set_shape(inside.shape)
        return self._packed(made)

    def _write_out(self, tensors):
        """What the function does, in the place of a call: the graph's library does not hold gradients written in Python."""
        state = graph_module.get_default_graph()._state
        left = (ops.apply("Identity", [t]) for t in tensors)
        flat = [next(left) if isinstance(s, type_specs.TensorSpec) else s for s in nest.flatten(self._arguments)]
        args, kwargs = nest.pack_sequence_as(self._arguments, flat)
        outer = state.effects
        if outer is None or outer.context is not state.context:
            state.effects = _Effects(graph_module.get_default_graph())
        try:
            results = self._function(*args, **kwargs)
            last = state.effects.last
        finally:
            state.effects = outer
        with graph_module.control_dependencies([] if last is None else [last]):
            if results is None or isinstance(results, Operation):
                return ops.group(*[o for o in (results, last) if o is not None])
            made = [ops.apply("Identity", [ops.convert_to_tensor(r)]) for r in nest.flatten(results)
                    if r is not None and not isinstance(r, Operation)]
        return self._packed(made)


def _key_of(value):
    """What of an argument decides which trace serves a call."""
    if _is_tensor(value):
        tensor = value if isinstance(value, Tensor) else None
        dtype = tensor.dtype.base_dtype if tensor is not None else dtypes.as_dtype(np.asarray(value).dtype)
        shape = tensor.shape if tensor is not None else np.shape(value)
        dims = None if getattr(shape, "ndims", 0) is None else tuple(d.value if hasattr(d, "value") else d for d in shape)
        return "tensor", dtype.name, dims
    try:
        hash(value)
    except TypeError:
        return "object", id(value)
    return "value", type(value), value


class Function:
    """What tf.function makes of a Python function."""

    def __init__(self, python_function: Callable[..., object], name: str | None = None,
                 input_signature: Sequence[Any] | None = None, features: object = None, is_converted: bool = True) -> None:
        if input_signature is not None and not isinstance(input_signature, (tuple, list)):
            raise TypeError(f"input_signature must be either a tuple or a list, received {type(input_signature)}")
        self._python_function, self._input_signature = python_function, input_signature
        self._features, self._is_converted = features, is_converted
        self._name = name or getattr(python_function, "__name__", "function").replace("<lambda>", "lambda")
        self._parameters = inspect.signature(python_function)
        self._traces = weakref.WeakKeyDictionary()  # graph -> {signature: ConcreteFunction}
        self._called = False
        functools.update_wrapper(self, python_function, updated=())

    @property
    def python_function(self) -> Callable[..., object]: return self._python_function
    @property
    def input_signature(self) -> Sequence[Any] | None: return self._input_signature

    def __get__(self, instance: object, owner: type[object] | None = None):
        if instance is None:
            return self
        place = f"_function_{self._name}_{id(self)}"
        made = getattr(instance, "__dict__", {}).get(place)
        if made is None:
            made = Function(self._python_function.__get__(instance, owner), self._name, self._input_signature, self._features,
                            self._is_converted)
            if hasattr(instance, "__dict__"):
                instance.__dict__[place] = made
        return made

    def __call__(self, *args: object, **kwargs: object) -> Any:
        trace, tensors = self._trace_of(args, kwargs)
        return trace._call(tensors)

    def get_concrete_function(self, *args: object, **kwargs: object) -> Any:
        """The trace for these arguments; a TensorSpec stands for a tensor."""
        return self._trace_of(args, kwargs)[0]

    def _trace_of(self, args, kwargs):
        bound = self._parameters.bind(*args, **kwargs) if self._input_signature is None else None
        if bound is not None:
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
            names = self._names_of(args)
            flat = nest.flatten((args, kwargs))
            specs, tensors = [], []
            for i, value in enumerate(flat):
                name = names[i] if i < len(names) else None
                if isinstance(value, type_specs.TensorSpec):
                    specs.append(type_specs.TensorSpec(value.shape, value.dtype, value.name or name))
                elif _is_tensor(value):
                    tensor = value if isinstance(value, Tensor) else ops.convert_to_tensor(value)
                    tensors.append(tensor)
                    specs.append(type_specs.TensorSpec(tensor.shape, tensor.dtype.base_dtype, name))
                elif isinstance(value, IndexedSlices):
                    raise NotImplementedError("IndexedSlices as an argument of a tf.function: hand over values and indices")
                else:
                    specs.append(value)
        else:
            args, specs, tensors = self._by_signature(args, kwargs)
            kwargs = {}
        key = repr(nest.map_structure(lambda _: 0, (args, kwargs))), tuple(
            (s.dtype.name, str(s.shape)) if isinstance(s, type_specs.TensorSpec) else _key_of(s) for s in specs)
        traces = self._traces.setdefault(graph_module.get_default_graph(), {})
        if key not in traces:
            traces[key] = self._trace(args, kwargs, specs)
        return traces[key], tensors

    def _trace(self, args, kwargs, specs):
        first, self._called = not self._called, True
        function = conversion.traced(self._python_function, feature_set(self._features)) if self._is_converted else self._python_function
        made = ConcreteFunction(function, self._name, args, kwargs, specs, first)
        if made.made_variables:  # they are there now: what calls do must make none
            made = ConcreteFunction(function, self._name, args, kwargs, specs, False)
        return made

    def _names_of(self, args):
        """Names for the flat arguments, while each is one value."""
        names = []
        for parameter, value in zip(self._parameters.parameters.values(), args):
            if nest.is_nested(value) or parameter.kind is parameter.VAR_POSITIONAL:
                break
            names.append(parameter.name)
        return names

    def _by_signature(self, args, kwargs):
        if kwargs:
            bound = self._parameters.bind(*args, **kwargs)
            if bound.kwargs:
                raise ValueError("Keyword-only arguments do not go with an input_signature")
            args = bound.args
        wanted = tuple(self._input_signature)
        if len(args) > len(wanted):
            raise TypeError("When input_signature is provided, only pass arguments covered by it. "
                            f"Received {len(args)} argument(s).")
        specs = nest.flatten(wanted)
        if not args:  # get_concrete_function()
            return wanted, self._named(specs), []
        if len(args) < len(wanted):
            raise TypeError(f"The input_signature has {len(wanted)} arguments, received {len(args)}")
        given = []
        for spec, value in zip(wanted, args):
            if nest.is_nested(spec):
                nest.assert_same_structure(spec, value)
            given += nest.flatten(value) if nest.is_nested(spec) else [value]
        tensors = [] if any(isinstance(g, type_specs.TensorSpec) for g in given) else [
            g if isinstance(g, Tensor) else ops.convert_to_tensor(g, dtype=s.dtype) for g, s in zip(given, specs)]
        for spec, tensor in zip(specs, tensors):
            if not spec.is_compatible_with(tensor):
                raise ValueError(f"Python inputs incompatible with input_signature:\n  inputs: {tuple(tensors)}\n"
                                 f"  input_signature: {wanted}")
        return wanted, self._named(specs), tensors

    def _named(self, specs):
        names = list(self._parameters.parameters)
        return [type_specs.TensorSpec(s.shape, s.dtype, s.name or (names[i] if i < len(names) else None))
                for i, s in enumerate(specs)]


def function(func: Callable[..., object] | None = None, input_signature: Sequence[Any] | None = None, autograph: bool = True,
             experimental_autograph_options: object = None, experimental_relax_shapes: bool = False,
             experimental_compile: bool | None = None) -> Any:
    """A Python function as one that is traced into the graph's library and called as one operation."""
    if func is None:
        return lambda python_function: Function(python_function, None, input_signature, experimental_autograph_options, autograph)
    return Function(func, None, input_signature, experimental_autograph_options, autograph)


def defun(func: Callable[..., object] | None = None, input_signature: Sequence[Any] | None = None, autograph: bool = True,
          experimental_autograph_options: object = None, experimental_relax_shapes: bool = False) -> Any:
    """tf.contrib.eager.defun: the same as tf.function."""
    return function(func, input_signature, autograph, experimental_autograph_options, experimental_relax_shapes)

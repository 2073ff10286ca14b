# SPDX-License-Identifier: Apache-2.0
"""Defun: a Python function as a function of the graph's library; a call of it is one operation.

    @tw.functions.Defun(tw.float32, tw.float32)
    def affine(x, y):
        return x * y + b          # b, a tensor from outside, becomes one more input

The body is traced once, in a graph of its own, and travels with the GraphDef: whoever imports that can call it by name.
"""
from __future__ import annotations

import base64
import hashlib
import inspect
import re
from typing import TYPE_CHECKING

from thalweg import dtypes, messages
from thalweg.graph import attributes, graph as graph_module, ops
from thalweg.graph.graph import site
from thalweg.graph.op_definitions import is_stateful
from thalweg.graph.tensor import Operation, Tensor, has_value
from thalweg.operations import custom_gradients

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from thalweg.base.typing import DTypeLike, Element, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.graph import Graph
    from thalweg.graph.shapes import TensorShape
    from thalweg.messages import FunctionDef, GraphDebugInfo

_NO_SHAPES = ("_disable_call_shape_inference", "b", True)


class BodyGraph(graph_module.Graph):
    """The graph of a body. What it reads of graphs outside becomes inputs."""

    def __new__(cls, outer: Graph):
        return super().__new__(cls)

    def __init__(self, outer: Graph) -> None:
        super().__init__()
        self._outer = outer
        self._captures = {}  # tensor outside -> what stands for it
        self.seed = outer.seed

    def colocate_with(self, op: Element | None, ignore_existing: bool = False) -> AbstractContextManager[None]:
        op = getattr(op, "op", op)
        return super().colocate_with(op if getattr(op, "graph", self) is self else None, ignore_existing)

    def outermost(self) -> Graph:
        return self._outer.outermost() if self._outer._captures is not None else self._outer

    def argument(self, dtype: DTypeLike, name: str, shape: TensorShape | None = None) -> Tensor:
        dtype = dtypes.as_dtype(dtype).base_dtype
        dims = None if shape is None or shape.ndims is None else shape.as_list()
        attrs = [("dtype", "t", dtype._number), ("shape", "h", dims)]
        return self._add_node("Placeholder", self.unique_name(name), [], [], attrs, "", site())._output(0)

    def inside(self, tensor: Tensor) -> Tensor:
        """A tensor from anywhere, as the body may read it."""
        at_once = has_value(tensor)
        if not isinstance(tensor, Tensor) or not at_once and tensor.graph is self:
            return tensor
        if self._outer._captures is not None:
            tensor = self._outer.inside(tensor)
            at_once = False
        elif at_once and not self._outer._executes:
            raise RuntimeError("Attempting to capture an EagerTensor without building a function.")
        elif not at_once and tensor.graph is not self._outer:
            raise ValueError(f"{tensor!r} is of a graph that does not hold this function")
        found = self._captures.get(tensor)
        if found is None:
            scope, self._state.scope = self._state.scope, ""
            found = self._captures[tensor] = self.argument(tensor.dtype, "captured" if at_once else re.sub(r"\W", "_", tensor.op.name), tensor.shape)
            self._state.scope = scope
        return found


def definition_of(body: Graph, name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor],
                  out_names: Sequence[str] | None = None) -> tuple[Any, Any]:
    """The FunctionDef of a body's graph, and those of the functions it calls."""
    definition = messages.FunctionDef.FromString(body._function_definition(name, list(inputs), list(outputs), list(out_names or [])))
    return definition, messages.FunctionDefLibrary.FromString(body._export_library())


def sites_of(body: Graph, name: str) -> dict[str, str]:
    """Where the operations of function `name`, whose body this is, and of the functions it calls were made: by "operation@function"."""
    sites = dict(body.__dict__.get("_function_sites", {}))
    sites.update((f"{op.name}@{name}", op.site) for op in body.get_operations() if op.site)
    return sites


def write_sites(sites: Mapping[str, str], info: GraphDebugInfo) -> None:
    """Such a dictionary as a message."""
    files: dict[str, int] = {}
    for key, line in sites.items():
        info.traces[key].file_line_cols.add(file_index=files.setdefault(line, len(files)))
    info.files.extend(files)


class DefinedFunction:
    """What Defun makes of a Python function whose types are known."""

    def __init__(self, func: Callable[..., object], argnames: Sequence[str], input_types: Sequence[DTypeLike],
                 func_name: str | None = None, grad_func: DefinedFunction | None = None,
                 python_grad_func: Callable[..., object] | None = None, out_names: Sequence[str] | None = None,
                 shape_func: Callable[..., object] | None = None, capture_by_value: bool = False, **kwargs: object) -> None:
        self._func, self._argnames, self._types = func, argnames, [dtypes.as_dtype(t) for t in input_types]
        self._name, self._grad_func, self._python_grad = func_name, grad_func, python_grad_func
        self._out_names, self._shapes = out_names, shape_func
        if capture_by_value:
            raise NotImplementedError("capture_by_value: what a function reads from outside becomes an input")
        self._attrs = kwargs
        self._definition, self._sites = None, {}
        self.__name__ = func_name or func.__name__

    def _trace(self):
        if self._definition is not None:
            return
        outer = graph_module.get_default_graph()
        body = BodyGraph(outer)
        with body.as_default():
            inputs = [body.argument(t, n) for t, n in zip(self._types, self._argnames)]
            results = self._func(*inputs)
            results = [] if results is None or isinstance(results, Operation) else results
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            outputs = [body.inside(ops.convert_to_tensor(r)) for r in results]
            outputs += self._more_outputs(body)
        if self._out_names and len(self._out_names) != len(outputs):
            raise ValueError(f"Expected {len(self._out_names)} output names for {len(outputs)} outputs: {self._out_names}")
        self._captured = list(body._captures)
        inputs += body._captures.values()
        definition, self._library = definition_of(body, self._name or "_", inputs, outputs, self._out_names)
        if self._name is None:
            self._name = f"{self._func.__name__}_{_digest(definition)}"
            definition.signature.name = self._name
        self._stateful_ops = [(n.name, n.op) for n in definition.node_def if is_stateful(n.op)]
        for key, value in self._attrs.items():
            definition.attr["_" + key].CopyFrom(_attr_of(value))
        self._definition, self._sites = definition, sites_of(body, self._name)
        if self._grad_func is not None and isinstance(self._grad_func, DefinedFunction):
            self._grad_func._trace()
        if self._python_grad is not None:
            custom_gradients._registered["function " + self._name] = self._python_grad

    def _more_outputs(self, body):
        return []

    @property
    def name(self) -> str | None:
        """The name in the library of graphs."""
        self._trace()
        return self._name

    @property
    def definition(self) -> FunctionDef:
        """The function as a message."""
        self._trace()
        return self._definition

    @property
    def declared_input_types(self) -> tuple[DType, ...]:
        """The types of its arguments."""
        return tuple(self._types)

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors outside that its body reads."""
        self._trace()
        return self._captured

    @property
    def stateful_ops(self) -> list[Any]:
        """(name, type) of the operations in it that have state."""
        self._trace()
        return self._stateful_ops

    @property
    def python_grad_func(self) -> Any:
        return self._python_grad

    @property
    def grad_func_name(self) -> str | None:
        return self._grad_func.name if self._grad_func is not None else None

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        """The gradient is another defined function: of the inputs and of the gradients of the outputs."""
        if self._grad_func is not None and self._grad_func is not grad_func:
            raise ValueError("Gradient defined twice for function " + self.name)
        self._grad_func = grad_func

    def add_to_graph(self, g: Graph | None = None) -> None:
        """Puts the definition into the library of the graph, or the default one, with what it calls."""
        self._trace()
        g = graph_module.get_default_graph() if g is None else g
        added = g.__dict__.setdefault("_functions", set())
        if self._name in added:
            return
        added.add(self._name)
        whole = messages.GraphDef()
        whole.library.CopyFrom(self._library)
        whole.library.function.add().CopyFrom(self._definition)
        write_sites(self._sites, whole.debug_info)
        if g._captures is not None:
            g.__dict__.setdefault("_function_sites", {}).update(self._sites)
        if self._grad_func is not None:
            self._grad_func.add_to_graph(g)
            whole.library.gradient.add(function_name=self._name, gradient_func=self._grad_func.name)
        g._import(whole.SerializeToString(), False, "", [], [], [], [])

    def __call__(self, *args: TensorLike, **kwargs: Any) -> Any:
        name = kwargs.pop("name", None)
        if kwargs:
            raise ValueError(f"Unknown keyword arguments: {kwargs.keys()}")
        if len(args) != len(self._types):
            raise ValueError(f"Expected number of arguments: {len(self._types)}, received: {len(args)}")
        self._trace()
        graph = graph_module.get_default_graph()
        self.add_to_graph(graph)
        flat = [ops.convert_to_tensor(a) for a in args] + self._captured
        made = ops.create_node(self._name, name or self._name, flat, [_NO_SHAPES])
        if self._python_grad is not None:
            graph.__dict__.setdefault("_overridden", {})[made._id] = "function " + self._name
        outputs = list(made.outputs)
        for output, shape in zip(outputs, self._shapes(made) if self._shapes else []):
            output.set_shape(shape)
        return made if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)


class LoopBody(DefinedFunction):
    """The body of a While, which hands on what it reads from outside: it gives it behind its own results."""

    def _more_outputs(self, body):
        return list(body._captures.values())


class _OverloadedFunction:
    """A Defun without types: one function for each types it is called with."""

    def __init__(self, func: Callable[..., object], argnames: Sequence[str], **kwargs: Any) -> None:
        self._func, self._argnames, self._kwargs = func, argnames, kwargs
        self._made = {}

    def instantiate(self, input_types: Sequence[DTypeLike]) -> Any:
        if len(input_types) != len(self._argnames):
            raise ValueError(f"Expected number of arguments: {len(self._argnames)}, received: {len(input_types)}")
        key = tuple(dtypes.as_dtype(t).base_dtype.name for t in input_types)
        if key not in self._made:
            kwargs = dict(self._kwargs)
            if kwargs.get("func_name"):
                kwargs["func_name"] = "_".join([kwargs["func_name"], *key])
            self._made[key] = DefinedFunction(self._func, self._argnames, input_types, **kwargs)
        return self._made[key]

    def __call__(self, *args: TensorLike, **kwargs: Any) -> Any:
        args = [ops.convert_to_tensor(a) for a in args]
        return self.instantiate([a.dtype for a in args])(*args, **kwargs)


class Defun:
    """@Defun(type, ..., func_name=, grad_func=, python_grad_func=, out_names=, shape_func=): a graph function."""

    def __init__(self, *input_types: DTypeLike, **kwargs: Any) -> None:
        self._types, self._kwargs = input_types, kwargs

    def __call__(self, func: Callable[..., object]) -> Any:
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        parameters = inspect.signature(func).parameters.values()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        variable = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        required = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL and p.default is p.empty]
        if not self._types and names:
            return _OverloadedFunction(func, names, **self._kwargs)
        if len(self._types) < len(required):
            raise ValueError("The function has fewer input types than arguments: "
                             f"{len(self._types)} types, arguments {names}")
        if len(self._types) > len(names):
            if not variable:
                raise ValueError("The function has fewer arguments than the number of specified input types.")
            names += [f"arg{i}" for i in range(len(names), len(self._types))]
        return DefinedFunction(func, names[:len(self._types)], self._types, **self._kwargs)


def _digest(definition):
    """Eleven letters and digits that depend on the body."""
    digest = hashlib.sha1(definition.SerializeToString()).digest()
    return base64.b64encode(digest, altchars=b"00").decode()[:11].replace("=", "0")


def _attr_of(value):
    kind = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f" if isinstance(value, float) else "s"
    return attributes.attr_of_value(kind, value)


def get_extra_inputs() -> list[Tensor]:
    """What the function being defined has read from outside so far."""
    graph = graph_module.get_default_graph()
    return list(graph._captures) if graph._captures is not None else []


def get_extra_args() -> list[Tensor]:
    """Its arguments for these."""
    graph = graph_module.get_default_graph()
    return list(graph._captures.values()) if graph._captures is not None else []

# SPDX-License-Identifier: Apache-2.0
"""Gradients written in Python: custom_gradient, RegisterGradient, Graph.gradient_override_map.

To the core such an operation is one step of the way back (GradientStep): where it comes to one, be it in a loop, it asks the function.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.graph import graph as graph_module
from thalweg.graph.environment import environment
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import IndexedSlices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from thalweg.base.typing import F, TensorLike
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Tensor

_READS = {"ReadVariableOp", "ResourceGather", "ResourceGatherNd"}
# What comes back from the stack of a loop's derivative has no derivative by what was pushed, as far as variables are looked for.
_FROM_STACKS = {"_PopLoopStack", "StackPop", "StackPopV2"}
control_flow_is_functions = False  # whether the program asked for loops and conditionals of TensorFlow 2
_AT_ONCE = "thalweg.eager.custom_gradients"  # which few programs need
_registered = {}  # operation or name of an override -> function of the operation and its incoming gradients; None: none


class _Node:
    """An operation, or what a function has built, with the function that gives its gradient."""

    def __init__(self, inputs: TensorLike, outputs: Sequence[Tensor], function: Callable[..., object]) -> None:
        self.inputs, self.outputs, self.function = inputs, outputs, function

    def step(self, graph: Graph, scope: str) -> Callable[[object, list[Any]], list[Any]]:
        """The function as the core calls it: new operations are under the scope, and in no loop as far as is known here. Gradients
        that it asks for itself go to the core with the place that it was called with."""
        def gradients(place: object, incoming: list[Any]) -> list[Any]:
            if self.function is None:
                return [None] * len(self.inputs)
            with (graph.as_default(), graph.control_dependencies(None), name_scope(f"{scope}/{self.outputs[0].op.name}_grad/"),
                  _at(graph, place)):
                given = [apply("ZerosLike", [o]) if g is None else IndexedSlices(*g) if isinstance(g, tuple) else g
                         for g, o in zip(incoming, self.outputs)]
                found = self.function(*given)
                found = list(found) if isinstance(found, (list, tuple)) else [found]
                return [None if g is None else _parts(g) for g in found]
        return gradients


def _parts(gradient):
    return (gradient.values, gradient.indices, gradient.dense_shape) if isinstance(gradient, IndexedSlices) else convert_to_tensor(gradient)


@contextlib.contextmanager
def _at(graph: Graph, place: object) -> Iterator[None]:
    state = graph._state
    old, state.gradient_place = state.gradient_place, place
    try:
        yield
    finally:
        state.gradient_place = old


class RegisterGradient:
    """@RegisterGradient("Name") on function(op, *grads): the gradient of operations of that type, or of those made under
    gradient_override_map({type: "Name"})."""

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: F) -> F:
        if self._op_type in _registered:
            raise KeyError(f"Registering two gradient with name '{self._op_type}'!")
        _registered[self._op_type] = f
        return f


def NoGradient(op_type: str) -> None:
    """Operations of this type have no gradient."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _registered[op_type] = None


NotDifferentiable = NoGradient


def custom_gradient(f: Callable[..., object]) -> Callable[..., Any]:
    """A function that gives (result, gradient function): gradients through the result ask that function. Where it reads trainable
    resource variables, or the result depends on trainable variables in a way that has derivatives, it is asked with `variables`, and
    gives (gradients of the arguments, list of those of the variables)."""
    @functools.wraps(f)
    def decorated(*args, **kwargs):
        if graph_module.get_default_graph()._executes:
            return importlib.import_module(_AT_ONCE).custom_gradient_of(f, args, kwargs)
        given = [convert_to_tensor(a) for a in args]
        tensors = [apply("Identity", [g]) for g in given]
        graph = graph_module.get_default_graph()
        state = graph._state
        first = graph._num_nodes()
        result, gradient = f(*tensors, **kwargs)
        results = [convert_to_tensor(r) for r in nest.flatten(result)]
        inside_alone = (state.effects is not None or state.gradient_place is not None
                        or control_flow_is_functions and state.context is not None)
        variables = _variables_of(graph, results, given + tensors, first, inside_alone)
        handles = [apply("Identity", [v._ref_tensor]) for v in variables]
        outputs = with_gradient(tensors + handles, results, _with_variables(gradient, variables) if variables else gradient)
        return nest.pack_sequence_as(result, outputs)
    return decorated


def with_gradient(inputs: Sequence[Tensor], results: Sequence[Tensor], gradient: Callable[..., object]) -> list[Tensor]:
    """The results, through which gradients come to the inputs by a function of those of the results; nothing else is looked for."""
    outputs = [apply("Identity", [r]) for r in results]
    node = _Node(inputs, outputs, gradient)
    for output in outputs:
        output.graph.__dict__.setdefault("_custom_nodes", {})[output.op._id] = node
    return outputs


def _variables_of(graph, results, args, first, inside_alone):
    """The trainable variables that f, whose nodes are those from `first` on, has read as resources, and those that its results depend
    on other than by way of args: in a tf.function or gradient, and in control flow of the second kind, by those nodes alone."""
    outermost = graph
    while outermost._captures is not None:
        outermost = outermost._outer
    known = {v._ref_tensor: v for v in outermost.get_collection(GraphKeys.TRAINABLE_VARIABLES) if hasattr(v, "_ref_tensor")}
    if not known:
        return []
    found = {}
    for op in graph._nodes(first):
        if op.type in _READS:
            handle = _handle(op.inputs[0])
            if handle in known:
                found[handle] = known[handle]
    seen, pending = {a.op for a in args}, list(results)
    while pending:
        tensor = _outside(pending.pop())
        if tensor in known:
            found[tensor] = known[tensor]
        elif tensor.op not in seen and (not inside_alone or tensor.graph is graph and tensor.op._id >= first):
            seen.add(tensor.op)
            if tensor.op.type not in _FROM_STACKS and environment().is_differentiable(tensor.op.type):
                pending += [i for i in tensor.op.inputs if i is not None]
    return list(found.values())


def _outside(tensor):
    """What a function's body has from outside, there."""
    while tensor.graph._captures is not None and tensor.op.type == "Placeholder":
        outside = [o for o, inside in tensor.graph._captures.items() if inside == tensor]
        if not outside:
            break
        tensor = outside[0]
    return tensor


def _handle(tensor):
    """The variable's own handle, from one that came into functions, loops and conditionals."""
    tensor = _outside(tensor)
    while tensor.op.type in ("Enter", "Switch", "Identity"):
        tensor = _outside(tensor.op.inputs[0])
    return tensor


def _with_variables(gradient, variables):
    spec = inspect.getfullargspec(gradient)
    if "variables" not in spec.args + spec.kwonlyargs and not spec.varkw:
        raise TypeError("If using @custom_gradient with a function that uses variables, then grad_fn must accept a keyword argument "
                        "'variables'.")

    def both(*incoming):
        of_args, of_variables = gradient(*incoming, variables=variables)
        if len(of_variables) != len(variables):
            raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        return [*(of_args if isinstance(of_args, (list, tuple)) else [of_args]), *of_variables]
    return both


def between(graph: Graph, ys: Any) -> list[Any]:
    """The nodes with gradients of their own that ys depend on, those nearest to ys first."""
    custom, overridden = graph.__dict__.get("_custom_nodes", {}), graph.__dict__.get("_overridden", {})
    if not custom and not overridden and not _registered:
        return []
    seen, found, pending = set(), {}, [y.op for y in ys]
    while pending:
        op = pending.pop()
        if op._id in seen:
            continue
        seen.add(op._id)
        node = custom.get(op._id)
        if node is None:
            function = _registered.get(overridden.get(op._id, op.type), 0)
            if op._id in overridden and function == 0:
                raise LookupError(f"No gradient registered under the name {overridden[op._id]!r}")
            if function != 0:
                node = _Node(list(op.inputs), list(op.outputs), functools.partial(function, op) if function else None)
        if node is not None:
            found[id(node)] = (max(o.op._id for o in node.outputs), node)
        # A loop that is still being built has merges without their second input.
        pending += [i.op for i in (op.inputs if node is None else node.inputs) if i is not None]
    return [node for _, node in sorted(found.values(), key=lambda pair: -pair[0])]

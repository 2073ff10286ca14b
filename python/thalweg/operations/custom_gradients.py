# SPDX-License-Identifier: Apache-2.0
"""Gradients written in Python: custom_gradient, RegisterGradient, Graph.gradient_override_map.

To the core such an operation is one step of the way back (GradientStep): where it comes to one, be it in a loop, it asks the function.
"""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.graph import graph as graph_module
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import IndexedSlices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import F, TensorLike
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Tensor

_registered = {}  # operation or name of an override -> function of the operation and its incoming gradients; None: none


class _Node:
    """An operation, or what a function has built, with the function that gives its gradient."""

    def __init__(self, inputs: TensorLike, outputs: Sequence[Tensor], function: Callable[..., object]) -> None:
        self.inputs, self.outputs, self.function = inputs, outputs, function

    def step(self, graph: Graph, scope: str) -> Callable[[list[Any]], list[Any]]:
        """The function as the core calls it: new operations are under the scope, and in no loop as far as is known here."""
        def gradients(incoming: list[Any]) -> list[Any]:
            if self.function is None:
                return [None] * len(self.inputs)
            with graph.as_default(), graph.control_dependencies(None), name_scope(f"{scope}/{self.outputs[0].op.name}_grad/"):
                given = [apply("ZerosLike", [o]) if g is None else IndexedSlices(*g) if isinstance(g, tuple) else g
                         for g, o in zip(incoming, self.outputs)]
                found = self.function(*given)
                found = list(found) if isinstance(found, (list, tuple)) else [found]
                return [None if g is None else _parts(g) for g in found]
        return gradients


def _parts(gradient):
    return (gradient.values, gradient.indices, gradient.dense_shape) if isinstance(gradient, IndexedSlices) else convert_to_tensor(gradient)


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
    """A function that gives (result, gradient function): gradients through the result ask that function."""
    @functools.wraps(f)
    def decorated(*args, **kwargs):
        tensors = [apply("Identity", [convert_to_tensor(a)]) for a in args]
        result, gradient = f(*tensors, **kwargs)
        outputs = [apply("Identity", [convert_to_tensor(r)]) for r in nest.flatten(result)]
        graph = graph_module.get_default_graph()
        node = _Node(tensors, outputs, gradient)
        for output in outputs:
            graph.__dict__.setdefault("_custom_nodes", {})[output.op._id] = node
        return nest.pack_sequence_as(result, outputs)
    return decorated


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

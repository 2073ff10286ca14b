# SPDX-License-Identifier: Apache-2.0
"""Prepared operations: each is one node between placeholders in a graph that nobody sees, compiled once for its attributes and the types
of its inputs, and then called with values. Derivatives are nodes of the same graph, whose inputs are fed in the same way."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import Graph
from thalweg.graph.session import Session
from thalweg.graph.tensor import IndexedSlices
from thalweg.operations import gradient_ops

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.eager.tensor import EagerTensor
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.messages import ConfigProto

_SITE = "/site-packages/thalweg/eager/plans.py:1 in prepare"  # as of a library's nodes: a program has not made them in a loop
# Inputs that derivatives must know when they are made: such values are a part of what is prepared.
CONSTANT_INPUTS = {"GatherV2": (2,)}
preparing = threading.RLock()  # of threads, one adds to rooms at a time
_MOST_NODES = 20000  # of a room; then another one is begun, as nodes of a graph cannot be taken out of it


class Room:
    """A graph with a session, in which operations are prepared."""

    def __init__(self, config: ConfigProto | None, library: Sequence[bytes]) -> None:
        self.graph = Graph()
        self.graph._site = _SITE
        for functions in library:
            self.graph._import(functions, False, "", [], [], [], [])
        self.session = Session(graph=self.graph, config=config)
        self.plans: dict[Any, Plan] = {}
        self._placeholders: dict[tuple[int, int], Tensor] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time for another one."""
        return self.graph._num_nodes() > _MOST_NODES

    def placeholder(self, dtype: int, place: int) -> Tensor:
        """What stands for input `place` of an operation."""
        found = self._placeholders.get((dtype, place))
        if found is None:
            name = self.graph.unique_name("input")
            node = self.graph._add_node("Placeholder", name, [], [], [("dtype", "t", dtype), ("shape", "h", None)], "", _SITE)
            found = self._placeholders[dtype, place] = node._output(0)
        return found

    def prepare(self, op: str, attrs: list[tuple[str, str, Any]], types: Sequence[int], device: str, constants: dict[int, Any]) -> Plan:
        """A plan of one operation. `constants`: values of inputs that are no feeds, by place."""
        inputs = [self._constant(dtype, constants[i]) if i in constants else self.placeholder(dtype, i) for i, dtype in enumerate(types)]
        feeds = [t for i, t in enumerate(inputs) if i not in constants]
        node = self.graph._add_node(op, self.graph.unique_name(op), inputs, [], attrs, device, _SITE)
        return Plan(self, feeds, list(node.outputs), node)

    def _constant(self, dtype, value):
        return self.graph._add_node("Const", self.graph.unique_name("constant"), [], [], [("value", "v", (dtype, value))], "",
                                    _SITE)._output(0)


class Plan:
    """Some fetches of a room for values of some feeds."""

    __slots__ = ("room", "feeds", "fetches", "node", "run", "_derivatives")

    def __init__(self, room: Room, feeds: list[Tensor], fetches: list[Tensor], node: Operation | None = None) -> None:
        self.room, self.feeds, self.fetches, self.node = room, feeds, fetches, node
        self.run = room.session._prepare(fetches or [node], feeds)._at_once
        self._derivatives: dict[Any, Derivative] = {}

    def derivative(self, ys: tuple[int, ...], xs: tuple[int, ...]) -> Derivative:
        """The gradients of the feeds `xs` for those of the fetches `ys`."""
        found = self._derivatives.get((ys, xs))
        if found is None:
            with preparing:
                found = self._derivatives.get((ys, xs))
                if found is None:
                    found = self._derivatives[ys, xs] = Derivative(self, ys, xs)
        return found


class Derivative:
    """The derivative of a plan: a plan of its feeds, its fetches and the gradients of these."""

    def __init__(self, plan: Plan, ys: tuple[int, ...], xs: tuple[int, ...]) -> None:
        room = plan.room
        graph = room.graph
        known = [*plan.feeds, *(f for f in plan.fetches if f not in plan.feeds)]
        with graph.as_default(), graph.name_scope("derivative"):
            incoming = []
            for y in ys:
                node = graph._add_node("Placeholder", graph.unique_name("incoming"), [], [],
                                       [("dtype", "t", plan.fetches[y]._dtype), ("shape", "h", None)], "", _SITE)
                incoming.append(node._output(0))
            found = gradient_ops.gradients([plan.fetches[y] for y in ys], [plan.feeds[x] for x in xs], incoming,
                                           stop_gradients=plan.feeds)
        self._parts: list[list[int]] = []  # of each of xs: which fetches are its gradient, none, one or three for rows
        fetches = []
        for gradient in found:
            parts = [] if gradient is None else [gradient]
            if isinstance(gradient, IndexedSlices):
                parts = [p for p in (gradient.values, gradient.indices, gradient.dense_shape) if p is not None]
            fetches += [p for p in parts if p not in fetches]
            self._parts.append([fetches.index(p) for p in parts])
        self._plan = Plan(room, [*known, *incoming], fetches) if fetches else None
        self._places = [plan.fetches.index(f) for f in known[len(plan.feeds):]]

    @property
    def plan(self) -> Plan | None:
        """What is run; None where nothing depends on anything."""
        return self._plan

    def arguments(self, inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor],
                  incoming: Sequence[EagerTensor]) -> list[EagerTensor]:
        """The values of its feeds."""
        return [*inputs, *(outputs[i] for i in self._places), *incoming]

    def gradients(self, values: Sequence[EagerTensor]) -> list[Any]:
        """What it gave, for each of xs."""
        parts = [[values[i] for i in places] for places in self._parts]
        return [None if not p else p[0] if len(p) == 1 else IndexedSlices(*p) for p in parts]


def is_differentiable(dtype: dtypes.DType) -> bool:
    """Whether tensors of a type have gradients."""
    return dtype.is_floating or dtype.is_complex or dtype is dtypes.resource or dtype is dtypes.variant

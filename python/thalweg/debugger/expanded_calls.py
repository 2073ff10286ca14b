# SPDX-License-Identifier: Apache-2.0
"""Calls that can be looked into: the nodes that a step runs for a call, beside it in the graph, and where in which function they stand."""
from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.debugger import steps, taps

if TYPE_CHECKING:
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Operation, Tensor

_SCOPE = "expanded_calls"
_OWN_FRAME = re.compile(r"/while_[0-9]+$")  # what the name of a loop gets that a While becomes


@dataclasses.dataclass(frozen=True)
class PlaceInFunction:
    """Where a node stands: in which function, under which name there, and by which calls that is reached, the outermost first."""

    function: str
    node: str
    calls: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class ExpandedCall:
    """A call; what stands for its outputs; the nodes that do its work; one that comes behind these, and a tap that lets them run beside the call."""

    call: Operation
    scope: str  # of all these nodes, and of no others
    outputs: tuple[Tensor, ...]
    ops: tuple[Operation, ...]
    done: Operation
    tap: Operation

    def by_name(self) -> dict[str, Operation]:
        """Its nodes, by the names that the call's nodes have in each graph."""
        return {"": self.done, "/": self.tap, **{op.name.removeprefix(self.scope): op for op in self.ops}}


class ExpandedCalls:
    """The calls of a graph that have been expanded. Kept with the graph, so that each is expanded once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        # By call; of one that cannot be expanded, why; None for what is none.
        self._by_call: dict[Operation, ExpandedCall | str | None] = graph.__dict__.setdefault("_expanded_calls", {})
        self._around: dict[Operation, ExpandedCall] = graph.__dict__.setdefault("_nodes_of_expanded_calls", {})

    def expand(self, call: Operation) -> ExpandedCall | str | None:
        """What stands for a call; where it cannot be expanded, why; None for what is no call."""
        if call not in self._by_call:
            self._by_call[call] = self._expand(call)
        return self._by_call[call]

    def _expand(self, call):
        first, scope = self._graph._num_nodes(), self._unused_scope()
        try:
            with steps.adding_to(self._graph):
                outputs = self._graph._expand_call(call, scope)
                *ops, done = self._graph._nodes(first)
                tap = taps.tap(call, [done], f"{scope}/tap")
        except errors.FailedPreconditionError:  # no call
            return None
        except (ValueError, errors.OpError) as error:
            return getattr(error, "message", None) or str(error)
        made = ExpandedCall(call, scope, tuple(outputs), tuple(ops), done, tap)
        self._around.update(dict.fromkeys(ops, made))
        return made

    def _unused_scope(self):
        names = {op.name.partition("/")[0].lower() for op in self._graph._nodes() if op.name.lower().startswith(_SCOPE)}
        return next(name for name in (f"{_SCOPE}_{i}" for i in range(len(names) + 1)) if name not in names)

    def place_of(self, op: Operation) -> PlaceInFunction | None:
        """Where a node of an expanded call stands; None for others, and for those that stand in no function."""
        if op not in self._around or not op.node_def.attr["_function"].s:
            return None
        attrs = op.node_def.attr
        return PlaceInFunction(attrs["_function"].s.decode(), attrs["_function_node"].s.decode(),
                               tuple(call.decode() for call in attrs["_function_calls"].list.s))

    def around(self, op: Operation) -> ExpandedCall | None:
        """The call for which an operation stands; None for others."""
        return self._around.get(op)

    def name_outside(self, name: str, op: Operation) -> str:
        """The name of a loop or branch of which an operation is, as the program knows it: of one that is a call itself, that of the call."""
        made = self.around(op)
        return name if made is None else _OWN_FRAME.sub("", name.removeprefix(f"{made.scope}/"))

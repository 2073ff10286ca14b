# SPDX-License-Identifier: Apache-2.0
"""What ran while tapes recorded, and the way back through it."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.eager.plans import Plan, is_differentiable
from thalweg.graph import ops
from thalweg.graph.tensor import IndexedSlices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.eager.tensor import EagerTensor

# Their gradient is what comes in, also where that is rows of a tensor.
_PASS_ON = {"ReadVariableOp", "Identity"}


class Record:
    """A step: a plan with its values, or one whose gradient is a function of Python."""

    __slots__ = ("plan", "inputs", "outputs", "backward")

    def __init__(self, plan: Plan | None, inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor],
                 backward: Callable[..., Any] | None = None) -> None:
        self.plan, self.inputs, self.outputs, self.backward = plan, inputs, outputs, backward


class Recording:
    """The steps between what a tape watches and what was made of it."""

    def __init__(self, watches_variables: bool = True) -> None:
        self.watched: set[int] = set()  # the ids of tensors that lead to what is watched
        self.records: list[Record] = []
        self.watches_variables = watches_variables
        self.variables: dict[int, Any] = {}

    def watch_variable(self, variable: Any) -> None:
        """Gradients for a variable are wanted."""
        handle = variable._ref_tensor
        self.watched.add(handle._id)
        self.variables.setdefault(handle._id, variable)

    def add(self, record: Record) -> None:
        """A step, where it depends on what is watched."""
        watched = self.watched
        for tensor in record.inputs:
            if tensor._id in watched:
                self.records.append(record)
                watched.update([t._id for t in record.outputs if is_differentiable(t.dtype)])
                return

    def gradients(self, targets: Sequence[EagerTensor], sources: Sequence[EagerTensor], incoming: Sequence[Any]) -> list[Any]:
        """The gradients of the sources, None where no step leads to them."""
        found: dict[int, list[Any]] = {}
        for target, gradient in zip(targets, incoming):
            found.setdefault(target._id, []).append(ops.apply("OnesLike", [target]) if gradient is None else gradient)
        kept = {s._id for s in sources}
        for record in reversed(self.records):
            given = [found.get(t._id) if t._id in kept else found.pop(t._id, None) for t in record.outputs]
            if not any(given):
                continue
            xs = [i for i, t in enumerate(record.inputs) if t._id in self.watched]
            for x, gradient in zip(xs, _back(record, [None if g is None else added(g) for g in given], xs)):
                if gradient is not None:
                    found.setdefault(record.inputs[x]._id, []).append(gradient)
        return [added(found[s._id]) if s._id in found and s._id in self.watched else None for s in sources]


def _back(record, incoming, xs):
    """The gradients of inputs `xs` of a step."""
    if record.backward is not None:
        whole = record.backward(incoming)
        return [whole[x] for x in xs]
    plan = record.plan
    if plan.node is not None and plan.node.type in _PASS_ON:
        return [incoming[0]] * len(xs)
    ys = tuple(i for i, g in enumerate(incoming) if g is not None)
    derivative = plan.derivative(ys, tuple(xs))
    if derivative.plan is None:
        return [None] * len(xs)
    values = derivative.arguments(record.inputs, record.outputs, [ops.densify(incoming[y]) for y in ys])
    made = derivative.plan.run(*values)
    if tapes.stack:
        tapes.record(derivative.plan, values, made)
    return derivative.gradients(made)


def added(gradients: Sequence[Any]) -> Any:
    """The sum of gradients of one tensor."""
    if len(gradients) == 1:
        return gradients[0]
    if all(isinstance(g, IndexedSlices) for g in gradients):
        wide = any(g.indices.dtype is dtypes.int64 for g in gradients)
        indices = [ops.apply("Cast", [g.indices], {"DstT": dtypes.int64}) if wide else g.indices for g in gradients]
        return IndexedSlices(_joined([g.values for g in gradients]), _joined(indices), gradients[0].dense_shape)
    return ops.apply("AddN", [[ops.densify(g) for g in gradients]])


def _joined(parts):
    return ops.apply("ConcatV2", [parts, 0])


class _Tapes(threading.local):
    """The recordings of a thread that are under way."""

    def __init__(self) -> None:
        self.stack: list[Recording] = []

    def record(self, plan: Plan, inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor]) -> None:
        """A plan has run."""
        record = Record(plan, inputs, outputs)
        for recording in self.stack:
            recording.add(record)

    def read(self, variable: Any) -> None:
        """A trainable variable is about to be read."""
        for recording in self.stack:
            if recording.watches_variables:
                recording.watch_variable(variable)

    def record_function(self, inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor], backward: Callable[..., Any]) -> None:
        """Something has run whose gradient is backward(list of incoming ones)."""
        record = Record(None, inputs, outputs, backward)
        for recording in self.stack:
            recording.add(record)


tapes = _Tapes()

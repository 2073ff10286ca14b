# SPDX-License-Identifier: Apache-2.0
"""Gates: an operation's values are told through a queue, and who comes behind it waits for an element of another one.

All of a gate are operations of queues in the task of the operation, so that a step stands in loops and on clusters as it does here, holds no thread
meanwhile, and ends when it is cancelled.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.debugger import steps, taps
from thalweg.graph.graph import Graph, create_node
from thalweg.graph.ops import apply, constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.graph.tensor import Operation, Tensor

_SCOPE = "debugger"
_REPORT = [dtypes.int32, dtypes.string]  # which gate, and the values of its operation
ABORTED = "the step was aborted by its debugger"


def _queue(types: Sequence[dtypes.DType], unique: str, name: str) -> Tensor:
    return apply("FIFOQueueV2", [], {"component_types": types, "shared_name": unique}, name=name)


class Reports:
    """The queue of a task to which its gates tell their values, seen from outside of steps."""

    def __init__(self, graph: Graph, device: str, unique: str) -> None:
        with steps.adding_to(graph, device):
            handle = _queue(_REPORT, unique, f"{_SCOPE}/reports")
            self.next = list(create_node("QueueDequeueV2", f"{_SCOPE}/next_report", [handle], [
                ("component_types", "T", [t._number for t in _REPORT])]).outputs)
            self.end = apply("QueueEnqueueV2", [handle, [constant(-1, dtypes.int32), constant([], dtypes.string)]], name=f"{_SCOPE}/last_report")


class Teller:
    """What tells, in the steps that have its tap as a target, what an operation gives each time that it runs.

    `told` makes of a tensor what is told of it, by default its value.
    """

    def __init__(self, op: Operation, number: int, device: str, reports: str, told: Callable[[Tensor], Tensor] | None = None) -> None:
        self.op, self.number = op, number
        self.outputs = [x for x in op.outputs if steps.can_be_shown(x)]
        with steps.adding_to(op.graph, device):
            tells = self._tell(f"recorder/{op.name}", reports, told or (lambda x: x))
            self.tap = taps.tap(op, [tells], f"recorder/{op.name}/tap")

    def _tell(self, place, reports, told):
        """Runs where the operation does, in each iteration."""
        with self.op.graph.control_dependencies([self.op]):
            texts = [apply("SerializeTensor", [told(x)], name=f"{place}/text") for x in self.outputs]
            packed = apply("Pack", [texts], name=f"{place}/texts") if texts else constant([], dtypes.string, name=f"{place}/texts")
            return apply("QueueEnqueueV2", [_queue(_REPORT, reports, f"{place}/reports"), [constant(self.number, dtypes.int32), packed]],
                         name=f"{place}/tell")


class Gate(Teller):
    """What stands behind an operation in the steps that have its tap as a target."""

    def __init__(self, op: Operation, number: int, device: str, reports: str, unique: str) -> None:
        self.op, self.number = op, number
        self.outputs = [x for x in op.outputs if steps.can_be_shown(x)]
        place = f"{_SCOPE}/{op.name}"
        with steps.adding_to(op.graph, device):
            tells = self._tell(place, reports, lambda x: x)
            with op.graph.control_dependencies([op]):
                waits_for = _queue([dtypes.bool], unique, f"{place}/permits")
            with op.graph.control_dependencies([tells]):
                permit = create_node("QueueDequeueV2", f"{place}/wait", [waits_for], [("component_types", "T", [dtypes.bool._number])]).outputs[0]
                checked = apply("Assert", [permit, [constant(ABORTED)]], name=f"{place}/permitted")
            self.tap = taps.tap(op, [checked], f"{place}/tap")
        with steps.adding_to(op.graph, device):
            outside = _queue([dtypes.bool], unique, f"{place}/permits_outside")
            self.let_go, self.abort = (apply("QueueEnqueueV2", [outside, [constant(goes_on)]], name=f"{place}/permit") for goes_on in (True, False))

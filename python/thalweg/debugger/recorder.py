# SPDX-License-Identifier: Apache-2.0
"""A recorder: what operations give, each time that they run, also in loops and branches and in other tasks."""
from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from thalweg import errors, messages
from thalweg.debugger import gates, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import Array, FeedDict, Fetches
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.messages import RunOptions


class Recorder:
    """Tells what operations of a session's runs give, through a queue in each task.

    Parameters
    ----------
    session : Session
    told : callable, optional
        What is told of a tensor, as a tensor; by default, its value.
    """

    def __init__(self, session: Session, told: Callable[[Tensor], Tensor] | None = None) -> None:
        self._session, self._told = session, told
        self._unique = f"recorder_{uuid.uuid4().hex}"
        self._reports: dict[str, gates.Reports] = {}
        self._tellers: dict[Operation, gates.Teller] = {}

    def run(self, ops: Sequence[Operation], fetches: Fetches, feed_dict: FeedDict | None = None,
            options: RunOptions | None = None) -> tuple[Any, list[tuple[Tensor, Array]]]:
        """Runs a step; gives the values of the fetches, and what was told of each tensor of the operations, in the order in which it was."""
        tellers = [self._teller_of(op) for op in ops if steps.can_be_looked_at(op) and any(map(steps.can_be_shown, op.outputs))]
        try:
            values = self._session.run([fetches, [teller.tap for teller in tellers]], feed_dict, options)[0]
        except errors.OpError:
            self._drain({})
            raise
        return values, self._drain({teller.number: teller for teller in tellers})

    def _teller_of(self, op):
        if op not in self._tellers:
            device = steps.place_of(self._session, op)
            if device not in self._reports:
                self._reports[device] = gates.Reports(self._session.graph, device, f"{self._unique}/{device}")
            self._tellers[op] = gates.Teller(op, len(self._tellers), device, f"{self._unique}/{device}", self._told)
        return self._tellers[op]

    def _drain(self, by_number):
        told = []
        for reports in self._reports.values():
            self._session.run(reports.end)
            while (got := self._session.run(reports.next))[0] != -1:
                if got[0] in by_number:
                    texts = (messages.make_ndarray(messages.TensorProto.FromString(text)) for text in got[1])
                    told.extend(zip(by_number[got[0]].outputs, texts))
        return told

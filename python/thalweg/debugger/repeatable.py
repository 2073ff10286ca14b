# SPDX-License-Identifier: Apache-2.0
"""A step that runs again and again from the same: variables are set back, and what random operations and the like gave once is fed."""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from thalweg.debugger import steps, variable_nodes
from thalweg.graph import op_definitions
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from thalweg.base.typing import Array, FeedDict, Fetches
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation
    from thalweg.messages import RunOptions

_SCOPE = "checked_step"
_FUNCTIONS_OF_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


class RepeatableStep:
    """Runs of parts of a step, for who compares them.

    `values` are those of the variables that the step needs, by the names of their operations, as they were when this was made. `draws` are what
    random operations, iterators and queues gave, by tensors, once `draw` has asked them; each run is fed that. Runs come in any number: they begin
    from `values` where the step before may have changed them.

    Parameters
    ----------
    session : Session
    fetches, feed_dict
        Of the step.
    options : RunOptions, optional
        Of each run.
    extra : iterable of operations
        Variables that the step does not need and that are set back, too.
    """

    def __init__(self, session: Session, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None,
                 extra: Iterable[Operation] = ()) -> None:
        steps.check_session(session)
        self.session, self.graph, self.options = session, session.graph, options
        self.fetches = steps.flat_fetches(self.graph, fetches)
        self.feeds = steps.flat_feeds(self.graph, feed_dict)
        self.ops = steps.needed(self.fetches, self.feeds)
        self.nesting = steps.nesting(self.ops)
        self.draws: dict[Tensor, Any] = {}
        self.variables = {op.name: op for op in itertools.chain(self.ops, extra) if op.type in steps.VARIABLES}
        self.changes_variables = any(map(variable_nodes.written_by, self.ops))
        # Of the session: another check of it adds no nodes again.
        self._reads, self._writes = session.__dict__.setdefault("_variable_nodes", ({}, {}))
        self.values = self.read()

    def random(self, not_behind: Iterable[Tensor] = ()) -> list[Tensor]:
        """What may differ from run to run and can be fed: not in loops and branches, and not computed from these."""
        behind = self.computed_from(not_behind)
        return [x for op in self.ops if self.nesting[op] == 0 and op not in behind for x in drawn_by(op)]

    def not_drawn(self) -> list[Operation]:
        """What may give something else in each run, and is not fed: in loops and branches, in functions, behind what is moved."""
        return [op for op in self.ops if steps.may_differ(op) and not any(x in self.draws for x in op.outputs) and
                (_has_functions(op) or not variable_nodes.taken_by(op))]

    def not_drawn_text(self) -> str:
        """These, as a sentence; "" where there are none."""
        loops = steps.inside_loops(self.ops)
        parts = [f"{'operation' if _has_functions(op) else 'random operation'} '{op.name}'" +
                 (" in a loop" if op in loops else " in a branch" if self.nesting[op] else "") for op in self.not_drawn()]
        return f"{', '.join(parts)} give{'s' if len(parts) == 1 else ''} another value in each run" if parts else ""

    def refuse_unless_repeatable(self, loss: Tensor, needs: str, *given: Mapping[Any, Any]) -> None:
        """Runs a loss again and again from the same, where something in it is not fed; `given` are feeds and variables of these runs."""
        if not self.not_drawn():
            return
        first = self.run(loss, *given)
        # Two draws may have the same sum by chance, as of a dropout of equal elements.
        if not all(np.array_equal(first, self.run(loss, *given), equal_nan=True) for _ in range(3)):
            raise ValueError(f"{self.not_drawn_text()}: {needs} needs a loss '{loss.name}' that is the same for the same variables")

    def computed_from(self, tensors: Iterable[Tensor]) -> set[Operation]:
        """Operations of the step that compute with the tensors, or with what is computed from them and changes as they do: shapes do not."""
        found: set[Operation] = set()
        waiting = [c for x in tensors for c in x.consumers()]
        of_step = set(self.ops)
        while waiting:
            op = waiting.pop()
            if op in of_step and op not in found:
                found.add(op)
                waiting.extend(c for x in op.outputs if x not in self.feeds and _changes_smoothly(x) for c in x.consumers())
        return found

    def draw(self, tensors: Iterable[Tensor]) -> None:
        """Runs what may differ from run to run; all runs from here on are fed what it gave, and what was drawn before."""
        wanted = list(tensors)
        try:
            values = self.session.run(wanted, {**self.feeds, **self.draws}, options=self.options) if wanted else []
        finally:
            if wanted and self.changes_variables:  # what random operations wait for may do so
                self.write(self.values)
        self.draws |= zip(wanted, values)

    def run(self, fetches: Any, feeds: Mapping[Tensor, Any] | None = None, variables: Mapping[str, Any] | None = None) -> Any:
        """Fetches, with the feeds of the step, the draws, and others on top; some variables may begin from other values."""
        self.write({**(self.values if self.changes_variables else {}), **(variables or {})})
        return self.session.run(fetches, {**self.feeds, **self.draws, **(feeds or {})}, options=self.options)

    def read(self) -> dict[str, Array]:
        """The values that the variables have now; those without one are left out."""
        for name, op in self.variables.items():
            if op not in self._reads:
                self._reads[op] = variable_nodes.read(op, f"{_SCOPE}/{name}/read")
        are_there = self.session.run([self._reads[op][1] for op in self.variables.values()])
        return self.session.run({name: self._reads[op][0] for (name, op), is_there in zip(self.variables.items(), are_there) if is_there})

    def write(self, values: Mapping[str, Any]) -> None:
        """Sets variables of these names."""
        targets, feeds = [], {}
        for name, value in values.items():
            op = self.variables[name]
            if op not in self._writes:
                self._writes[op] = variable_nodes.write(op, f"{_SCOPE}/{name}/write")
            given, target = self._writes[op]
            targets.append(target)
            feeds[given] = value
        if targets:
            self.session.run(targets, feeds)


def _changes_smoothly(tensor):
    kind = tensor.dtype.base_dtype
    return kind.is_floating or kind.is_complex or kind.name in ("resource", "variant")


def drawn_by(op: Operation) -> list[Tensor]:
    """What an operation gives that is fed to later runs. What reads variables gives the same again, as these are set back; functions are
    called, since what they compute is looked at."""
    draws = steps.may_differ(op) and not variable_nodes.taken_by(op) and not _has_functions(op)
    return [x for x in op.outputs if steps.has_value(x)] if draws else []


def _has_functions(op):
    definition = op_definitions.definition_of(op.type)
    return definition is None or op.type in _FUNCTIONS_OF_PYTHON or any(a.type in ("func", "list(func)") for a in definition.attr)


def created_at(op: Operation) -> str:
    """Where the program made an operation, to be put behind its name: " (created at train.py:24 in loss)"; "" where that is not known."""
    return f" (created at {op.site})" if op.site else ""

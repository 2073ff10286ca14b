# SPDX-License-Identifier: Apache-2.0
"""Debugger: a step that stands still behind operations, while its values are looked at."""
from __future__ import annotations

import collections
import dataclasses
import fnmatch
import threading
import uuid
from typing import TYPE_CHECKING

import numpy as np

from thalweg import errors, messages
from thalweg.debugger import gates, steps
from thalweg.graph import tensor_util
from thalweg.graph.session import Session
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from thalweg.base.typing import Array, FeedDict, Fetches
    from thalweg.graph.tensor import Operation
    from thalweg.messages import RunOptions


@dataclasses.dataclass
class Breakpoint:
    """Where a step stands: behind operations of a name (`*` and `?` stand for any letters) and kind, where `when` says so of one of their values."""

    name: str
    op_type: str | None
    when: Callable[[Any], object] | None

    def is_hit(self, stop: Stop) -> bool:
        if not fnmatch.fnmatchcase(stop.op.name, self.name) or self.op_type not in (None, stop.op.type):
            return False
        return self.when is None or any(self.when(value) for value in stop.values.values())


class Stop:
    """Where a step stands: behind an operation, whose values nobody has read yet."""

    def __init__(self, gate: gates.Gate, iteration: int, texts: list[bytes]) -> None:
        self._gate, self._texts = gate, texts
        self.op: Operation = gate.op
        self.iteration = iteration  # how often the operation has run in the step before

    @property
    def values(self) -> dict[str, Array]:
        """{name of an output: its value}, of those that have one."""
        return {x.name: _value(text) for x, text in zip(self._gate.outputs, self._texts)}

    def __repr__(self):
        return f"<stop behind {self.op.type} '{self.op.name}', iteration {self.iteration}>"


def _value(text):
    return messages.make_ndarray(messages.TensorProto.FromString(text))


_RUNS = "the step before has not ended and stands nowhere, as one whose queue nobody fills: it ends with its session or its timeout_in_ms"


class Debugger:
    """Runs steps of a session that stand still at breakpoints, one step at a time.

    While a step stands, the values that it has computed are there, and nothing goes on that comes behind where it stands. Sessions on clusters are
    debugged as those of this process. Each operation is asked for in turn, which takes about a millisecond; `nodes` says which, where that is too
    slow. Operations inside of functions that are called by name, and those of loops and branches themselves, are not looked at.

    Parameters
    ----------
    session : Session
    nodes : str
        The operations at which a step can stand and whose values are kept, as a pattern of their names.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [], name="x")
    >>> y = tw.log(x, name="y")
    >>> z = tw.multiply(y, 2.0, name="z")
    >>> with tw.Session() as session, tw.debugging.Debugger(session) as debugger:
    ...     number = debugger.break_at("*", when=tw.debugging.has_inf_or_nan)
    ...     stop = debugger.start(z, {x: 0.0})
    ...     print(stop, debugger.value("y:0"), debugger.value("x:0"))
    ...     stop = debugger.next_node()
    ...     print(stop.op.name, debugger.resume(), debugger.result())
    <stop behind Log 'y', iteration 0> -inf 0.0
    z None -inf
    """

    def __init__(self, session: Session, nodes: str = "*") -> None:
        if not isinstance(session, Session):
            raise TypeError(f"a Debugger takes a Session, got a {type(session).__name__}")
        self._session, self._graph, self._nodes = session, session.graph, nodes
        self._unique = f"debugger_{uuid.uuid4().hex}"
        self._changed = threading.Condition()
        self._breakpoints: dict[int, Breakpoint] = {}
        self._breakpoints_made = self._gates_made = 0
        self._gates: dict[Operation, gates.Gate] = {}
        self._reports: dict[str, gates.Reports] = {}
        self._thread: threading.Thread | None = None
        self._outcome: tuple[BaseException | None, Any] | None = None  # the error, or None and the values
        self._forget()
        session._before_close[self] = self.close

    def _forget(self):
        self._arrivals: collections.deque[Stop] = collections.deque()
        self._current: Stop | None = None
        self._texts: dict[str, bytes] = {}
        self._feeds: dict[str, Any] = {}
        self._counts: collections.Counter[Operation] = collections.Counter()
        self._stands_at: Callable[[Stop], bool] = self._at_breakpoint
        self._failed_condition: BaseException | None = None
        self._is_aborted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ---- breakpoints ----
    def break_at(self, name: str = "*", op_type: str | None = None, when: Callable[[Any], object] | None = None) -> int:
        """Sets a breakpoint; gives its number.

        Parameters
        ----------
        name : str
            Of operations; `*` and `?` stand for any letters.
        op_type : str, optional
            Their kind, as "MatMul".
        when : callable, optional
            Called with each value that an operation of these has made; the step stands where it says yes.
        """
        with self._changed:
            self._breakpoints_made += 1
            self._breakpoints[self._breakpoints_made] = Breakpoint(name, op_type, when)
            return self._breakpoints_made

    def clear(self, number: int | None = None) -> None:
        """Takes a breakpoint away, all of them without a number."""
        with self._changed:
            if number is None:
                self._breakpoints.clear()
            elif self._breakpoints.pop(number, None) is None:
                raise ValueError(f"there is no breakpoint {number}; there are {sorted(self._breakpoints) or 'none'}")

    @property
    def breakpoints(self) -> dict[int, Breakpoint]:
        """Those that are set, by their numbers."""
        return dict(self._breakpoints)

    # ---- steps ----
    def start(self, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None) -> Stop | None:
        """Begins a step as Session.run would. Gives where it stands; None where it has ended, and result() has its values or its error."""
        if self._thread is not None and self._outcome is None:
            raise RuntimeError(_RUNS if self._current is None else f"a step stands at {self._current!r}: resume() or abort() it first")
        feeds = steps.flat_feeds(self._graph, feed_dict)
        ops = [op for op in steps.needed(steps.flat_fetches(self._graph, fetches), feeds)
               if steps.can_be_looked_at(op) and op.type != "Const" and fnmatch.fnmatchcase(op.name, self._nodes)]
        taps = [self._gate_of(op).tap for op in ops]
        with self._changed:
            self._forget()
            self._outcome = None
            self._feeds = {x.name: value for x, value in feeds.items()}
        by_number = {gate.number: gate for gate in self._gates.values()}
        readers = [threading.Thread(target=self._read, args=(reports, by_number), daemon=True, name="debugger") for reports in self._reports.values()]
        for reader in readers:
            reader.start()
        self._thread = threading.Thread(target=self._run, args=(fetches, feed_dict, options, taps, readers), daemon=True, name="debugged step")
        self._thread.start()
        return self._wait()

    def resume(self) -> Stop | None:
        """Goes on to the next breakpoint, or to the end."""
        return self._go_on(self._at_breakpoint)

    def next_node(self) -> Stop | None:
        """Goes on until one more operation has run: of those that run at once, one that has done so already."""
        return self._go_on(lambda stop: True)

    def next_iteration(self) -> Stop | None:
        """Goes on until the operation has run once more, or to a breakpoint before that."""
        here = self._standing().op
        return self._go_on(lambda stop: stop.op == here or self._at_breakpoint(stop))

    def abort(self) -> None:
        """Ends the step where it stands; result() is a CancelledError."""
        with self._changed:
            stop = self._standing()
            self._is_aborted, self._current = True, None
        self._session.run(stop._gate.abort)
        self._thread.join()

    def result(self) -> Any:
        """What the step gave, in the structure of its fetches; raises its error.

        Raises
        ------
        RuntimeError
            No step has ended.
        """
        if self._outcome is None:
            raise RuntimeError("no step has been started" if self._thread is None else f"the step stands at {self._current!r}")
        error, values = self._outcome
        if error is not None:
            raise error
        return values

    # ---- values ----
    @property
    def stop(self) -> Stop | None:
        """Where the step stands; None where none does."""
        return self._current

    def value(self, edge: Tensor | str) -> Array:
        """The last value of an edge that the step has computed.

        Raises
        ------
        ValueError
            It has not been computed yet, or is not looked at.
        """
        tensor = self._graph.as_graph_element(edge, allow_operation=False)
        with self._changed:
            if tensor.name in self._texts:
                return _value(self._texts[tensor.name])
            if tensor.name in self._feeds:
                return np.asarray(self._feeds[tensor.name])
        constant = tensor_util.constant_value(tensor)
        if constant is not None:
            return np.asarray(constant)
        if tensor.op not in self._gates:
            raise ValueError(f"'{tensor.name}' is not looked at: the step does not need it, or it is one of {tensor.op.type}")
        raise ValueError(f"'{tensor.name}' has not been computed yet")

    def close(self) -> None:
        """Ends the step that stands, and the debugger with it."""
        self._session._before_close.pop(self, None)
        if self._current is not None:
            self.abort()

    # ---- inside ----
    def _at_breakpoint(self, stop):
        return any(breakpoint.is_hit(stop) for breakpoint in self._breakpoints.values())

    def _standing(self):
        if self._current is None:
            raise RuntimeError(_RUNS if self._thread is not None and self._outcome is None else
                               "no step stands" + ("" if self._outcome is None else ": it has ended"))
        return self._current

    def _gate_of(self, op):
        if op not in self._gates:
            device = steps.place_of(self._session, op)
            if device not in self._reports:
                self._reports[device] = gates.Reports(self._graph, device, f"{self._unique}/{device}")
            self._gates_made += 1
            self._gates[op] = gates.Gate(op, self._gates_made, device, f"{self._unique}/{device}", f"{self._unique}/gate_{self._gates_made}")
        return self._gates[op]

    def _run(self, fetches, feed_dict, options, taps, readers):
        try:
            outcome = None, self._session.run([fetches, taps], feed_dict, options)[0]
        except BaseException as error:
            outcome = error, None
            self._gates.clear()  # permits may lie in their queues
            if self._is_aborted:
                outcome = errors.CancelledError(None, None, gates.ABORTED), None
        for reports in self._reports.values():
            try:
                self._session.run(reports.end)
            except (errors.OpError, RuntimeError):  # the session has ended, and its readers with it
                pass
        for reader in readers:
            reader.join()
        with self._changed:
            self._outcome, self._current = outcome, None
            self._arrivals.clear()
            self._changed.notify_all()

    def _read(self, reports, by_number):
        """Takes what the gates of a task tell, until the step has ended."""
        while True:
            try:
                number, texts = self._session.run(reports.next)
            except errors.DeadlineExceededError:  # of all operations of the session; a person may look for longer
                continue
            except (errors.OpError, RuntimeError):
                return
            if number == -1:
                return
            if number not in by_number:  # of a step that has failed
                continue
            with self._changed:
                gate = by_number[number]
                self._arrivals.append(Stop(gate, self._counts[gate.op], list(texts)))
                self._counts[gate.op] += 1
                self._texts.update((x.name, text) for x, text in zip(gate.outputs, texts))
                permits = self._choose()
            self._permit(permits)

    def _choose(self):
        """Where nothing stands, the next that is to stand does; gives the gates of those before it, which may go on."""
        permits = []
        while self._current is None and self._arrivals and not self._is_aborted:
            stop = self._arrivals.popleft()
            try:
                stands = self._stands_at(stop)
            except Exception as error:  # of the program's own condition
                self._failed_condition, stands = error, True
            if stands:
                self._current = stop
                self._changed.notify_all()
            else:
                permits.append(stop._gate)
        return permits

    def _permit(self, permits):
        for gate in permits:
            try:
                self._session.run(gate.let_go)
            except (errors.OpError, RuntimeError):  # the step ends with the session's error
                return

    def _go_on(self, stands_at):
        with self._changed:
            before = self._standing()
            self._current, self._stands_at = None, stands_at
            permits = [before._gate, *self._choose()]
        self._permit(permits)
        return self._wait()

    def _wait(self):
        with self._changed:
            while self._current is None and self._outcome is None:
                self._changed.wait()
            error, self._failed_condition = self._failed_condition, None
            if error is not None:
                raise error
            return self._current

# SPDX-License-Identifier: Apache-2.0
"""capture: a session's step that fails is kept in a file, with all that it was given."""
from __future__ import annotations

import contextlib
import functools
import os
import threading
import uuid
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes, errors, logging as tw_logging, messages
from thalweg.debugger import steps, taps, variable_nodes
from thalweg.debugger.step_files import KeptStep
from thalweg.graph.ops import apply
from thalweg.graph.session import Session
from thalweg.graph.shapes import TensorShape
from thalweg.graph.tensor import Tensor
from thalweg.graph_util import extract_sub_graph
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from typing import Any, Self

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.graph.tensor import Operation
    from thalweg.messages import RunMetadata, RunOptions

_STATES = ("before", "after", "none")
_SCOPE = "kept_step"


class _Keeper:
    """Variables that hold what an operation gave in the last run in which it did."""

    def __init__(self, op: Operation, run: Tensor, unique: str) -> None:
        self.outputs = [x for x in op.outputs if steps.has_value(x)]
        with steps.adding_to(op.graph, steps.processor_beside(op)):
            place = f"{_SCOPE}/{op.name}"
            self._handles, writes = [], []
            for x in self.outputs:
                handle = self._handle(f"{place}/value_{x.value_index}", x.dtype, unique)
                writes.append(apply("AssignVariableOp", [handle, x], name=f"{place}/keep_{x.value_index}"))
            stamp = self._handle(f"{place}/run", dtypes.int64, unique)
            with op.graph.control_dependencies([op, *writes]):
                stamped = apply("AssignVariableOp", [stamp, run], name=f"{place}/stamp")
            self.tap = taps.tap(op, [stamped], f"{place}/tap")
            self.is_there = apply("VarIsInitializedOp", [stamp], name=f"{place}/is_there")
            self.run = apply("ReadVariableOp", [stamp], {"dtype": dtypes.int64}, name=f"{place}/of_run")
            self.values = [apply("ReadVariableOp", [h], {"dtype": x.dtype}, name=f"{place}/kept") for h, x in zip(self._handles, self.outputs)]
            self.ends = [apply("DestroyResourceOp", [h], {"ignore_lookup_error": True}, name=f"{place}/end") for h in self._handles]

    def _handle(self, name, dtype, unique):
        handle = apply("VarHandleOp", [], {"dtype": dtype, "shape": TensorShape(None), "shared_name": f"{unique}/{name}"}, name=name)
        self._handles.append(handle)
        return handle


class _Signature:
    """What capture knows of runs with the same fetches and feeds."""

    def __init__(self) -> None:
        self.keepers: list[_Keeper] = []
        self.variables: dict[Operation, tuple[Tensor, Tensor]] = {}  # what reads each, and says whether it has a value
        self.lost: dict[str, str] = {}


class Capture:
    """What `capture` gives: the files that it has written."""

    def __init__(self, session: Session, folder: str, state: str, first_run: int, most: int) -> None:
        checked_state(state)
        if not isinstance(session, Session):
            raise TypeError(f"capture takes a Session, got a {type(session).__name__}: give a monitored session tw.train.CaptureHook")
        self.files: list[str] = []
        self._session, self._graph = session, session.graph
        self._folder, self._state, self._first_run, self._most = folder, state, first_run, most
        self._run_count, self._thread = -1, threading.get_ident()
        self._unique = f"{_SCOPE}_{uuid.uuid4().hex}"
        self._signatures: dict[Any, _Signature] = {}
        self._keepers: dict[Operation, _Keeper] = {}
        self._reads: dict[Operation, tuple[Tensor, Tensor]] = {}
        self._initialized: set[Operation] = set()
        self._run_before: Any = None  # of another wrapper
        with steps.adding_to(self._graph):
            self._number = array_ops.placeholder(dtypes.int64, [], f"{_SCOPE}/number")
        os.makedirs(folder, exist_ok=True)

    def __enter__(self) -> Self:
        if isinstance(getattr(self._session.run, "__self__", None), Capture):
            raise RuntimeError("the session is captured already: end that capture first")
        self._run_before = self._session.__dict__.get("run")
        self._session.run = self._run
        self._session._before_close[self] = self.end
        return self

    # Of the class as it is then: the first watch of tensors gives it another run (watches.py).
    def _plain_run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        run = self._run_before or functools.partial(type(self._session).run, self._session)
        return run(fetches, feed_dict, options, run_metadata)

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Gives the session back as it was."""
        if self._session.__dict__.get("run") != self._run:
            return
        del self._session.run
        if self._run_before is not None:
            self._session.run = self._run_before
        self._session._before_close.pop(self, None)
        ends = [end for keeper in self._keepers.values() for end in keeper.ends]
        if ends:
            with contextlib.suppress(errors.OpError):  # a session whose tasks are gone has kept nothing
                self._plain_run(ends, options=_of_a_minute())

    def _run(self, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None,
             run_metadata: RunMetadata | None = None) -> Any:
        if threading.get_ident() != self._thread:  # one that fills queues
            return self._plain_run(fetches, feed_dict, options, run_metadata)
        self._run_count += 1
        if self._run_count < self._first_run or len(self.files) >= self._most:
            return self._plain_run(fetches, feed_dict, options, run_metadata)
        try:
            flat = steps.flat_fetches(self._graph, fetches)
            feeds = steps.flat_feeds(self._graph, feed_dict)
        except (KeyError, TypeError, ValueError):  # it says so in its own words
            return self._plain_run(fetches, feed_dict, options, run_metadata)
        known = self._signature(flat, feeds)
        state = self._state_of(known) if self._state == "before" else {}
        number = self._run_count
        try:
            if not known.keepers:
                return self._plain_run(fetches, feed_dict, options, run_metadata)
            return self._plain_run([fetches, [keeper.tap for keeper in known.keepers]], {**(feed_dict or {}), self._number: number}, options,
                                   run_metadata)[0]
        except errors.OutOfRangeError:  # the data has ended
            raise
        except errors.OpError as error:
            self._keep(number, flat, feeds, known, state, options, error)
            raise

    def _signature(self, flat, feeds):
        key = (tuple(flat), frozenset(feeds))
        known = self._signatures.get(key)
        if known is not None:
            return known
        known = self._signatures[key] = _Signature()
        ops = steps.needed(flat, feeds)
        loops = steps.inside_loops(ops)
        for op in ops:
            if op.type in steps.VARIABLES:
                if self._state != "none":
                    known.variables[op] = self._read_of(op)
            elif steps.may_differ(op):
                if op in loops:
                    known.lost[op.name] = f"{op.type} runs in a loop, where nothing can be fed"
                else:
                    if op not in self._keepers:
                        self._keepers[op] = _Keeper(op, self._number, self._unique)
                    known.keepers.append(self._keepers[op])
        return known

    def _read_of(self, variable):
        if variable not in self._reads:
            self._reads[variable] = variable_nodes.read(variable, f"{_SCOPE}/{variable.name}/read")
        return self._reads[variable]

    def _state_of(self, known):
        """{operation of a variable: its value} of those that have one."""
        unsure = [op for op in known.variables if op not in self._initialized]
        if unsure:
            are_there = self._plain_run([known.variables[op][1] for op in unsure], options=_of_a_minute())
            self._initialized.update(op for op, is_there in zip(unsure, are_there) if is_there)
        wanted = {op.name: known.variables[op][0] for op in known.variables if op in self._initialized}
        return self._plain_run(wanted, options=_of_a_minute()) if wanted else {}

    def _keep(self, number, flat, feeds, known, state, options, error):
        """Writes the file; what goes wrong meanwhile is told, and is not the error of the run."""
        lost = dict(known.lost)
        given = {}
        try:
            if self._state == "after":
                state = self._state_of(known)
        except errors.OpError as why:
            lost["variables"] = f"they could not be read after the step: {why.message}"
        try:
            given = self._given(number, known, lost)
        except errors.OpError as why:
            lost["random operations, iterators and queues"] = f"what they gave could not be read after the step: {why.message}"
        try:
            graph_def = self._graph.as_graph_def()
            wanted = {one.op.name if isinstance(one, Tensor) else one.name for one in [*flat, *feeds]}
            step = KeptStep(
                graph=extract_sub_graph(graph_def, sorted(wanted)), fetches=[one.name for one in flat], state=state,
                feeds={x.name: _array(value, x.dtype) for x, value in feeds.items()}, state_is_of="" if not state else self._state,
                given=given, lost=lost, run=number, target=self._session._target or "", config=_ours(self._session._config, messages.ConfigProto),
                options=_ours(options, messages.RunOptions),
                error={"type": type(error).__name__, "code": error.error_code, "message": error.message,
                       "op": "" if error.op is None else error.op.name})
            path = self._new_path(number)
            step.save(path)
        except Exception as why:
            tw_logging.error("The failed run %d could not be kept in %s: %s", number, self._folder, why)
            return
        self.files.append(path)
        tw_logging.error("The failed run %d is kept: thalweg replay %s", number, path)

    def _new_path(self, number):
        """Of a file that is not there: other sessions and programs may have had a run of the same number."""
        path, again = os.path.join(self._folder, f"run-{number}.step"), 1
        while os.path.exists(path):
            path, again = os.path.join(self._folder, f"run-{number}-{again}.step"), again + 1
        return path

    def _given(self, number, known, lost):
        options = _of_a_minute()
        are_there = self._plain_run([keeper.is_there for keeper in known.keepers], options=options) if known.keepers else []
        kept = [keeper for keeper, is_there in zip(known.keepers, are_there) if is_there]
        runs = self._plain_run([keeper.run for keeper in kept], options=options) if kept else []
        of_this = [keeper for keeper, run in zip(kept, runs) if run == number]
        for keeper in known.keepers:
            if keeper not in of_this:
                op = keeper.outputs[0].op
                lost[op.name] = f"{op.type} had given nothing when the step failed"
        tensors = {x.name: value for keeper in of_this for x, value in zip(keeper.outputs, keeper.values)}
        return self._plain_run(tensors, options=options) if tensors else {}


def _of_a_minute():
    """Options of what runs beside the program's runs: a task that stands still does not keep an error back."""
    return messages.RunOptions(timeout_in_ms=60_000)


def checked_state(state: str) -> str:
    """One of the words for when variables are kept."""
    if state not in _STATES:
        raise ValueError(f"state must be one of {', '.join(_STATES)}, got {state!r}")
    return state


def _array(value: Any, dtype: dtypes.DType) -> Any:
    return value if dtype is dtypes.string else np.asarray(value, dtype.as_numpy_dtype)


def _ours(message, kind):
    """A message of this package, also of one of protobuf."""
    return None if message is None else kind.FromString(message.SerializeToString())


def capture(session: Session, folder: str, state: str = "after", first_run: int = 0, most: int = 1) -> Capture:
    """Keeps the runs of a session that fail, so that `replay` can run them again.

    While it lasts, a `run` of the session on this thread that ends with an error writes `run-12.step` (the thirteenth run) and raises as ever. The
    file has the graph of the step, its feeds, what its random operations, iterators, queues and functions of Python had given, and variables.
    The end of data (OutOfRangeError) is not kept. A file that is there already stays: the next is `run-12-1.step`.

    Parameters
    ----------
    session : Session
    folder : str
        Where the files go; it is made where it is not there.
    state : str
        Which values of variables are kept: "before", as they were before the step, for which all that the step needs are copied before every run;
        "after", as the failed step left them, which costs nothing until then, and may have updates of the step in it; "none".
    first_run : int
        From which run on anything is kept. A program that fails in run 1000 with state "after" is run again with state "before" from there.
    most : int
        How many files are written.

    Returns
    -------
    Capture
        A context manager; `files` are those that were written.

    Examples
    --------
    >>> import tempfile
    >>> x = tw.placeholder(tw.float32, [], name="x")
    >>> y = tw.check_numerics(tw.log(x), "the logarithm")
    >>> with tw.Session() as session, tw.debugging.capture(session, tempfile.mkdtemp()) as captured:
    ...     try:
    ...         session.run(y, {x: -1.0})
    ...     except tw.errors.InvalidArgumentError as error:
    ...         print("failed")
    failed
    >>> tw.debugging.replay(captured.files[0]).is_the_same
    True
    """
    return Capture(session, folder, state, first_run, most)

# SPDX-License-Identifier: Apache-2.0
"""record: traces of steps that a server runs for its clients."""
from __future__ import annotations

import dataclasses
import json
import numbers
from typing import TYPE_CHECKING

from thalweg import _core, errors
from thalweg.messages import RunMetadata

if TYPE_CHECKING:
    from thalweg.errors import OpError


@dataclasses.dataclass(frozen=True)
class RecordedStep:
    """A step as `record` saw it."""

    metadata: RunMetadata  # what ran when, on all tasks, with the graphs that ran; of a step that failed, until then
    session: str  # the server's handle of it
    step_id: int
    start: float  # seconds since 1970
    seconds: float
    error: OpError | None  # its end
    silent: list[str]  # tasks of which nothing is known


@dataclasses.dataclass(frozen=True)
class Recording:
    """What `record` gives: fewer steps than were asked for where the time was over, the next trace was too large, or the server ended it."""

    steps: list[RecordedStep]
    seen: int  # steps that were traced
    open: int  # of them, those that had not ended
    too_large_bytes: int  # of the trace that did not fit into max_bytes, or 0
    ended_by: str  # why the server ended it before its steps and its time, or ""


def _step(told, trace):
    error = errors._make(told["code"], told["error"]) if told["code"] else None
    return RecordedStep(metadata=RunMetadata.FromString(trace), session=told["session"], step_id=told["id"], start=told["start_micros"] / 1e6,
                        seconds=told["nanos"] / 1e9, error=error, silent=told["silent"])


def record(target: str, steps: int = 1, slower_than: float | None = None, failing: bool = False, node: str = "", session: str = "",
           timeout: float = 60.0, max_bytes: int = 256 << 20) -> Recording:
    """Records steps that a server runs for its clients, whose program does not change.

    Waits until the steps are there. Each is traced over all its tasks; its client gets what it would get. With `slower_than` or `failing`,
    every step is traced until then, and thrown away where it is not meant.

    Parameters
    ----------
    target : str
        "grpc://HOST:PORT" of the task that clients have as their target.
    steps : int
        How many.
    slower_than : float, optional
        Seconds: only steps that take longer.
    failing : bool
        Only steps that end with an error, or with `slower_than` also those; that the data has ended is none.
    node : str
        Only steps that fetch or run it.
    session : str
        Only steps of the session of this handle.
    timeout : float
        Seconds; what has come until then is given.
    max_bytes : int
        Of all traces, 1 GiB at most.

    Returns
    -------
    Recording
        The steps, in the order in which they ended.

    Raises
    ------
    UnavailableError
        Nobody answers there.
    UnimplementedError
        It is a server of TensorFlow's, or of an older release.
    InvalidArgumentError
        `target` is no target, or a number is out of its range.

    Examples
    --------
    >>> import threading
    >>> server = tw.train.Server.create_local_server()
    >>> y, is_over = tw.constant(1.0) + 1.0, threading.Event()
    >>> def program():
    ...     with tw.Session(server.target, graph=y.graph) as session:
    ...         while not is_over.is_set():
    ...             session.run(y)
    >>> thread = threading.Thread(target=program)
    >>> thread.start()
    >>> recording = tw.debugging.record(server.target, steps=2)
    >>> is_over.set()
    >>> thread.join()
    >>> [step.error for step in recording.steps]
    [None, None]
    """
    if isinstance(steps, bool) or not isinstance(steps, numbers.Integral) or steps < 1:
        raise ValueError(f"steps must be a whole number, at least 1, got {steps!r}")
    if slower_than is not None and not (isinstance(slower_than, numbers.Real) and slower_than >= 0):
        raise ValueError(f"slower_than must be 0 or more seconds, got {slower_than!r}")
    if not (isinstance(timeout, numbers.Real) and timeout > 0):
        raise ValueError(f"timeout must be more than 0 seconds, got {timeout!r}")
    most = 1e9  # seconds: no recording lasts as long
    limit = -1 if slower_than is None else round(min(slower_than, most) * 1e6)
    report, traces = _core.record_steps(target, steps, limit, failing, max(1, round(min(timeout, most) * 1e3)), max_bytes, session, node)
    told = json.loads(report)
    return Recording(steps=[_step(*pair) for pair in zip(told["steps"], traces)], seen=told["seen"], open=told["open"],
                     too_large_bytes=told["too_large_bytes"], ended_by=told["ended_by"])

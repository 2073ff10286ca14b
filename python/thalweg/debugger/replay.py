# SPDX-License-Identifier: Apache-2.0
"""replay: a kept step runs again, from its file alone."""
from __future__ import annotations

import contextlib
import dataclasses
import re
import sys
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.debugger import steps, variable_nodes
from thalweg.debugger.debugger import Debugger
from thalweg.debugger.shell import Shell
from thalweg.debugger.step_files import KeptStep, StepFileError
from thalweg.graph.graph import Graph
from thalweg.graph.graph_import import import_graph_def
from thalweg.graph.session import Session
from thalweg.messages import RunOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LONGEST_MS = 10 * 60 * 1000
_LONGEST_DEBUGGED_MS = 24 * 60 * 60 * 1000  # a person looks at where it stands
# Lines of the program, which a file does not know, and devices, which are others here.
_ELSEWHERE = re.compile(r" \(created at [^)]*\)|(?:/job:[^\s'\"(),;]*)?/device:\w+:\d+")
_FUNCTIONS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")


@dataclasses.dataclass
class Replay:
    """What came of a step that was run again."""

    step: KeptStep
    raised: errors.OpError | None  # the error, or None
    values: list[Any]  # of the step's fetches, where it did not fail

    @property
    def is_the_same(self) -> bool:
        """Whether it has failed with the error that the file has: its type and its words, but for lines of the program and devices."""
        return self.raised is not None and type(self.raised).__name__ == self.step.error.get("type") and \
            _ELSEWHERE.sub("", self.raised.message) == _ELSEWHERE.sub("", str(self.step.error.get("message", "")))

    def text(self) -> str:
        """What was kept and what came of it, for people."""
        step = self.step
        lines = [f"run {step.run}: {len(step.graph.node)} nodes, {len(step.feeds)} feeds, {len(step.state)} variables"
                 f"{' as they were ' + step.state_is_of + ' the step' if step.state else ''}, {len(step.given)} values of operations with state"]
        lines += [f"not kept: {name}: {why}" for name, why in step.lost.items()]
        lines.append(f"then: {step.error.get('type')}: {step.error.get('message')}")
        lines.append(f"now:  {type(self.raised).__name__}: {self.raised.message}" if self.raised is not None else "now:  no error")
        lines.append("the same error" if self.is_the_same else "not the same")
        return "\n".join(lines)


def replay(path: str, options: RunOptions | None = None) -> Replay:
    """Runs a step again that `capture` has kept, in a session of its own in this process.

    The step is given what it was given then: feeds, variables, and in place of random operations, iterators, queues and functions of Python what they
    gave. A step of a cluster runs here, on the devices that there are.

    Parameters
    ----------
    path : str
        The file.
    options : RunOptions, optional
        In place of those of the step: `tw.train.check_numerics_options()`. A step ends after ten minutes where they say nothing else: one whose
        queue had given nothing would wait for ever.

    Returns
    -------
    Replay
        The error, whether it is the same, or the values of the fetches.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is none of these files, or is damaged.
    """
    step = KeptStep.load(path)
    options = _with_deadline(step.options if options is None else options)
    with _made(path, step) as (session, fetches, feeds):
        try:
            _check_functions(fetches, feeds)
            return Replay(step, None, session.run(fetches, feeds, options=options))
        except errors.OpError as error:
            return Replay(step, error, [])


def _with_deadline(options, longest=None):
    """The options of a step that shall not wait for ever for a queue that nobody fills here."""
    made = RunOptions() if options is None else RunOptions.FromString(options.SerializeToString())
    made.timeout_in_ms = made.timeout_in_ms or longest or _LONGEST_MS
    return made


@contextlib.contextmanager
def _made(path: str, step: KeptStep) -> Iterator[tuple[Session, list[Any], dict[Any, Any]]]:
    """A session with the step's graph and variables, its fetches and its feeds."""
    if step.target:
        for node in step.graph.node:
            node.device = ""
    graph = Graph()
    with graph.as_default():
        try:
            import_graph_def(step.graph, name="")
            feeds = {graph.get_tensor_by_name(name): value for name, value in {**step.given, **step.feeds}.items()}
            fetches = [graph.as_graph_element(name) for name in step.fetches]
            sets, values = _set_variables(graph, step)
        except (KeyError, TypeError, ValueError, errors.OpError) as error:
            raise StepFileError(f"{path}: the graph of the step cannot be made: {error}") from error
        with Session(graph=graph, config=None if step.target else step.config) as session:
            try:
                session.run(sets, values)
            except errors.OpError as error:
                raise StepFileError(f"{path}: the variables of the step cannot be set: {error.message}") from error
            yield session, fetches, feeds


def _check_functions(fetches, feeds):
    """Functions of the program are none of this process's, which may have others by the same numbers."""
    called = [op for op in steps.needed(fetches, feeds) if op.type in _FUNCTIONS]
    if called:
        raise errors.UnimplementedError(None, called[0], "the step calls functions of its program, which are not in the file, and what they gave "
                                        f"is not either: {', '.join(op.name for op in called)}")


def _set_variables(graph, step):
    """What sets the variables, and its feeds."""
    sets, values = [], {}
    for name, value in step.state.items():
        given, made = variable_nodes.write(graph.get_operation_by_name(name), f"replay/{name}")
        sets.append(made)
        values[given] = value
    return sets, values


def main(arguments: list[str]) -> int:
    """thalweg replay [--debug] FILE: 0 where the error is the same."""
    asks = arguments[:1] == ["--debug"]
    rest = arguments[asks:]
    if len(rest) != 1 or rest[0].startswith("-"):
        is_help = rest in (["-h"], ["--help"])
        print("usage: thalweg replay [--debug] FILE    runs a step again that tw.debugging.capture or tw.train.CaptureHook has kept; --debug: by "
              "commands,\nwith breakpoints. Exit status 0: the same error, 1: another or none, 2: no such file",
              file=sys.stdout if is_help else sys.stderr)
        return 0 if is_help else 2
    try:
        if asks:
            return _debug(rest[0])
        done = replay(rest[0])
    except KeyboardInterrupt:
        print("thalweg replay: interrupted", file=sys.stderr)
        return 130
    except (OSError, ValueError, errors.UnimplementedError) as error:
        print(f"thalweg replay: {error}", file=sys.stderr)
        return 2
    print(done.text())
    return 0 if done.is_the_same else 1


def _debug(path):
    step = KeptStep.load(path)
    options = _with_deadline(step.options, _LONGEST_DEBUGGED_MS)
    intro = f"run {step.run}: {step.error.get('type')}: {step.error.get('message')}\nhelp lists the commands"
    with _made(path, step) as (session, fetches, feeds), Debugger(session) as debugger:
        _check_functions(fetches, feeds)
        Shell(debugger, fetches, feeds, options, intro).cmdloop()
    return 0

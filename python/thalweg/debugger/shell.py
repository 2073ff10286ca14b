# SPDX-License-Identifier: Apache-2.0
"""Shell: a Debugger by commands, for one step that is run again and again."""
from __future__ import annotations

import cmd
import inspect
import shlex
import sys
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.debugger.numbers import has_inf_or_nan

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.debugger.debugger import Debugger, Stop
    from thalweg.messages import RunOptions

_HELP = """break NAME [inf]   stands behind operations of the name (* and ? stand for any letters); inf: where a value is not finite
type KIND [inf]    the same for a kind of operation
breaks             lists the breakpoints;  clear [NUMBER] takes one away, or all
run                begins the step;  cont goes on to the next breakpoint, node to the next operation, loop to the next iteration
print NODE[:SLOT]  the last value of an edge;  where says where the step stands;  abort ends it
exit               ends the program"""
_VERBS = frozenset("break type breaks clear run cont node loop print where abort help".split())
_SHORT = {"b": "break", "c": "cont", "r": "run", "n": "node", "l": "loop", "p": "print", "w": "where",
          "q": "exit", "quit": "exit", "EOF": "exit", "h": "help"}


class Shell(cmd.Cmd):
    """Asks for commands until `exit`."""

    prompt = "thalweg> "

    def __init__(self, debugger: Debugger, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None,
                 intro: str = "") -> None:
        super().__init__()
        self.use_rawinput = sys.stdin is not None and sys.stdin.isatty()
        self.intro = intro
        self._debugger, self._fetches, self._feeds, self._options = debugger, fetches, feed_dict, options

    def emptyline(self) -> None:
        """Nothing, where cmd.Cmd would do the last command again."""

    def onecmd(self, line: str) -> bool:
        try:
            words = shlex.split(line)
            if not words:
                return False
            verb = _SHORT.get(words[0], words[0])
            if verb == "exit":
                return True
            follow = getattr(self, f"_{verb}", None) if verb in _VERBS else None
            if follow is None:
                raise ValueError(f"there is no command {words[0]!r}: help lists them")
            try:
                inspect.signature(follow).bind(*words[1:])
            except TypeError as error:
                raise ValueError(f"{verb}: {error}; help lists the commands and what follows them") from error
            self.stdout.write(follow(*words[1:]) + "\n")
        except KeyboardInterrupt:
            self.stdout.write("interrupted\n")
        except (ValueError, RuntimeError, KeyError, TypeError, errors.OpError) as error:
            self.stdout.write(f"{type(error).__name__}: {error}\n")
        return False

    def _help(self) -> str:
        return _HELP

    def _break(self, name: str, condition: str = "", op_type: str | None = None) -> str:
        if condition not in ("", "inf"):
            raise ValueError(f"inf is the only condition here, got {condition!r}")
        number = self._debugger.break_at(name, op_type, has_inf_or_nan if condition else None)
        return f"breakpoint {number}"

    def _type(self, kind: str, condition: str = "") -> str:
        return self._break("*", condition, kind)

    def _breaks(self) -> str:
        rows = [f"{number}: {b.name}{f' of {b.op_type}' if b.op_type else ''}{' where a value is not finite' if b.when else ''}"
                for number, b in self._debugger.breakpoints.items()]
        return "\n".join(rows) or "none"

    def _clear(self, number: str | None = None) -> str:
        self._debugger.clear(None if number is None else int(number))
        return self._breaks()

    def _run(self) -> str:
        return self._stands(self._debugger.start(self._fetches, self._feeds, self._options))

    def _cont(self) -> str:
        return self._stands(self._debugger.resume())

    def _node(self) -> str:
        return self._stands(self._debugger.next_node())

    def _loop(self) -> str:
        return self._stands(self._debugger.next_iteration())

    def _where(self) -> str:
        return self._stands(self._debugger.stop) if self._debugger.stop is not None else "no step stands"

    def _abort(self) -> str:
        self._debugger.abort()
        return "the step has ended"

    def _print(self, edge: str) -> str:
        value: Any = self._debugger.value(edge if ":" in edge else f"{edge}:0")
        return f"{value.dtype}{list(value.shape)}\n{value}"

    def _stands(self, stop: Stop | None) -> str:
        if stop is None:
            self._debugger.result()  # or its error
            return "the step has ended without an error"
        return "\n".join([f"behind {stop.op.type} '{stop.op.name}', iteration {stop.iteration}{f' ({stop.op.site})' if stop.op.site else ''}",
                          *(f"  {name} = {str(value)[:200]}" for name, value in stop.values.items())])

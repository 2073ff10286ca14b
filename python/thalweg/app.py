# SPDX-License-Identifier: Apache-2.0
"""tw.app.run: reads the flags, calls main(argv) and ends the program with what it returns."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from thalweg import flags
from thalweg.base import flag_definitions, names, own_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

try:
    from absl import app as _absl
except ImportError:
    _absl = None


def _usage(program):
    main = sys.modules.get("__main__")
    print(getattr(main, "__doc__", None) or f"\nUSAGE: {program} [flags]\n")
    print("flags:\n")
    print(own_flags.FLAGS.main_module_help())


def _read(argv):
    """What is left of argv after the flags that are known."""
    return flags.FLAGS(argv, known_only=True)


def run(main: Callable[[list[str]], object] | None = None, argv: Sequence[str] | None = None) -> None:
    """Reads the flags of the command line, calls `main` and ends the program.

    Parameters
    ----------
    main : callable, optional
        Called with what is left of `argv` after the flags; what it gives is the exit status. The function `main` of the program unless
        given.
    argv : list of str, optional
        sys.argv unless given.

    Raises
    ------
    SystemExit
        Always. With status 1, after a message, for flags that are not right.

    Examples
    --------
    >>> try:
    ...     tw.app.run(lambda argv: print("arguments:", argv[1:]), argv=["program", "data"])
    ... except SystemExit as end:
    ...     print("status:", end.code)
    arguments: ['data']
    status: None
    """
    argv = sys.argv if argv is None else argv
    main = main or sys.modules["__main__"].main
    if _absl is not None:
        _absl.run(main, argv, flags_parser=_read)
        return
    flag_definitions.define_help()
    try:
        rest = _read(argv)
    except own_flags.Error as error:
        sys.stderr.write(f"FATAL Flags parsing error: {error}\nPass --helpshort or --helpfull to see help on flags.\n")
        sys.exit(1)
    if own_flags.FLAGS["help"].value:
        _usage(argv[0])
        sys.exit(1)
    sys.exit(main(rest))


names.complete(globals())

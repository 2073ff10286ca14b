# SPDX-License-Identifier: Apache-2.0
"""tw.flags: DEFINE_integer("batch_size", 32, "..."), FLAGS.batch_size.

As in TensorFlow 1.15 they are absl's flags, so that a program may mix both; where absl is not installed, own_flags.py has
flags of the same behavior. Beyond absl: FLAGS reads the command line when a flag is first asked for, and the arguments of
the DEFINE functions have their older names, too.
"""
from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

from thalweg.base import names, own_flags

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.own_flags import Flag

try:
    from absl import flags as _absl
except ImportError:
    _absl = None

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class _ReadWhenAsked:
    """The values of the program's flags, as attributes: absl's FLAGS, which reads the command line when a flag is first asked for.

    Examples
    --------
    >>> _ = tw.flags.DEFINE_integer("batch_of_example", 32, "How many examples a step takes.")
    >>> tw.flags.FLAGS(["program", "--batch_of_example=8"])
    ['program']
    >>> tw.flags.FLAGS.batch_of_example
    8
    >>> delattr(tw.flags.FLAGS, "batch_of_example")
    """

    def __init__(self, flags) -> None:
        object.__setattr__(self, "_flags", flags)

    def __getattr__(self, name: str):
        if not self._flags.is_parsed() and name in self._flags:
            self._flags(sys.argv, known_only=True)
        return getattr(self._flags, name)

    def __setattr__(self, name: str, value: object):
        setattr(self._flags, name, value)

    def __delattr__(self, name: str):
        delattr(self._flags, name)

    def __dir__(self):
        return dir(self._flags)

    def __getitem__(self, name: str) -> Any:
        return self._flags[name]

    def __setitem__(self, name: str, flag: Flag) -> None:
        self._flags[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self):
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        return self._flags(argv, known_only)

    def __repr__(self):
        return repr(self._flags)


if _absl is None:
    FLAGS = own_flags.FLAGS
else:
    FLAGS = _ReadWhenAsked(_absl.FLAGS)
    _absl.disclaim_key_flags()  # a flag belongs to the module that defines it, not to this one


def _with_old_names(function):
    """TF1's own names of arguments, before it took absl's."""
    @functools.wraps(function)
    def define(*args, **kwargs):
        return function(*args, **{_OLD_NAMES.get(k, k): v for k, v in kwargs.items()})
    return define


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'thalweg.flags' has no attribute '{name}'")
    if _absl is not None:
        value = getattr(_absl, name)
    elif hasattr(own_flags, name):
        value = getattr(own_flags, name)
    else:
        from thalweg.base import flag_definitions
        value = getattr(flag_definitions, name)
    if name.startswith("DEFINE_"):
        value = _with_old_names(value)
    globals()[name] = value
    return value


names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""Whether functions are converted: not on this thread within one of tf.autograph.experimental.do_not_convert, nor where marked."""
from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

_local = threading.local()


def is_off() -> bool:
    return getattr(_local, "is_off", False)


@contextlib.contextmanager
def set_off(off: bool = True) -> Iterator[None]:
    """Functions that are traced within run as they are, or, with False, are converted again."""
    before = is_off()
    _local.is_off = off
    try:
        yield
    finally:
        _local.is_off = before


def leave_alone(function: FunctionType) -> FunctionType:
    """Marks a function that runs as it is. The mark names its code: functools.wraps copies it to functions that it does not mean."""
    function.ag_left_alone = function.__code__
    return function


def is_left_alone(function: FunctionType) -> bool:
    return getattr(function, "ag_left_alone", None) is function.__code__

# SPDX-License-Identifier: Apache-2.0
"""Whether functions are converted on this thread: not within one of tf.autograph.experimental.do_not_convert."""
from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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

# SPDX-License-Identifier: Apache-2.0
"""The environment of the process, in which its sessions run."""
from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from thalweg import _core

if TYPE_CHECKING:
    from thalweg._core import Environment

_environment = None
_environment_lock = threading.Lock()


def environment() -> Environment:
    """The process' environment, made at its first use: what operations there are, memory, threads. Sessions whose ConfigProto
    asks for other threads or devices have those beside it."""
    global _environment
    with _environment_lock:
        if _environment is None:
            # The variable that TensorFlow's users know: 2 leaves errors, 3 nothing.
            least = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
            _environment = _core.Environment(least_severity=min(int(least), 3) if least.isdigit() else 0)
        return _environment

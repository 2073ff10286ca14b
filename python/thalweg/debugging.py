# SPDX-License-Identifier: Apache-2.0
"""tw.debugging: assertions and checks of numbers; failing steps kept and run again."""
from thalweg.base import names

__all__ = ["Debugger", "capture", "has_inf_or_nan", "replay"]  # noqa: F822  (found by the table below) beyond TensorFlow's names
names.complete(globals(), {
    "debugger.capture": "capture",
    "debugger.debugger": "Debugger",
    "debugger.numbers": "has_inf_or_nan",
    "debugger.replay": "replay"})

# SPDX-License-Identifier: Apache-2.0
"""tw.debugging: assertions and checks of numbers; failing steps kept and run again; steps of servers recorded."""
from thalweg.base import names

__all__ = ["Debugger", "capture", "has_inf_or_nan", "record", "replay"]  # noqa: F822  (found by the table below) beyond TensorFlow's names
names.complete(globals(), {
    "cluster.recording": "record",
    "debugger.capture": "capture",
    "debugger.debugger": "Debugger",
    "debugger.numbers": "has_inf_or_nan",
    "debugger.replay": "replay"})

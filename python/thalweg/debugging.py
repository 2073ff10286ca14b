# SPDX-License-Identifier: Apache-2.0
"""tw.debugging: assertions and checks of numbers, of gradients and of whole steps; failing steps kept and run again; steps of servers recorded."""
from thalweg.base import names

__all__ = ["Debugger", "capture", "check_gradients", "check_learning_rate_zero", "compare_runs", "has_inf_or_nan", "read_trace",  # noqa: F822
           "record", "replay", "tensor_statistics", "write_trace"]  # found by the table below; beyond TensorFlow's names
names.complete(globals(), {
    "cluster.recording": "record",
    "debugger.capture": "capture",
    "debugger.debugger": "Debugger",
    "debugger.gradient_checks": "check_gradients",
    "debugger.learning_rate_checks": "check_learning_rate_zero",
    "debugger.numbers": "has_inf_or_nan",
    "debugger.replay": "replay",
    "debugger.run_comparison": "compare_runs",
    "debugger.tensor_statistics": "tensor_statistics",
    "files.trace_file": "read_trace write_trace"})

# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.batching: functions that are called once for the rows of several steps that run at the same time."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.autograph import conversion
from thalweg.base import names
from thalweg.control.function_calls import _outputs, apply
from thalweg.control.functions import Defun
from thalweg.graph import graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def batch_function(num_batch_threads: int, max_batch_size: int, batch_timeout_micros: int,
                   allowed_batch_sizes: Sequence[int] | None = None, max_enqueued_batches: int = 10,
                   autograph: bool = True) -> Callable[[Callable[..., object]], Callable[..., Any]]:
    """A decorator: the function is called on batches of the rows of its arguments, and gives as many rows."""
    def decorator(fn):
        traced = conversion.traced(fn) if autograph else fn

        def decorated(*args):
            for a in args:
                if not isinstance(a, graph.Tensor):
                    raise ValueError("All arguments to functions decorated with `batch_function`  are supposed to be Tensors; "
                                     f"found {a!r}")
            with graph.name_scope("batch"):
                body = Defun(*[a.dtype for a in args])(traced)
                return apply("BatchFunction", [list(args), list(body.captured_inputs)],
                             {"f": body, "Tout": _outputs(body), "num_batch_threads": num_batch_threads,
                              "max_batch_size": max_batch_size, "batch_timeout_micros": batch_timeout_micros,
                              "allowed_batch_sizes": allowed_batch_sizes or [], "max_enqueued_batches": max_enqueued_batches})
        return decorated
    return decorator


names.complete(globals())

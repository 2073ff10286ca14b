# SPDX-License-Identifier: Apache-2.0
"""tf.autograph.experimental: what a conversion does beside control flow, and what is not converted."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from thalweg.autograph import status
from thalweg.autograph.features import Feature
from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import DTypeLike, IntLike, ShapeLike

__all__ = ["Feature", "do_not_convert", "set_loop_options"]


def do_not_convert(func: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function that runs as it is, and what it calls."""
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def unconverted(*args: Any, **kwargs: Any) -> Any:
        with status.set_off():
            return func(*args, **kwargs)
    return status.leave_alone(unconverted)


def set_loop_options(parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
                     maximum_iterations: IntLike | None = None, shape_invariants: object = None) -> None:
    """Arguments of while_loop for the loop in whose body this stands. `shape_invariants`: [(a loop variable, its shape)].

    Where the code is not converted, it does nothing.
    """


def set_element_type(entity: Any, dtype: DTypeLike, shape: ShapeLike = None) -> None:
    """The type of the elements of a list, which then grows within loops and conditionals of converted code.

    Where the code is not converted, it does nothing.
    """


names.complete(globals())

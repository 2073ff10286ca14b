# SPDX-License-Identifier: Apache-2.0
"""`for element in dataset` in functions that are converted: what the body makes of the names around it is a reduction."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.autograph import branching, looping
from thalweg.data import reducing, structure
from thalweg.data.experimental import transformations
from thalweg.graph import ops
from thalweg.operations import array_ops
from thalweg.variables import graph_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.data.dataset import Dataset


def _an_element(spec):
    """Placeholders of the structure of an element."""
    types, shapes = structure.types_of(spec), structure.shapes_of(spec)
    return structure.from_tensors(spec, [array_ops.placeholder(t, s) for t, s in zip(types, shapes)])


def for_statement(dataset: Dataset, extra: Callable[[], Any] | None, body: Callable[[Any], None], get: Callable[[], Sequence[Any]],
                  put: Callable[[Sequence[Any]], None], names: Sequence[str], outputs: int, options: object) -> None:
    """Runs the body for the elements, until `extra`, which says that no break has come, no longer holds."""
    loop = looping.Loop(get, put, names, outputs)
    loop.define(lambda: body(_an_element(dataset.element_spec)))
    first = (ops.constant(0), *loop.flat())  # a reduction needs a state

    def turn(state: Sequence[Any], element: Any) -> tuple[Any, ...]:
        def run() -> tuple[Any, ...]:
            loop.set(state[1:])
            body(element)
            return (state[0], *loop.after_turn())
        return graph_functions.in_order(run)

    def guarded(state: Sequence[Any], element: Any) -> tuple[Any, Any]:
        def run() -> tuple[Any, ...]:
            loop.set(state[1:])
            going = ops.convert_to_tensor(extra())
            branching.if_statement(going, lambda: body(element), lambda: None, get, put, names, outputs, (False, True))
            return (going, state[0], *loop.after_turn())
        going, *after = graph_functions.in_order(run)
        return tuple(after), (going, tuple(after))
    try:
        if extra is None:
            last = reducing.reduce(dataset, first, turn)
        else:
            states = transformations.take_while(lambda going, state: going)(transformations.scan(first, guarded)(dataset))
            last = reducing.reduce(states, first, lambda before, of: of[1])
    finally:
        put(loop.before)
    loop.set(last[1:])



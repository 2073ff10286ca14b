# SPDX-License-Identifier: Apache-2.0
"""Functions with gradients written in Python where operations run at once."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.eager.tapes import Recording, tapes
from thalweg.graph import ops
from thalweg.graph.ops import convert_to_tensor
from thalweg.operations.conversions import convert_to_tensor_or_indexed_slices
from thalweg.operations.custom_gradients import _with_variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def custom_gradient_of(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What f gives, whose gradient is that of the function that it gives beside it."""
    inner = Recording()
    before, tapes.stack = tapes.stack, [inner]  # what happens inside is no step of the tapes around
    try:
        result, gradient = f(*[convert_to_tensor(a) for a in args], **kwargs)
    finally:
        tapes.stack = before
    variables = [v for v in inner.variables.values() if v.trainable]
    for variable in variables:
        tapes.read(variable)
    inputs = [*(convert_to_tensor(a) for a in args), *(v._ref_tensor for v in variables)]
    flat = [ops.apply("Identity", [convert_to_tensor(r)]) for r in nest.flatten(result)]
    function = _with_variables(gradient, variables) if variables else gradient

    def backward(incoming: Sequence[Any]) -> list[Any]:
        given = [ops.apply("ZerosLike", [o]) if g is None else g for g, o in zip(incoming, flat)]
        found = function(*given)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        if len(found) != len(inputs):
            raise ValueError(f"custom_gradient function expected to return {len(inputs)} gradients but returned {len(found)} instead.")
        return [None if g is None else convert_to_tensor_or_indexed_slices(g) for g in found]
    if tapes.stack:
        tapes.record_function(inputs, flat, backward)
    return nest.pack_sequence_as(result, flat)

# SPDX-License-Identifier: Apache-2.0
"""Arguments of operations as tensors with values, where that needs no more than a look."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import _core, dtypes
from thalweg.eager.tensor import EagerTensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.graph.schemas import Schema

_REAL = (dtypes.float32, dtypes.float64)
_WHOLE = (dtypes.int32, dtypes.int64)


def tensors_of(schema: Schema, inputs: Sequence[Any]) -> list[EagerTensor] | None:
    """The inputs in a row; None where one is something else than a tensor, a variable or a plain number beside one."""
    flat = []
    for argument, value in zip(schema.inputs, inputs):
        kind = type(value)
        if kind is EagerTensor:
            flat.append(value)
        elif kind is float or kind is int:
            made = None if argument.number_attr or argument.type_list_attr else _number(schema, argument, value, kind, inputs)
            if made is None:
                return None
            flat.append(made)
        elif getattr(kind, "_is_eager", False):  # a variable
            flat.append(value.handle if argument.dtype is dtypes.resource else value._as_tensor())
        elif (argument.number_attr or argument.type_list_attr) and kind in (list, tuple) and all(type(v) is EagerTensor for v in value):
            flat.extend(value)
        else:
            return None
    return flat


def _number(schema, argument, value, kind, inputs):
    """A number as a tensor of the type that the argument has by itself or by another input; None where that takes a closer look."""
    wanted = argument.dtype
    if wanted is None:
        for other, given in zip(schema.inputs, inputs):
            if other.type_attr == argument.type_attr and hasattr(given, "_dims" if type(given) is EagerTensor else "_is_eager"):
                wanted = given.dtype
                break
    if wanted in _REAL or kind is int and wanted in _WHOLE and -2**31 <= value < 2**31:
        return _core.eager_tensor(value, wanted._number)
    return None

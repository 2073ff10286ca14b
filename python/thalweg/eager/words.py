# SPDX-License-Identifier: Apache-2.0
"""What is said of operations that fail where they run at once."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.graph.graph import site
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.graph.schemas import Schema

_MADE_HERE = re.compile(r" \(created at \S*/thalweg/eager/\S+ in \w+\)")
_SAID = {"float16": "half", "float32": "float", "float64": "double"}  # how TensorFlow names types here


def _place(op, name):
    where = site()
    return f" [Op:{op}]" + (f" name: {name}" if name else "") + (f"\n\t (at {where})" if where else "")


def told(error: errors.OpError, op: str, name: str | None) -> errors.OpError:
    """An error of the core, with the operation and the user's line in the place of the hidden graph's."""
    within = error.message.rpartition("\n\t [[")[0] or error.message  # the last line is the hidden graph's
    return type(error)(None, None, _MADE_HERE.sub("", within) + _place(op, name))


def told_of_refusal(schema: Schema, flat: Sequence[Tensor], error: ValueError, name: str | None) -> errors.OpError:
    """That there is no such operation of these types or attributes."""
    found = _mismatch(schema, flat, name)
    if found is not None:
        return found
    if "must be one of" in str(error) and "'" not in str(error).partition("must be one of")[2]:
        return errors.NotFoundError(None, None, f"Could not find valid device for node.\nNode: {{{{node {schema.op}}}}}\n({error})"
                                    + _place(schema.op, name))
    return errors.InvalidArgumentError(None, None, str(error) + _place(schema.op, name))


def told_of_values(schema: Schema, inputs: Sequence[Any], name: str | None) -> errors.OpError | None:
    """That a value is not of the type of the tensor beside it; None where something else is wrong with it."""
    if not schema.simple:
        return None
    try:
        return _mismatch(schema, [v if isinstance(v, Tensor) else convert_to_tensor(v) for v in inputs], name)
    except (TypeError, ValueError):
        return None


def _mismatch(schema, flat, name):
    if not schema.simple:
        return None
    types: dict[str, Any] = {}
    for i, (argument, tensor) in enumerate(zip(schema.inputs, flat)):
        found = tensor.dtype.base_dtype
        wanted = types.setdefault(argument.type_attr, found) if argument.type_attr else argument.dtype
        if found is not wanted:
            return errors.InvalidArgumentError(
                None, None, f"cannot compute {schema.op} as input #{i}(zero-based) was expected to be a {_SAID.get(wanted.name, wanted.name)} "
                f"tensor but is a {_SAID.get(found.name, found.name)} tensor" + _place(schema.op, name))
    return None

# SPDX-License-Identifier: Apache-2.0
"""Functions of TensorFlow 1.15 that are one operation. Order and defaults of their arguments are those of 1.15, from
tools/tf_facts/python_api_v1.json."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.base.operation_paths import table
from thalweg.graph import ops
from thalweg.graph.operation_docs import documentation

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import PathLike


def _parameter(text, types):
    name, has_default, default = text.partition("=")
    kind = types.get(name, "object")
    if not has_default:
        return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
    value = getattr(dtypes, default[3:]) if default.startswith("tf.") else eval(default, {"inf": float("inf")})  # our own table
    if value is None and "None" not in kind:
        kind += " | None"
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value, annotation=kind)


def function(path: PathLike) -> Callable[..., Any]:
    """The function of a path in the table, with 1.15's signature."""
    from thalweg import _api_v1
    op, renames = table()[path]
    schema = ops.schema_of(op)
    types = {renames.get(n, n): kind for n, kind in schema.annotations().items()}
    signature = inspect.Signature([_parameter(a, {**types, "name": "str | None"}) for a in _api_v1.SIGNATURES[path].split("\t")],
                                  return_annotation=types["return"])
    inputs = [renames.get(i.name, i.name) for i in schema.inputs]
    attrs = {a.name: renames.get(a.name, a.name) for a in schema.parameters()}

    def made(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        values = given.arguments
        return ops.apply(op, [values[i] for i in inputs],
                         {a: values[n] for a, n in attrs.items() if n in values}, values.get("name"))
    made.__name__ = made.__qualname__ = path.rpartition(".")[2]
    made.__doc__ = documentation(schema, renames)
    made.__signature__ = signature
    made.operation = op
    return made

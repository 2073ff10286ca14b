# SPDX-License-Identifier: Apache-2.0
"""Every operation as a function: raw_ops.MatMul(a, b, transpose_a=False, transpose_b=False, name=None).

Arguments are the operation's inputs, then its attributes without a default, then those with one. A function is made
when it is first asked for.
"""
from __future__ import annotations

import keyword
import math
from typing import TYPE_CHECKING

from thalweg.graph import ops
from thalweg.graph.operation_docs import documentation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from thalweg.graph.tensor import Operation, Tensor

# The arguments that TensorFlow's functions call otherwise than the operation does (its API definitions).
_AXIS = {"reduction_indices": "axis", "dim": "axis", "split_dim": "axis", "squeeze_dims": "axis"}
_API_NAMES = {
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "ExpandDims", "Max", "Mean", "Min", "Prod", "Split", "SplitV", "Squeeze", "Sum"), _AXIS),
    "Select": {"t": "x", "e": "y"},
    "Where": {"input": "condition"},
}


def _safe(name):
    return name + "_" if keyword.iskeyword(name) else name


def _default(attr):
    """What stands in the signature; None leaves it to the core. Infinities and NaN have no literal."""
    if attr.kind == "f" and not math.isfinite(attr.default):
        return f"_float({str(attr.default)!r})"
    return repr(attr.default) if attr.kind in "ifbs" else "None"


def function(op: str, name: str | None = None,
             rename: Mapping[str, str] | None = None) -> Callable[..., Operation | Tensor | list[Tensor] | tuple[Tensor | list[Tensor], ...]]:
    """The function that makes nodes of `op`, under a public name of its own; `rename` maps its arguments' names."""
    schema = ops.schema_of(op)
    rename = rename or {}
    inputs = [_safe(rename.get(i.name, i.name)) for i in schema.inputs]
    attrs = schema.parameters()
    names = [_safe(rename.get(a.name, a.name)) for a in attrs]
    signature = [*inputs, *(n + (f"={_default(a)}" if a.has_default else "") for n, a in zip(names, attrs)), "name=None"]
    given = ", ".join(f"{a.name!r}: {n}" for n, a in zip(names, attrs))
    name = name or op
    source = (f"def {name}({', '.join(signature)}):\n"
              f"    return _apply({op!r}, [{', '.join(inputs)}], {{{given}}}, name)\n")
    scope = {"_apply": ops.apply, "_float": float}
    exec(compile(source, "<thalweg>", "exec"), scope)
    made = scope[name]
    made.__doc__ = documentation(schema, rename)
    made.__module__ = __name__
    made.operation = op
    types = schema.annotations()
    made.__annotations__ = {**{n: types[i.name] for n, i in zip(inputs, schema.inputs)},
                            **{n: types[a.name] + (" | None" if a.has_default and _default(a) == "None" else "")
                               for n, a in zip(names, attrs)}, "name": "str | None", "return": types["return"]}
    return made


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        made = globals()[name] = function(name, rename=_API_NAMES.get(name))
    except ValueError:
        raise AttributeError(f"module 'thalweg.raw_ops' has no attribute '{name}'") from None
    return made


def __dir__():
    from thalweg._schemas import SCHEMAS
    return sorted(n for n in SCHEMAS if n.isidentifier() and not keyword.iskeyword(n) and not n.startswith("_"))

# SPDX-License-Identifier: Apache-2.0
"""Every operation as a function: raw_ops.MatMul(a, b, transpose_a=False, transpose_b=False, name=None).

Arguments are the operation's inputs, then its attributes without a default, then those with one. A function is made
when it is first asked for.
"""
import keyword
import math

from thalweg.graph import ops

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


def _doc(schema):
    def spec(argument):
        kind = argument.type_list_attr or argument.type_attr or argument.dtype.name
        kind = f"list of {kind}" if argument.type_list_attr or argument.number_attr else kind
        return f"  {argument.name}: {'reference to ' if argument.is_ref else ''}{kind}"
    lines = [f"The operation {schema.op}.", "", "Inputs:", *map(spec, schema.inputs)] if schema.inputs \
        else [f"The operation {schema.op}."]
    attrs = schema.parameters()
    if attrs:
        lines += ["", "Attributes:", *(f"  {a.name}" + (f" (default {a.default!r})" if a.has_default else "") for a in attrs)]
    lines += ["", "Gives:", *(map(spec, schema.outputs) if schema.outputs else ["  an operation"])]
    return "\n".join(lines)


def function(op, name=None, rename=None):
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
    made.__doc__ = _doc(schema)
    made.__module__ = __name__
    made.operation = op
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

# SPDX-License-Identifier: Apache-2.0
"""Functions of TensorFlow 1.15 that are one operation. Order and defaults of their arguments are those of 1.15, from
tools/tf_facts/python_api_v1.json."""
import inspect

from thalweg import dtypes
from thalweg.base.operation_paths import table
from thalweg.graph import ops


def _parameter(text):
    name, has_default, default = text.partition("=")
    if not has_default:
        return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    value = getattr(dtypes, default[3:]) if default.startswith("tf.") else eval(default, {"inf": float("inf")})  # our own table
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)


def function(path):
    """The function of a path in the table, with 1.15's signature."""
    from thalweg import _api_v1
    op, renames = table()[path]
    schema = ops.schema_of(op)
    signature = inspect.Signature([_parameter(a) for a in _api_v1.SIGNATURES[path].split("\t")])
    inputs = [renames.get(i.name, i.name) for i in schema.inputs]
    attrs = {a.name: renames.get(a.name, a.name) for a in schema.parameters()}

    def made(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        values = given.arguments
        return ops.apply(op, [values[i] for i in inputs],
                         {a: values[n] for a, n in attrs.items() if n in values}, values.get("name"))
    made.__name__ = made.__qualname__ = path.rpartition(".")[2]
    made.__doc__ = f"The operation {op}."
    made.__signature__ = signature
    made.operation = op
    return made

# SPDX-License-Identifier: Apache-2.0
"""Attributes and tensors as messages, and back."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, messages
from thalweg.graph.shapes import as_shape

if TYPE_CHECKING:
    from typing import Any

    from thalweg.messages import AttrValue, OpDef

_LIST = {"I": "i", "F": "f", "B": "b", "S": "s", "T": "type", "H": "shape", "L": "tensor", "P": "func"}
_ONE = {"i": "i", "f": "f", "b": "b", "s": "s", "t": "type", "h": "shape", "V": "tensor", "p": "func"}


def _plain(field, value):
    if field == "type":
        return dtypes.as_dtype(value)._number
    if field == "s":
        return value.encode() if isinstance(value, str) else value
    if field == "shape":
        return as_shape(value).as_proto()
    if field == "tensor":
        return value if isinstance(value, messages.Message) else messages.make_tensor_proto(value)
    if field == "func":
        if hasattr(value, "add_to_graph"):  # a function, whose definition joins the library of the graph around
            value.add_to_graph()
            return messages.NameAttrList(name=value.name)
        return messages.NameAttrList(name=value) if isinstance(value, str) else value
    return value


def attr_of_value(kind: str, value: object) -> AttrValue:
    """The AttrValue of a Python value for an attribute of this kind (a letter of _schemas.py)."""
    attr = messages.AttrValue()
    if kind in _LIST:
        field = _LIST[kind]
        attr.list.SetInParent()
        getattr(attr.list, field).extend(_plain(field, v) for v in value)
    else:
        attr._set(_ONE[kind], _plain(_ONE[kind], value))
    return attr


def value_of_attr(attr: AttrValue) -> Any:
    """The Python value of an AttrValue."""
    which = attr.WhichOneof("value")
    if which == "type":
        return dtypes.as_dtype(attr.type)
    if which != "list":
        return getattr(attr, which) if which else []
    for field in ("s", "i", "f", "b", "type", "shape", "tensor", "func"):
        items = list(getattr(attr.list, field))
        if items:
            return [dtypes.as_dtype(i) for i in items] if field == "type" else items
    return []


def schema_text(definition: OpDef) -> str:
    """An OpDef as _schemas.py writes operations."""
    kinds = {"int": "i", "float": "f", "bool": "b", "type": "t", "string": "s", "shape": "h", "tensor": "V", "func": "p"}

    def argument(a):
        kind = a.type_attr or f"={a.type}"
        spec = f"[{a.type_list_attr}]" if a.type_list_attr else f"{a.number_attr}*{kind}" if a.number_attr else kind
        return f"{a.name}:{'&' if a.is_ref else ''}{spec}"

    def attribute(a):
        import json
        kind = kinds[a.type] if a.type in kinds else {"type": "T", "shape": "H", "tensor": "L", "func": "P"}.get(
            a.type[5:-1], a.type[5].upper())
        if not a.HasField("default_value"):
            return f"{a.name}\t{kind}"
        value = value_of_attr(a.default_value)
        value = value.decode() if isinstance(value, bytes) else value.name if kind == "t" else value
        return f"{a.name}\t{kind}\t{json.dumps(value if kind in 'ifbst' else None)}"

    return "\n".join(["\t".join(map(argument, definition.input_arg)), "\t".join(map(argument, definition.output_arg)),
                      *map(attribute, definition.attr)])

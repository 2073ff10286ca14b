# SPDX-License-Identifier: Apache-2.0
"""Protocol messages as the dictionaries that protobuf's JSON has for them, which configurations of 1.15 hold."""
from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from thalweg import messages

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_WIDE = ("int64", "uint64", "sint64", "fixed64", "sfixed64")  # which JSON has as texts


def _camel(name):
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def to_dictionary(message: Any) -> dict[str, Any]:
    """The fields of a message that are set."""
    found = {}
    for field, value in message.ListFields():
        if field.map:
            found[_camel(field.name)] = {key: to_dictionary(item) if hasattr(item, "ListFields") else item for key, item in value.items()}
        else:
            found[_camel(field.name)] = [_plain(field, item) for item in value] if field.repeated else _plain(field, value)
    return found


def _plain(field, value):
    if hasattr(value, "ListFields"):
        return to_dictionary(value)
    if field.enum:
        return next(name for name, number in messages._enum(field.enum).items() if number == value)
    if field.kind == "bytes":
        return base64.b64encode(value).decode()
    return str(value) if field.kind in _WIDE else value


def from_dictionary(message: Any, values: Mapping[str, Any]) -> Any:
    """`message` with the fields of a dictionary.

    Raises
    ------
    ValueError
        If it has no field of a name.
    """
    names = {_camel(name): name for name in message._fields}
    for key, value in values.items():
        name = names.get(key, key)
        field = message._field(name)
        if field.map:
            for entry, item in value.items():
                from_dictionary(getattr(message, name)[entry], item)
        elif field.is_message:
            for item in value if field.repeated else [value]:
                made = from_dictionary(field.message_class()(), item)
                if field.repeated:
                    getattr(message, name).append(made)
                else:
                    getattr(message, name).CopyFrom(made)
        elif field.repeated:
            getattr(message, name).extend(_value(field, item) for item in value)
        else:
            setattr(message, name, _value(field, value))
    return message


def _value(field, value):
    if field.enum:
        return messages._enum(field.enum)[value] if isinstance(value, str) else value
    if field.kind == "bytes":
        return base64.b64decode(value)
    return int(value) if field.kind in _WIDE else value

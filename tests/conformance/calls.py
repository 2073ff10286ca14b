# SPDX-License-Identifier: Apache-2.0
"""Messages of TensorFlow's two services, made from tools/tf_facts/messages.json: its Python package does not have them."""
import functools
import json
import os

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tasks import ROOT

Field = descriptor_pb2.FieldDescriptorProto
PACKAGE = "thalweg_calls"


def fill(field, name, number, kind, types, label=Field.LABEL_OPTIONAL):
    """Enumerations are numbers, foreign messages bytes: the same on the wire."""
    field.name, field.number, field.label = name, number, label
    if kind in types and types[kind]["kind"] == "message":
        field.type, field.type_name = Field.TYPE_MESSAGE, f".{PACKAGE}.{flat(kind)}"
    elif kind in types:
        field.type = Field.TYPE_INT32
    elif "." in kind:
        field.type = Field.TYPE_BYTES
    else:
        field.type = getattr(Field, "TYPE_" + kind.upper())
    scalar = field.type not in (Field.TYPE_MESSAGE, Field.TYPE_STRING, Field.TYPE_BYTES)
    if label == Field.LABEL_REPEATED and scalar:
        field.options.packed = True


def flat(name):
    return name.replace(".", "_")


@functools.cache
def pool():
    with open(os.path.join(ROOT, "tools", "tf_facts", "messages.json")) as f:
        types = json.load(f)["types"]
    # With version 2's rules a field that was sent is kept, also one that holds its default.
    file = descriptor_pb2.FileDescriptorProto(name="calls.proto", package=PACKAGE, syntax="proto2")
    for name, made in types.items():
        if made["kind"] != "message":
            continue
        message = file.message_type.add(name=flat(name))
        for described in made["fields"]:
            if "map" not in described:
                label = Field.LABEL_REPEATED if described.get("label") == "repeated" else Field.LABEL_OPTIONAL
                fill(message.field.add(), described["name"], described["number"], described["type"], types, label)
                continue
            entry = message.nested_type.add(name="".join(w.capitalize() for w in described["name"].split("_")) + "Entry")
            entry.options.map_entry = True
            for number, (part, kind) in enumerate(zip(("key", "value"), described["map"]), 1):
                fill(entry.field.add(), part, number, kind, types)
            message.field.add(name=described["name"], number=described["number"], label=Field.LABEL_REPEATED, type=Field.TYPE_MESSAGE,
                              type_name=f".{PACKAGE}.{message.name}.{entry.name}")
    made = descriptor_pool.DescriptorPool()
    made.Add(file)
    return made


def message_class(name):
    """Of "RunGraphRequest"; None where there is no such message."""
    try:
        return message_factory.GetMessageClass(pool().FindMessageTypeByName(f"{PACKAGE}.tensorflow_{name}"))
    except KeyError:
        return None

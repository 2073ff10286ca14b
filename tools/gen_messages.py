#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the message tables of thalweg/proto from messages.json and more_messages.json of tools/tf_facts.

usage: gen_messages.py MESSAGES_JSON MORE_MESSAGES_JSON OUT_DIR

OUT_DIR/messages.h: one namespace a type with field numbers and enum values.
OUT_DIR/messages.cc: the descriptor tables.
"""

import json
import os
import sys

PACKAGES = ("tensorflow.", "google.protobuf.")

# Scalar type of the facts: (FieldType, Storage).
SCALARS = {
    "double": ("kDouble", "kDouble"),
    "float": ("kFloat", "kFloat"),
    "int64": ("kInt64", "kInt64"),
    "uint64": ("kUint64", "kUint64"),
    "int32": ("kInt32", "kInt32"),
    "fixed64": ("kFixed64", "kUint64"),
    "fixed32": ("kFixed32", "kUint32"),
    "bool": ("kBool", "kBool"),
    "string": ("kString", "kString"),
    "bytes": ("kBytes", "kString"),
    "uint32": ("kUint32", "kUint32"),
    "sfixed32": ("kSfixed32", "kInt32"),
    "sfixed64": ("kSfixed64", "kInt64"),
    "sint32": ("kSint32", "kInt32"),
    "sint64": ("kSint64", "kInt64"),
}

MAX_FIELDS = 63  # one presence word, less one bit that the message class uses itself
DENSE_NUMBERS = 64
NO_FIELD = 255


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def cpp_bool(value):
    return "true" if value else "false"


def short(full_name):
    for package in PACKAGES:
        if full_name.startswith(package):
            return full_name[len(package):]
    raise SystemExit(f"{full_name}: unknown package")


def load(*paths):
    types = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            types.update(json.load(f)["types"])
    return types


def with_entries(types):
    """The message types by name, then the entry types of their maps."""
    messages = {n: t for n, t in sorted(types.items()) if t["kind"] == "message"}
    entries = {}
    for name, facts in messages.items():
        for field in facts["fields"]:
            if "map" not in field:
                continue
            key, value = field["map"]
            entries[f"{name}.{camel(field['name'])}Entry"] = {
                "syntax": facts["syntax"],
                "entry": True,
                "fields": [
                    {"name": "key", "number": 1, "type": key},
                    {"name": "value", "number": 2, "type": value},
                ],
            }
    return messages, entries


def layout(fields):
    """Where each value lies behind the header of a message, and the size of all: members of a oneof share a place."""
    sizes, group_of = {}, {}
    for i, field in enumerate(fields):
        text = field.get("type") in ("string", "bytes") and field.get("label") != "repeated"
        group_of[i] = group = field.get("oneof", i)
        sizes[group] = max(sizes.get(group, 0), 16 if text else 8)
    starts, end = {}, 0
    for group, size in sizes.items():
        starts[group], end = end, end + size
    return [starts[group_of[i]] for i in range(len(fields))], end


class Tables:
    """Text of the tables, type after type."""

    def __init__(self, types):
        self.types = types
        self.messages, self.entries = with_entries(types)
        self.enums = {n: t for n, t in sorted(types.items()) if t["kind"] == "enum"}
        order = list(self.messages) + sorted(self.entries)
        self.message_index = {name: i for i, name in enumerate(order)}
        self.enum_index = {name: i for i, name in enumerate(self.enums)}
        self.fields, self.oneofs, self.index, self.rows = [], [], [], []
        for name in order:
            self.add_message(name, self.messages.get(name) or self.entries[name])

    def add_message(self, name, facts):
        fields = sorted(facts["fields"], key=lambda f: f["number"])
        if len(fields) > MAX_FIELDS:
            raise SystemExit(f"{name}: {len(fields)} fields, the message class holds {MAX_FIELDS}")
        oneofs = {}
        for i, field in enumerate(fields):
            if "oneof" in field:
                oneofs.setdefault(field["oneof"], []).append(i)
        masks = {o: sum(1 << i for i in members) for o, members in oneofs.items()}
        offsets, body_size = layout(fields)
        first_field = len(self.fields)
        for i, field in enumerate(fields):
            mask = masks.get(field.get("oneof"), 0)
            self.fields.append(self.field_row(name, facts, field, i, offsets[i], mask))
        first_oneof = len(self.oneofs)
        self.oneofs += [f'{{"{o}", {mask:#x}}}' for o, mask in masks.items()]
        dense = [NO_FIELD] * (min(max([f["number"] for f in fields], default=0), DENSE_NUMBERS - 1) + 1)
        for i, field in enumerate(fields):
            if field["number"] < len(dense):
                dense[field["number"]] = i
        first_index = len(self.index)
        self.index += dense
        map_mask = sum(1 << i for i, f in enumerate(fields) if "map" in f)
        me = self.message_index[name]
        self.rows.append(
            f'{{"{name}", {{kFields + {first_field}, {len(fields)}}}, {{kOneofs + {first_oneof}, {len(oneofs)}}}, '
            f"{{kIndex + {first_index}, {len(dense)}}}, &DefaultInstances::kInstances[{me}], {map_mask:#x}, "
            f"{body_size}, {cpp_bool('entry' in facts)}, {cpp_bool(facts['syntax'] == 'proto2')}}}")

    def field_row(self, parent, facts, field, index, offset, oneof_mask):
        is_map = "map" in field
        repeated = is_map or field.get("label") == "repeated"
        message, enumeration = "nullptr", "nullptr"
        if is_map:
            kind, storage = "kMessage", "kMessage"
            message = f"&kMessages[{self.message_index[f'{parent}.' + camel(field['name']) + 'Entry']}]"
        elif field["type"] in SCALARS:
            kind, storage = SCALARS[field["type"]]
        elif field["type"] in self.enum_index:
            kind, storage = "kEnum", "kInt32"
            enumeration = f"&kEnums[{self.enum_index[field['type']]}]"
        else:
            kind, storage = "kMessage", "kMessage"
            message = f"&kMessages[{self.message_index[field['type']]}]"
        presence = not repeated and (
            kind == "kMessage" or oneof_mask != 0 or "entry" in facts or facts["syntax"] == "proto2")
        utf8 = kind == "kString" and facts["syntax"] == "proto3"
        flags = ", ".join(map(cpp_bool, (repeated, is_map, field.get("packed"), presence, utf8)))
        return (f'{{"{field["name"]}", &kMessages[{self.message_index[parent]}], {message}, {enumeration}, '
                f"{oneof_mask:#x}, {field['number']}, FieldType::{kind}, Storage::{storage}, {flags}, "
                f"{index}, {offset}}}")

    def source(self):
        values, enums = [], []
        for name, facts in self.enums.items():
            pairs = sorted(facts["values"].items(), key=lambda v: v[1])
            enums.append(f'{{"{name}", {{kValues + {len(values)}, {len(pairs)}}}}}')
            values += [f'{{"{value}", {number}}}' for value, number in pairs]
        count = len(self.message_index)
        instances = [f"Message(&kMessages[{i}])" for i in range(count)]
        return "\n".join([
            HEAD,
            '#include "thalweg/proto/messages.h"',
            '#include "thalweg/proto/message.h"',
            "namespace thalweg {",
            "using namespace pb::tables;",
            f"struct DefaultInstances {{ static const Message kInstances[{count}]; }};",
            "namespace {",
            table("constinit const EnumValue kValues[]", values),
            table("constinit const OneofDescriptor kOneofs[]", self.oneofs or ['{"", 0}']),
            f"constexpr uint8_t kIndex[] = {{{', '.join(map(str, self.index))}}};",
            f"extern const FieldDescriptor kFields[{len(self.fields)}];",
            "}  // namespace",
            "namespace pb::tables {",
            f"const size_t kMessageCount = {len(self.messages)};",
            f"const size_t kEnumCount = {len(self.enums)};",
            table("constinit const EnumDescriptor kEnums[]", enums),
            table("constinit const MessageDescriptor kMessages[]", self.rows),
            "}  // namespace pb::tables",
            "namespace {",
            table("constinit const FieldDescriptor kFields[]", self.fields),
            "}  // namespace",
            table(f"constinit const Message DefaultInstances::kInstances[{count}]", instances),
            "}  // namespace thalweg",
            "",
        ])

    def header(self):
        tree = {}
        for name in [*self.messages, *self.enums]:
            node = tree
            for part in short(name).split("."):
                node = node.setdefault(part, {})
            node[None] = name
        top = HEADER_TOP % (len(self.message_index), len(self.enums))
        return "\n".join([top, *self.namespaces(tree), "}  // namespace thalweg::pb", ""])

    def namespaces(self, tree):
        lines = []
        for part, node in sorted((p, n) for p, n in tree.items() if p is not None):
            lines.append(f"namespace {part} {{")
            name = node.get(None)
            if name in self.message_index:
                i = self.message_index[name]
                lines.append(f"inline const MessageDescriptor& Descriptor() {{ return tables::kMessages[{i}]; }}")
                lines += [f"constexpr int k{camel(f['name'])} = {f['number']};"
                          for f in sorted(self.messages[name]["fields"], key=lambda f: f["number"])]
            elif name is not None:
                i = self.enum_index[name]
                lines.append(f"inline const EnumDescriptor& Descriptor() {{ return tables::kEnums[{i}]; }}")
                lines += [f"constexpr int {value} = {number};"
                          for value, number in self.enums[name]["values"].items()]
            lines += self.namespaces(node)
            lines.append("}")
        return lines


def table(declaration, rows):
    return f"{declaration} = {{\n  " + ",\n  ".join(rows) + "};"


HEAD = """// SPDX-License-Identifier: Apache-2.0
// Generated by tools/gen_messages.py from messages.json and more_messages.json of tools/tf_facts. Do not edit."""

HEADER_TOP = HEAD + """
// One namespace a message or enum type: pb::NodeDef::Descriptor(), pb::NodeDef::kName, pb::DataType::DT_FLOAT.
#pragma once
#include <cstddef>
#include "thalweg/proto/descriptor.h"
namespace thalweg::pb::tables {
extern const MessageDescriptor kMessages[%d];
extern const size_t kMessageCount;  // the entry types of maps come behind these
extern const EnumDescriptor kEnums[%d];
extern const size_t kEnumCount;
}  // namespace thalweg::pb::tables
namespace thalweg::pb {
constexpr int kMapKey = 1;
constexpr int kMapValue = 2;"""


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    tables = Tables(load(*sys.argv[1:3]))
    for name, text in (("messages.h", tables.header()), ("messages.cc", tables.source())):
        with open(os.path.join(sys.argv[3], name), "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()

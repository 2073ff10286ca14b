#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns tools/tf_facts/ops.jsonl into one C++ file that holds all operation schemas as plain bytes.

usage: gen_ops.py OPS_JSONL OUT_CC

The bytes need no relocation and no code at start-up; thalweg/graph/op_table.cc reads one record when it is asked for.
A number is a varint (signed ones zigzag), a text its length and its bytes. A record:

  name, flags, inputs, outputs, attrs
  argument:   name, dtype (0: none), type_attr, number_attr, type_list_attr, is_ref
  attribute:  name, kind, bits (1 default, 2 minimum, 4 allowed, 8 not in release 1.15), minimum, default, allowed

An operation of both releases has the newer form, whose extra attributes all have defaults.
"""

import json
import struct
import sys

DTYPES = ["invalid", "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool",
          "qint8", "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128", "float16", "resource",
          "variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz",
          "float8_e5m2fnuz", "int4", "uint4", "int2", "uint2"]
DTYPE_NUMBER = {name: number for number, name in enumerate(DTYPES)}
# The order of AttrValue::Kind, from 1.
KINDS = ["string", "int", "float", "bool", "type", "shape", "tensor", "func", "list(string)", "list(int)",
         "list(float)", "list(bool)", "list(type)", "list(shape)", "list(tensor)", "list(func)"]
KIND_NUMBER = {name: number for number, name in enumerate(KINDS, 1)}
FLAGS = {"stateful": 1, "commutative": 2, "aggregate": 4, "allows_uninitialized_input": 8}
# The facts have dtype and shape of a default tensor, not its values.
TENSOR_VALUES = {("ImageSummary", "bad_color"): [255, 0, 0, 255], ("DefaultAttrs", "tensor_val"): [1]}


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def signed(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def text(value):
    data = value.encode()
    return varint(len(data)) + data


def shape(dims):
    if dims is None:
        return b"\0"
    return varint(len(dims) + 1) + b"".join(signed(d) for d in dims)


def tensor(key, value):
    value = value["tensor"]
    values = TENSOR_VALUES[key]
    return varint(DTYPE_NUMBER[value["dtype"]]) + shape(value["shape"]) + b"".join(signed(v) for v in values)


def default_value(key, kind, value):
    if kind.startswith("list("):
        return varint(len(value)) + b"".join(default_value(key, kind[5:-1], v) for v in value)
    if kind == "string":
        return text(value)
    if kind == "int":
        return signed(value)
    if kind == "float":
        return struct.pack("<f", float(value))
    if kind == "bool":
        return varint(int(value))
    if kind == "type":
        return varint(DTYPE_NUMBER[value])
    if kind == "shape":
        return shape(value["shape"] if isinstance(value, dict) else value)
    if kind == "tensor":
        return tensor(key, value)
    raise ValueError(f"{key}: no default of kind {kind}")


def argument(arg):
    return (text(arg["name"]) + varint(DTYPE_NUMBER[arg["type"]] if "type" in arg else 0) +
            text(arg.get("type_attr", "")) + text(arg.get("number_attr", "")) + text(arg.get("type_list_attr", "")) +
            varint(int(arg.get("is_ref", False))))


def attribute(op, attr):
    kind = attr["type"]
    newer = op["in"] != ["1.15"] and "1.15" in op["in"] and \
        op.get("was_1.15", {}).get("attrs", {}).get(attr["name"], attr) is None
    bits = ("default" in attr) | 2 * ("minimum" in attr) | 4 * ("allowed" in attr) | 8 * newer
    out = text(attr["name"]) + varint(KIND_NUMBER[kind]) + varint(bits)
    if "minimum" in attr:
        out += signed(attr["minimum"])
    if "default" in attr:
        out += default_value((op["name"], attr["name"]), kind, attr["default"])
    if "allowed" in attr:
        is_type = kind in ("type", "list(type)")
        out += varint(len(attr["allowed"]))
        for value in attr["allowed"]:
            out += varint(DTYPE_NUMBER[value]) if is_type else text(value)
    return out


def record(op):
    out = text(op["name"]) + varint(sum(bit for flag, bit in FLAGS.items() if op["flags"].get(flag)))
    for args in (op["inputs"], op["outputs"]):
        out += varint(len(args)) + b"".join(argument(a) for a in args)
    return out + varint(len(op["attrs"])) + b"".join(attribute(op, a) for a in op["attrs"])


def literal(data):
    # Three octal digits each, so that no escape runs into the next character.
    lines = []
    for start in range(0, len(data), 512):
        lines.append('    "' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}"
                                        for b in data[start:start + 512]) + '"')
    return "\n".join(lines)


def main():
    ops_path, out_path = sys.argv[1:]
    with open(ops_path, encoding="utf-8") as lines:
        ops = [json.loads(line) for line in lines]
    ops.sort(key=lambda op: op["name"].encode())
    data = b""
    offsets = []
    for op in ops:
        offsets.append(len(data))
        data += record(op)
    offsets.append(len(data))
    with open(out_path, "w", encoding="utf-8") as out:
        out.write('// Made by tools/gen_ops.py.\n#include "thalweg/graph/op_table.h"\n\nnamespace thalweg {\n\n'
                  f"const uint32_t kOpCount = {len(ops)};\n"
                  f"const uint32_t kOpOffsets[] = {{{', '.join(map(str, offsets))}}};\n"
                  f"const char kOpRecords[] =\n{literal(data)};\n\n}}  // namespace thalweg\n")


if __name__ == "__main__":
    main()

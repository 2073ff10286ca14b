#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the page of all operations that have a kernel, from the registry of the library as built: make_docs.py FOLDER"""
import ctypes
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fields(data):
    """(number, value) of a message's fields: bytes for lengths, integers for the rest."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            at += size
            yield tag >> 3, data[at - size:at]
        elif tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            at += 4 if tag & 7 == 5 else 8


def text(data, number):
    return next((v.decode() for n, v in fields(data) if n == number), "")


def op_list():
    """The OpDef messages of what is implemented."""
    library = ctypes.CDLL(os.path.join(ROOT, "build", "release", "lib", "libthalweg.so"))
    for name in ("tw_status_new", "tw_environment_new", "tw_environment_op_list", "tw_buffer_data"):
        getattr(library, name).restype = ctypes.c_void_p
    library.tw_buffer_size.restype = ctypes.c_size_t
    status = ctypes.c_void_p(library.tw_status_new())
    environment = ctypes.c_void_p(library.tw_environment_new(None, status))
    buffer = ctypes.c_void_p(library.tw_environment_op_list(environment, 1, status))
    data = ctypes.string_at(ctypes.c_void_p(library.tw_buffer_data(buffer)), library.tw_buffer_size(buffer))
    return [v for n, v in fields(data) if n == 1]


def main(folder):
    ops = sorted(op_list(), key=lambda op: text(op, 1).lower())
    lines = ["# Operations", "", f"The {len(ops)} operations that have a kernel. Written by `./dev docs` from the registry; do not edit.", "",
             "| operation | inputs | outputs | attributes | |", "|---|---|---|---|---|"]
    for op in ops:
        names = [", ".join(text(v, 1) for n, v in fields(op) if n == number) for number in (2, 3, 4)]
        lines.append(f"| {text(op, 1)} | {' | '.join(names)} | {text(op, 5).replace('|', chr(92) + '|')} |")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "README.md"), "w") as f:
        f.write("\n".join(lines) + "\n")
    print(f"{folder}/README.md: {len(ops)} operations")
    return 0 if ops else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)

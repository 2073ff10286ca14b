#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the package as it is imported: make_package.py SOURCES FACTS OUT [--without-stubs]

Copies the modules and writes what comes from the vendored facts: _schemas.py (operations), _message_table.py (messages), _api_v1.py
and _modules_v1.py (names of 1.15), and where the package has its extension the stubs for editors and type checkers, which are make_stubs.py's.
"""
import json
import os
import runpy
import shutil
import subprocess
import sys

TYPES = ("float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16 qint16 quint16 "
         "uint16 complex128 float16 resource variant uint32 uint64").split()
KINDS = {"int": "i", "float": "f", "bool": "b", "type": "t", "string": "s", "shape": "h", "tensor": "V", "func": "p",
         "list(int)": "I", "list(float)": "F", "list(bool)": "B", "list(type)": "T", "list(string)": "S",
         "list(shape)": "H", "list(tensor)": "L", "list(func)": "P"}


def argument(arg):
    if "type_list_attr" in arg:
        spec = f"[{arg['type_list_attr']}]"
    else:
        kind = arg.get("type_attr") or f"={TYPES.index(arg['type']) + 1}"
        spec = f"{arg['number_attr']}*{kind}" if "number_attr" in arg else kind
    return f"{arg['name']}:{'&' if arg.get('is_ref') else ''}{spec}"


def attribute(attr):
    row = f"{attr['name']}\t{KINDS[attr['type']]}"
    return row + "\t" + json.dumps(attr["default"]) if "default" in attr else row


def schema(op):
    rows = ["\t".join(map(argument, op["inputs"])), "\t".join(map(argument, op["outputs"])), *map(attribute, op["attrs"])]
    return "\n".join(rows)


def message_table(types):
    """full name -> rows (name, number, type, flags) or, for an enum, {name: number}."""
    scalars = {"double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
               "sfixed64", "bool", "string", "bytes"}
    table = {}
    for name, entry in sorted(types.items()):
        if entry["kind"] == "enum":
            table[name] = "\n".join(f"{n} {v}" for n, v in entry["values"].items())
            continue
        rows = []
        for field in entry["fields"]:
            if "map" in field:
                rows.append(f"{field['name']} {field['number']} map {','.join(field['map'])}")
                continue
            kind = field["type"]
            if kind not in scalars and types.get(kind, {}).get("kind") == "enum":
                kind = "enum:" + kind
            flag = "repeated" if field.get("label") == "repeated" else "oneof:" + field["oneof"] if "oneof" in field else "-"
            rows.append(f"{field['name']} {field['number']} {kind} {flag}" + (" packed" if field.get("packed") else ""))
        table[name] = "\n".join(["message", *rows])
    return table


def bare_table(name, table):
    return f"\n{name} = {{\n" + "".join(f"    {key!r}: {value!r},\n" for key, value in table.items()) + "}\n"


def api_source(symbols, more, operations):
    """The names of 1.15: their kinds, which are the same, the methods that need no object, and the signatures of those that are one
    operation. `more`: the names below contrib, keras and estimator."""
    more_kinds = {p.rpartition(".")[0]: "module" for p in more if p.count(".") >= 3}
    more_kinds.update((p, v["kind"]) for p, v in more.items())
    static = {p: " ".join(n for n, row in v.get("methods", {}).items() if isinstance(row, dict)) for p, v in symbols.items()}
    aliases = {p: v["same_as"] for p, v in symbols.items() if "same_as" in v}
    same = {}
    for path, first in aliases.items():
        same.setdefault(first, []).append(path)
    return (table_source("KINDS", "Names of TensorFlow 1.15.", {p: v["kind"] for p, v in symbols.items()}) +
            bare_table("CONTRIB", more_kinds) + bare_table("STATIC", {p: names for p, names in static.items() if names}) +
            bare_table("ALIASES", aliases) + bare_table("SAME", {p: " ".join(v) for p, v in same.items()}) +
            bare_table("SIGNATURES", {p: "\t".join(symbols[p]["args"]) for p in operations}))


def compat_v2_source(differences):
    """Where TensorFlow 2's names differ: functions with other arguments, and what was dropped."""
    changed = {path: "\t".join(arguments) for path, arguments in differences["changed"].items()}
    return (table_source("CHANGED", "Where tf.compat.v2 differs from tf.compat.v1.", changed) +
            f"\nDROPPED = frozenset({' '.join(differences['dropped'])!r}.split())\n")


def message_modules(types):
    """The modules of messages, and the messages, enums and values of enums that each defines: core/framework/types_pb2."""
    modules = {}
    for full_name, facts in types.items():
        package, _, name = full_name.rpartition(".")
        if package == "tensorflow" and "1.15" in facts.get("in", ()):
            path = facts["file"].removeprefix("tensorflow/").removesuffix(".proto") + "_pb2"
            values = list(facts["values"]) if facts["kind"] == "enum" else []
            modules.setdefault(path, []).extend([name, *values])
    return {path: " ".join(sorted(found)) for path, found in modules.items()}


def modules_source(text, defined, types):
    """The modules of the 1.15 package by folder, and the classes and functions that each defines."""
    tables = [{place: names.strip() for place, _, names in (line.partition(":") for line in t.splitlines())} for t in (text, defined)]
    tables[1].update(message_modules(types))
    return table_source("MODULES", "Modules of TensorFlow 1.15.", tables[0]) + bare_table("DEFINED", tables[1])


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def table_source(name, doc, table):
    rows = "".join(f"    {key!r}: {value!r},\n" for key, value in table.items())
    return f'# SPDX-License-Identifier: Apache-2.0\n"""{doc} Generated by make_package.py."""\n{name} = {{\n{rows}}}\n'


def modules_of(folder):
    """Paths of the modules in a folder and the folders in it, relative to it."""
    found = []
    for where, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f != "__pycache__"]
        found += [os.path.relpath(os.path.join(where, f), folder) for f in files if f.endswith((".py", ".pyi")) or f == "py.typed"]
    return found


def copy_modules(sources, out):
    """The modules as they are, and none that is no longer there."""
    os.makedirs(out, exist_ok=True)
    wanted = modules_of(sources)
    for file in modules_of(out):
        if file not in wanted:
            os.remove(os.path.join(out, file))
    for file in wanted:
        os.makedirs(os.path.dirname(os.path.join(out, file)), exist_ok=True)
        shutil.copy(os.path.join(sources, file), os.path.join(out, file))


def main(sources, facts, out, without_stubs=None):
    copy_modules(sources, out)
    with open(os.path.join(facts, "ops.jsonl")) as f:
        ops = [json.loads(line) for line in f]
    types = {}
    for file in ("messages.json", "more_messages.json"):
        with open(os.path.join(facts, file)) as f:
            types.update(json.load(f)["types"])
    write(os.path.join(out, "_schemas.py"),
          table_source("SCHEMAS", "Operations: inputs, outputs, attributes, a line each.", {o["name"]: schema(o) for o in ops}))
    with open(os.path.join(facts, "python_api_v1.json")) as f:
        symbols = json.load(f)["symbols"]
    with open(os.path.join(facts, "contrib_api_v1.json")) as f:
        more = json.load(f)["symbols"]
    with open(os.path.join(facts, "python_modules_v1.txt")) as f, open(os.path.join(facts, "python_private_v1.txt")) as defined:
        write(os.path.join(out, "_modules_v1.py"), modules_source(f.read(), defined.read(), types))
    with open(os.path.join(facts, "compat_v2.json")) as f:
        write(os.path.join(out, "_compat_v2.py"), compat_v2_source(json.load(f)))
    operations = runpy.run_path(os.path.join(sources, "base", "operation_paths.py"))["table"]()
    write(os.path.join(out, "_api_v1.py"), api_source(symbols, more, operations))
    write(os.path.join(out, "_message_table.py"), table_source("TABLE", "Protocol messages and enums.", message_table(types)))
    if not without_stubs and any(f.startswith("_core.") and not f.endswith(".pyi") for f in os.listdir(out)):  # whole: what it has can be looked at
        maker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "make_stubs.py")
        subprocess.run([sys.executable, maker, out], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

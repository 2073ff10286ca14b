#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of all operations from the registry of the library as built: make_docs.py FOLDER

README.md has the share of TensorFlow 2.21's CPU operations that run here, by family; FAMILY.md every operation with its
arguments, element types and gradient. What is missing has one of five reasons (REASONS).
"""
import collections
import ctypes
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REASONS = {
    "not yet": "will be implemented",
    "not public": "made by TensorFlow's own rewrites; never in a user's graph",
    "other runtime": "belongs to a compiler or service outside the dataflow machine",
    "test only": "exists for TensorFlow's own tests",
    "no use": "a type that no model computes with; TensorFlow's kernel is an accident of its templates",
}
# The numbers of DataType, as the facts name them.
TYPES = dict(enumerate(
    "invalid float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16 qint16 quint16 uint16 "
    "complex128 float16 resource variant uint32 uint64 float8_e5m2 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz "
    "float8_e5m2fnuz int4 uint4 int2 uint2".split()))
NO_USE = {name for name in TYPES.values() if name.startswith(("float8", "int4", "uint4", "int2", "uint2"))}

Op = collections.namedtuple("Op", "name inputs outputs attrs doc types gradient")
Row = collections.namedtuple("Row", "name family state ours theirs missing reason op")


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


def each(data, number):
    return [v for n, v in fields(data) if n == number]


def text(data, number):
    return next((v.decode() for n, v in fields(data) if n == number), "")


class Library:
    """The C ABI of the library as built."""

    def __init__(self):
        self.c = ctypes.CDLL(os.path.join(ROOT, "build", "release", "lib", "libthalweg.so"))
        for name in ("tw_status_new", "tw_environment_new", "tw_environment_op_list", "tw_environment_kernel_list",
                     "tw_buffer_data"):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.c.tw_buffer_size.restype = ctypes.c_size_t
        self.c.tw_environment_no_gradient.restype = ctypes.c_char_p
        self.status = ctypes.c_void_p(self.c.tw_status_new())
        self.environment = ctypes.c_void_p(self.c.tw_environment_new(None, self.status))

    def bytes(self, buffer):
        buffer = ctypes.c_void_p(buffer)
        return ctypes.string_at(ctypes.c_void_p(self.c.tw_buffer_data(buffer)), self.c.tw_buffer_size(buffer))

    def kernel_types(self):
        """op -> attr -> names of the types that CPU kernels have; an attr that some kernel leaves open is not named."""
        found, count = collections.defaultdict(lambda: collections.defaultdict(set)), collections.Counter()
        named = collections.Counter()
        for kernel in each(self.bytes(self.c.tw_environment_kernel_list(self.environment, self.status)), 1):
            if text(kernel, 2) != "CPU":
                continue
            op = text(kernel, 1)
            count[op] += 1
            for constraint in each(kernel, 3):
                attr = text(constraint, 1)
                named[op, attr] += 1
                for value in each(constraint, 2):
                    for types in each(value, 1):
                        for n, v in fields(types):
                            numbers = [v] if isinstance(v, int) else list(v)
                            found[op][attr].update(TYPES[t] for t in numbers if n == 6)
        return {op: {a: t for a, t in found[op].items() if named[op, a] == count[op]} for op in count}

    def ops(self):
        types, made = self.kernel_types(), {}
        for op in each(self.bytes(self.c.tw_environment_op_list(self.environment, 1, self.status)), 1):
            name = text(op, 1)
            reason = self.c.tw_environment_no_gradient(self.environment, name.encode())
            names = [[text(v, 1) for v in each(op, number)] for number in (2, 3, 4)]
            made[name] = Op(name, *names, text(op, 5), types.get(name, {}), "nobody said" if reason is None else reason.decode())
        return made


def families():
    """[(name, reason, pattern)] in the order of the file."""
    with open(os.path.join(ROOT, "tools", "op_families.txt"), encoding="utf-8") as f:
        rows = [re.split(r"\s{2,}", line.strip(), maxsplit=2) for line in f if line.strip() and not line.startswith("#")]
    return [(name, reason, re.compile("|".join(f"(?:{p})" for p in patterns.split()))) for name, reason, patterns in rows]


def their_types(fact):
    """attr -> types of TensorFlow's CPU kernels, but for those which the schema refuses: no graph can ask for them."""
    allowed = {a["name"]: a["allowed"] for a in fact["attrs"] if a.get("allowed")}
    found = collections.defaultdict(set)
    for kernel in fact["cpu_types"] or []:
        for attr, types in kernel.items():
            found[attr].update(t for t in types if t in allowed.get(attr, types))
    return found


def rows(ops):
    """One row for every operation that has a CPU kernel here or in TensorFlow 2.21."""
    with open(os.path.join(ROOT, "tools", "tf_facts", "ops.jsonl"), encoding="utf-8") as f:
        facts = {o["name"]: o for o in map(json.loads, f)}
    known = families()
    made = []
    for name in sorted(set(ops) | {n for n, o in facts.items() if o["cpu_types"] is not None and "2.21" in o["in"]}):
        family, reason = next((f, r) for f, r, p in known if p.fullmatch(name))
        theirs = their_types(facts[name]) if name in facts else {}
        ours = ops[name].types if name in ops else {}
        missing = {a: sorted(t - ours[a]) for a, t in theirs.items() if a in ours and t - ours[a]} if name in ops else {}
        state = "missing" if name not in ops else "some types" if missing else "complete"
        if state == "some types" and all(t in NO_USE for types in missing.values() for t in types):
            reason = "no use"
        made.append(Row(name, family, state, ours, theirs, missing, "" if state == "complete" else reason, ops.get(name)))
    return made


def cell(value):
    return value.replace("|", "\\|")


def family_page(family, members):
    lines = [f"# Operations: {family}", "", "Written by `./dev docs` from the registry; do not edit.", "",
             "| operation | inputs | outputs | attributes | types missing on the CPU | gradient | |", "|---|---|---|---|---|---|---|"]
    for r in members:
        if r.op is None:
            lines.append(f"| {r.name} | | | | all: {r.reason} | | |")
            continue
        missing = "; ".join(f"{a}: {', '.join(t)}" for a, t in sorted(r.missing.items()))
        missing += f" ({r.reason})" if missing else ""
        gradient = "yes" if r.op.gradient == "" else r.op.gradient
        lines.append(f"| {r.name} | {', '.join(r.op.inputs)} | {', '.join(r.op.outputs)} | {', '.join(r.op.attrs)} | "
                     f"{missing} | {cell(gradient)} | {cell(r.op.doc)} |")
    return "\n".join(lines) + "\n"


def index_page(by_family):
    everything = [r for members in by_family.values() for r in members]
    here = [r for r in everything if r.op]
    reasons = collections.Counter(r.reason for r in everything if r.reason)
    lines = ["# Operations", "", f"{len(here)} operations have a CPU kernel. Written by `./dev docs` from the registry; do not edit.", "",
             "| family | of TensorFlow 2.21's with a CPU kernel | run here | with all its types | differentiable |", "|---|---|---|---|---|"]
    for family, members in sorted(by_family.items()):
        run, complete = [r for r in members if r.op], [r for r in members if r.state == "complete"]
        lines.append(f"| [{family}]({family}.md) | {len(members)} | {len(run)} ({100 * len(run) // len(members)} %) | {len(complete)} | "
                     f"{sum(r.op.gradient == '' for r in run)} |")
    lines += ["", "What is missing, an operation or some of its types, by reason:", "", "| reason | operations | |", "|---|---|---|"]
    lines += [f"| {reason} | {reasons[reason]} | {what} |" for reason, what in REASONS.items()]
    return "\n".join(lines) + "\n"


def main(folder):
    made = rows(Library().ops())
    by_family = collections.defaultdict(list)
    for row in made:
        by_family[row.family].append(row)
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    for name, content in [("README", index_page(by_family)), *((f, family_page(f, m)) for f, m in by_family.items())]:
        with open(os.path.join(folder, name + ".md"), "w", encoding="utf-8") as f:
            f.write(content)
    count = sum(r.op is not None for r in made)
    print(f"{folder}/README.md: {count} operations in {len(by_family)} families")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)

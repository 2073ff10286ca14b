#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of TensorFlow 1.15's Python symbols and what becomes of them here: api_coverage.py FILE

A symbol works when it is there and takes 1.15's arguments: names, order, defaults. The rest is there with other arguments, or
raises an AttributeError that says that it is not implemented; a plain AttributeError is a fault of ours (`unnamed`).
Symbols: python_api_v1.json, contrib_api_v1.json, and those that programs use, api_usage.csv, which stand first.
"""
import collections
import csv
import inspect
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FACTS = os.path.join(ROOT, "tools", "tf_facts")
# What programs find under these names is private to TensorFlow; as_tensorflow serves them.
PRIVATE = ("tf.python.", "tf.core.")
STATES = ("works", "other arguments", "missing", "unnamed")


def symbols():
    """{path: row} of all symbols."""
    found = {}
    for file in ("python_api_v1.json", "contrib_api_v1.json"):
        with open(os.path.join(FACTS, file)) as f:
            found.update(json.load(f)["symbols"])
    return found


def usage():
    """{symbol: programs} without methods of objects."""
    with open(os.path.join(FACTS, "api_usage.csv")) as f:
        rows = [(r["symbol"], int(r["programs"])) for r in csv.DictReader(f)]
    return {s: n for s, n in rows if not s.startswith("(object)")}


def brief(value):
    """A default as the facts write it."""
    if type(value).__name__ == "DType":
        return "tf." + value.name
    if inspect.isclass(value) or inspect.isfunction(value):
        return f"<{value.__name__}>"
    return repr(value)


def parameters(function):
    """The arguments of a function or a class as the facts write them; None when Python cannot tell. What has a default and can
    only be given by its name is ours alone, and no program of TensorFlow notices it."""
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    given = [p for p in given if p.kind is not p.KEYWORD_ONLY or p.default is p.empty]
    return [marks.get(p.kind, "") + p.name + ("" if p.default is p.empty else "=" + brief(p.default)) for p in given]


def same(wanted, found):
    """Whether two arguments are the same; defaults that are objects without a value to show count as equal, and so does a list
    as the tuple of the same items."""
    name, equals, default = wanted.partition("=")
    other, other_equals, other_default = found.partition("=")
    if name != other or equals != other_equals:
        return False
    if any(re.match(r"<|\w+\(\)$", d) for d in (default, other_default)):
        return True
    default, other_default = (f"({d[1:-1]})" if d.startswith("[") else d for d in (default, other_default))
    return default == other_default or number(default) is not None and number(default) == number(other_default)


def number(text):
    return float(text) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else None


def resolve(package, path):
    value = package
    for part in path.removeprefix("tf.").removeprefix("compat.v1.").split("."):
        value = getattr(value, part)
    return value


def state_of(package, path, rows, kernels):
    """(state, remark) of a symbol."""
    try:
        value = resolve(package, path)
    except AttributeError as error:
        return ("missing" if type(error) is not AttributeError else "unnamed"), ""
    if "_is_missing" in getattr(value, "__dict__", ()):
        return "missing", ""
    row = rows.get(path.replace("tf.compat.v1.", "tf."), {})
    row = rows.get(row.get("same_as"), row)
    operation = getattr(value, "operation", None)
    if operation is not None and operation not in kernels:
        return "missing", f"the operation {operation} is not implemented"
    wanted, found = row.get("args"), parameters(value) if callable(value) else None
    if wanted is None or found is None or row.get("kind") == "exception":
        return "works", ""
    wanted, found = (args[1:] if args[:1] == ["self"] else args for args in (wanted, found))
    if wanted[:1] == ["*args"]:
        return "works", ""
    if found[-1:] and found[-1].startswith("**") and not (wanted[-1:] and wanted[-1].startswith("**")):
        found = found[:-1]  # as in parameters(): arguments that are ours alone
    if len(wanted) == len(found) and all(map(same, wanted, found)):
        return "works", ""
    return "other arguments", f"`({', '.join(found)})` instead of `({', '.join(wanted)})`"


def table(package):
    """[(path, programs, state, remark)], the most used first."""
    rows, used = symbols(), usage()
    from thalweg import messages
    from thalweg.graph import graph
    kernels = {op.name for op in messages.OpList.FromString(graph.environment().op_list(True)).op}
    paths = [*used, *(p for p in rows if p not in used)]
    return [(p, used.get(p, 0), *state_of(package, p, rows, kernels)) for p in paths if not p.startswith(PRIVATE)]


def page(found):
    """The page in Markdown."""
    lines = ["# Python symbols of TensorFlow 1.15", "", "Written by `./dev docs`; see `tools/api_coverage.py`.", "",
             "| symbols | " + " | ".join(STATES) + " |", "|---|" + "---:|" * len(STATES)]
    groups = collections.OrderedDict([("used by programs", [r for r in found if r[1]]), ("all", found)])
    for path, *rest in found:
        groups.setdefault(".".join(path.split(".")[:2]) if path.count(".") > 1 else "tf", []).append((path, *rest))
    for name, members in groups.items():
        counts = collections.Counter(r[2] for r in members)
        lines.append(f"| {name} | " + " | ".join(str(counts[s]) for s in STATES) + " |")
    for state in STATES[1:]:
        lines += ["", f"## {state.capitalize()}", ""]
        lines += [f"- `{path}`" + (f" ({programs} programs)" if programs else "") + (f": {remark}" if remark else "")
                  for path, programs, found_state, remark in found if found_state == state]
    return "\n".join(lines) + "\n"


def main(file):
    import thalweg
    found = table(thalweg)
    os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
    with open(file, "w") as f:
        f.write(page(found))
    for name, rows in (("used by programs", [r for r in found if r[1]]), ("all", found)):
        counts = collections.Counter(r[2] for r in rows)
        print(f"{name}: " + ", ".join(f"{counts[s]} {s}" for s in STATES))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)

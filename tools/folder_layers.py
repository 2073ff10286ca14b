# SPDX-License-Identifier: Apache-2.0
"""The layers inside a folder, as a table of its README states them.

    | layer | parts | what they are |
    |---|---|---|
    | 0 | `transport/` | channels |
    | 1 | `call` `peers/` | calls to tasks |

A table whose first two headings are `layer` and `parts` is such a table. A part is a sub-folder, `transport/`, or a stem: `call` is
call.h, call.cc, call.inc or call.py. Every source of the folder lies in one part, every part is there, and a part takes only what
is on lower layers, or its own. A sub-folder may have a table of its own. Tests (*_test.cc, test_*.h ...) obey the law of rooms only.
"""
import os
import re

ROW = re.compile(r"\|\s*(\d+)\s*\|([^|]*)\|")
HEAD = re.compile(r"\|\s*layer\s*\|\s*parts\s*\|")


def read_table(text):
    """{part: layer} of a README's table; {} when it has none."""
    parts, inside = {}, False
    for line in text.splitlines():
        inside = bool(HEAD.match(line)) or inside and line.startswith("|")
        row = ROW.match(line) if inside else None
        if row:
            parts.update((part, int(row[1])) for part in re.findall(r"`([^`]+)`", row[2]))
    return parts


def part_of(below, parts):
    """The part that a path lies in; both relative to the folder of the table. None when no row has it."""
    first, _, rest = below.partition("/")
    part = first + "/" if rest else os.path.splitext(first)[0]
    return part if part in parts else None


def why_not(path, target, tables):
    """None, or why a file may not take another one. `tables`: {folder: {part: layer}}; paths and folders from one root."""
    folder = os.path.dirname(path)
    while folder:
        parts = tables.get(folder)
        if parts and target.startswith(folder + "/"):
            here, there = part_of(path[len(folder) + 1:], parts), part_of(target[len(folder) + 1:], parts)
            if there is None:
                return f"is in no part of {folder}/README.md"
            if here is not None and here != there and parts[there] >= parts[here]:
                return f"{folder}: {here} has layer {parts[here]}, {there} has layer {parts[there]}"
        folder = os.path.dirname(folder)
    return None


def misfits(files, tables):
    """Files that no part holds, and parts that hold no file."""
    found = []
    for folder, parts in sorted(tables.items()):
        held = set()
        for path in sorted(f for f in files if f.startswith(folder + "/")):
            part = part_of(path[len(folder) + 1:], parts)
            held.add(part)
            if part is None:
                found.append(f"{path}: is in no part of {folder}/README.md")
        found += [f"{folder}/README.md: the part {part} holds nothing" for part in parts if part not in held]
    return found


def circles(edges):
    """The sets of two and more that take each other, each sorted. `edges`: {node: nodes that it takes} (Tarjan 1972)."""
    order, low, open_, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        open_.append(node)
        for other in edges.get(node, ()):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in open_:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            group = open_[open_.index(node):]
            del open_[open_.index(node):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in order:
            visit(node)
    return found

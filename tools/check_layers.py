#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every #include of thalweg/ obeys the room table of ARCHITECTURE.md, and each #include and Python import the layers of its folder.

    check_layers.py [ROOT]

- A room includes itself, base/ and rooms of a lower level. A family of ops/ and a device are rooms of their own, and leaves: only
  api/ may include them.
- testing/ may include anything; only tests and testing/ include it. Tests (*_test.cc, test_*.h ...) may include
  rooms of their own level and below.
- tensor/ includes proto/ only in *_proto.* files. Third-party headers belong to the rooms that the table allows.
- Every folder of thalweg/ is in the table, every room has a README.md.
- A folder of thalweg/ or python/thalweg/ may state its layers in a table of its README (folder_layers.py says how it looks):

      | layer | parts | what they are |
      |---|---|---|
      | 0 | `transport/` | channels |
      | 1 | `call` `peers/` | calls to tasks |

- Where python/thalweg/ states its layers, its modules import each other in no circle. Imports inside functions count,
  those below `if TYPE_CHECKING:` do not: they are for annotations.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from folder_layers import circles, misfits, read_table, why_not
from python_imports import Package

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
THIRD_PARTY = (
    ("protobuf", re.compile(r"google/protobuf|.*\.pb\.h$")), ("grpc", re.compile(r"grpc")), ("absl", re.compile(r"absl/")),
    ("eigen", re.compile(r"(Eigen|unsupported/Eigen)/")), ("cuda", re.compile(r"(cuda|cublas|cudnn|nccl)")),
    ("dnnl", re.compile(r"(dnnl|oneapi/)")), ("hwy", re.compile(r"hwy/")), ("python", re.compile(r"(Python\.h|pybind11|numpy/)")),
    ("gtest", re.compile(r"(gtest|gmock)/")), ("benchmark", re.compile(r"benchmark/")))
IS_TEST = re.compile(r"_(test|benchmark|fuzz)\.|^(test|fuzz)_")
LEAVES = ("ops/", "devices/")
# Headers of api/ that are included as they are installed: thalweg/c_api.h.
INSTALLED = ("attr.h", "c_api.h", "c_checkpoint.h", "c_control_flow.h", "c_dataset.h", "c_files.h", "c_machine.h",
             "c_message.h", "c_model.h", "c_server.h", "c_trace.h", "c_types.h", "control_flow.h", "dataset.h", "dataset_stages.h", "environment.h",
             "graph.h", "iterator.h", "kernel_api.h", "model.h", "optimizer.h", "output.h", "saver.h", "session.h",
             "tensor.h", "thalweg.h")
TOP = 99  # the level of testing/


def read_rooms(text):
    """{room: (level, allowed third parties)} of the Markdown table; ops/<family>/ stands for all folders of ops/."""
    rooms = {}
    for line in text.splitlines():
        m = re.match(r"\| (\d+|–) \| `([^`]+)` \|[^|]*\|([^|]*)\|$", line)
        if m:
            rooms[m[2]] = (TOP if m[1] == "–" else int(m[1]), set(m[3].split()))
    return rooms


def room_of(path, rooms):
    """(name, level, third parties) of the room that a path below thalweg/ lies in; None where the table has none."""
    parts = path.split("/")
    for pattern, (level, third) in rooms.items():
        want = pattern.rstrip("/").split("/")
        if len(parts) > len(want) and all(w == p or w.startswith("<") for w, p in zip(want, parts)):
            return "/".join(parts[:len(want)]) + "/", level, third
    return None


def may_include(path, included, rooms):
    """None, or why the file may not include that file of ours."""
    here, there = room_of(path, rooms), room_of(included, rooms)
    if there is None:
        return "is in no room of the table"
    if there[0] in (here[0], "base/"):
        return None
    is_test = IS_TEST.search(os.path.basename(path)) is not None
    if here[0] == "testing/":
        return None
    if there[0] == "testing/":
        return None if is_test else "testing/ is for tests only"
    if there[0].startswith(LEAVES) and here[0] != "api/":
        return f"{there[0]} is a leaf: nobody includes it"
    if here[0] == "tensor/" and there[0] == "proto/" and "_proto" not in os.path.basename(path):
        return "tensor/ includes proto/ only in *_proto.* files"
    if there[1] > here[1] or (there[1] == here[1] and not is_test):
        return f"{here[0]} has level {here[1]}, {there[0]} has level {there[1]}"
    return None


def check_file(path, text, rooms, tables=None):
    """Complaints about one file of C++; its path is relative to thalweg/. `tables`: the layers of folders, from the root."""
    here = room_of(path, rooms)
    if here is None:
        return ["lies in no room of the table"]
    complaints = []
    is_test = IS_TEST.search(os.path.basename(path)) is not None
    for number, line in enumerate(text.splitlines(), 1):
        m = INCLUDE.match(line)
        if not m:
            continue
        if m[2].startswith("thalweg/"):
            included = m[2][len("thalweg/"):]
            included = "api/" + included if included in INSTALLED else included
            why = may_include(path, included, rooms)
            if why is None and tables and not is_test:
                why = why_not("thalweg/" + path, "thalweg/" + included, tables)
        elif m[1] == '"' and not any(p.match(m[2]) for _, p in THIRD_PARTY):
            why = "write our includes from the root: thalweg/..."
        else:
            name = next((n for n, p in THIRD_PARTY if p.match(m[2])), None)
            allowed = here[2] | ({"gtest", "benchmark"} if is_test else set())
            why = f"{here[0]} may not include {name}" if name and name not in allowed else None
        if why:
            complaints.append(f"line {number}: #include {m[2]}: {why}")
    return complaints


def check_module(path, text, package, tables):
    """(complaints, dotted names it imports) of one module of Python; its path is relative to python/."""
    complaints, taken = [], set()
    for line, name in package.imports(text):
        if name is None:
            complaints.append(f"line {line}: write our imports from the root: thalweg...")
            continue
        taken.add(name)
        why = why_not("python/" + path, "python/" + package.modules[name], tables)
        if why:
            complaints.append(f"line {line}: imports {name}: {why}")
    return complaints, taken


def find_files(root, top, endings):
    """Paths from the root of the files below a folder."""
    found = []
    for folder, _, files in sorted(os.walk(os.path.join(root, top))):
        found += [os.path.relpath(os.path.join(folder, file), root) for file in sorted(files) if file.endswith(endings)]
    return found


def read(root, path):
    with open(os.path.join(root, path)) as f:
        return f.read()


def check_python(root, modules, tables):
    """Complaints about the modules of Python, and how many have none."""
    package = Package([path.removeprefix("python/") for path in modules])
    passed, complaints, edges = 0, [], {}
    for name, path in sorted(package.modules.items()):
        found, edges[name] = check_module(path, read(root, "python/" + path), package, tables)
        edges[name].discard(name)
        passed += not found
        complaints += [f"python/{path}: {c}" for c in found]
    if "python/thalweg" in tables:
        complaints += [f"python/thalweg: a circle of imports: {' '.join(circle)}" for circle in circles(edges)]
    return complaints, passed


def main(root):
    rooms = read_rooms(read(root, "ARCHITECTURE.md"))
    assert len(rooms) > 10, "the room table of ARCHITECTURE.md was not found"
    sources = [p for p in find_files(root, "thalweg", (".h", ".cc", ".cu", ".c", ".inc")) if p.count("/") > 1]
    modules = find_files(root, "python/thalweg", (".py",))
    tables = {os.path.dirname(p): read_table(read(root, p))
              for top in ("thalweg", "python/thalweg") for p in find_files(root, top, ("README.md",))}
    tables = {folder: parts for folder, parts in tables.items() if parts}
    complaints, passed = check_python(root, modules, tables)
    for path in sources:
        found = check_file(path.removeprefix("thalweg/"), read(root, path), rooms, tables)
        passed += not found
        complaints += [f"{path}: {c}" for c in found]
    complaints += misfits([p for p in sources if not IS_TEST.search(os.path.basename(p))] + modules, tables)
    for pattern in rooms:
        room = "thalweg/" + pattern.split("<")[0]
        if os.path.isdir(os.path.join(root, room)) and not os.path.exists(os.path.join(root, room, "README.md")):
            complaints.append(f"{room} lacks its README.md")
    print("\n".join(complaints + [f"{passed} passed, {len(complaints)} failed"]))
    return 1 if complaints or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

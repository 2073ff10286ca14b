"""Dump which classes and functions the modules of the installed TensorFlow 1.15 define, private ones included: names only.

usage: dump_private.py OUT.txt
A line is "folder/module: class ... | function ...", for the modules below python, contrib and tools that define any; generated
wrappers of operations, the public API's lists and tests are left out.
"""
import ast
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow_core


def defined(file):
    """(classes, functions) that a file defines at its top level, also below `if` and `try`."""
    with open(file, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    classes, functions, blocks = set(), set(), [tree.body]
    while blocks:
        for node in blocks.pop():
            if isinstance(node, ast.ClassDef):
                classes.add(node.name)
            elif isinstance(node, ast.FunctionDef):
                functions.add(node.name)
            elif isinstance(node, ast.If):
                blocks += [node.body, node.orelse]
            elif isinstance(node, ast.Try):
                blocks += [node.body, node.orelse] + [h.body for h in node.handlers]
    return classes, functions - classes


def main(out):
    root = os.path.dirname(tensorflow_core.__file__)
    rows = []
    for where, folders, files in os.walk(root):
        folders.sort()
        path = os.path.relpath(where, root).replace(os.sep, "/")
        if path.split("/")[0] not in ("python", "contrib", "tools") or "/api/" in path + "/":
            continue
        for file in sorted(files):
            if not file.endswith(".py") or file.startswith("gen_") or file.endswith("_test.py") or file.endswith("_pb2.py"):
                continue
            classes, functions = defined(os.path.join(where, file))
            if classes or functions:
                module = path if file == "__init__.py" else path + "/" + file[:-3]
                rows.append("%s: %s" % (module, " ".join(sorted(classes) + ["|"] + sorted(functions))))
    with open(out, "w") as f:
        f.write("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

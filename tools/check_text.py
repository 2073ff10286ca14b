#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree stands alone, and says only what is true of it.

    check_text.py [ROOT]

No file mentions folders outside the checkout or notes to come back later; every C++ and Python source begins with its license
line; threads of the core are started by its class for them; a test has a temporary folder of its own. Comments of C++ end at
column 100. Spelling is American, as in the API; "cancelled" keeps two l, as the status code has them. Public functions and methods
of the Python package say the types of all that they take and give.
"""
import ast
import os
import re
import subprocess
import sys

SKIP = ("tests/golden/", "tests/fuzz/", "tools/tf_facts/", "benchmarks/peers/", "LICENSE")
BANNED = (
    (re.compile(r"\.\./share[d]\b|(?<![\w.~-])/(?:work|farm)/(?=\w)|(?<![\w/])share[d]/(?:tf|peers|\w+\.md)"), "a folder outside the checkout"),
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b"), "a note to come back later"),
    (re.compile(r"^(?:<{7}|>{7}) "), "a merge conflict"),
    (re.compile(r"(?i)colo" r"ur|behavio" r"ur|neighbo" r"ur|harbo" r"ur|favo" r"ur|(?<![a-z])centr" r"ed?(?![a-z])|canc" r"eled|licen" r"ce|"
                r"(?:quant|initial|normal|serial|summar|vector|minim|maxim|regular|penal|factor|recogn|optim|organ|real|special|general|"
                r"synchron|parallel|util|emphas|custom|material|character|categor|standard)is" r"(?:e|ed|es|er|ers|ing|ation)(?![a-z])|"
                r"(?:lab|mod|trav|tunn|quarr)ell(?:ed|ing)|signall(?:ed|ing)|\bgre" r"y\b|\banaly" r"s(?:e|ed|er|ing)\b|\bwhil" r"st\b|"
                r"(?<![a-z])(?:lear" r"nt|spe" r"lt|bur" r"nt)(?![a-z])|spoi" r"lt|artef" r"act"), "British spelling"))
MOST_COLUMNS = 100  # of a line of C++ that is a comment; clang-format sees to the others
THREAD = re.compile(r"\bstd::(?:j?thread\b(?!::)|async\b)|\bpthread_create\b")
MAY_START_THREADS = re.compile(r"^thalweg/(?:testing/|base/thread\.)|^cli/first_signal\.cc$|/test_[^/]*$|_(?:test|benchmark|fuzz)\.\w+$")
TEMPORARY = re.compile(r"\bTempDir\(\)")
MAY_NAME_TEMPORARY = "thalweg/base/test_temporary_directory.h"
TERMINATE = re.compile(r"\bstd::terminate\b")  # compilers call it too, so tools/check_built.py cannot tell
LICENSE = "SPDX-License-Identifier: Apache-2.0"
TYPED = re.compile(r"^python/thalweg/(?:.*/)?(?:[^_/][^/]*|__init__|__main__)\.py$")  # the package but for its private modules


def _public_functions(body, owner=""):
    """(name, node, whether it is in a class) of the public functions and methods that statements define."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
            yield owner + node.name, node, bool(owner)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public_functions(node.body, f"{owner}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from _public_functions(getattr(node, part, ()), owner)
            for handler in getattr(node, "handlers", ()):
                yield from _public_functions(handler.body, owner)


def check_types(path, text):
    """Complaints about what public functions of a module do not say the type of; `self` and `cls` need none."""
    complaints = []
    for name, node, in_class in _public_functions(ast.parse(text).body):
        given = node.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, *(a for a in (given.vararg, given.kwarg) if a is not None)]
        if in_class and parameters and parameters[0].arg in ("self", "cls"):
            parameters = parameters[1:]
        lacking = [a.arg for a in parameters if a.annotation is None] + ["return"] * (node.returns is None)
        if lacking:
            complaints.append(f"{path}:{node.lineno}: {name} does not say the type of {', '.join(lacking)}")
    return complaints


def check_text(path, text):
    complaints = []
    for number, line in enumerate(text.splitlines(), 1):
        complaints += [f"{path}:{number}: mentions {what}" for pattern, what in BANNED if pattern.search(line)]
        if path.startswith("thalweg/") and TERMINATE.search(line):
            complaints.append(f"{path}:{number}: ends the process")
        if path.startswith(("thalweg/", "cli/")) and THREAD.search(line) and not MAY_START_THREADS.search(path):
            complaints.append(f"{path}:{number}: starts a thread, for which there is thalweg/base/thread.h")
        if TEMPORARY.search(line) and path.endswith((".cc", ".h")) and path != MAY_NAME_TEMPORARY:
            complaints.append(f"{path}:{number}: shares a folder with tests beside it; there is thalweg/base/test_temporary_directory.h")
        if path.endswith((".cc", ".h")) and len(line) > MOST_COLUMNS and line.lstrip().startswith(("//", "/*", "* ")):
            complaints.append(f"{path}:{number}: a comment beyond column {MOST_COLUMNS}")
    if path.endswith((".cc", ".h", ".cu", ".c", ".cpp", ".py", ".pyi")) and text.strip():
        if LICENSE not in "\n".join(text.split("\n")[:2]):
            complaints.append(f"{path}: lacks the line {LICENSE}")
    if TYPED.search(path):
        complaints += check_types(path, text)
    return complaints


def main(root):
    listed = subprocess.run(["git", "ls-files"], cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    passed, complaints = 0, []
    for path in listed:
        if not path or path.startswith(SKIP):
            continue
        try:
            with open(os.path.join(root, path)) as f:
                text = f.read()
        except (UnicodeDecodeError, IsADirectoryError):
            continue
        found = check_text(path, text)
        passed += not found
        complaints += found
    print("\n".join(complaints + [f"{passed} passed, {len(complaints)} failed"]))
    return 1 if complaints or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

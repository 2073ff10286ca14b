#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree stands alone, and says only what is true of it.

    check_text.py [ROOT]

No file mentions folders outside the checkout or notes to come back later; every C++ and Python source begins with its license
line; threads of the core are started by its class for them; a test has a temporary folder of its own. Comments of C++ end at
column 100. Spelling is American, as in the API; "cancelled" keeps two l, as the status code has them.
"""
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
MAY_START_THREADS = re.compile(r"^thalweg/(?:testing/|base/thread\.)|/test_[^/]*$|_(?:test|benchmark|fuzz)\.\w+$")
TEMPORARY = re.compile(r"\bTempDir\(\)")
MAY_NAME_TEMPORARY = "thalweg/base/test_temporary_directory.h"
TERMINATE = re.compile(r"\bstd::terminate\b")  # compilers call it too, so tools/check_built.py cannot tell
LICENSE = "SPDX-License-Identifier: Apache-2.0"


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

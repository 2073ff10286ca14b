#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and functions stay small.

    check_sizes.py [ROOT]

Hard limits, in lines: a file 800 (a test 1,000), a function 100. Beyond the soft limits, 400 and 60, a line is printed.
tools/size_allow.txt lists what may be larger: `PATH[:FUNCTION] LINES OWNER REASON`; an entry that is no longer needed fails.
Vendored files (benchmarks/peers, tools/tf_facts) do not count, nor does the documentation in Python's docstrings.
"""
import ast
import os
import re
import subprocess
import sys

SKIP = ("benchmarks/peers/", "tools/tf_facts/", "tests/golden/", "tests/fuzz/")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*|[{};]',
    re.S | re.M)


def cpp_functions(text):
    """[(name, first line, lines)] of the outermost bodies in braces that are neither a scope nor an initializer."""
    found, stack, begin = [], [], 0
    text = re.sub(r"(?<=\d)'(?=\d)", "_", text)  # digit separators look like quotes
    for m in TOKENS.finditer(text):
        token = m[0]
        if token == "{":
            head = re.sub(r"//[^\n]*|/\*(?s:.*?)\*/|^\s*#[^\n]*", "", text[begin:m.start()], flags=re.M).strip()
            in_function = any(kind == "function" for kind, _, _ in stack)
            signature = re.sub(r"<[^<>]*>", "", head)
            is_scope = SCOPE.search(signature) and "(" not in re.sub(r"(alignas|__attribute__|\[\[)\s*\(.*?\)+", "", signature)
            is_data = head.endswith(("=", ",", "(", "return")) or "(" not in head
            kind = "inner" if in_function else "scope" if is_scope or not head else "data" if is_data else "function"
            name = re.findall(r"([\w:~]+|operator\W+)\s*\(", head)
            stack.append((kind, name[0] if name else "?", text.count("\n", 0, m.start())))
            begin = m.end()
        elif token == "}" and stack:
            kind, name, line = stack.pop()
            if kind == "function":
                found.append((name, line + 1, text.count("\n", 0, m.start()) - line + 1))
            begin = m.end()
        elif token == ";":
            begin = m.end()
    return found


def documentation_lines(tree):
    """How many lines of a tree of Python are docstrings."""
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [n.body[0] for n in ast.walk(tree) if isinstance(n, scopes) and ast.get_docstring(n, clean=False) is not None]
    return sum(doc.end_lineno - doc.lineno + 1 for doc in found)


def python_functions(text):
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [(n.name, n.lineno, n.end_lineno - n.lineno + 1 - documentation_lines(n)) for n in nodes]


def measure(path, text):
    """[(key, lines, soft, hard)] of a file and its functions."""
    is_test = "_test." in path or "test_" in os.path.basename(path)
    lines = text.count("\n") - (documentation_lines(ast.parse(text)) if path.endswith((".py", ".pyi")) else 0)
    rows = [(path, lines, 400, 1000 if is_test else 800)]
    functions = python_functions(text) if path.endswith((".py", ".pyi")) else cpp_functions(text) if path.endswith(
        (".cc", ".h", ".cu", ".c", ".cpp")) else []
    return rows + [(f"{path}:{name}", lines, 60, 100) for name, _, lines in functions]


def read_allowed(text):
    allowed = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            key, lines, owner, reason = line.split(None, 3)
            allowed[key] = int(lines)
    return allowed


def judge(rows, allowed):
    """(complaints, remarks) of measured rows."""
    complaints, remarks, used = [], [], set()
    for key, lines, soft, hard in rows:
        limit = allowed.get(key, hard)
        if lines > hard and lines <= limit:
            used.add(key)
        if lines > limit:
            complaints.append(f"{key}: {lines} lines, at most {limit}")
        elif lines > soft and key not in used:
            remarks.append(f"{key}: {lines} lines, better {soft}")
    complaints += [f"{key}: allowed in tools/size_allow.txt without need" for key in allowed if key not in used]
    return complaints, remarks


def main(root):
    listed = subprocess.run(["git", "ls-files"], cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    rows = []
    for path in listed:
        if path.endswith((".cc", ".h", ".cu", ".c", ".cpp", ".py", ".pyi", ".sh", ".cmake")) and not path.startswith(SKIP):
            with open(os.path.join(root, path)) as f:
                rows += measure(path, f.read())
    with open(os.path.join(root, "tools/size_allow.txt")) as f:
        complaints, remarks = judge(rows, read_allowed(f.read()))
    print("\n".join(remarks + complaints + [f"{len(rows) - len(complaints)} passed, {len(complaints)} failed"]))
    return 1 if complaints or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

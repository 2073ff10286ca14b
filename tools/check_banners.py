#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example in the leading comment of every header is code that compiles, and each of its labels begins a line.

    check_banners.py [--write FILE] [HEADER ...]

An example is what is indented by three blanks in that comment. Each becomes a function body in a namespace of its own, all of them one
source, which the compiler parses (-fsyntax-only, some seconds). In an example

    ...                 stands for what is left out: an argument, a body, statements
    ... words ...       the same, with a word on what it is

What an example takes for granted (`ctx`, `allocator`, `graph`) is declared in tools/banner_names.txt, by header or folder:

    thalweg/kernel/       Context& ctx; Allocator& allocator
    thalweg/io/table.h    ReadableFile* file; #include "thalweg/io/x.h"
    thalweg/proto/x.h     text                 the example is no C++: a layout, a formula, two sides
    thalweg/graph/y.h     top; Status F(int)   it is made of definitions; `global`: of macros that open the namespace
    thalweg/testing/z.h   void                 it returns nothing: ASSERT_TRUE

The labels are Ownership, Threads, Errors and Ordering. A row whose header is not there is an error too. A header of a component whose
library is not installed (`needs HEADER`) is left out.
"""
import functools
import os
import re
import subprocess
import sys
import tempfile

INDENT = 3
BEHIND = re.compile(r"[.;] ((?:Ownership|Threads|Errors|Ordering):)")
OPTIONS = ("text", "top", "global", "void")
PRELUDE = '''// Written by tools/check_banners.py.
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>
#include "thalweg/base/status.h"
namespace example {
struct Anything { template <class... A> Anything(A&&...) {} template <class T> operator T() const; };
}
'''


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def banner(path):
    """[(line number, text without the slashes)] of the comment that begins the file."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("//"):
                break
            lines.append((number, line[2:].rstrip("\n")))
    return lines


def example(lines):
    return [(number, text) for number, text in lines if text.startswith(" " * INDENT)]


def labels_behind(path, lines):
    """Complaints about labels that stand behind something else on their line, where nobody finds them."""
    return [f"{path}:{number}: '{found[1]}' does not begin its line" for number, text in lines if not text.startswith(" " * INDENT)
            for found in BEHIND.finditer(text)]


def code_of(text):
    """The example with its dots replaced by what compiles; the number of lines stays."""
    text = re.sub(r"\.\.\. [^\n]*? \.\.\.", ";", text)
    text = re.sub(r"(?m)^(\s*)\.\.\. .*$", r"\1;", text)         # words to the end of the line
    text = re.sub(r"((?:^|[;{])\s*(?:struct|class) [^{;]*\{) \.\.\. \}", r"\1 }", text, flags=re.M)
    text = re.sub(r"\) \.\.\. .*$", ") {}", text, flags=re.M)
    text = re.sub(r"\{\s*\.\.\.;?\s*\}", "{ return example::Anything(); }", text)
    text = re.sub(r"(\{ )?\.\.\.; return", r"\1return", text)
    text = re.sub(r",\s*\.\.\.\s*\}", "}", text)                  # of designated initializers
    text = re.sub(r"(?m)^(\s*)\.\.\.;?\s*$", r"\1;", text)
    text = re.sub(r"\) \.\.\.;?(\s*//.*)?$", r") return example::Anything();\1", text, flags=re.M)
    text = re.sub(r"(?m); \.\.\.$", ";", text)
    return text.replace("...", "example::Anything()")


def read_names(path):
    """[(prefix, [declaration])] of the table."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            prefix, _, rest = line.partition(" ")
            rows.append((prefix, [d.strip() for d in re.split(r";\s+", rest.strip()) if d.strip()]))
    return rows


def is_variable(declaration):
    """A parameter of the example, not a type, a function or an #include."""
    return not re.match(r"(using|struct|class|template|enum|constexpr|namespace)\b", declaration) and not declaration.endswith(")")


def name_of(declaration):
    return re.search(r"\w+$", declaration)[0]


def namespace_of(path):
    with open(path, encoding="utf-8") as file:
        found = re.search(r"^namespace ([\w:]+) \{", file.read(), re.M)
    return found[1] if found and found[1].split("::")[0] == "thalweg" else "thalweg"


class Source:
    def __init__(self, rows):
        self.rows = rows
        self.used = set()
        self.includes, self.bodies = [], []

    def rows_of(self, path):
        found = [row for row in self.rows if row[0] == path or (row[0].endswith("/") and path.startswith(row[0]))]
        self.used.update(row[0] for row in found)
        return sorted(found, key=lambda row: len(row[0]))

    def add(self, path, lines, index):
        opened, parameters = [f"namespace {namespace_of(path)} {{"], {}
        options = set()
        for depth, (_, declarations) in enumerate(self.rows_of(path)):
            opened.append(f"namespace names_{index}_{depth} {{")
            for declaration in declarations:
                if declaration in OPTIONS:
                    options.add(declaration)
                elif declaration.startswith("#include"):
                    self.includes.append(declaration)
                elif declaration.startswith("needs "):
                    continue
                elif is_variable(declaration):
                    parameters[name_of(declaration)] = declaration
                else:
                    opened.append(declaration + ";")
        self.includes.append(f'#include "{path}"')
        code = code_of("\n".join(text for _, text in lines))
        body = f'#line {lines[0][0]} "{path}"\n{code}\n#line 1 "after {path}"\n'
        if "global" in options:  # a macro that opens our namespace itself
            types = [line for line in opened[1:] if not line.startswith("namespace ")]
            self.bodies.append("\n".join(["namespace thalweg {", *types, "}", body]))
            return
        if "top" not in options:
            given = ", ".join(parameters.values())
            result, end = ("void", "") if "void" in options else ("example::Anything", "return {};")
            body = f"struct Owner {{ {result} Example({given}) {{ {{\n{body}\n}} {end} }} }};"
        self.bodies.append("\n".join(opened) + "\n" + body + "\n" + "}" * sum(line.startswith("namespace ") for line in opened) + "\n")

    def text(self):
        return PRELUDE + "\n".join(dict.fromkeys(self.includes)) + "\n" + "\n".join(self.bodies)


@functools.cache
def has_library(needs):
    command = ["c++", "-E", "-x", "c++", "-", "-o", os.devnull]
    question = f"#if !__has_include(<{needs}>)\n#error\n#endif\n"
    return subprocess.run(command, input=question, text=True, capture_output=True).returncode == 0


def check(headers, rows):
    """(the source, [problem], number of examples)."""
    source, problems, count = Source(rows), [], 0
    for path in headers:
        lines = banner(path)
        problems += labels_behind(path, lines)
        code = example(lines)
        if not code:
            continue
        mine = [d for _, ds in source.rows_of(path) for d in ds]
        needs = [d[len("needs "):] for d in mine if d.startswith("needs ")]
        if "text" in mine or not all(map(has_library, needs)):
            continue
        count += 1
        source.add(path, code, count)
    return source, problems, count


def main(arguments):
    os.chdir(git("rev-parse", "--show-toplevel").strip())
    keep = None
    if arguments[:1] == ["--write"]:
        keep, arguments = arguments[1], arguments[2:]
    headers = arguments or [h for h in git("ls-files", "thalweg/*.h", "cli/*.h").split() if "skeleton" not in h]
    rows = read_names("tools/banner_names.txt")
    source, problems, count = check(headers, rows)
    if not arguments:
        for prefix, _ in rows:
            if prefix not in source.used:
                problems.append(f"tools/banner_names.txt: {prefix}: no header here has an example")
    with tempfile.TemporaryDirectory() as folder:
        path = keep or os.path.join(folder, "banners.cc")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source.text())
        flags = ["-std=c++20", "-w", "-fsyntax-only", "-I.", "-Ibuild/release/generated", "-Ibuild/release/generated/include"]
        compiled = subprocess.run(["c++", *flags, path], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if compiled.returncode:
        problems += [line for line in compiled.stderr.splitlines() if re.search(r"(fatal )?error:", line)] or [compiled.stderr]
    for problem in problems:
        print(problem)
    print(f"{count - min(count, len(problems))} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

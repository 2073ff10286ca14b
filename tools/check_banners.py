#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The leading comment of every header says who owns what, which threads may call and which errors come, and its example compiles.

    check_banners.py [--write FILE] [HEADER ...]

Each of the labels Ownership, Threads and Errors begins a line of that comment, once, with something behind it: "none" counts, silence
does not. Ordering may stand beside them. Two kinds of headers owe no labels, and both are told by the header itself:

    test_*.h                    what tests share: it lives and fails with its test
    no function and no class    there are constants, macros, enums and names for types only, which nobody owns and which cannot fail

Where a header declares something that returns a Status, a Result or a TwCode, "Errors: none" alone is no answer: it says where those
errors come from ("none of its own; ...").

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

A row whose header is not there is an error too. A header of a component whose library is not installed (`needs HEADER`) is left out.
Examples are those of headers below thalweg/ and cli/; labels are asked of every header.
"""
import functools
import os
import re
import subprocess
import sys
import tempfile

INDENT = 3
REQUIRED = ("Ownership", "Threads", "Errors")
BEHIND = re.compile(r"[.;] ((?:Ownership|Threads|Errors|Ordering):)")
LABEL = re.compile(r"^ (Ownership|Threads|Errors|Ordering):(.*)")
CLASS = re.compile(r"\b(?:class|struct|union)\b(?:\s*\[\[[^\]]*\]\]|\s+[A-Z_]+\([^)]*\))*\s*[\w:<>, ]*\{")
MAY_FAIL = re.compile(r"\b(?:Status|Result<.*>|TwCode)\s+\w+\(")  # a function that gives one
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


def block_banner(path):
    """The same of a header in C, whose comment has a star before each line."""
    lines = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if number == 1 and not line.startswith("/*"):
                break
            text, end, _ = line.rstrip("\n").partition("*/")
            lines.append((number, text[2:].rstrip()))
            if end:
                break
    return lines


def code_alone(text):
    """What a header declares: without comments, texts and what the preprocessor takes."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    text = re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def owes_labels(path, code):
    if os.path.basename(path).startswith("test_"):
        return False
    code = re.sub(r"\b(?:static_assert|sizeof|alignas|alignof|decltype)\s*\([^;]*?\)", "", code)
    code = re.sub(r"\benum (?:class|struct)\b", "enum", code)
    code = re.sub(r"\bconstexpr\b[^;(){}]*=[^;]*;", "", code)  # what a constant is may be computed
    return "(" in code or CLASS.search(code) is not None


def labels(path, lines):
    """Complaints about labels that are not there, stand twice, say nothing, or say none of what there is."""
    with open(path, encoding="utf-8") as file:
        code = code_alone(file.read())
    if not owes_labels(path, code):
        return []
    said, problems = {}, []
    for at, (number, text) in enumerate(lines):
        found = LABEL.match(text)
        if not found:
            continue
        label, words = found[1], found[2].strip()
        if label in said:
            problems.append(f"{path}:{number}: a second '{label}:'")
        behind = lines[at + 1][1] if at + 1 < len(lines) else ""
        if not words and (not behind.strip() or LABEL.match(behind)):
            problems.append(f"{path}:{number}: '{label}:' says nothing")
        said[label] = (number, words)
    problems += [f"{path}:1: no line '{label}:' in the leading comment" for label in REQUIRED if label not in said]
    if re.match(r"none[.;]?$", said.get("Errors", (0, ""))[1]) and MAY_FAIL.search(code):
        problems.append(f"{path}:{said['Errors'][0]}: 'Errors: none', but {MAY_FAIL.search(code)[0].strip()}...) gives one")
    return problems


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


def check(headers, rows, with_examples):
    """(the source, [problem], number of examples, number of headers whose labels are right)."""
    source, problems, count, labeled = Source(rows), [], 0, 0
    for path in headers:
        lines = banner(path)
        complaints = labels_behind(path, lines) + labels(path, lines or block_banner(path))
        problems += complaints
        labeled += not complaints
        if path not in with_examples:
            continue
        code = example(lines)
        if not code:
            continue
        mine = [d for _, ds in source.rows_of(path) for d in ds]
        needs = [d[len("needs "):] for d in mine if d.startswith("needs ")]
        if "text" in mine or not all(map(has_library, needs)):
            continue
        count += 1
        source.add(path, code, count)
    return source, problems, count, labeled


def main(arguments):
    os.chdir(git("rev-parse", "--show-toplevel").strip())
    keep = None
    if arguments[:1] == ["--write"]:
        keep, arguments = arguments[1], arguments[2:]
    headers = arguments or git("ls-files", "*.h").split()
    with_examples = arguments or {h for h in headers if h.startswith(("thalweg/", "cli/")) and "skeleton" not in h}
    rows = read_names("tools/banner_names.txt")
    source, problems, count, labeled = check(headers, rows, with_examples)
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
    wrong = []
    if compiled.returncode:
        wrong = [line for line in compiled.stderr.splitlines() if re.search(r"(fatal )?error:", line)] or [compiled.stderr]
    for problem in problems + wrong:
        print(problem)
    print(f"{labeled + count - min(count, len(wrong))} passed, {len(problems) + len(wrong)} failed")
    return 1 if problems or wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

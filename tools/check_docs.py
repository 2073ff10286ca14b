#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents and comments cite is there.

    check_docs.py [ROOT]

Every link between Markdown pages leads to a file, and to a heading where it names one. Every source that a page names by its path, and
every test that it names whole, exists. Every label of a statement (`papers B3.4a`, `users A1`) has a row in docs/papers.md or
docs/users.md, and every row names a test or says "not yet".
"""
import os
import re
import subprocess
import sys

PAGES = {"papers": "docs/papers.md", "users": "docs/users.md"}
SKIP = ("tests/golden/", "tests/fuzz/", "tools/tf_facts/", "tools/tests/", "benchmarks/peers/", *PAGES.values())
# Pages that name what was, what their reader makes, or messages.
SKIP_NAMES = ("CHANGELOG.md", "docs/howto/add_", "docs/formats/", "tests/golden/", "benchmarks/peers/")

LABEL = r"[A-KU]\d{1,2}(?:\.\d{1,2}){0,2}[a-f]?"
ROW = re.compile(rf"^\| \*\*({LABEL})\*\* \|(.*)\|\s*$", re.M)
CITED = re.compile(rf"\b([Pp]apers|[Uu]sers) ({LABEL}\b(?:(?: \([a-c]\))?(?:, | and | to ){LABEL}\b)*)")
DOTTED = re.compile(r"(?<![\w.])[AB](?:10|[2-9])\.\d{1,2}(?:\.\d)?[a-f]?(?![\w.]*\w)")  # belongs to the papers without saying so
BARE = re.compile(r"\(([A-K]\d{1,2})\)")                                                # belongs to either page
COMMENT = re.compile(r"//.*|(?<!\w)#.*|\"\"\".*")
IN_TEST_NAME = re.compile(r"(?:(?<=\s)|(?<=_))([AB])_?(\d{1,2})_(\d)(?:_(\d))?([a-f]?)_(?=[A-Z])")
CPP_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)
NAMED_CPP = re.compile(r"`([A-Z]\w+\.[A-Z]\w+)`")
NAMED_PYTHON = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
NAMED_FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:h|cc|py|sh))`")


def rows(page):
    """{label: text of its row} of a page of statements."""
    return {label: text for label, text in ROW.findall(page)}


def check_labels(path, text, labels):
    """labels: {"papers": set, "users": set}."""
    complaints = []
    cited = [(m.start(), guide.lower(), label) for m in CITED.finditer(text) for guide, many in [m.groups()]
             for label in re.findall(LABEL, many)]
    cited += [(m.start(), "papers", m[0]) for m in DOTTED.finditer(text)]
    for name in CPP_TEST.finditer(text):
        cited += [(name.start(), "papers", f"{m[1]}{m[2]}.{m[3]}{'.' + m[4] if m[4] else ''}{m[5]}")
                  for m in IN_TEST_NAME.finditer(" " + name[2])]
    complaints += [f"{path}:{text.count(chr(10), 0, at) + 1}: {guide} {label} is no row of {PAGES[guide]}"
                   for at, guide, label in cited if label not in labels[guide]]
    if path.endswith((".h", ".cc", ".py")):
        for number, line in enumerate(text.splitlines(), 1):
            for label in BARE.findall(" ".join(COMMENT.findall(line))):
                if not any(label in known for known in labels.values()):
                    complaints.append(f"{path}:{number}: ({label}) is a row of no page; say `papers {label}` or `users {label}`")
    return complaints


def check_tests(path, text, cpp_tests, python_tests):
    """The tests that a page names exist; each row of a page of statements ends with one, or with why there is none."""
    complaints = [f"{path}: there is no test {name}" for name in NAMED_CPP.findall(text) if name not in cpp_tests]
    complaints += [f"{path}: there is no test {file}::{name}" for file, name in NAMED_PYTHON.findall(text)
                   if name not in python_tests.get(file, ())]
    if path in PAGES.values():
        for label, row in rows(text).items():
            shown = row.split("|")[-1]
            if label[0] != "U" and not re.search(r"`|not yet|nothing to show|\]\(", shown):
                complaints.append(f"{path}: {label} names no test and does not say 'not yet'")
    return complaints


def check_files(path, text, ends):
    """The sources that a page names by more than their name exist. `ends`: of all paths of the tree, 'b.h', 'a/b.h' ..."""
    here = os.path.dirname(path)
    named = {name: os.path.normpath(os.path.join(here, name)) if name.startswith(".") else name for name in NAMED_FILE.findall(text)}
    return [f"{path}: there is no {name}" for name, file in named.items()
            if file not in ends and re.sub(r"^thalweg/(?=\w+\.h$)", "thalweg/api/", file) not in ends]


def anchors(page):
    """What `#...` may follow a link to this page: its headings as GitHub writes them."""
    found, fenced = [], False
    for line in page.splitlines():
        fenced ^= line.startswith("```")
        if not fenced and re.match(r"#{1,6} ", line):
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip())
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return set(found)


def check_links(path, text, exists, read):
    complaints = []
    for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if re.match(r"[a-z]+:", target) or not (target or heading):
            continue
        file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not exists(file):
            complaints.append(f"{path}: the link to {target} leads nowhere")
        elif heading and file.endswith(".md") and heading not in anchors(read(file)):
            complaints.append(f"{path}: {file} has no heading #{heading}")
    return complaints


def read_tree(root):
    """{path: text} of all files of the tree that are text."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    texts = {}
    for path in filter(None, listed):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as f:
                texts[path] = f.read()
        except (UnicodeDecodeError, OSError):  # data, or removed and not yet committed
            continue
    return texts


def main(root):
    texts = read_tree(root)
    labels = {guide: set(rows(texts[page])) for guide, page in PAGES.items()}
    cpp_tests = {".".join(pair) for path, text in texts.items() if path.endswith(".cc") for pair in CPP_TEST.findall(text)}
    python_tests = {}
    for path, text in texts.items():
        if os.path.basename(path).startswith("test_") and path.endswith(".py"):
            python_tests.setdefault(os.path.basename(path), set()).update(re.findall(r"^\s*def (test_\w+)\(", text, re.M))
    ends = {"/".join(path.split("/")[i:]) for path in texts for i in range(path.count("/") + 1)}
    passed, complaints = 0, []
    for path, text in texts.items():
        found = [] if path.startswith(SKIP) else check_labels(path, text, labels)
        if path.endswith(".md") and not path.startswith(SKIP_NAMES):
            found += check_tests(path, text, cpp_tests, python_tests) + check_files(path, text, ends)
        if path.endswith(".md"):
            found += check_links(path, text, lambda p: os.path.exists(os.path.join(root, p)), lambda p: texts.get(p, ""))
        passed += not found
        complaints += found
    print("\n".join(complaints + [f"{passed} passed, {len(complaints)} failed"]))
    return 1 if complaints or not passed or not all(labels.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

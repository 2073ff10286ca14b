# SPDX-License-Identifier: Apache-2.0
"""The check of the examples and labels in headers: what it reads, and that it fails."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import check_banners

HEADER = """// SPDX-License-Identifier: Apache-2.0
// Twice: a number and another one.
//
//   {example}
//
// Ownership: a value.
// Threads: any.
// Errors: none.
#pragma once
namespace thalweg {{
inline int Twice(int n) {{ return 2 * n; }}
}}
"""


@pytest.mark.parametrize("text, code", [
    ("f(a, ...);", "f(a, example::Anything());"),
    ("x = {.a = 1, ...};", "x = {.a = 1};"),
    ("...", ";"),
    ("... wait for it ...", ";"),
    ("if (a) ...;  // so", "if (a) return example::Anything();  // so"),
    ("for (x : xs) ... x.name, x.size", "for (x : xs) {}"),
    ("f([&](int i) { ... });", "f([&](int i) { return example::Anything(); });"),
    ("struct A : B { ... };", "struct A : B { };"),
    ("... make it ... f();", "; f();"),
])
def test_dots_stand_for_what_is_left_out(text, code):
    assert check_banners.code_of(text) == code


def test_an_example_is_what_is_indented_by_three_blanks(tmp_path):
    path = tmp_path / "twice.h"
    path.write_text(HEADER.format(example="int four = Twice(2);"))
    lines = check_banners.banner(path)
    assert len(lines) == 8 and check_banners.example(lines) == [(4, "   int four = Twice(2);")]


def test_the_table_is_read(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("# words\n\na/ int n; struct S { int m;}; S s\na/b.h text\n")
    assert check_banners.read_names(path) == [("a/", ["int n", "struct S { int m;}", "S s"]), ("a/b.h", ["text"])]
    assert check_banners.is_variable("std::function<void(int)> f") and not check_banners.is_variable("void F(int)")


@pytest.mark.parametrize("example, said", [
    ("int four = Twice(2);", "2 passed, 0 failed"),
    ("int four = Thrice(2);", "twice.h:4:15: error: 'Thrice' was not declared"),
    ("int four = Twice(2, 3);", "error: too many arguments"),
    ("int four = Twice(n);", "error: 'n' was not declared"),
])
def test_an_example_that_is_no_true_code_fails(example, said, tmp_path, capsys):
    path = tmp_path / "twice.h"
    path.write_text(HEADER.format(example=example))
    assert check_banners.main([str(path)]) == (0 if said.endswith("0 failed") else 1)
    assert said in capsys.readouterr().out


def test_a_label_begins_its_line():
    lines = [(2, " Twice: doubles. Threads: any. Errors: none."), (3, "   f();  // Threads. Threads: one."), (4, " Errors: none; Ownership: none.")]
    assert check_banners.labels_behind("twice.h", lines) == [
        "twice.h:2: 'Threads:' does not begin its line", "twice.h:2: 'Errors:' does not begin its line",
        "twice.h:4: 'Ownership:' does not begin its line"]
    assert check_banners.labels_behind("twice.h", [(2, " Ownership: none."), (3, " Threads: any; errors go to the caller.")]) == []


LABELS = ("Ownership: a value.", "Threads: any.", "Errors: none.")
FUNCTION = "inline int Twice(int n) { return 2 * n; }"


def complaints(tmp_path, *, labels=LABELS, code=FUNCTION, name="twice.h"):
    path = tmp_path / name
    said = [f"// {line}" for line in labels]
    path.write_text("\n".join(["// SPDX-License-Identifier: Apache-2.0", "// Twice: doubles.", *said, "#pragma once", code]))
    return [line.partition(":")[2] for line in check_banners.labels(str(path), check_banners.banner(path))]


def test_labels_that_are_there_are_fine(tmp_path):
    assert complaints(tmp_path) == []
    assert complaints(tmp_path, labels=("Ownership:", "a value.", *LABELS[1:], "Ordering: none.")) == []


@pytest.mark.parametrize("label", ["Ownership", "Threads", "Errors"])
def test_a_label_that_is_missing_fails(label, tmp_path):
    labels = [line for line in LABELS if not line.startswith(label)]
    assert complaints(tmp_path, labels=labels) == [f"1: no line '{label}:' in the leading comment"]


@pytest.mark.parametrize("labels, said", [
    (("Ownership: a value.", "Threads, errors: as Once."), ["1: no line 'Threads:'", "1: no line 'Errors:'"]),
    (("Twice. Ownership: a value.", *LABELS[1:]), ["1: no line 'Ownership:'"]),
    (("  Ownership: a value.", *LABELS[1:]), ["1: no line 'Ownership:'"]),
    (("Ownership:", *LABELS[1:]), ["3: 'Ownership:' says nothing"]),
    ((*LABELS[:2], "Errors:"), ["5: 'Errors:' says nothing"]),
    ((*LABELS, "Threads: one."), ["6: a second 'Threads:'"]),
])
def test_a_label_has_a_line_of_its_own_and_says_something(labels, said, tmp_path):
    found = complaints(tmp_path, labels=labels)
    assert len(found) == len(said) and all(line.startswith(start) for line, start in zip(found, said))


@pytest.mark.parametrize("code", [
    "inline constexpr int kMost = int{1} << (3 + 1);",
    "#define TWICE(n) \\\n  ((n) + (n))\nstatic_assert(TWICE(1) == 2);",
    "enum class Kind : int { kOne };  // of a class (or struct) {",
    "template <class T>\nusing Twice = std::conditional_t<sizeof(T) == 1, short, int>;",
])
def test_constants_macros_and_types_owe_no_labels(code, tmp_path):
    assert complaints(tmp_path, labels=(), code=code) == []


@pytest.mark.parametrize("code", [
    FUNCTION,
    "struct Pair { int a = 0, b = 0; };",
    "class [[nodiscard]] Box {};",
    'class CAPABILITY("mutex") Mutex {};',
    "struct Outer::Inner : Base<int> {\n  int n;\n};",
    "using F = int (*)(int);",
    "extern \"C\" int Twice(int n);",
])
def test_functions_and_classes_owe_them(code, tmp_path):
    assert len(complaints(tmp_path, labels=(), code=code)) == 3


def test_headers_of_tests_owe_none(tmp_path):
    assert complaints(tmp_path, labels=(), name="test_twice.h") == []
    assert len(complaints(tmp_path, labels=(), name="twice_test.h")) == 3


@pytest.mark.parametrize("code", ["Status Twice(int* n);", "Result<std::vector<int>> Twice(int n);", "TW_EXPORT TwCode tw_twice(int n);"])
def test_no_errors_at_all_is_no_answer_where_a_status_comes_back(code, tmp_path):
    assert complaints(tmp_path, code=code)[0].startswith("5: 'Errors: none', but ")
    assert complaints(tmp_path, code=code, labels=(*LABELS[:2], "Errors: none of its own; those of Once.")) == []
    assert complaints(tmp_path, code=f"// {code}\n{FUNCTION}") == []


def test_a_header_in_c_has_them_too(tmp_path):
    path = tmp_path / "c_twice.h"
    text = "/* SPDX-License-Identifier: Apache-2.0\n * Twice.\n * Ownership: a value.\n * Threads: any.\n * Errors: none. */\nint twice(int n);\n"
    path.write_text(text)
    assert check_banners.banner(path) == []
    assert check_banners.labels(str(path), check_banners.block_banner(path)) == []
    assert check_banners.check([str(path)], [], set())[1:] == ([], 0, 1)
    path.write_text(text.replace(" * Threads: any.\n", ""))
    missing = [f"{path}:1: no line 'Threads:' in the leading comment"]
    assert check_banners.check([str(path)], [], set())[1:] == (missing, 0, 0)


def test_every_header_of_the_tree_is_looked_at(monkeypatch, tmp_path, capsys):
    looked = []
    monkeypatch.setattr(check_banners, "labels", lambda path, lines: looked.append(path) or [f"{path}:1: seen"])
    monkeypatch.setattr(check_banners, "example", lambda lines: [])
    monkeypatch.setattr(check_banners, "read_names", lambda path: [])
    assert check_banners.main([]) == 1
    assert {"thalweg/api/c_api.h", "cli/npy.h", "python/src/core.h", "examples/cpp/model.h",
            "thalweg/devices/skeleton/skeleton_device.h"} <= set(looked)
    assert f"{len(looked)} failed" in capsys.readouterr().out

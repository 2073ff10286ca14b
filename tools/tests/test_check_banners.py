# SPDX-License-Identifier: Apache-2.0
"""The check of the examples in headers: what it reads, and that it fails."""
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
// Threads: any.
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
    assert len(lines) == 6 and check_banners.example(lines) == [(4, "   int four = Twice(2);")]


def test_the_table_is_read(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("# words\n\na/ int n; struct S { int m;}; S s\na/b.h text\n")
    assert check_banners.read_names(path) == [("a/", ["int n", "struct S { int m;}", "S s"]), ("a/b.h", ["text"])]
    assert check_banners.is_variable("std::function<void(int)> f") and not check_banners.is_variable("void F(int)")


@pytest.mark.parametrize("example, said", [
    ("int four = Twice(2);", "1 passed, 0 failed"),
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

# SPDX-License-Identifier: Apache-2.0
"""The check of documents finds links, labels and tests that are not there, and passes those that are."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import check_docs

PAPERS = "| **A3.2.2** | a statement | `Suite.Shows` |\n| **B3.4a** | another | not yet |\n| **A6** | tools | `test_a.py::test_one` |\n"
USERS = "| **A1** | pain | a thread | do | `Suite.Shows` |\n| **U1** | who | what |\n"
LABELS = {"papers": set(check_docs.rows(PAPERS)), "users": set(check_docs.rows(USERS))}


def test_rows_are_read():
    assert LABELS == {"papers": {"A3.2.2", "B3.4a", "A6"}, "users": {"A1", "U1"}}


@pytest.mark.parametrize("text", [
    "// as it says (papers A3.2.2, B3.4a and A6)",
    '"""Users A1: named."""',
    "// Dead tokens (B3.4a) are empty.",
    "TEST(Labels, A3_2_2_OnceForAll_B3_4a_Dead) {",
    "// whoever it is (A6)",
    "f(A7) + version 1.15, B4.so, page A4, 0xB3.4",  # no labels
])
def test_labels_pass(text):
    assert check_docs.check_labels("a.cc", text + "\n", LABELS) == []


@pytest.mark.parametrize("text, label", [
    ("// as it says (papers A3.2.2, A9.9)", "A9.9"),
    ("// papers A1", "papers A1"),           # a row of the other page
    ("// as users say (users A6)", "users A6"),
    ("// users A1 to A7", "A7"),
    ("// Dead tokens (B3.4b) are empty.", "B3.4b"),
    ("TEST(Labels, A3_2_3_Once) {", "A3.2.3"),
    ("TEST_F(Labels, A3_2_2_Once_B3_3d_More) {", "B3.3d"),
    ("// whoever it is (K4)", "K4"),
])
def test_labels_fail(text, label):
    [complaint] = {c.split(" is ")[0] for c in check_docs.check_labels("a.cc", "\n" + text + "\n", LABELS)}
    assert complaint.startswith("a.cc:2: ") and label in complaint


def test_named_tests_exist():
    have = {"Suite.Shows"}, {"test_a.py": {"test_one"}}
    assert check_docs.check_tests("docs/papers.md", PAPERS, *have) == []
    assert check_docs.check_tests("docs/users.md", USERS, *have) == []
    assert check_docs.check_tests("docs/papers.md", PAPERS, set(), have[1]) == ["docs/papers.md: there is no test Suite.Shows"]
    assert check_docs.check_tests("docs/papers.md", PAPERS, have[0], {}) == ["docs/papers.md: there is no test test_a.py::test_one"]
    assert len(check_docs.check_tests("docs/papers.md", "| **A1** | a statement | of course |\n", *have)) == 1


PAGE = "# A page\n\n```sh\n# no heading\n```\n\n## Locks, and `order`\n\n## Locks, and `order`\n"


@pytest.mark.parametrize("link", ["a.md", "../README.md", "a.md#locks-and-order", "a.md#locks-and-order-1", "https://x.org/y#z", "#here"])
def test_links_pass(link):
    read = {"docs/a.md": PAGE, "docs/b.md": "## Here\n", "README.md": ""}
    assert check_docs.check_links("docs/b.md", f"[text]({link})", read.__contains__, read.__getitem__) == []


@pytest.mark.parametrize("link", ["c.md", "a.md#no-heading", "#there", "../a.md"])
def test_links_fail(link):
    read = {"docs/a.md": PAGE, "docs/b.md": "## Here\n"}
    assert len(check_docs.check_links("docs/b.md", f"[text]({link})", read.__contains__, read.__getitem__)) == 1


def test_named_sources_exist():
    ends = {"thalweg/io/table.h", "io/table.h", "table.h", "thalweg/api/c_api.h", "api/c_api.h", "c_api.h", "tests/test_a.py", "test_a.py"}
    good = "`io/table.h`, `thalweg/c_api.h` as it is installed, `../tests/test_a.py`, `STEM_op.cc`, `a/b/...`"
    assert check_docs.check_files("docs/b.md", good, ends) == []
    assert check_docs.check_files("docs/b.md", "`io/chair.h` and `../test_c.py`", ends) == [
        "docs/b.md: there is no io/chair.h", "docs/b.md: there is no ../test_c.py"]

# SPDX-License-Identifier: Apache-2.0
"""tools/mutants.py tells a killed mutant from one that survives, a stale patch and a test that does not exist."""
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import mutants

PATCH = """diff --git a/answer.txt b/answer.txt
--- a/answer.txt
+++ b/answer.txt
@@ -1,1 +1,1 @@
-42
+41
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A tree of one file, with a `build` that does nothing and a `test` that looks at the file."""
    copy = tmp_path / "build" / "mutants" / "tree"
    copy.mkdir(parents=True)
    (copy / "answer.txt").write_text("42\n")
    (tmp_path / "tools" / "mutants").mkdir(parents=True)
    (tmp_path / "tools" / "mutants" / "wrong_answer.patch").write_text(PATCH)
    monkeypatch.setattr(mutants, "ROOT", str(tmp_path))
    monkeypatch.setattr(mutants, "COPY", str(copy))
    monkeypatch.setattr(mutants, "build", lambda target: None)
    monkeypatch.setattr(mutants, "copy_tree", lambda: None)
    tests = {"Answer": lambda text: text == "42\n", "Lax": lambda text: True, "Broken": lambda text: False}
    monkeypatch.setattr(mutants, "test", lambda target, name, seconds=0: tests[name]((copy / "answer.txt").read_text()) if name in tests
                        else None)
    return copy


@pytest.mark.parametrize("test_name, verdict", [
    ("Answer", None), ("Lax", "SURVIVED"), ("Broken", "does not pass without it"), ("NoSuch", "does not exist")])
def test_verdicts(tree, test_name, verdict):
    problem = mutants.try_mutant("wrong_answer", "answer_test", test_name, {})
    assert problem is None if verdict is None else verdict in problem
    assert (tree / "answer.txt").read_text() == "42\n"  # taken back


def test_goes_on_after_a_failure(tree, capsys):
    other = os.path.join(mutants.ROOT, "tools", "mutants", "other_answer.patch")
    with open(other, "w") as f:
        f.write(PATCH.replace("41", "40"))
    with open(os.path.join(mutants.ROOT, "tools", "mutants", "table.txt"), "w") as f:
        f.write("other_answer answer_test Lax\nwrong_answer answer_test Answer\nmissing answer_test Answer\n")
    assert mutants.main("") == 1
    out = capsys.readouterr().out
    assert "[1/2, 0 s, about 0 s left] other_answer: SURVIVED" in out and "wrong_answer: killed by Answer" in out
    assert "FAILED missing: is in only one of" in out and "FAILED other_answer: SURVIVED" in out
    assert out.endswith("1 passed, 2 failed\n")
    assert mutants.main("wrong") == 1  # a table that does not agree with the patches is never right


def test_stale_patch(tree):
    (tree / "answer.txt").write_text("43\n")
    assert "no longer applies" in mutants.try_mutant("wrong_answer", "answer_test", "Lax", {})


def test_every_planted_bug_still_has_its_place():
    """What no longer applies would be noticed by nobody until all of them are run, which takes an hour."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    patches = sorted(name for name in os.listdir(os.path.join(root, "tools", "mutants")) if name.endswith(".patch"))
    stale = [name for name in patches
             if subprocess.run(["git", "apply", "--check", f"tools/mutants/{name}"], cwd=root, capture_output=True).returncode]
    assert stale == []
    with open(os.path.join(root, "tools", "mutants", "table.txt"), encoding="utf-8") as table:
        assert patches == sorted(f"{line.split()[0]}.patch" for line in table if line.strip() and not line.startswith("#"))

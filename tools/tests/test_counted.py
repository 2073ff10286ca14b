# SPDX-License-Identifier: Apache-2.0
"""tools/counted.py reads the summaries of the test programs we use, and never turns a failure into a pass."""
import json
import os
import subprocess
import sys

import pytest

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOOLS)
import counted


@pytest.mark.parametrize("line, status, expected", [
    ("100% tests passed, 0 tests failed out of 7", 0, (7, 0)),
    ("71% tests passed, 2 tests failed out of 7", 8, (5, 2)),
    ("No tests were found!!!", 0, (0, 0)),
    ("[  PASSED  ] 12 tests.", 0, (12, 0)),
    ("=== 3 passed, 1 failed, 2 errors in 0.12s ===", 1, (3, 3)),
    ("12 passed, 2 skipped in 0.12s", 0, (12, 0)),
    ("no tests ran in 0.00s", 4, (0, 1)),
    ("5 deselected in 0.02s", 5, (0, 0)),
    ("2 passed, 1 failed", 1, (2, 1)),
    ("[  PASSED  ] 2 tests.\n1 error generated.", 0, (2, 0)),
    ("nothing of the kind", 0, (1, 0)),
    ("nothing of the kind", 1, (0, 1)),
    ("100% tests passed, 0 tests failed out of 7", 1, (7, 1)),
])
def test_reads_summary(line, status, expected):
    assert counted.read_counts(f"noise 9 passed\n{line}\n".splitlines(True), status) == expected


def test_googletest_failures():
    assert counted.read_counts(["[  PASSED  ] 2 tests.\n", "[  FAILED  ] 3 tests, listed below:\n"], 1) == (2, 3)


def run(tmp_path, *arguments):
    environment = dict(os.environ, THALWEG_COUNTS=str(tmp_path / "counts"))
    return subprocess.run([sys.executable, os.path.join(TOOLS, "counted.py"), *arguments], env=environment,
                          stdout=subprocess.PIPE, text=True)


def test_totals_and_exit_status(tmp_path):
    assert run(tmp_path, "--sum").returncode == 1  # nothing ran
    assert run(tmp_path, "a", "--", "echo", "3 passed, 0 failed").returncode == 0
    assert run(tmp_path, "--sum").stdout.endswith("3 passed, 0 failed\n")
    assert run(tmp_path, "b", "--", "false").returncode == 1
    total = run(tmp_path, "--sum")
    assert total.returncode == 1 and total.stdout.endswith("3 passed, 1 failed\n")
    assert [json.loads(line)["name"] for line in open(tmp_path / "counts")] == ["a", "b"]


def test_no_tests_at_all_is_a_failure(tmp_path):
    assert run(tmp_path, "a", "--", "echo", "No tests were found!!!").returncode == 1


def test_runs_again_where_the_leak_sanitizer_itself_broke_down(tmp_path):
    broken = "echo '[  PASSED  ] 4 tests.'; echo '==7==LeakSanitizer has encountered a fatal error.'; exit 23"
    once = f"if [ -e {tmp_path}/ran ]; then echo '[  PASSED  ] 4 tests.'; else touch {tmp_path}/ran; {broken}; fi"
    assert "\n== a: 4 passed, 0 failed, " in run(tmp_path, "a", "--", "sh", "-c", once).stdout
    always = run(tmp_path, "b", "--", "sh", "-c", broken)
    assert always.returncode == 0 and always.stdout.count("fatal error") == 5
    total = run(tmp_path, "--sum").stdout
    assert "not run  b (its leaks: LeakSanitizer broke down each time)\n" in total and total.endswith("\n8 passed, 0 failed, 1 not run\n")
    failure = run(tmp_path, "d", "--", "sh", "-c", "echo '[  FAILED  ] 1 test, listed below:'; " + broken)
    assert "\n== d: 4 passed, 1 failed, " in failure.stdout
    error = run(tmp_path, "e", "--", "sh", "-c", "echo '==6==ERROR: AddressSanitizer: heap-use-after-free on address 0x1'; " + broken)
    assert "\n== e: 4 passed, 1 failed, " in error.stdout and error.stdout.count("fatal error") == 1
    leak = run(tmp_path, "c", "--", "sh", "-c", "echo '==7==ERROR: LeakSanitizer: detected memory leaks'; exit 23")
    assert leak.returncode == 1 and leak.stdout.count("leaks") == 1


def test_a_failure_beside_tests_that_passed_has_its_reason_in_the_total(tmp_path):
    for name, script in (("a", "echo '==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1'; exit 1"), ("b", "exit 3"),
                         ("c", "exit 124"), ("d", "echo 'x.cc:3:4: runtime error: load of null pointer'; exit 1"),
                         ("e", "echo '[  FAILED  ] 2 tests, listed below:'; exit 1")):
        assert run(tmp_path, name, "--", "sh", "-c", "echo '[  PASSED  ] 4 tests.'; " + script).returncode == 1
    lines = run(tmp_path, "--sum").stdout.splitlines()
    assert [line.partition("failed  ")[2] for line in lines[:5]] == [
        "a (==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1)", "b (ended with status 3)", "c (ran past its time)",
        "d (x.cc:3:4: runtime error: load of null pointer)", "e"]

# SPDX-License-Identifier: Apache-2.0
"""tools/sanitize.sh and tools/fuzz.sh with a cmake and a ninja that are made up: what fails is counted, what had no time is named."""
import os
import shutil
import subprocess
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CMAKE = """#!/bin/sh
mkdir -p build/$2/bin
printf 'good\\nbad\\nbroken\\n' >build/$2/unit_tests.txt
"""
# Makes bin/TARGET, which passes unless it is called bad; `broken` does not build.
NINJA = """#!/bin/bash
[[ " $* " != *" -n "* ]] || exit 0
for target in "$@"; do
  [[ $target != broken* ]] || { echo "broken.cc:1: error"; exit 1; }
  case $target in
    bad*) printf '#!/bin/sh\\necho "[  PASSED  ] 1 test."; echo "[  FAILED  ] 1 test, listed below:"; exit 1\\n' ;;
    *_fuzz) printf '#!/bin/sh\\necho "$@" >>asked\\necho stat::number_of_executed_units: 9\\n' ;;
    *) printf '#!/bin/sh\\necho "[  PASSED  ] 2 tests."\\n' ;;
  esac >"$2/bin/$target"
  chmod +x "$2/bin/$target"
done
"""


@pytest.fixture
def tree(tmp_path):
    for name in ("sanitize.sh", "fuzz.sh", "build_progress.py", "build_times.py", "counted.py", "not_run.py"):
        (tmp_path / "tools").mkdir(exist_ok=True)
        shutil.copy(os.path.join(ROOT, "tools", name), tmp_path / "tools" / name)
    (tmp_path / "bin").mkdir()
    for name, text in (("cmake", CMAKE), ("ninja", NINJA)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    for name in ("good", "services"):
        (tmp_path / "tests" / "fuzz" / name).mkdir(parents=True)
    return tmp_path


def run(tree, *command, until=None):
    """(exit status, the last line of the totals, the output)"""
    environment = dict(os.environ, PATH=f"{tree}/bin:{os.environ['PATH']}", THALWEG_COUNTS=str(tree / "counts"))
    environment.pop("THALWEG_BUILD_UNTIL", None)
    if until is not None:
        environment["THALWEG_BUILD_UNTIL"] = str(int(time.time()) + until)
    (tree / "counts").unlink(missing_ok=True)
    p = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    total = subprocess.run(["python3", "tools/counted.py", "--sum"], cwd=tree, env=environment, stdout=subprocess.PIPE, text=True)
    return p.returncode, total.stdout.splitlines()[-1], p.stdout


def test_rooms_are_built_and_run(tree):
    assert run(tree, "tools/sanitize.sh", "asan", "good")[:2] == (0, "2 passed, 0 failed")
    status, total, output = run(tree, "tools/sanitize.sh", "asan", "bad", "good")
    assert (status, total) == (1, "3 passed, 1 failed") and "FAILED" in output


def test_a_room_that_does_not_build_is_no_success(tree):
    status, _, output = run(tree, "tools/sanitize.sh", "tsan", "broken")
    assert status == 1 and "broken.cc:1: error" in output


def test_rooms_without_time_are_not_run_and_no_failure(tree):
    assert run(tree, "tools/sanitize.sh", "asan", until=0)[:2] == (0, "0 passed, 0 failed, 3 not run")
    assert run(tree, "tools/sanitize.sh", "asan", "good", until=60)[:2] == (0, "2 passed, 0 failed")


def test_fuzzers_without_time_are_not_run_and_no_failure(tree):
    assert run(tree, "tools/fuzz.sh", "2", "parsers", "services", until=0)[:2] == (0, "0 passed, 0 failed, 2 not run")
    assert run(tree, "tools/fuzz.sh", "2", "parsers", until=60)[1] == "1 passed, 0 failed"


def test_fixed_inputs_are_the_same_each_time(tree):
    for name in ("b", "a"):
        (tree / "tests" / "fuzz" / "good" / name).write_text(name)
    for _ in range(2):
        assert run(tree, "tools/fuzz.sh", "fixed", "good")[:2] == (0, "1 passed, 0 failed")
        assert os.listdir(tree / "build" / "fuzz" / "fixed" / "good") == []
        (tree / "build" / "fuzz" / "corpus" / "good").mkdir(parents=True, exist_ok=True)
        for folder in ("corpus", "fixed"):  # what others have found, and what this one has
            (tree / "build" / "fuzz" / folder / "good" / "found").write_text("found")
    first, second = (tree / "asked").read_text().splitlines()
    assert first == second and "-seed=1 -runs=1002 " in first and "corpus" not in first
    assert (tree / "build" / "fuzz" / "good.inputs").read_text() == "tests/fuzz/good/a,tests/fuzz/good/b\n"
    assert run(tree, "tools/fuzz.sh", "1", "good")[1] == "1 passed, 0 failed"
    assert "-max_total_time=1 tests/fuzz/good" in (tree / "asked").read_text().splitlines()[-1]

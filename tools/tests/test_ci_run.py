# SPDX-License-Identifier: Apache-2.0
""".ci/run and ./dev check, with steps that are made up: nothing red is lost, and what had no time comes first the next time."""
import json
import os
import select
import shutil
import signal
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import ci_run
import not_run
import steps

STEPS = """# minutes limit when verb
1 1 always quick
1 1 always broken
1 1 rooms asan
1 1 whole fuzz 60 parsers
1 1 whole fuzz 60 services kernels
"""
# Each verb writes itself down; `broken` fails while there is a file of that name, rooms want time, `endless` waits to be ended.
DEV = """#!/usr/bin/env bash
echo "$*" >>"$VERBS"
counted() { python3 tools/counted.py "$@"; }
case $1 in
  setup) ;;
  quick) counted quick -- echo "3 passed, 0 failed" ;;
  broken) counted broken -- bash -c '! test -e broken' ;;
  asan)
    for room in $(python3 tools/not_run.py order asan base io ops); do
      if [[ $room = base || -z ${THALWEG_BUILD_UNTIL:-} ]]; then counted "asan $room" -- true; else counted "asan $room" --not-run; fi
    done ;;
  fuzz) counted "fuzz ${*: -1}" -- true ;;
  endless) timeout 2000 sleep 1000 & [[ ! -p $READY ]] || echo ready >"$READY"; sleep 1000 ;;
esac
"""


@pytest.fixture
def tree(tmp_path):
    """A checkout with this tree's tools and steps of its own."""
    checkout = tmp_path / "checkout"
    for folder, names in (("tools", ("steps.py", "not_run.py", "ci_run.py", "check.py", "counted.py")), (".ci", ("run",))):
        (checkout / folder).mkdir(parents=True)
        for name in names:
            shutil.copy(os.path.join(ROOT, folder, name), checkout / folder / name)
    (checkout / "tools" / "steps.txt").write_text(STEPS)
    (checkout / ".gitignore").write_text("/build/\n__pycache__/\n")
    (checkout / "dev").write_text(DEV)
    (checkout / "dev").chmod(0o755)
    git(checkout, "init", "-q", "-b", "main")
    commit(checkout)
    return checkout


def git(checkout, *arguments):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=checkout, check=True)


def commit(checkout):
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "more")


def environment(tree):
    return dict(os.environ, VERBS=str(tree.parent / "verbs"), READY=str(tree.parent / "ready"), PYTHONDONTWRITEBYTECODE="1")


def verbs(tree):
    path = tree.parent / "verbs"
    found = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def call(tree, *command):
    return subprocess.run(command, cwd=tree, env=environment(tree), stdout=subprocess.PIPE, text=True)


def check(tree, *arguments):
    p = call(tree, sys.executable, "tools/check.py", *arguments)
    return p.returncode, p.stdout.splitlines()[-1]


def test_the_last_line_counts_what_passed_failed_and_was_not_run(tree):
    (tree / "broken").write_text("")
    p = call(tree, ".ci/run")
    assert p.stdout.splitlines()[-1] == "6 passed, 2 failed, 2 not run" and p.returncode == 1  # a step counts beside its tests
    assert verbs(tree)[:3] == ["setup tests", "quick", "broken"]
    (tree / "broken").unlink()
    p = call(tree, ".ci/run")
    assert p.stdout.splitlines()[-1] == "7 passed, 0 failed, 2 not run" and p.returncode == 0


def test_what_was_not_run_comes_first_the_next_time(tree):
    call(tree, ".ci/run")
    assert sorted(not_run.left_out(tree / "build" / "not_run.txt")) == ["asan io", "asan ops"]
    verbs(tree)
    p = call(tree, sys.executable, "tools/not_run.py", "order", "asan", "base", "io", "ops")
    assert sorted(p.stdout.split()[:2]) == ["io", "ops"] and p.stdout.split()[2] == "base"
    call(tree, ".ci/run")
    assert verbs(tree)[3] == "asan"


def test_a_set_up_that_fails_is_a_failure(tree):
    (tree / "dev").write_text("#!/bin/sh\nexit 1\n")
    p = call(tree, ".ci/run")
    assert p.returncode == 1 and p.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_the_order_of_a_clean_clone_goes_round_with_the_commit():
    names = ["a", "b", "c"]
    firsts = {not_run.order(names, (), f"{n:08x}")[0] for n in range(3)}
    assert firsts == {"a", "b", "c"}
    assert not_run.order(names, ("c",), "00000001") == ["c", "b", "a"]
    optional = [steps.Step(1, 1, "rooms", command) for command in ("asan", "fuzz 60 parsers", "fuzz 60 services kernels")]
    for left, first in (("fuzz kernels", 2), ("fuzz table", 1), ("asan io", 0)):
        assert ci_run.arrange(optional, [left], "00000000")[0] == optional[first]


def test_what_fits_into_the_time_comes_before_what_does_not():
    tsan, machine = steps.Step(12, 40, "rooms", "tsan"), steps.Step(15, 40, "whole", "fuzz 60 kernels")
    parsers = steps.Step(4, 20, "whole", "fuzz 60")
    todo = [machine, tsan, parsers]
    assert [ci_run.choose(todo, left) for left in (20, 14, 5, 2, -1)] == [machine, tsan, parsers, tsan, tsan]
    assert ci_run.choose([machine, parsers], -1) == machine  # which is told that there is no time
    lint = steps.Step(2, 15, "always", "lint")
    assert ci_run.choose([lint, *todo], -1) == lint


def test_the_steps_are_verbs_of_dev():
    found = steps.read(os.path.join(ROOT, "tools", "steps.txt"))
    with open(os.path.join(ROOT, "tools", "dev_lib.sh")) as f:
        text = f.read()
    assert {"build", "lint", "test"} < {s.command for s in found if s.when == "always"}
    assert {s.command.split()[0] for s in found if s.when != "always"} == {"asan", "tsan", "fuzz"}  # nothing else may be left out
    assert all(f"dev_{s.command.split()[0]}()" in text for s in found)


def test_steps_that_are_no_steps_are_named(tmp_path):
    (tmp_path / "steps.txt").write_text("1 1 sometimes test\n")
    with pytest.raises(ValueError, match="sometimes"):
        steps.read(tmp_path / "steps.txt")


def test_check_runs_all_once_and_says_what_is_red(tree):
    (tree / "broken").write_text("")
    commit(tree)
    status, line = check(tree)
    assert status == 1 and line.endswith(": RED: broken: broken (1)"), line
    assert sorted(verbs(tree)) == sorted(s.command for s in steps.read(tree / "tools" / "steps.txt"))
    assert check(tree)[0] == 1 and verbs(tree) == ["broken"]  # what is green stays so
    assert check(tree, "status") == (1, line) and verbs(tree) == []
    (tree / "broken").unlink()
    commit(tree)
    status, line = check(tree)
    assert status == 0 and line.endswith(": all green, 9 tests in 5 steps"), line  # the rooms that .ci/run has no time for too
    assert verbs(tree)[0] == "broken"  # likeliest to fail: it did before
    assert check(tree) == (0, line) and verbs(tree) == []


def test_the_clone_is_clean_but_for_its_environments_and_nothing_else_is_cleaned(tree):
    check(tree)
    clone = tree / "build" / "check" / "tree"
    for folder in (tree, clone):
        for name in (".venvs", "build", "stray"):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "file").write_text("")
    git(tree, "commit", "-q", "--allow-empty", "-m", "next")
    check(tree)
    assert all((tree / name / "file").exists() for name in (".venvs", "build", "stray"))
    assert (clone / ".venvs" / "file").exists() and not (clone / "build").exists() and not (clone / "stray").exists()


def test_check_takes_the_commit_and_says_that_changes_are_not_in_it(tree):
    (tree / "broken").write_text("")
    p = call(tree, sys.executable, "tools/check.py")
    assert p.returncode == 0 and "not committed are NOT checked" in p.stdout


def test_a_clone_that_was_not_finished_is_made_anew(tree):
    (tree / "build" / "check" / "tree").mkdir(parents=True)  # a folder of this checkout, to git
    head = call(tree, "git", "rev-parse", "--abbrev-ref", "HEAD").stdout
    assert check(tree)[0] == 0 and (tree / "build" / "check" / "tree" / ".git").exists()
    assert call(tree, "git", "rev-parse", "--abbrev-ref", "HEAD").stdout == head == "main\n"


def test_a_check_that_is_stopped_goes_on_where_it_was(tree):
    (tree / "tools" / "steps.txt").write_text("1 1 always quick\n1 1 always endless\n")
    commit(tree)
    os.mkfifo(tree.parent / "ready")
    ready = os.open(tree.parent / "ready", os.O_RDONLY | os.O_NONBLOCK)
    p = subprocess.Popen([sys.executable, "tools/check.py"], cwd=tree, env=environment(tree), stdout=subprocess.PIPE, text=True)
    assert select.select([ready], [], [], 60)[0], "the step has not begun"
    os.close(ready)
    p.send_signal(signal.SIGTERM)
    out, _ = p.communicate(timeout=60)
    assert p.returncode == 1 and out.splitlines()[-1].endswith(": not yet run: endless")
    state = json.loads((tree / "build" / "check" / "state.json").read_text())
    assert list(state["steps"]) == ["quick"] and state["steps"]["quick"]["green"]


def test_a_step_that_takes_too_long_ends_with_all_that_it_started(tree):
    step = steps.Step(1, 0.05, "always", "endless")
    status, seconds = steps.run(step, tree, environment(tree))
    assert status == 124 and seconds < 30

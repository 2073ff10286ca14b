#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small bugs one by one and sees that the test which should notice each of them does.

    mutants.py [FILTER]     those whose name or target contains FILTER

tools/mutants/table.txt has a line for each tools/mutants/NAME.patch: `NAME TARGET TEST`. TARGET is a googletest program that is
built and run with the filter TEST; or a fuzzer, NAME_fuzz, which is to find the bug within TEST seconds, beginning with its
committed corpus; or `python`: then everything is built and TEST is what pytest runs. Mutants of one target follow each other,
which saves building; fuzzers, which have a build of their own, come last. The work is done on a copy of the tree in
build/mutants; the checkout is not touched. A mutant survives when its test passes; a patch that no longer applies, a test that
fails without the bug or matches nothing, and a build that fails, are failures too. One failure does not keep the others from
their turn: all are named again at the end. To make a patch, plant the bug, run `git diff -U1 > tools/mutants/NAME.patch`, and
take it back.
"""
import fcntl
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COPY = os.path.join(ROOT, "build", "mutants", "tree")
MOST_SECONDS = 600  # of a test without a bug
HANG = 60, 10  # with one, a test that takes longer than so many seconds and so many times what it took without has failed


def run(command, seconds=None, **options):
    """(exit status, output); status None when it took too long."""
    try:
        done = subprocess.run(command, cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=seconds, **options)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return None, ""


def copy_tree():
    """Brings the copy up to date; files that did not change keep their times, so that little is built again."""
    out = subprocess.run(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    listed = {path for path in out.split("\0") if os.path.isfile(os.path.join(ROOT, path))}
    for path in listed:
        source, target = os.path.join(ROOT, path), os.path.join(COPY, path)
        if os.path.exists(target) and open(source, "rb").read() == open(target, "rb").read():
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)
    for folder, folders, files in os.walk(COPY):
        if folder == COPY and "build" in folders:
            folders.remove("build")
        for path in (os.path.join(folder, file) for file in files):
            if os.path.relpath(path, COPY) not in listed:
                os.remove(path)  # it has left the checkout


def read_table(text):
    return [line.split(None, 2) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def build(target):
    preset = "fuzz" if target.endswith("_fuzz") else "release"
    status, output = run(["cmake", "--preset", preset])
    if status == 0:
        wanted = [] if target == "python" else ["--target", target]
        status, output = run(["cmake", "--build", "--preset", preset, "-j", str(os.cpu_count()), *wanted])
    return None if status == 0 else output[-2000:]


def test(target, name, seconds=MOST_SECONDS):
    """True: it passed; False: it failed or took longer; None: there is no such test."""
    if target == "python":
        environment = dict(os.environ, PYTHONPATH=os.path.join(COPY, "build/release/python"))
        python = os.path.join(ROOT, ".venv/bin/python")
        status, output = run([python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *name.split()], seconds,
                             env=environment)
        return None if status in (4, 5) else status == 0
    if target.endswith("_fuzz"):
        corpus = "tests/fuzz/" + target[:-len("_fuzz")]
        with tempfile.TemporaryDirectory() as new:  # what it learns must not help it the next time
            status, output = run([f"build/fuzz/bin/{target}", f"-max_total_time={name}", f"-artifact_prefix={new}/",
                                  "-timeout=10", new, corpus], seconds)
        return status == 0
    status, output = run([f"build/release/bin/{target}", f"--gtest_filter={name}"], seconds)
    if "Running 0 tests" in output:
        return None
    return status == 0


def try_sound(target, name, sound):
    """Whether the test passes without a bug; then `sound` remembers the seconds it took."""
    begun = time.monotonic()
    passed = test(target, name)
    if passed:
        sound[target, name] = time.monotonic() - begun
    return passed


def find_sound(target, names, sound):
    """One build for all tests of a target that pass without a bug; the others get their message from try_mutant."""
    if not build(target):
        for name in names:
            try_sound(target, name, sound)


def try_mutant(name, target, test_name, sound):
    """None when the mutant was killed, else what went wrong. `sound` remembers tests that pass without a bug."""
    if (target, test_name) not in sound:
        problem = build(target)
        if problem:
            return "the tree does not build without it:\n" + problem
        if not try_sound(target, test_name, sound):
            return f"its test {test_name} does not pass without it, or does not exist"
    patch = os.path.join(ROOT, "tools", "mutants", name + ".patch")
    # The copy lies inside another repository: without this git would take the paths to be that one's.
    apply = ["git", "apply", patch]
    outside = dict(os.environ, GIT_CEILING_DIRECTORIES=os.path.dirname(COPY))
    status, output = run(apply, env=outside)
    if status != 0:
        return "its patch no longer applies:\n" + output
    try:
        problem = build(target)
        if problem:
            return "it does not build:\n" + problem
        hang = max(HANG[0], HANG[1] * sound[target, test_name])
        return "SURVIVED: " + test_name + " passes" if test(target, test_name, hang) else None
    finally:
        run([*apply[:2], "-R", *apply[2:]], env=outside)


def try_all(rows):
    """{name: problem} of those that were not killed; says how far it is after each."""
    problems, sound, started, done = {}, {}, time.monotonic(), 0
    rows = sorted(rows, key=lambda row: (row[1].endswith("_fuzz"), row[1]))
    for target, group in itertools.groupby(rows, key=lambda row: row[1]):
        group = list(group)
        print(f"-- {target}: {len(group)} of {len(rows)}", flush=True)
        find_sound(target, sorted({row[2] for row in group}), sound)
        for name, target, test_name in group:
            begun = time.monotonic()
            problem = try_mutant(name, target, test_name, sound)
            done += 1
            now = time.monotonic()
            left = (now - started) / done * (len(rows) - done)
            by = f"{target} within {test_name} s" if target.endswith("_fuzz") else test_name
            print(f"[{done}/{len(rows)}, {now - started:.0f} s, about {left:.0f} s left] {name}: "
                  f"{problem or 'killed by ' + by} ({now - begun:.0f} s)", flush=True)
            if problem:
                problems[name] = problem
    return problems


def main(wanted):
    os.makedirs(COPY, exist_ok=True)
    os.environ.setdefault("CCACHE_BASEDIR", ROOT)
    os.environ.setdefault("CCACHE_NOHASHDIR", "1")
    lock = open(os.path.join(os.path.dirname(COPY), "lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # another run would take back what this one plants
    copy_tree()
    with open(os.path.join(ROOT, "tools", "mutants", "table.txt")) as f:
        table = read_table(f.read())
    patches = {p[:-len(".patch")] for p in os.listdir(os.path.join(ROOT, "tools", "mutants")) if p.endswith(".patch")}
    problems = {name: "is in only one of table.txt and *.patch" for name in sorted(patches ^ {row[0] for row in table})}
    rows = [row for row in table if (wanted in row[0] or wanted in row[1]) and row[0] in patches]
    problems |= try_all(rows)
    for name, problem in problems.items():
        print(f"FAILED {name}: {problem}")
    killed = sum(row[0] not in problems for row in rows)
    print(f"{killed} passed, {len(problems)} failed")
    return 1 if problems or not killed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))

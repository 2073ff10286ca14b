#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small bugs one by one and sees that the test which should notice each of them does.

    mutants.py [FILTER]     those whose name contains FILTER

tools/mutants/table.txt has a line for each tools/mutants/NAME.patch: `NAME TARGET TEST`. TARGET is a googletest program that is
built and run with the filter TEST; or a fuzzer, NAME_fuzz, which is to find the bug within TEST seconds; or `python`: then
everything is built and TEST is what pytest runs. Mutants of one target follow each other, which saves building. The work is done
on a copy of the tree in build/mutants; the checkout is not touched. A mutant survives when its test passes; a patch that no longer
applies, a test that fails without the bug or matches nothing, and a build that fails, are failures too. To make a patch, plant
the bug, run `git diff -U1 > tools/mutants/NAME.patch`, and take it back.
"""
import itertools
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COPY = os.path.join(ROOT, "build", "mutants", "tree")
MOST_SECONDS = 120  # a test that takes longer is taken to hang, which counts as a failure of that test


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
    listed = subprocess.run(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE,
                            text=True, check=True).stdout.split("\0")
    for path in filter(None, listed):
        source, target = os.path.join(ROOT, path), os.path.join(COPY, path)
        if not os.path.isfile(source):
            continue
        if os.path.exists(target) and open(source, "rb").read() == open(target, "rb").read():
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)


def read_table(text):
    return [line.split(None, 2) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def build(target):
    preset = "fuzz" if target.endswith("_fuzz") else "release"
    status, output = run(["cmake", "--preset", preset])
    if status == 0:
        wanted = [] if target == "python" else ["--target", target]
        status, output = run(["cmake", "--build", "--preset", preset, "-j", str(os.cpu_count()), *wanted])
    return None if status == 0 else output[-2000:]


def test(target, name):
    """True: it passed; False: it failed or hung; None: there is no such test."""
    if target == "python":
        environment = dict(os.environ, PYTHONPATH=os.path.join(COPY, "build/release/python"))
        python = os.path.join(ROOT, ".venv/bin/python")
        status, output = run([python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *name.split()], MOST_SECONDS,
                             env=environment)
        return None if status in (4, 5) else status == 0
    if target.endswith("_fuzz"):
        status, output = run([f"build/fuzz/bin/{target}", f"-max_total_time={name}", "-artifact_prefix=build/fuzz/",
                              "tests/fuzz/" + target[:-len("_fuzz")]], MOST_SECONDS)
        return status == 0
    status, output = run([f"build/release/bin/{target}", f"--gtest_filter={name}"], MOST_SECONDS)
    if "Running 0 tests" in output:
        return None
    return status == 0


def find_sound(target, names, sound):
    """One build for all tests of a target that pass without a bug; the others get their message from try_mutant."""
    if not build(target):
        sound |= {(target, name) for name in names if test(target, name)}


def try_mutant(name, target, test_name, sound):
    """None when the mutant was killed, else what went wrong. `sound` remembers tests that pass without a bug."""
    if (target, test_name) not in sound:
        problem = build(target)
        if problem:
            return "the tree does not build without it:\n" + problem
        if not test(target, test_name):
            return f"its test {test_name} does not pass without it, or does not exist"
        sound.add((target, test_name))
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
        return "SURVIVED: " + test_name + " passes" if test(target, test_name) else None
    finally:
        run([*apply[:2], "-R", *apply[2:]], env=outside)


def main(wanted):
    os.makedirs(COPY, exist_ok=True)
    os.environ.setdefault("CCACHE_BASEDIR", ROOT)
    os.environ.setdefault("CCACHE_NOHASHDIR", "1")
    copy_tree()
    with open(os.path.join(ROOT, "tools", "mutants", "table.txt")) as f:
        table = read_table(f.read())
    patches = {p[:-len(".patch")] for p in os.listdir(os.path.join(ROOT, "tools", "mutants")) if p.endswith(".patch")}
    killed, bad, sound = 0, 0, set()
    for name in sorted(patches ^ {row[0] for row in table}):
        print(f"{name}: is in only one of table.txt and *.patch")
        bad += 1
    rows = sorted((row for row in table if wanted in row[0] and row[0] in patches), key=lambda row: row[1])
    for target, group in itertools.groupby(rows, key=lambda row: row[1]):
        group = list(group)
        find_sound(target, sorted({row[2] for row in group}), sound)
        for name, target, test_name in group:
            problem = try_mutant(name, target, test_name, sound)
            print(f"{name}: {problem or 'killed by ' + test_name}", flush=True)
            killed, bad = killed + (problem is None), bad + (problem is not None)
    print(f"{killed} passed, {bad} failed")
    return 1 if bad or not killed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command, shows its output, and counts what passed and failed.

    counted.py NAME [--min N] -- COMMAND...   one line to $THALWEG_COUNTS; exit 1 on a failure or fewer than N tests (1)
    counted.py NAME --not-run                 a line that says that this was left out for want of time
    counted.py --sum                          totals of $THALWEG_COUNTS; exit 1 on any failure or an empty list

The counts are read from the summary that ctest, pytest, googletest or our own checks ("N passed, N failed") print. A command
that prints none is one test.

A run in which LeakSanitizer itself broke down says nothing of leaks: the command is then run again, up to five times in all. Where
it never held, the tests count, and the room as `not run`, too. A failure that no summary names has its reason in its line.
"""
import json
import os
import re
import subprocess
import sys
import time

# gcc 12's LeakSanitizer now and then reads the memory of a thread that is just ending, when the tests have passed already.
MOST_RUNS = 5
SANITIZER_BROKE = re.compile(r"==\d+==LeakSanitizer has encountered a fatal error")
CTEST_CHATTER = re.compile(r"\s*Start +\d+: |.* \.+ +Passed +[\d.]+ sec")  # one line a case, thousands of them


def read_counts(output, status):
    """(passed, failed) of the last summary in the output of a command that ended with this status."""
    passed, failed = None, 0
    for line in output:
        if line.startswith("No tests were found!!!"):  # ctest
            passed, failed = 0, 0
        elif m := re.search(r"tests passed, (\d+) tests? failed out of (\d+)", line):  # ctest
            passed, failed = int(m[2]) - int(m[1]), int(m[1])
        elif m := re.match(r"\[  PASSED  \] (\d+) test", line):  # googletest
            passed = int(m[1])
        elif m := re.match(r"\[  FAILED  \] (\d+) tests?, listed below", line):
            failed = int(m[1])
        elif re.match(r"(=+ |)(no tests ran|\d+ (passed|failed|skipped|deselected|errors?)( in |,|$))", line):  # pytest, ours; not clang's
            found = {word.rstrip("s"): int(n) for n, word in re.findall(r"(\d+) (passed|failed|errors?)", line)}
            passed, failed = found.get("passed", 0), found.get("failed", 0) + found.get("error", 0)
    if passed is None and failed == 0:
        return (1, 0) if status == 0 else (0, 1)
    nothing_selected = status == 5 and passed == 0  # pytest's way to say so
    if status != 0 and failed == 0 and not nothing_selected:
        failed = 1  # it says that all is well and yet did not end well
    return passed or 0, failed


def found_by_sanitizer(output):
    """What a sanitizer said first, or None."""
    return next((line.strip() for line in output if re.match(r"==\d+==(ERROR|WARNING)|.*runtime error: ", line)), None)


def reason(output, status):
    """Why a command failed whose tests say that all is well: what a sanitizer said first, or how it ended."""
    return found_by_sanitizer(output) or ("ran past its time" if status in (124, 137) else f"ended with status {status}")


def add(path, name, passed=0, failed=0, seconds=0.0, **more):
    """Writes a line of counts to the file of that path, where there is one."""
    if path:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "a") as f:
            f.write(json.dumps({"name": name, "passed": passed, "failed": failed, "seconds": round(seconds, 1), **more}) + "\n")


def run_once(command):
    """(exit status, lines of output) of a command, whose output is shown as it comes."""
    output = []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    for line in process.stdout:
        if not CTEST_CHATTER.match(line):
            sys.stdout.write(line)
            sys.stdout.flush()
        output.append(line)
    return process.wait(), output


def run(name, least, command):
    started = time.monotonic()
    for run in range(MOST_RUNS):
        status, output = run_once(command)
        broke = status and any(SANITIZER_BROKE.match(line) for line in output) and not found_by_sanitizer(output)
        if not broke:
            break
        print(f"{name}: LeakSanitizer broke down, run {run + 1} of {MOST_RUNS}", flush=True)
    passed, failed = read_counts(output, status)
    more = {}
    if failed and read_counts(output, 0)[1] == 0:
        if passed and broke:
            failed = 0
            add(os.environ.get("THALWEG_COUNTS"), name, not_run=1, why="its leaks: LeakSanitizer broke down each time")
        else:
            more["why"] = reason(output, status)
    if passed + failed < least:
        print(f"{name}: expected at least {least} tests, found {passed + failed}")
        failed += 1
    seconds = time.monotonic() - started
    print(f"== {name}: {passed} passed, {failed} failed, {seconds:.1f} s", flush=True)
    add(os.environ.get("THALWEG_COUNTS"), name, passed, failed, seconds, **more)
    return 1 if failed else 0


def rows_of(path):
    """The lines of a file of counts, none where there is no file."""
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [json.loads(line) for line in f]


def total(path):
    rows = rows_of(path)
    for r in rows:
        name = r["name"] + (f" ({r['why']})" if "why" in r else "")
        if r.get("not_run"):
            print(f"{'':10}  {'not run':>26}  {name}")
        else:
            print(f"{r['seconds']:8.1f} s  {r['passed']:6d} passed {r['failed']:4d} failed  {name}")
    passed, failed, left_out = (sum(r.get(key, 0) for r in rows) for key in ("passed", "failed", "not_run"))
    print(f"{passed} passed, {failed} failed" + (f", {left_out} not run" if left_out else ""))
    return 0 if passed and not failed else 1


def main(arguments):
    if arguments == ["--sum"]:
        return total(os.environ["THALWEG_COUNTS"])
    if len(arguments) == 2 and arguments[1] == "--not-run":
        add(os.environ.get("THALWEG_COUNTS"), arguments[0], not_run=1)
        print(f"== {arguments[0]}: not run, the time is over", flush=True)
        return 0
    if "--" not in arguments:
        print(__doc__, file=sys.stderr)
        return 2
    cut = arguments.index("--")
    head, command = arguments[:cut], arguments[cut + 1:]
    least = int(head[head.index("--min") + 1]) if "--min" in head else 1
    return run(head[0], least, command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What .ci/run does once there is a Python: the steps of tools/steps.txt, within an hour.

    ci_run.py STARTED SETUP_SECONDS     when .ci/run began, in seconds since 1970, and what the set-up took

Every step marked `always` runs whatever it takes. The others share what is left of the hour: those of which the last run left
something out come first, then they go round from commit to commit. A room or fuzzer for which the time is over counts as not run.
The last line is 'N passed, N failed', with ', N not run' behind it where there are such.
"""
import os
import shutil
import subprocess
import sys
import time

import counted
import not_run
import steps

ROOT = not_run.ROOT
MINUTES = float(os.environ.get("THALWEG_CI_MINUTES", 60))  # for all of it
RESERVE = 4  # minutes of these that tests may take which have been built when no more are begun


def arrange(all_steps, left_out, head):
    """The steps in the order of this run."""
    optional = [s for s in all_steps if s.when != "always"]
    named = {word for s in optional for word in s.command.split()[1:]}  # kernels and services: fuzzers that have a step of their own

    def lacks(step):
        verb, *words = step.command.split()
        return any(kind == verb and (name in words or name not in named) for kind, name in (line.split() for line in left_out))
    first = {s for s in optional if lacks(s)}
    return [s for s in all_steps if s.when == "always"] + not_run.order(optional, first, head)


def choose(todo, left):
    """The step that comes next when so many minutes are left: the first that fits, else the first of which a part may run."""
    fits = (s for s in todo if s.when == "always" or s.minutes <= left)
    return next(fits, None) or next((s for s in todo if s.when == "rooms"), todo[0])


def plan(all_steps, taken):
    """Lines of a table: the minutes that a step should take, and those that it took."""
    yield "minutes  took  step"
    for s in all_steps:
        took = f"{taken[s.command] / 60:4.1f}" if s.command in taken else "    "
        yield f"{s.minutes:7}  {took}  {s.command}{'' if s.when == 'always' else '  (as far as time goes)'}"


def room():
    """How full the disk is."""
    built = subprocess.run(["du", "-sm", "build"], cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.split()
    print(f"#### disk: {shutil.disk_usage(ROOT).free >> 20}M free, build/ has {built[0] if built else 0}M", flush=True)


def perform(step, deadline):
    """Runs a step; one that fails is counted, and the next one still runs."""
    environment = dict(os.environ)
    if step.when == "whole" and time.time() + step.minutes * 60 > deadline:
        deadline = time.time()
    if step.when != "always":
        environment["THALWEG_BUILD_UNTIL"] = str(int(deadline))
    print(f"#### ./dev {step.command}", flush=True)
    status, seconds = steps.run(step, ROOT, environment)
    print(f"#### ./dev {step.command}: status {status}, {seconds:.0f} s", flush=True)
    if status:
        counted.add(os.environ["THALWEG_COUNTS"], f"./dev {step.command}", failed=1, seconds=seconds)
    return status, seconds


def main(started, setup_seconds):
    counts = os.environ["THALWEG_COUNTS"]
    setup = steps.Step(3, 0, "always", "setup")
    todo = arrange(steps.read(os.path.join(ROOT, "tools", "steps.txt")), not_run.left_out(), not_run.commit())
    print("\n".join(plan([setup, *todo], {})), flush=True)
    room()
    taken = {"setup": float(setup_seconds)}
    deadline = float(started) + (MINUTES - RESERVE) * 60
    remaining = list(todo)
    while remaining:
        step = choose(remaining, (deadline - time.time()) / 60)
        remaining.remove(step)
        status, taken[step.command] = perform(step, deadline)
        verb = step.command.split()[0]
        if step.when != "always" and not status and verb not in [s.command.split()[0] for s in remaining]:
            room()
            shutil.rmtree(os.path.join(ROOT, "build", verb), ignore_errors=True)  # large, and nothing else needs it
    not_run.remember(r["name"] for r in counted.rows_of(counts) if r.get("not_run"))
    print("\n".join(plan([setup, *todo], taken)))
    print(f"took {(time.time() - float(started)) / 60:.1f} minutes")
    return counted.total(counts)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

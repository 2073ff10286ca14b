# SPDX-License-Identifier: Apache-2.0
"""Results, each row with each number of threads a file NAME_THREADS.json: written when it is measured, and not measured again."""
import datetime
import functools
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERATED = [":!benchmarks/results", ":!docs/speed.md", ":!docs/*.svg"]  # what comes of measuring is no change of what is measured


def git(*arguments):
    p = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return p.stdout.strip()


@functools.cache
def commit():
    """Of the tree when this began, which is what was built; with a plus where it had changes that were not committed."""
    return (git("rev-parse", "HEAD")[:12] or "unknown") + ("+" if git("status", "--porcelain", "--", ".", *GENERATED) else "")


def stamp(machine):
    """What every result says of itself: commit, machine, date."""
    return {"commit": commit(), "machine": machine, "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")}


def measured(result):
    """'7d40a6d 2026-11-23'; 'with 7d40a6d 2026-11-23' of a result that kept neither: the commit that brought it."""
    if "commit" in result:
        return f"{result['commit'][:7]}{'+' * result['commit'].endswith('+')} {result['date'][:10]}"
    return f"with {result['came_with'][:7]} {result['came_on'][:10]}" if "came_with" in result else "–"


def path_of(folder, name, threads):
    return os.path.join(folder, f"{name}_{threads}.json")


def write(path, results):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w") as f:
        json.dump(results, f, indent=1)
        f.write("\n")
    os.replace(path + ".new", path)  # whole, also when the run is stopped now


def is_there(path, machine, how):
    """Whether this row was measured at this commit, on this machine and in this way: options that decide what a figure means."""
    if not os.path.exists(path):
        return False
    with open(path) as f:
        rows = [r for r in json.load(f) if r["name"] != "calibrate"]
    return bool(rows) and all((r.get("commit"), r["machine"], r.get("how")) == (commit(), machine, how) for r in rows)

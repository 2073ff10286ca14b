#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All that .ci/run runs, on a clean clone of HEAD in build/check/tree: `./dev check [status]`.

    check.py            runs what is not green yet for this commit: what was red before first, then in the order of tools/steps.txt
    check.py status     says in one line what is red and what has not run

Every step runs whole: nothing is left out for want of time. It can be stopped (^C) and called again: the state is kept after each
step in build/check/state.json, by commit. The clone keeps its virtual environments from commit to commit, and nothing else.
Exit status: 0 all green, 1 not yet.
"""
import json
import os
import shutil
import signal
import subprocess
import sys

import counted
import steps

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "check")
TREE, STATE = os.path.join(FOLDER, "tree"), os.path.join(FOLDER, "state.json")


def git(*arguments, cwd=ROOT):
    return subprocess.run(["git", *arguments], cwd=cwd, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def git_in_tree(*arguments):
    """Names the clone: where there is none, git would find this checkout around it."""
    return git(f"--git-dir={TREE}/.git", f"--work-tree={TREE}", *arguments, cwd=TREE)


def load():
    """{"commit": of the last check, "cloned": whether the clone is there, "steps": {command: what `run` gave},
    "suspects": commands that were red for an earlier commit}"""
    if not os.path.exists(STATE):
        return {"commit": "", "steps": {}, "suspects": []}
    with open(STATE) as f:
        return json.load(f)


def save(state):
    with open(STATE + ".new", "w") as f:
        json.dump(state, f, indent=1)
    os.replace(STATE + ".new", STATE)  # whole, also when this is stopped now


def clone(commit):
    """Makes the clone anew at this commit."""
    if not os.path.exists(os.path.join(TREE, ".git", "HEAD")):
        shutil.rmtree(TREE, ignore_errors=True)
        git("clone", "-q", "--no-hardlinks", "--no-checkout", ROOT, TREE)
    git_in_tree("fetch", "-q", "origin")
    git_in_tree("fetch", "-q", "origin", "HEAD")
    git_in_tree("checkout", "-q", "--force", "--detach", commit)
    git_in_tree("clean", "-qxdff", "-e", "/.venv", "-e", "/.venvs")


def begun(state, commit):
    """The state of a check of this commit, of which no step has run yet."""
    red = [command for command, s in state["steps"].items() if not s["green"]]
    return {"commit": commit, "cloned": False, "steps": {}, "suspects": red + [c for c in state["suspects"] if c not in state["steps"]]}


def waiting(todo, state):
    """The steps that are not green: those that were red when they ran last come first."""
    suspects = [command for command, s in state["steps"].items() if not s["green"]] + state["suspects"]
    return sorted((s for s in todo if not state["steps"].get(s.command, {}).get("green")), key=lambda s: s.command not in suspects)


def run(step, counts):
    """What is kept of a step that has ended."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CCACHE_BASEDIR", "THALWEG_BUILD_UNTIL")}
    if os.path.exists(counts):
        os.remove(counts)
    print(f"#### ./dev {step.command}", flush=True)
    status, seconds = steps.run(step, TREE, dict(environment, THALWEG_COUNTS=counts))
    rows = counted.rows_of(counts)
    failed = [f"{r['name']} ({r['failed']})" for r in rows if r["failed"]]
    if status and not failed:
        failed = ["it took longer than its limit" if status == 124 else f"exit status {status}"]
    print(f"#### ./dev {step.command}: {'RED' if failed else 'green'}, {seconds:.0f} s", flush=True)
    return {"green": not failed, "failed": failed, "passed": sum(r["passed"] for r in rows), "seconds": round(seconds)}


def verdict(todo, state):
    """(one line, whether all is green)"""
    known = state["steps"]
    red = [f"{s.command}: {', '.join(known[s.command]['failed'])}" for s in todo if s.command in known and not known[s.command]["green"]]
    missing = [s.command for s in todo if s.command not in known]
    parts = [f"RED: {'; '.join(red)}"] if red else []
    parts += [f"not yet run: {', '.join(missing)}"] if missing else []
    passed = sum(s["passed"] for s in known.values())
    return f"check of {state['commit'][:10]}: {'. '.join(parts) or f'all green, {passed} tests in {len(todo)} steps'}", not parts


def go_on(state):
    """Runs what is not green yet."""
    if not (state["cloned"] and os.path.exists(TREE)):
        clone(state["commit"])
        state["cloned"] = True  # whole: it may be stopped half-way
        save(state)
    for step in waiting(steps.read(os.path.join(TREE, "tools", "steps.txt")), state):
        state["steps"][step.command] = run(step, os.path.join(FOLDER, "counts.jsonl"))
        save(state)


def main(only_status=False):
    commit, state = git("rev-parse", "HEAD"), load()
    if git("status", "--porcelain"):
        print("check: changes that are not committed are NOT checked", flush=True)
    if state["commit"] != commit:
        state = begun(state, commit)
    if not only_status:
        os.makedirs(FOLDER, exist_ok=True)
        save(state)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            go_on(state)
        except KeyboardInterrupt:
            print("check: stopped; ./dev check goes on from here")
    line, green = verdict(steps.read(os.path.join(ROOT, "tools", "steps.txt")), state)
    print(line)
    return 0 if green else 1


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["status"]):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(bool(sys.argv[1:])))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of .ci/run had no time for, and in which order the next one goes about it.

    not_run.py order KIND NAME...     the names, one a line, in the order in which this run should take them

build/not_run.txt has what the last run of this checkout left out, `KIND NAME` a line: that comes first. The rest begins at a place
that the commit decides, so that from commit to commit all have their turn even where every run begins with a fresh clone.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(ROOT, "build", "not_run.txt")


def left_out(path=PATH):
    """Lines `KIND NAME` of the last run."""
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return f.read().splitlines()


def remember(lines, path=PATH):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.writelines(line + "\n" for line in lines)


def commit(root=ROOT):
    p = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return p.stdout.strip() or "0"


def order(names, first, head):
    """The names: those in `first` before all others, each part from a place on that the commit `head` decides."""
    names = list(names)
    start = int(head[:8], 16) % max(1, len(names))
    turned = names[start:] + names[:start]
    return sorted(turned, key=lambda name: name not in first)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "order":
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    kind = sys.argv[2]
    first = {line.partition(" ")[2] for line in left_out() if line.partition(" ")[0] == kind}
    print("\n".join(order(sys.argv[3:], first, commit())))

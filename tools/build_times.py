#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a build went, by room and by output, from ninja's own log.

    build_times.py BUILD_FOLDER [WORST]

Seconds are those that each step took by the clock; on a machine that does nothing else they are processor time. What a
compiler cache answered counts as the little that it took: for cold figures set CCACHE_DISABLE=1 and begin with an empty folder.
"""
import collections
import os
import re
import sys


def read_log(path):
    """{output: seconds} of the last time that each step ran; a step with several outputs counts once."""
    seconds, counted = {}, {}
    with open(path) as f:
        for line in f:
            fields = line.rstrip("\n").split("\t")
            if line.startswith("#") or len(fields) != 5:
                continue
            begun, ended, _, output, command = fields
            if counted.get(command) not in (None, output):  # another output of the same step
                continue
            counted[command] = output
            seconds[output] = (int(ended) - int(begun)) / 1000
    return seconds


def room_of(output):
    """The room, family or folder that an output belongs to: thalweg/ops/math, tests of thalweg/io, linking ..."""
    target = re.match(r"(.*)/CMakeFiles/([^/]+)\.dir/", output)
    if target:
        return f"tests of {target[1]}" if target[2].endswith("_test") else target[1]
    if re.search(r"\.(so|a)(\.\d+)*$|^bin/", output):
        return "linking"
    return "generating"


def table(rows, total):
    return [f"{seconds:8.1f}  {100 * seconds / total:5.1f} %  {name}" for name, seconds in rows]


def report(seconds, worst):
    total = sum(seconds.values()) or 1.0
    rooms = collections.Counter()
    for output, taken in seconds.items():
        rooms[room_of(output)] += taken
    lines = [f"{len(seconds)} steps, {total / 60:.1f} minutes of them all", "", " seconds   share  room"]
    lines += table(rooms.most_common(), total)
    lines += ["", f" seconds   share  the worst {worst}"]
    return "\n".join(lines + table(collections.Counter(seconds).most_common(worst), total))


def main(folder, worst=20):
    log = os.path.join(folder, ".ninja_log")
    if not os.path.exists(log):
        print(f"build_times: no build in {folder} (no {log})", file=sys.stderr)
        return 1
    print(report(read_log(log), int(worst)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a folder with ninja, and says how far it is.

    build_progress.py BUILD_FOLDER JOBS [TARGET ...]

On a terminal one line is written again and again, in a log one comes every 30 seconds at most: steps, share, minutes left. What
compilers say comes through as it is. How much each step weighs is read from the log of earlier builds in that folder; steps that it
does not know count like the mean of their kind. Exit status: ninja's.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

import build_times

MARK = "\x1f"  # stands before and behind the status of a step: no compiler prints it
STATUS = MARK + "%f %t" + MARK
EVERY = 30     # seconds between two lines of a log


def kind(output):
    """What makes an output: compilers .o, linkers .so, .a or a name without a dot ..."""
    return os.path.splitext(output)[1]


def weights(steps, recorded):
    """{step: seconds} of descriptions such as 'Building CXX object a/b.o': recorded, else the mean of the kind, else of all, else 1."""
    kinds = {}
    for output, taken in recorded.items():
        kinds.setdefault(kind(output), []).append(taken)
    mean = {name: sum(all_) / len(all_) for name, all_ in kinds.items()}
    other = sum(recorded.values()) / len(recorded) if recorded else 1.0
    found = {}
    for step in steps:
        words = step.replace(",", " ").split() or [""]
        taken = next((recorded[word] for word in words if word in recorded), mean.get(kind(words[-1]), other))
        found[step] = max(0.01, taken)
    return found


def duration(seconds):
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Progress:
    """What is done of the steps that a build will take, by weight."""

    def __init__(self, to_come):
        self.to_come, self.whole, self.done = dict(to_come), sum(to_come.values()), 0.0
        self.finished = self.steps = 0

    def finish(self, status, step):
        self.finished, self.steps = (int(n) for n in status.split())
        self.done += self.to_come.pop(step, 0.0)

    def line(self, elapsed):
        share = min(1.0, self.done / self.whole) if self.whole else self.finished / max(1, self.steps)
        left = f", {max(1, round(elapsed * (1 - share) / share / 60))} min left" if 0 < share < 1 and elapsed >= 10 else ""
        return f"{self.finished} of {self.steps} steps, {100 * share:.0f} %{left}"


class Display:
    """Where the lines go: `show` may be called as often as one likes."""

    def __init__(self, out, now=time.monotonic):
        self.out, self.now, self.begun = out, now, now()
        self.last = self.begun
        self.terminal, self.pending = out.isatty(), False

    def elapsed(self):
        return self.now() - self.begun

    def show(self, progress, step):
        line = progress.line(self.elapsed())
        if self.terminal:
            self.out.write("\r\x1b[K" + f"{line}: {step}"[:shutil.get_terminal_size().columns - 1])
            self.pending = True
        elif self.now() - self.last >= EVERY:
            self.last = self.now()
            self.out.write(line + "\n")
        self.out.flush()

    def say(self, text):
        """A whole line, or what a compiler printed."""
        if self.pending:
            self.out.write("\r\x1b[K")
            self.pending = False
        self.out.write(text)
        self.out.flush()


def follow(lines, progress, display):
    for line in lines:
        if line.startswith(MARK):
            _, status, step = line.rstrip("\n").split(MARK, 2)
            progress.finish(status, step)
            display.show(progress, step)
        elif not line.startswith(("ninja: Entering directory", "ninja: no work to do")):
            display.say(line)


def steps_to_come(folder, targets, environment):
    """Descriptions of what ninja would do now; none where it cannot say."""
    plan = os.path.join(folder, ".plan.ninja")  # build.ninja by another name: by its own, ninja would plan to make it anew, and no more
    if not os.path.lexists(plan):
        os.symlink("build.ninja", plan)
    p = subprocess.run(["ninja", "-C", folder, "-f", ".plan.ninja", "-n", *targets], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                       text=True, errors="replace", env=environment)
    return [line.split(MARK, 2)[2] for line in p.stdout.split("\n") if line.startswith(MARK)]


def main(folder, jobs, *targets):
    environment = dict(os.environ, NINJA_STATUS=STATUS)
    log = os.path.join(folder, ".ninja_log")
    recorded = build_times.read_log(log) if os.path.exists(log) else {}
    progress = Progress(weights(steps_to_come(folder, targets, environment), recorded))
    display = Display(sys.stdout)
    ninja = subprocess.Popen(["ninja", "-C", folder, "-j", jobs, *targets], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", env=environment)
    signal.signal(signal.SIGTERM, lambda *_: ninja.terminate())  # ninja ends its compilers, its output ends, and so does this
    signal.signal(signal.SIGINT, signal.SIG_IGN)                 # which a terminal sends to ninja as well
    follow(ninja.stdout, progress, display)
    status = ninja.wait()
    what = f"{folder} ({' '.join(targets) if targets else 'all'})"
    if status:
        display.say(f"{what}: NOT built, after {progress.finished} of {progress.steps} steps and {duration(display.elapsed())}\n")
        return status if status > 0 else 128 - status
    done = f"{progress.finished} steps in {duration(display.elapsed())}" if progress.finished else "nothing to do"
    display.say(f"{what}: built, {done}\n")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))

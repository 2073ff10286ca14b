# SPDX-License-Identifier: Apache-2.0
"""Differences that are meant: lines of known_differences.txt, each with a reason of the closed list."""
import collections
import fnmatch
import os

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known_differences.txt")
# The closed list. A line of the file says one of these and, behind a colon, what it is there.
REASONS = {
    "release": "the two releases differ: here it is as in 2.21",
    "unchecked": "TensorFlow does not look whether this size or number is one of the tensor's, and computes with memory that is not or leaves it out",
    "refuses": "TensorFlow refuses what has an answer",
    "no kernel": "TensorFlow names the operation or the type and has no kernel that works",
    "wrong": "TensorFlow's number is not the one that it promises",
    "cause": "both refuse it: of two causes each finds another one first",
    "unspecified": "nobody's promise: an output that is not computed, an order, memory, one of several ways to write the same",
    "unsupported": "not here, as the README of the family says",
}


def spelled_out(pattern):
    """The patterns that one with {a,b} stands for."""
    head, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    choices, _, tail = rest.partition("}")
    return [head + choice + end for choice in choices.split(",") for end in spelled_out(tail)]


class Known:
    """Lines as [cases, what, releases, reason]; which of their cases were met, and were seen to differ."""

    def __init__(self, file=FILE):
        with open(file, encoding="utf-8") as f:
            self.lines = [[part.strip() for part in line.split("|")] for line in f if line.strip() and not line.startswith("#")]
        for line in self.lines:
            if len(line) != 4 or line[3].partition(":")[0] not in REASONS:
                raise ValueError(f"{file}: expected cases | what | releases | reason: detail, with a reason of {', '.join(REASONS)}; got {' | '.join(line)}")
        self.rows = [[pattern, *rest] for line, *rest in self.lines for part in line.split() for pattern in spelled_out(part)]
        self.seen, self.met, self.counts = set(), set(), collections.Counter()

    def reason(self, release, key, what, why):
        """The reason, if this difference is known; marks it as seen."""
        for i, (pattern, kinds, releases, reason) in enumerate(self.rows):
            if release in releases.split() and what in kinds.split() and fnmatch.fnmatch(key, pattern):
                self.met.add(i)
                if why:
                    self.seen.add(i)
                    self.counts[reason.partition(":")[0]] += 1
                    return reason
        return None

    def passing(self):
        return [" | ".join(self.rows[i]) for i in sorted(self.met - self.seen) if "sometimes" not in self.rows[i][1].split()]

    def unmet(self, live):
        """Lines that name no case at all of these releases."""
        return [" | ".join(row) for i, row in enumerate(self.rows) if i not in self.met and "sometimes" not in row[1].split() and set(row[2].split()) & set(live)]

    def page(self):
        """The part of docs/conformance.md about what is left out."""
        lines = ["## Left out", "", "Each of these was seen to differ in the run that wrote this page; one that no longer does fails the run. The list of reasons is closed.", "",
                 "| reason | what it means | lines | comparisons |", "|---|---|---|---|"]
        of = collections.Counter(line[3].partition(":")[0] for line in self.lines)
        lines += [f"| {name} | {text} | {of[name]} | {self.counts[name]} |" for name, text in REASONS.items() if of[name]]
        lines += ["", "| cases | what | releases | reason |", "|---|---|---|---|"]
        return lines + [f"| `{row[0]}` | {row[1]} | {row[2]} | {row[3]} |" for row in self.lines]

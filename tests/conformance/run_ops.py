# SPDX-License-Identifier: Apache-2.0
"""Compares every generated case of operations with TensorFlow 2.21 and 1.15: run_ops.py [PATTERN ...]

A pattern, as `Conv2D/*` or `Conv2D/0/float32`, chooses cases; without one all are run and docs/conformance.md is written. Differences that
are meant are lines of known_differences.txt; each must still differ. What ends TensorFlow's own process is counted.
"""
import collections
import fnmatch
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import coverage_page
from compare import answers_differ, gradients_differ, shapes_differ
from engines import at_work, engines
from expansion import implemented, items, releases_of, spoiled
from known import Known
from recorded import Recorded
from shrink import smallest

STARTED = time.monotonic()
SHRUNK = 5  # failures that are made small


def say(text):
    print(f"[{time.monotonic() - STARTED:.0f} s] {text}", flush=True)


def verdicts(item, answers, release):
    """{what: why}: what of this case was compared, and why it differs, or None."""
    theirs, ours = answers[release].get(item.key), answers["thalweg"].get(item.key)
    if "crash" in ours[0]:
        return {"crash": f"our process {ours[0]['crash']}"}
    if theirs is None or "crash" in theirs[0] or "ours only" in item.case.options:
        return {}
    found = {"code" if "/bad/" in item.key else "values": answers_differ(item.case.op, theirs, ours, item.case.options)}
    if "/bad/" in item.key or "error" in theirs[0] or "error" in ours[0]:
        return found
    if item.derivatives and isinstance(theirs[0].get("gradients"), list):
        found["gradient"] = gradients_differ(item.case.op, theirs, ours)
    if release == "2.21" and "relaxed" in theirs[0]:
        actual = [o["shape"] for o in theirs[0]["outputs"]]
        found["shape"] = shapes_differ([theirs[0]["shapes"], *theirs[0]["relaxed"]], [ours[0]["shapes"], *ours[0]["relaxed"]], actual, item.case.options)
    return found


def build(chosen, runs):
    """The cases, with the operations of each; their requests are written for the engines that have them."""
    made, usual = [], set()
    for item in [*items(chosen), *spoiled(chosen)]:
        built = item.make()
        releases = item.releases or releases_of(item.case, item.types, built.ops)
        if not releases:
            continue
        relaxed = "/bad/" not in item.key and item.key.rpartition("/")[0] not in usual
        usual.add(item.key.rpartition("/")[0])
        header, blocks = built.request(item.key, item.derivatives, relaxed)
        for name in ("thalweg", *releases):
            if name in runs:
                runs[name].add(header, blocks)
        made.append((item._replace(releases=releases), built.ops))
    return made


def compared(made, runs, known):
    """(failures as (item, release, what, why), counts by release and what, coverage by operation)"""
    answers = {name: r.found for name, r in runs.items()}
    failures, counts, covered = [], collections.Counter(), coverage_page.Coverage()
    for item, ops in made:
        covered.run[item.case.op] |= "error" not in answers["thalweg"][item.key][0]
        for release in item.releases:
            if release not in runs:
                continue
            for what, why in verdicts(item, answers, release).items():
                reason = known.reason(release, item.key, what, why)
                if why and not reason:
                    failures.append((item, release, what, why))
                counts[release, what, "excluded" if why and reason else "different" if why else "same"] += 1
                covered.add(item, ops, release, what, why, reason)
    return failures, counts, covered


def report(failures):
    """One line for each failure; the first ones as their smallest form."""
    for n, (item, release, what, why) in enumerate(failures):
        print(f"FAILED {release} {item.key} {what}: {why}")
        print(f"REPRO: ./dev conformance '{item.key}'")
        if n < SHRUNK and what in ("values", "gradient"):
            print(f"smallest: {smallest(item, release, what, verdicts)}", flush=True)


def main(patterns):
    chosen = (lambda key: any(fnmatch.fnmatch(key, p) or key.startswith(p + "/") for p in patterns)) if patterns else None
    runs = engines(recorded=Recorded)
    made = build(chosen, runs)
    say(f"{len(made)} cases of operations, engines: {', '.join(runs)}")
    at_work(list(runs.values()), say)
    known = Known()
    failures, counts, covered = compared(made, runs, known)
    report(failures)
    wrong = len(failures)
    for line in known.passing():
        wrong += 1
        print(f"FAILED unexpected pass: {line}")
    if chosen is None:
        for line in known.unmet([name for name, r in runs.items() if not isinstance(r, Recorded)]):
            wrong += 1
            print(f"FAILED known difference of no case: {line}")
        missing = coverage_page.without_case(implemented(), covered)
        wrong += len(missing)
        for op in missing:
            print(f"FAILED an operation without a case: {op} (a case in tables/, or a reason in coverage_page.ELSEWHERE)")
        for op in coverage_page.always_refused(covered):
            wrong += 1
            print(f"FAILED an operation whose every case is refused: {op} (a valid case in tables/)")
        coverage_page.write(covered, runs, counts, known, missing)
    for release in [r for r in runs if r != "thalweg"]:
        parts = [f"{what} {counts[release, what, 'same']} same, {counts[release, what, 'excluded']} excluded, {counts[release, what, 'different']} different"
                 for what in ("values", "gradient", "shape", "code") if any(k[:2] == (release, what) for k in counts)]
        print(f"TensorFlow {release}: {'; '.join(parts)}; {len(runs[release].crashes)} cases end its process")
    if isinstance(runs["1.15"], Recorded):
        print(f"TensorFlow 1.15: no Python 3.7 here; {len(runs['1.15'].ids)} of its answers are compared as recorded, one of an operation")
    say(f"{sum(n for k, n in counts.items() if k[2] != 'different')} passed, {wrong} failed")
    print(f"{sum(n for k, n in counts.items() if k[2] != 'different')} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

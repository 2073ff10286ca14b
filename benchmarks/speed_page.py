# SPDX-License-Identifier: Apache-2.0
"""Writes docs/speed.md from measured tables.

    ./dev bench mlp --peers --threads 1,2 --folder benchmarks/results
    ./dev bench mlp --profile --threads 1 --json benchmarks/results/profiles/mlp_1.json
    python benchmarks/speed_page.py [FILE] [--picture docs/roof.svg] [--fig7 docs/fig7.svg]     (pictures need matplotlib)
"""
import argparse
import collections
import glob
import json
import os
import statistics

import cluster_page
import results_folder
import sister
import step_profile
import verdict
from bench import show_seconds
from cluster_page import with_spread

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)

HEAD = f"""# Speed

Written by `benchmarks/speed_page.py` from `benchmarks/results/`; do not edit. To measure anew, on a machine that does nothing else:
`./dev bench --peers --folder benchmarks/results`, all rows in one command that can be stopped and called again, or
`./dev bench ROW --peers --threads 1,2 --folder benchmarks/results`.

Every figure is the median of five processes, ours and the peer's in turn. Beside a peer stand two figures, ours over the peer's, so
that below 1 we are ahead: the median of the paired ratios, in brackets from the least to the greatest pair, and the ratio of the
medians. They need not agree, so the verdict needs both.
{verdict.RULE}
`benchmarks/peers/workloads.md` says what each row computes, [accuracy.md](accuracy.md) how far the fast ways are from double precision.
"""
OLD = """
Rows with "with" in the last column were measured before 24 November 2026, when results did not keep their commit, their date and their
single pairs: their verdicts rest on the two figures alone. The commit is the one that brought the result into this repository, and the
date is its date: the code that was measured is no newer than that. Other work of the machine was stopped while a process measured, not
while it started.
"""


PROFILES = """
## Where the time goes

`./dev bench ROW --profile`: a step is what its kernels took in traced steps, what the engine takes for so many nodes, and what is left:
what tracing costs the kernels and what neither explains. *Roof* is what the machine's multiply-adds and copy would take for the same
work; behind each operation, its share of the kernels' time and how much of that the roof explains.

![Kernels of each row, and the same under the roof](roof.svg)

| row | threads | step | kernels | engine | left | roof | costliest operations | measured |
|---|---|---|---|---|---|---|---|---|"""

PROCESSOR = """
## Input pipelines, by processor time

User and system time of the process for a step, all its threads, median of the processes of each in turn: figures of machines that did
other work, where the time on the clock says little. They are no times to wait for, and stand beside no goal.
`python benchmarks/processor.py` measures them, `benchmarks/pipelines.py` says what the rows do. *Others* is TensorFlow 2.21 and, where it
says so, another variant of ours.

| row | threads | ours | others: time, ours / theirs | machine | measured |
|---|---|---|---|---|---|"""


SISTERS = """
## Sisters

Nothing is to be tuned to the sizes of a row: its *sister* is the same model with sizes that were drawn by chance, within ranges that
`benchmarks/peers/sizes.py` states, from the seed beside it. Both were measured in turn; *times* is the sister's ratio to its fastest peer
over the row's, and more than 1.15 is a ratio that was lost. Losses first. `./dev bench ROW --peers --sister` draws another.

| row | threads | seed | sizes of the sister | row | sister | times | machine | measured |
|---|---|---|---|---|---|---|---|---|"""


def sisters(results):
    for r in sorted(results, key=sister.change, reverse=True):
        cells = [f"{ratio:.2f} of {label}" for label, ratio in (sister.fastest(r), sister.fastest(r["sister"]))]
        yield (f"| {r['name']} | {r['threads']} | {r['sister']['seed']} | {sister.show_sizes(r)} | {' | '.join(cells)} | "
               f"{sister.judge(r)}: {sister.change(r):.2f} | {r['machine']} | {results_folder.measured(r)} |")


def load(folder=""):
    """What lies in a folder of results/; without one, the rows, with those of other machines below machines/NAME."""
    paths = glob.glob(os.path.join(HERE, "results", folder, "*.json"))
    if not folder:
        paths += glob.glob(os.path.join(HERE, "results", "machines", "*", "*.json"))
    results = []
    for path in sorted(paths):
        with open(path) as f:
            results += json.load(f)
    return results


def letters(results):
    """{machine: " A"} where there are several, {machine: ""} else: what tells rows of one from those of another."""
    machines = sorted({r["machine"] for r in results if r["name"] != "calibrate"})
    return {machine: f" {chr(ord('A') + i)}" if len(machines) > 1 else "" for i, machine in enumerate(machines)}


def roof(results, letter):
    """Median of all calibrations between the rows, by machine and instruction set level."""
    levels, when = {}, {}
    for r in results:
        if r["name"] == "calibrate":
            key = letter[r["machine"]], r["isa"]
            levels.setdefault(key, {}).setdefault(r["variant"], []).append(r["value"])
            when.setdefault(key, set()).add(results_folder.measured(r))
    for (machine, isa), found in sorted(levels.items(), key=lambda item: item[0][0]):
        low, high = min(found["fma"]), max(found["fma"])
        yield (f"| {isa}{machine} | {statistics.median(found['fma']):.0f} ({low:.0f} to {high:.0f}) | {statistics.median(found['copy']):.1f} "
               f"({min(found['copy']):.1f} to {max(found['copy']):.1f}) | {', '.join(sorted(when[machine, isa]))} |")


def peer_cell(result, label):
    return f"{label} {with_spread(result['peers'][label], result.get('peers_spread', {}).get(label))}: {verdict.show(verdict.of(result, label))}"


def rows(results, letter):
    for r in sorted((r for r in results if r["peers"]), key=lambda r: (r["name"], r["variant"], r["threads"])):
        peers = sorted(r["peers"], key=lambda label: r["peers"][label])
        name = r["name"] if r["variant"] in ("", "python") else f"{r['name']} {r['variant']}"
        yield (f"| {name} | {r['threads']} | {with_spread(r['value'], r.get('spread'))} | {verdict.against_all(r)} | "
               f"{'; '.join(peer_cell(r, label) for label in peers)} | {results_folder.measured(r)}{letter[r['machine']]} |")


def headline(results):
    """Counts that hold by either figure."""
    beside = [r for r in results if r["peers"]]
    found = collections.Counter(verdict.against_all(r) for r in beside)
    slow = [f"{r['name']} on {r['threads']} thread{'s' * (r['threads'] > 1)}" for r in beside
            if any(max(c.paired, c.of_medians) > 1.3 for c in (verdict.of(r, label) for label in r["peers"]))]
    return (f"{len(beside)} measurements. Beside the peer that is hardest to beat in each, {found['ahead']} are ahead, {found['even']} even, "
            f"{found['undecided']} undecided, {found['behind']} behind. More than 1.3 times as long as some peer, by one of the two figures at "
            f"least, takes {', '.join(slow) or 'none'}.")


def profiles(results, most=4):
    for r in sorted(results, key=lambda r: (r["workload"], r["threads"])):
        busy = sum(k["seconds"] for k in r["kernels"])
        ideal = {k["op"]: step_profile.ideal_seconds(k, r["roof"]) for k in r["kernels"]}
        cells = [f"{k['op']} {k['seconds'] / busy:.0%} ({ideal[k['op']] / k['seconds']:.0%})" for k in r["kernels"][:most]]
        times = [show_seconds(t) if t >= 0 else "-" + show_seconds(-t) for t in (r["median_s"], *r["derivation"], sum(ideal.values()))]
        yield f"| {r['workload']} | {r['threads']} | {' | '.join(times)} | {', '.join(cells)} | {results_folder.measured(r)} |"


def processor(results):
    for r in results:
        times = r["processor_s"]
        others = "; ".join(f"{'tensorflow-2.21' if name == 'tensorflow' else name} {show_seconds(t)}: {times['ours'] / t:.2f}"
                           for name, t in times.items() if name != "ours")
        yield (f"| {r['name']} | {r['threads']} | {show_seconds(times['ours'])} | {others} | {r['machine']} | "
               f"{results_folder.measured(r)} |")


def page(results, profiled=(), processor_times=(), drawn=()):
    cluster = [r for r in results if cluster_page.is_cluster(r)]
    results = [r for r in results if not cluster_page.is_cluster(r)]
    letter = letters(results)
    results = [r for r in results if r["machine"] in letter]  # not the roofs of machines that measured clusters alone
    yield HEAD
    if len(letter) == 1:
        yield f"Machine: {', '.join(letter)}.\n"
    else:
        yield "Machines, whose rows are not to be set beside each other's:\n"
        yield "\n".join(f"-{at}: {machine}" for machine, at in letter.items()) + "\n"
    yield "| level | multiply-adds of one thread, GFLOP/s | copy, GB/s | measured |\n|---|---|---|---|"
    yield from roof(results, letter)
    yield f"\n{headline(results)}\n"
    if any("commit" not in r for r in results if r["peers"]):
        yield OLD.lstrip("\n")
    yield "| row | threads | step | beside all peers | peers, fastest first: time, ours / theirs by pairs / by medians | measured |"
    yield "|---|---|---|---|---|---|"
    yield from rows(results, letter)
    drawn = [r for r in drawn if "sister" in r]
    if drawn:
        yield SISTERS
        yield from sisters(drawn)
    yield from cluster_page.section(cluster)
    if profiled:
        yield PROFILES
        yield from profiles(profiled)
    if processor_times:
        yield PROCESSOR
        yield from processor(processor_times)


def text():
    """The page of all that lies in results/."""
    return "\n".join(page(load(), load("profiles"), load("processor"), load("sisters"))) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=os.path.join(ROOT, "docs", "speed.md"), help="docs/speed.md without it")
    parser.add_argument("--picture", metavar="FILE", help="the kernels of every profiled row beside the roof")
    parser.add_argument("--fig7", metavar="FILE", help="step time against workers, of the rows fig7_*")
    chosen = parser.parse_args()
    with open(chosen.file, "w") as out:
        out.write(text())
    if chosen.picture:
        step_profile.plot(load("profiles"), lambda r: r["roof"], chosen.picture)
    if chosen.fig7:
        cluster_page.plot(load(), chosen.fig7)

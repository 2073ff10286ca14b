#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times workloads, beside the other engines on request: `./dev bench [NAME|GLOB ...] [--peers] [--json FILE]`.

    ./dev bench                          every row, ours alone
    ./dev bench noop_chain --peers       one row beside TensorFlow, PyTorch ...
    ./dev bench calibrate                the machine's own roof: FMA loop and copy at each instruction set level
    ./dev bench 'latency_*' --pairs 9 --threads 1,2 --plot bench.svg
    ./dev bench transformer --profile --plot roof.svg    the kernels of a step, each beside the machine's roof

    ./dev bench mlp --peers --sister     the row, and the same model with sizes drawn by chance: is the ratio kept?

    ./dev bench --peers                  all rows beside all peers, hours; stop it and call it again: what was measured at this
                                         commit on this machine stays (build/bench, or --folder FOLDER: a file for each row)

Names are those of benchmarks/peers/workloads.md. Every measurement is a fresh process that prints one JSON line, ours and the
peers' alike. The programs run in turn, A B A B, --pairs times; value is the median of their medians, spread the medians of
their 10th and 90th percentiles. Beside a peer stand the median of the paired ratios and the ratio of the medians; verdict.py says
when they agree.
"""
import argparse
import datetime
import fnmatch
import json
import math
import os
import platform
import statistics
import subprocess
import sys

import results_folder
import rows
import sister
import step_profile
import verdict

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


UNITS = {"amx_bf16": "AMX", "avx512_bf16": "AVX512_BF16", "avx512_vnni": "AVX512_VNNI"}  # the best first


def machine():
    """A line that tells machines apart, and the level of instructions. Processors of one name differ in what they have for products of few bits."""
    with open("/proc/cpuinfo") as f:
        info = f.read()
    model = next((l.split(":")[1].strip() for l in info.splitlines() if l.startswith("model name")), "unknown CPU")
    words = set(info.split())
    model += next((f" with {unit}" for flag, unit in UNITS.items() if flag in words), "")
    isa = next((name for name in ("avx512f", "avx2", "sse4_2") if name in words), "base")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    line = f"{model}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, Linux {platform.release()}"
    return line, {"avx512f": "avx512", "sse4_2": "sse4"}.get(isa, isa)


LONGEST = 900  # seconds of one program: a step of jpeg_resnet50 takes 10 to 30, and six are made


class Program:
    """One engine's program for one row: `run` keeps its result lines by name, or remembers why there are none. A program that measures
    several things at once names each line by its key "row"; else the last line counts, as the row that was asked for."""

    def __init__(self, label, command, row, variant, seed=None):
        self.label, self.row, self.results, self.trouble = label, row, [], None
        self.command = [*command, row, "--variant", variant, *(["--sister", str(seed)] if seed is not None else [])]

    def run(self, threads, seconds):
        if self.trouble:
            return
        command = [*self.command, "--threads", str(threads), "--seconds", str(seconds)]
        try:
            p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LONGEST, cwd=ROOT)
        except (OSError, subprocess.TimeoutExpired) as e:
            self.trouble = str(e).splitlines()[0][:100]
            return
        lines = [json.loads(l) for l in p.stdout.splitlines() if l.startswith("{")]
        if p.returncode or not lines:
            self.trouble = (p.stderr.strip().splitlines() or [f"exit status {p.returncode}"])[-1][:100]
        else:
            self.results.append({l.get("row", self.row): l for l in lines})

    def median(self, name, key="median_s"):
        return statistics.median(r[name][key] for r in self.results)

    def has(self, key):
        return all(key in line for r in self.results for line in r.values())


def python_of(peer):
    """That of all peers; where it was not set up and the peer is TensorFlow 2.21, that of the conformance tests."""
    found = [os.path.join(ROOT, ".venvs", name, "bin/python") for name in ("peers", "conformance")]
    return found[1] if peer.startswith("tensorflow-2.21") and not os.path.exists(found[0]) else found[0]


def programs_of(row, with_peers, seed=None):
    """Ours first, then the peers that the row admits and that are installed; `seed`: with the sizes of a sister."""
    ours = [Program(f"thalweg {label}".strip(), [a.format(root=ROOT) for a in command], row.name, variant, seed)
            for label, command, variant in row.ours]
    peers = []
    for label, script, variant in row.peers if with_peers else ():
        peers.append(Program(label, [python_of(label), os.path.join(HERE, "peers", script)], row.name, variant, seed))
    return ours, peers


def difference(ours, theirs):
    """How far first results, a list for each array, differ, as a part of the largest of ours in a list."""
    if [*map(len, ours)] != [*map(len, theirs)]:
        return math.inf
    parts = [0.]
    for a, b in zip(ours, theirs):
        found = [abs(x - y) for x, y in zip(a, b)]
        if any(found):  # NaN, too
            largest = max(map(abs, a))
            parts.append(max(found) / largest if largest and all(map(math.isfinite, [*found, largest])) else math.inf)
    return max(parts)


def compare_first(program, peer, agree):
    """A peer whose first results are not ours does other work: it gives no figure. Rows without `first` are not compared."""
    if program.trouble or peer.trouble or not (program.has("first") and peer.has("first")):
        return
    [ours], [theirs] = program.results[0].values(), peer.results[0].values()
    found = difference(ours["first"], theirs["first"])
    if found > agree:
        peer.trouble = f"its first results differ from ours by {found:.2g} of the largest beside them, {agree:g} is allowed"


def time_row(row, threads, options):
    """Runs all programs of a row in turn; one result for each of ours that ran."""
    ours, peers = programs_of(row, options.peers)
    run_in_turn([ours + peers], threads, options)
    return results_of(row, ours, peers, threads, options)


def time_sisters(row, threads, options):
    """Runs a row and its sister in turn: the results of both, the row's first program's alone; empty where one gave none."""
    both = [(ours[:1], peers) for ours, peers in (programs_of(row, True), programs_of(row, True, options.sister))]
    run_in_turn([ours + peers for ours, peers in both], threads, options)
    found = [results_of(row, ours, peers, threads, options) for ours, peers in both]
    return [sister.pair(*(r[0] for r in found), options.sister)] if all(r and r[0]["peers"] for r in found) else []


def run_in_turn(lists, threads, options):
    for _ in range(options.pairs):
        for programs in zip(*lists):
            for program in programs:
                program.run(threads, options.seconds)


def results_of(row, ours, peers, threads, options):
    for peer in peers:
        compare_first(ours[0], peer, row.agree)
    for program in ours + peers:
        if program.trouble:
            print(f"  {row.name}: {program.label}: no figure: {program.trouble}", flush=True)
    peers = [p for p in peers if not p.trouble]
    done = [p for p in ours if not p.trouble]
    return [dict(result_of(row, name, program, peers, threads, program is ours[0]), how=how(options))
            for program in done for name in program.results[0]]


def how(options):
    """The options that decide what a figure means."""
    return {"pairs": options.pairs, "seconds": options.seconds, "peers": options.peers,
            **({"sister": options.sister} if options.sister is not None else {})}


def result_of(row, name, ours, peers, threads, first):
    """What a program of ours measured under a name, beside the peers."""
    pairs = {p.label: [a[name]["median_s"] / b[name]["median_s"] for a, b in zip(ours.results, p.results)] for p in peers}
    line, isa = machine()
    result = {
        "name": name, "variant": ours.label.partition(" ")[2], "value": ours.median(name),
        "spread": [ours.median(name, "p10_s"), ours.median(name, "p90_s")], "unit": "s", "better": "lower", "threads": threads,
        "isa": isa, **results_folder.stamp(line),
        "command": " ".join(os.path.relpath(a, ROOT) if a.startswith(ROOT) else a for a in ours.command),
        "peers": {p.label: p.median(name) for p in peers},
        "peers_spread": {p.label: [p.median(name, "p10_s"), p.median(name, "p90_s")] for p in peers},
        "pairs": pairs, "ratios": {label: statistics.median(found) for label, found in pairs.items()}, "items": row.items}
    if row.goal and first:
        result["goal"] = row.goal
    for key in ("per_second", "waits"):  # waits: the part of the time that a step is without its input
        if ours.has(key):
            result[key] = {p.label: p.median(name, key) for p in [ours, *peers] if p.has(key)}
    return result


def show_seconds(s):
    unit, scale = next(x for x in (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)) if s * x[1] >= 1 or x[0] == "ns")
    return f"{s * scale:.3g} {unit}"


def print_result(r):
    each = f" = {show_seconds(r['value'] / r['items'])} each" if r["items"] > 1 else ""
    goal = f"   goal {show_seconds(r['goal'])}: {'met' if r['value'] <= r['goal'] else 'MISSED'}" if "goal" in r else ""
    waits = "".join(f"   {label} waits {part:.1%}" for label, part in r.get("waits", {}).items())
    print(f"{r['name']:18} {r['variant']:9} {r['threads']} threads  {show_seconds(r['value'])}"
          f" [{show_seconds(r['spread'][0])}..{show_seconds(r['spread'][1])}]{each}{goal}{waits}")
    for label, value in sorted(r["peers"].items(), key=lambda item: item[1]):
        print(f"{'':18} {'':9} {label:24} {show_seconds(value):>10}   ours / theirs {verdict.show(verdict.of(r, label))}")
    sys.stdout.flush()


def calibrate():
    """Rows of the roof, from the program that measures the inner loops."""
    program = os.path.join(ROOT, "build/release/bin/compute_benchmark")
    line, _ = machine()
    text = subprocess.run([program, "roof only"], stdout=subprocess.PIPE, text=True, check=True).stdout
    results = []
    for words in (l.replace(",", "").split() for l in text.splitlines() if " roof: " in l):
        for name, value, unit in (("fma", words[2], "GFLOP/s"), ("copy", words[5], "GB/s")):
            results.append({"name": "calibrate", "variant": name, "value": float(value), "spread": None, "unit": unit,
                            "better": "higher", "threads": 1, "isa": words[0], **results_folder.stamp(line),
                            "command": "build/release/bin/compute_benchmark 'roof only'", "peers": {}})
        print(f"calibrate          {words[0]:9} 1 thread   FMA {words[2]} GFLOP/s, copy {words[5]} GB/s", flush=True)
    return results


def plot(results, path):
    """Bars of ours / theirs, logarithmic: left of 1 is ahead."""
    import matplotlib
    matplotlib.use("svg" if path.endswith(".svg") else "agg")
    import matplotlib.pyplot as plt
    bars = [(f"{r['name']} {r['variant']} x{r['threads']} / {label}", ratio) for r in results
            for label, ratio in sorted(r.get("ratios", {}).items())]
    figure, axes = plt.subplots(figsize=(9, 1 + 0.25 * len(bars)), layout="constrained")
    axes.barh([b[0] for b in bars], [b[1] - 1 for b in bars], left=1, color=["#2a7" if b[1] < 1 else "#c53" for b in bars])
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel("our time / theirs; left of 1 is ahead")
    figure.savefig(path)


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help="exact names; a glob is taken only when it holds * or ?")
    p.add_argument("--peers", action="store_true")
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--plot", metavar="FILE", help="SVG or PNG of the ratios, of the roof with --profile")
    p.add_argument("--profile", action="store_true", help="trace our steps: time, work and share of the roof by operation")
    p.add_argument("--sister", type=int, nargs="?", metavar="SEED", const=-1,
                   help="measure each row's sister as well, whose sizes this seed draws (else the day: a run that was stopped goes on)")
    p.add_argument("--pairs", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1, help="of one measurement")
    p.add_argument("--threads", help="such as 1,2; else 2 for rows of several processes, 1 for others, 1 and 2 where all rows are measured")
    p.add_argument("--check", action="store_true", help="measure nothing: only say whether there are such rows and options")
    p.add_argument("--folder", metavar="FOLDER", help="keep each row there when it is measured, and pass over those that are there")
    options = p.parse_args(arguments)
    if options.sister is not None and (not options.peers or options.profile):
        p.error("--sister compares ratios to the peers: it needs --peers, and does not go with --profile")
    if options.sister == -1:
        options.sister = int(datetime.date.today().strftime("%Y%m%d"))
    one_file = options.json or options.plot or options.profile
    if options.folder and one_file:
        p.error("--folder keeps a file for each row: it does not go with --json, --plot or --profile")
    if options.peers and not options.names and not one_file:
        options.folder = options.folder or os.path.join(ROOT, "build", "bench", *(["sisters"] if options.sister is not None else []))
    return options


def threads_of(row, options):
    if options.threads:
        return [int(n) for n in options.threads.split(",")]
    return [2] if row.name.startswith(rows.PROCESSES) else [1] if options.names or not options.peers else [1, 2]


def choose(names):
    known = {row.name: row for row in rows.ROWS}
    chosen = []
    for name in names or known:
        hits = fnmatch.filter(known, name) if set(name) & set("*?[") else [name] if name in known else []
        if not hits and name != "calibrate":
            sys.exit(f"bench: no row '{name}'; there are: calibrate {' '.join(known)}")
        chosen += [known[hit] for hit in hits if known[hit] not in chosen]
    return chosen


def profile(chosen, options):
    """Traces one process of ours for each row and number of threads."""
    calibration, results = calibrate(), []
    _, isa = machine()

    def roof_of(result):
        return step_profile.roof_from(calibration, isa, result["threads"])

    def run(name, variant, threads):
        program = Program("thalweg", [sys.executable, os.path.join(HERE, "thalweg_.py")], name, variant)
        program.run(threads, options.seconds)
        if program.trouble:
            sys.exit(f"bench: {name}: {program.trouble}")
        return program.results[-1][name]
    chain = next(row for row in rows.ROWS if row.name == "noop_chain")
    engine = {"step": run("latency_noop", "", 1)["median_s"], "node": run(chain.name, "", 1)["median_s"] / chain.items}
    for row in chosen:
        for threads in threads_of(row, options):
            results.append(run(row.name, "profile", threads))
            step_profile.show(results[-1], roof_of(results[-1]))
    for result in results:
        step_profile.show_derivation(result, engine)
        result.update(results_folder.stamp(machine()[0]), derivation=step_profile.derivation(result, engine), roof=roof_of(result))
    if options.json:
        results_folder.write(options.json, results)
    if options.plot:
        step_profile.plot(results, roof_of, options.plot)
    return 0


def time_and_show(row, threads, options):
    if options.sister is not None:
        found = time_sisters(row, threads, options)
        for r in found:
            print_result(r)
            print_result(r["sister"])
            print(sister.show(r), flush=True)
        return found
    found = time_row(row, threads, options)
    for r in found:
        print_result(r)
    return found


def into_folder(chosen, options):
    """Measures what the folder does not have yet; each row lies between two calibrations of the machine."""
    todo = [(row, threads) for row in chosen for threads in threads_of(row, options)]
    silent = []
    for n, (row, threads) in enumerate(todo, 1):
        path = results_folder.path_of(options.folder, row.name, threads)
        if results_folder.is_there(path, machine()[0], how(options)):
            print(f"{n} of {len(todo)}: {row.name} x{threads} is there: {os.path.relpath(path)}", flush=True)
            continue
        print(f"{n} of {len(todo)}: {row.name} x{threads}", flush=True)
        before = calibrate()
        found = time_and_show(row, threads, options)
        if found:
            results_folder.write(path, [*before, *found, *calibrate()])
        else:
            silent.append(f"{row.name} x{threads}")
    print(f"{len(todo) - len(silent)} of {len(todo)} rows are in {options.folder}" + (f"; no figure: {', '.join(silent)}" if silent else ""))
    return 1 if silent else 0


def main(arguments):
    options = parse(arguments)
    if options.pairs < 5:
        sys.exit("bench: a figure needs at least 5 pairs")
    chosen = choose(options.names)
    if options.sister is not None:
        chosen = sister.those_with(chosen, options.names)
    if options.check:
        return 0
    print(machine()[0] + (f"; sisters by seed {options.sister}" if options.sister is not None else ""))
    if options.profile:
        return profile(chosen, options)
    if options.folder:
        return into_folder(chosen, options)
    results, silent = calibrate(), 0
    for row in chosen:
        for threads in threads_of(row, options):
            found = time_and_show(row, threads, options)
            silent += not found
            results += found
    if chosen:
        results += calibrate()
    if options.json:
        results_folder.write(options.json, results)
    if options.plot:
        plot(results, options.plot)
    return 1 if silent else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("bench: stopped; the rows that are in a folder stay there, and the same command goes on from them")

# SPDX-License-Identifier: Apache-2.0
"""The part of docs/speed.md about clusters, and its picture: rows channel_*, wire_* and fig7_* of benchmarks/results/."""
import statistics

import results_folder
import verdict
from bench import show_seconds

TF = "tensorflow-2.21"
ROWS = ("channel_", "wire_", "fig7_")
ORDER = ("4B", "4K", "1M", "100M", "1G")  # of channels
SHAPES = ("scalar", "dense_100M", "sparse_1G", "sparse_16G")

HEAD = """
## Clusters

All on one machine, over loopback, on two cores: nothing here says what a network does. *Goal* is what we set out to reach; one that
is missed says so. In the last column, "with" is explained above.
"""

CHANNELS = """
### A tensor to another process

There and a word back, every byte read by the receiver. The channel of two processes of one host is `shm` where the tensor was made in shared
memory, as the engine does, and `shm_copy` where it was not; `raw` are blocking sockets without a channel.
"""

WIRE = """
### Steps over a cluster, every server and client a process

`null` reads variables on a parameter server and sends an update of the same size back, `gather` reads 32 rows, `read` fetches all and
reads every byte (1 GB a goal of 6 GB/s), by TCP with the channels between hosts; `benchmarks/wire.py` has the rest. TensorFlow's
protocol is spoken where either end is TensorFlow's. Ours beside TensorFlow with itself is by pairs and by medians; in brackets behind
the mixed pairs stands the ratio of the medians, theirs over that of TensorFlow with itself.

| row | ours | goal | TensorFlow 2.21 with itself | ours / theirs | TensorFlow's client, our servers | our client, TensorFlow's servers | measured |
|---|---|---|---|---|---|---|---|"""

OLD_READ = """
† Measured by an old method, in which a step took one element of each variable that it had fetched, of memory that nobody had written:
this says what handing a tensor over costs, and not what reading it does. It meets no goal."""

FIG7 = """
### Steps that fetch from 16 parameter servers

The shapes of Fig. 7 of the OSDI paper, whose figures are of 16 machines and a network: only the two systems here may be compared. All
servers of a job are in one process, in both systems: 16 `ps` in one, the workers and their clients, a thread each, in the other. Step
time of all workers together, median and 10th to 90th percentile; steps a second of all together. `dense_100M` reads every byte that
it fetches; `sparse` fetches 32 rows of 64 floats that were written before. Nothing is sent back.

![Step time against workers](fig7.svg)

| shape | workers | ours | steps/s | TensorFlow 2.21 | steps/s | ours / theirs | measured |
|---|---|---|---|---|---|---|---|"""


def is_cluster(result):
    return result["name"].startswith(ROWS)


def read_in_part(result):
    """Results of wire_read_* that do not know their commit are of a time when a step did not read what it fetched."""
    return result["name"].startswith("wire_read_") and "commit" not in result


def goal_cell(result):
    if "goal" not in result:
        return ""
    if read_in_part(result):
        return f"{show_seconds(result['goal'])}: not measured †"
    return f"{show_seconds(result['goal'])}: {'met' if result['value'] <= result['goal'] else '**missed**'}"


def channels(results):
    names = {r["name"] for r in results}
    variants = list(dict.fromkeys(r["variant"] for r in results))
    yield f"| bytes | {' | '.join(variants)} | goal of {variants[0]} | measured |"
    yield "|---" * (len(variants) + 3) + "|"
    for size in (s for s in ORDER if f"channel_{s}" in names):
        found = {r["variant"]: r for r in results if r["name"] == f"channel_{size}"}
        cells = [show_seconds(found[v]["value"]) if v in found else "" for v in variants]
        yield f"| {size} | {' | '.join(cells)} | {goal_cell(found[variants[0]])} | {results_folder.measured(found[variants[0]])} |"


def wire(results):
    for r in (r for r in results if r["peers"]):
        theirs = r["peers"][TF]
        mixed = [r["peers"].get(label) for label in (f"{TF} client, our servers", f"our client, {TF} servers")]
        cells = [f"{show_seconds(m)} ({m / theirs:.2f})" if m else "" for m in mixed]
        name = r["name"][5:] + (" by TCP" if r["variant"] == "tcp" else "") + (" †" if read_in_part(r) else "")
        yield (f"| {name} | {with_spread(r['value'], r['spread'])} | {goal_cell(r)} | {with_spread(theirs, r['peers_spread'].get(TF))} | "
               f"{'†' if read_in_part(r) else verdict.show(verdict.of(r, TF), 3)} | {' | '.join(cells)} | {results_folder.measured(r)} |")
    if any(map(read_in_part, results)):
        yield OLD_READ


def with_spread(value, spread):
    """A time and, where they were kept, its 10th and 90th percentiles."""
    return show_seconds(value) + (f" [{show_seconds(spread[0])} to {show_seconds(spread[1])}]" if spread else "")


def curves(results):
    """{shape: results by number of workers, rising}."""
    split = [(r["name"].removeprefix("fig7_").rpartition("_"), r) for r in results]
    return {shape: sorted(((int(n), r) for (s, _, n), r in split if s == shape), key=lambda pair: pair[0]) for shape in SHAPES}


def fig7(results):
    found = curves(results)
    for shape, points in found.items():
        for workers, r in points:
            theirs = f"{with_spread(r['peers'][TF], r['peers_spread'][TF])} | {r['per_second'][TF]:.0f} | {verdict.show(verdict.of(r, TF), 3)}" \
                if r["peers"] else " | | "
            yield (f"| {shape} | {workers} | {with_spread(r['value'], r['spread'])} | {r['per_second'].get('thalweg python', 0):.0f}"
                   f" | {theirs} | {results_folder.measured(r)} |")
    beside = [r for r in results if r["peers"]]
    lost = [f"{r['name'][5:]} ({verdict.of(r, TF).verdict})" for r in beside if verdict.of(r, TF).verdict != "ahead"]
    yield f"\nOf {len(beside)} measurements, {len(lost)} are not ahead of TensorFlow{': ' + ', '.join(lost) if lost else ''}."
    pairs = [(small, large) for (n, small), (m, large) in zip(found["sparse_1G"], found["sparse_16G"])]
    if pairs:
        ours = [large["value"] / small["value"] for small, large in pairs]
        theirs = [large["peers"][TF] / small["peers"][TF] for small, large in pairs if small["peers"] and large["peers"]]
        yield (f"A sparse step of 16 GB takes {statistics.median(ours):.2f} times one of 1 GB in the median of the numbers of workers"
               f" ({min(ours):.2f} to {max(ours):.2f}); TensorFlow's {statistics.median(theirs):.2f}"
               f" ({min(theirs):.2f} to {max(theirs):.2f}).")


def section(results):
    if results:
        yield HEAD.rstrip("\n")
        yield f"\nMachine: {'; '.join(sorted({r['machine'] for r in results}))}."
    for head, kind, part in ((CHANNELS, "channel_", channels), (WIRE, "wire_", wire), (FIG7, "fig7_", fig7)):
        chosen = [r for r in results if r["name"].startswith(kind)]
        if chosen:
            yield head
            yield from part(chosen)


def plot(results, path):
    """A picture for each shape: step time against workers, both systems, with the 10th to 90th percentiles."""
    import matplotlib
    matplotlib.use("svg" if path.endswith(".svg") else "agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fig7"})  # small, and the same for the same figures
    found = {shape: points for shape, points in curves([r for r in results if r["name"].startswith("fig7_")]).items() if points}
    figure, pictures = plt.subplots(1, len(found), figsize=(14, 3.8), layout="constrained", sharey=True)
    for axes, (shape, points) in zip(pictures, found.items()):
        workers = [n for n, _ in points]
        for label, color, of in (("Thalweg", "#2a7f62", lambda r: (r["value"], *r["spread"])),
                                  ("TensorFlow 2.21", "#c0562f", lambda r: (r["peers"][TF], *r["peers_spread"][TF]))):
            median, low, high = zip(*(of(r) for _, r in points))
            axes.plot(workers, [m * 1e3 for m in median], "o-", color=color, label=label, markersize=4)
            axes.fill_between(workers, [x * 1e3 for x in low], [x * 1e3 for x in high], color=color, alpha=0.2, linewidth=0)
        axes.set(title=shape, xlabel="workers", xscale="log", yscale="log")
        axes.set_xticks(workers, [str(n) for n in workers])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    pictures[0].set_ylabel("ms a step")
    pictures[0].legend()
    figure.savefig(path)

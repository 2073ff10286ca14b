# SPDX-License-Identifier: Apache-2.0
"""Processor time of a step, ours and others' in turn: what can be compared on a machine that others use.

    python benchmarks/processor.py                    all rows, of which docs/speed.md has a table
    python benchmarks/processor.py data_jpeg data_jpeg_crop --threads 2
    python benchmarks/processor.py data_parse_queue --variants ,data,tensorflow

Rows are those of pipelines.py, and the training step that one of them feeds. Each row's medians go into a file of
benchmarks/results/processor/, of which speed_page.py makes a table.
Stopped and called again, it passes over what it has measured in this way, at this commit, on this machine.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import results_folder
from bench import ROOT, machine, python_of, show_seconds

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "results/processor")
# Without data_events, whose work is done by a process of its own.
ROWS = ("data_records", "data_parse", "data_parse_queue", "data_parse_upto", "data_lines", "data_jpeg", "data_jpeg_crop", "data_shuffle",
        "data_stages", "jpeg_resnet50")


def variants_of(row, asked):
    """Those that were asked for; else ours, TensorFlow, and for input by queues the equal dataset."""
    if asked is not None:
        return asked.split(",")
    return ["", "data", "tensorflow"] if row == "data_parse_queue" else ["", "tensorflow"]


def program_of(row, variant):
    if row == "jpeg_resnet50":
        return "peers/tf1.py" if variant == "tensorflow" else "thalweg_.py"
    return "pipelines.py"


def measure(row, variant, threads, seconds):
    """The processor time of one process's step, its own threads and the system's work for them."""
    python = python_of("tensorflow-2.21") if variant == "tensorflow" else sys.executable
    command = [python, os.path.join(HERE, program_of(row, variant)), row, "--threads", str(threads), "--seconds", str(seconds), "--variant", variant]
    environment = dict(os.environ) if variant == "tensorflow" else dict(os.environ, PYTHONPATH=os.path.join(ROOT, "build/release/python"))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])["cpu_s"]


def measure_row(row, variants, chosen, how):
    """The result of a row: processes of each variant, in turn."""
    times = {variant: [] for variant in variants}
    for _ in range(chosen.pairs):
        for variant, found in times.items():
            found.append(measure(row, variant, chosen.threads, chosen.seconds))
    return {"name": row, "threads": chosen.threads, "processor_s": {v or "ours": statistics.median(t) for v, t in times.items()},
            "all": {v or "ours": t for v, t in times.items()}, "how": how, **results_folder.stamp(machine()[0])}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=ROWS, help="all without any")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--variants", help="with a comma between them; ours is the empty one, and must be there")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--pairs", type=int, default=3, help="processes of each variant, in turn")
    parser.add_argument("--folder", default=FOLDER)
    chosen = parser.parse_args(arguments)
    for n, row in enumerate(chosen.rows, 1):
        variants = variants_of(row, chosen.variants)
        if "" not in variants:
            parser.error("--variants without ours, which the others stand beside")
        how = {"pairs": chosen.pairs, "seconds": chosen.seconds, "variants": variants}
        path = results_folder.path_of(chosen.folder, row, chosen.threads)
        if results_folder.is_there(path, machine()[0], how):
            print(f"{n} of {len(chosen.rows)}: {row} x{chosen.threads} is there: {os.path.relpath(path)}", flush=True)
            continue
        print(f"{n} of {len(chosen.rows)}: {row} x{chosen.threads}", flush=True)
        result = measure_row(row, variants, chosen, how)
        results_folder.write(path, [result])
        print("   ", {v: show_seconds(t) for v, t in result["processor_s"].items()}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""Processor time of a step, ours and TensorFlow's in turn: what can be compared on a machine that others use.

    python benchmarks/processor.py data_jpeg data_jpeg_crop --threads 2
    python benchmarks/processor.py data_parse_queue --variants ,data,tensorflow

Rows are those of pipelines.py. Each row's medians go into benchmarks/results/processor/, of which speed_page.py makes a table.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import results_folder
from bench import ROOT, machine, show_seconds

HERE = os.path.dirname(os.path.abspath(__file__))


def measure(row, variant, threads, seconds):
    """The processor time of one process's step, its own threads and the system's work for them."""
    python = os.path.join(ROOT, ".venvs/conformance/bin/python") if variant == "tensorflow" else sys.executable
    command = [python, os.path.join(HERE, "pipelines.py"), row, "--threads", str(threads), "--seconds", str(seconds), "--variant", variant]
    environment = dict(os.environ) if variant == "tensorflow" else dict(os.environ, PYTHONPATH=os.path.join(ROOT, "build/release/python"))
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])["cpu_s"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--variants", default=",tensorflow", help="with a comma between them")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--pairs", type=int, default=3, help="processes of each variant, in turn")
    chosen = parser.parse_args()
    for row in chosen.rows:
        times = {variant: [] for variant in chosen.variants.split(",")}
        for _ in range(chosen.pairs):
            for variant, found in times.items():
                found.append(measure(row, variant, chosen.threads, chosen.seconds))
        result = {"name": row, "threads": chosen.threads, "processor_s": {v or "ours": statistics.median(t) for v, t in times.items()},
                  "all": {v or "ours": t for v, t in times.items()}, **results_folder.stamp(machine()[0])}
        results_folder.write(results_folder.path_of(os.path.join(HERE, "results/processor"), row, chosen.threads), [result])
        print(row, {v: show_seconds(t) for v, t in result["processor_s"].items()}, flush=True)

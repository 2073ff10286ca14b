# SPDX-License-Identifier: Apache-2.0
"""A step whose processor others take, as `thalweg trace summary` tells it (users J1)."""
import json
import subprocess
import sys

_PROGRAM = """
import os, subprocess, sys
import numpy as np
import thalweg as tw

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
with tw.Graph().as_default():
    x = tw.placeholder(tw.float32, [1500, 1500], name="x")
    y = tw.reduce_sum(tw.matmul(tw.matmul(x, x, name="first"), x, name="second"))
    options = tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tw.Session(config=tw.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)) as session:
        feeds = {x: np.ones([1500, 1500], np.float32)}
        session.run(y, feeds)
        spins = [sys.executable, "-S", "-c", "print(flush=True)\\nwhile True: pass"]
        others = [subprocess.Popen(spins, stdout=subprocess.PIPE) for _ in range(int(sys.argv[2]))]
        for other in others:
            other.stdout.readline()
        try:
            metadata = tw.RunMetadata()
            session.run(y, feeds, options=options, run_metadata=metadata)
        finally:
            for other in others:
                other.kill()
                other.wait()
with open(sys.argv[1], "wb") as file:
    file.write(metadata.SerializeToString())
"""


def test_products_whose_processor_another_program_takes(tmp_path):
    path = tmp_path / "step.pb"
    subprocess.run([sys.executable, "-c", _PROGRAM, str(path), "2"], check=True, timeout=300)
    command = [sys.executable, "-m", "thalweg", "trace", "summary", "--json", str(path)]
    summary = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)
    found = [stall for stall in summary["stalls"] if stall["kind"] == "foreign load"]
    unknown = [note for note in summary["notes"] if "no processor is not known" in note]
    if unknown:  # the kernel tells none here: then that is said, with the reason, and nothing is blamed
        assert not found and all("perf_event_open" in note or "mmap" in note for note in unknown), summary
        return
    step = summary["steps"][summary["step"]]
    assert found and found[0]["node"] in ("first", "second"), summary["stalls"]
    # Two others have two thirds of the processor.
    assert found[0]["lost_nanos"] > 0.3 * step["time_nanos"], summary
    assert "other threads ran in their place" in found[0]["sentence"]

# SPDX-License-Identifier: Apache-2.0
"""Loops whose nodes are on tasks of Thalweg and of TensorFlow 1.15 or 2.21, under either kind of master: each release numbers
loop frames by a rule of its own (A4.4b, B3.4e)."""
import os
import subprocess

import pytest
from releases import need_1_15, their_environment
from tasks import PYTHONS, cluster_of

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loop_client.py")
CLUSTERS = ["ours ours ours", "ours old ours", "ours ours old", "ours new new", "old ours old", "old old ours", "new ours new", "new new ours"]


def run(kinds):
    """What a client of the master's release says, a line a loop."""
    if "old" in kinds:
        need_1_15()
    python = PYTHONS["old" if kinds.startswith("old") else "new"]
    with cluster_of(kinds.split()) as target:
        return subprocess.run([python, CLIENT, target], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=240, check=True,
                              env=their_environment()).stdout.split("\n")


@pytest.mark.parametrize("kinds", CLUSTERS)
def test_loops_span_tasks_of_both_kinds(kinds):
    assert run(kinds)[:3] == ["10 45.0", "4 83.0", "6 14.0"]


def test_a_loop_over_two_releases_of_tensorflow_is_refused():
    for line in run("ours old new")[:3]:
        assert line.startswith("12 "), line
        assert "/job:ps/replica:0/task:0 (TensorFlow 1.15)" in line or "/job:worker/replica:0/task:1 (TensorFlow 2)" in line
        assert "number loops differently" in line

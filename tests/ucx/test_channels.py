# SPDX-License-Identifier: Apache-2.0
"""Tasks that are told to use UCX, of a build that has it: ./dev ucx."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from two_tasks import check_a_killed_ps_is_noticed, check_steps, connections, two_tasks


@pytest.fixture(name="cluster")
def two_processes():
    with two_tasks("--channels", "ucx") as cluster:
        yield cluster


def test_tensors_go_over_ucx(cluster):
    check_steps(cluster.target)
    ours = connections(cluster, "ps")
    assert ours > 0
    check_steps(cluster.target)  # another session takes the same channel
    assert connections(cluster, "ps") == ours
    assert cluster.close() == ["", ""]


def test_a_killed_task_is_noticed_and_its_successor_connected(cluster):
    check_a_killed_ps_is_noticed(cluster)
    assert connections(cluster, "ps") > 0


@pytest.mark.parametrize("other", ["any", "calls"])
def test_who_uses_it_and_who_does_not_go_by_calls(cluster, other):
    cluster.kill("ps")
    cluster.options = ("--channels", other)
    cluster.start("ps")
    check_steps(cluster.target)
    assert connections(cluster, "ps") == connections(cluster, "worker") == 0
    said = cluster.kill("worker")
    assert ("UCX" in said and said.count("by calls") == 1) if other == "any" else said == ""

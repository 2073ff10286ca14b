# SPDX-License-Identifier: Apache-2.0
"""Tasks that are told to use UCX: in a build that has it (`./dev ucx`); any other refuses the option."""
import pytest
import thalweg as tf
from two_tasks import build, check_steps, connections, two_tasks


def why_not():
    try:
        tf.train.Server({"a": ["127.0.0.1:0"]}, channels="ucx")
    except tf.errors.UnimplementedError as error:
        return str(error)
    return ""


@pytest.fixture(name="cluster")
def two_processes():
    if why := why_not():
        pytest.skip(why)
    with two_tasks("--channels", "ucx") as cluster:
        yield cluster


def test_a_build_without_it_says_how_to_make_one_with_it():
    why = why_not()
    assert not why or "-DTHALWEG_UCX=ON" in why


def test_tensors_go_over_ucx(cluster):
    check_steps(cluster.target)
    ours = connections(cluster, "ps")
    assert ours > 0
    check_steps(cluster.target)  # another session takes the same channel
    assert connections(cluster, "ps") == ours
    assert cluster.close() == ["", ""]


def test_a_killed_task_is_noticed_and_its_successor_connected(cluster):
    with tf.Graph().as_default() as graph:
        v, update = build()
        with tf.Session(cluster.target, graph=graph) as s:
            s.run(v.initializer)
            s.run(update)
            cluster.kill("ps")
            with pytest.raises(tf.errors.UnavailableError, match="/job:ps"):
                s.run(update)
    cluster.start("ps")
    check_steps(cluster.target)
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

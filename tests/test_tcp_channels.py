# SPDX-License-Identifier: Apache-2.0
"""Tasks that have no shared memory and no unix sockets in common exchange tensors over TCP: here, because they are told to."""
import pytest
import thalweg as tf
from two_tasks import check_a_killed_ps_is_noticed, check_steps, connections, two_tasks


@pytest.fixture(name="cluster")
def two_processes():
    with two_tasks("--channels", "tcp") as cluster:
        yield cluster


def test_tensors_go_through_two_connections_of_their_own(cluster):
    check_steps(cluster.target)
    check_steps(cluster.target)  # another session takes the same ones
    assert connections(cluster, "ps") == connections(cluster, "worker") == 2
    assert cluster.close() == ["", ""]


def test_a_killed_task_is_noticed_and_its_successor_connected(cluster):
    check_a_killed_ps_is_noticed(cluster)
    assert connections(cluster, "ps") == connections(cluster, "worker") == 2


def test_by_calls_there_are_no_connections():
    with two_tasks("--channels", "calls") as cluster:
        check_steps(cluster.target)
        assert connections(cluster, "ps") == connections(cluster, "worker") == 0


def test_who_can_and_who_must_not_go_by_calls():
    """Not an error: a task that is told to use TCP speaks to one that is told not to."""
    with two_tasks("--channels", "memory") as cluster:
        cluster.kill("ps")
        cluster.options = ("--channels", "tcp")
        cluster.start("ps")
        check_steps(cluster.target)
        assert connections(cluster, "ps") == connections(cluster, "worker") == 0


def test_a_kind_of_channel_contradicts_certificates_and_limits_of_messages(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match="'pigeons'"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, channels="pigeons")
    with pytest.raises(tf.errors.InvalidArgumentError, match="--max-message-bytes"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, channels="tcp", max_message_bytes=1 << 20)
    files = [tmp_path / name for name in ("cert", "key", "ca")]
    for file in files:
        file.write_text("none")
    with pytest.raises(tf.errors.InvalidArgumentError, match="not encrypted"):
        tf.train.Server({"a": ["127.0.0.1:0"]}, channels="tcp", tls=files)

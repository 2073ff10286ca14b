# SPDX-License-Identifier: Apache-2.0
"""What who records steps hears when a part fails meanwhile (`thalweg trace record`), and that clients hear what they would."""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest
import thalweg as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults
import matrix
import steps
import waiting

LIMIT = 60


@pytest.fixture(name="by_calls", params=[True, False], ids=["by_calls", "through_channels"])
def way(request):
    return request.param


def recorder(target, *args):
    return subprocess.Popen([faults.COMMAND, "trace", "record", target, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def heard(process):
    """(exit status, standard output, standard error)."""
    out, err = waiting.Later(process.communicate).result(LIMIT)
    return process.returncode, out, err


def is_recording(cluster):
    return sum("Debug/Record" in call["method"] for call in cluster.dump("master")["calls"])


@contextlib.contextmanager
def recorded_step(by_calls, fault, folder):
    """A step that waits on the ps, while somebody records steps that fail: what he hears when that fault has come to the ps."""
    cluster = faults.Cluster(by_calls=by_calls, lost_after=2.0)
    try:
        steps.State(cluster).begin()
        client = steps.Client(cluster.target, "ps")
        client.open()
        client.run("simple")
        process = recorder(cluster.target, "--failing", "--timeout", "100s", "-o", os.path.join(folder, "step.pb"))
        assert waiting.wait_for(lambda: is_recording(cluster), LIMIT)
        running = waiting.Later(client.run, "taken")
        assert waiting.wait_for(lambda: "QueueDequeue" in str(cluster.dump("ps")) and cluster.is_heard("ps"), LIMIT)
        getattr(cluster, fault)("ps")
        with pytest.raises(tf.errors.UnavailableError) as raised:
            running.result(LIMIT)
        assert matrix.ADDRESS["ps"] in str(raised.value)
        yield (*heard(process), cluster)
    finally:
        cluster.close()


@pytest.mark.parametrize("fault", ["kill", "stop"])
def test_a_task_is_lost_in_a_recorded_step(by_calls, fault, tmp_path):
    with recorded_step(by_calls, fault, str(tmp_path)) as (status, out, err, cluster):
        assert status == 0, err
        assert "failed: UNAVAILABLE" in out
        assert "nothing is known of /job:ps/replica:0/task:0: it was lost" in out
        assert os.listdir(tmp_path) == ["step.pb"]
        assert waiting.wait_for(lambda: not is_recording(cluster), LIMIT)
        metadata = tf.RunMetadata.FromString((tmp_path / "step.pb").read_bytes())
        assert metadata.partition_graphs, "the graph is known to the master"


def test_a_link_is_cut_in_a_recorded_step(tmp_path):
    with recorded_step(True, "partition", str(tmp_path)) as (status, out, err, _):
        assert status == 0, err
        assert "failed: UNAVAILABLE" in out and "nothing is known of /job:ps/replica:0/task:0" in out


@pytest.mark.parametrize("fault", ["kill", "terminate"])
def test_who_records_goes_away(by_calls, fault):
    cluster = faults.Cluster(by_calls=by_calls)
    try:
        steps.State(cluster).begin()
        client = steps.Client(cluster.target, "ps")
        client.open()
        process = recorder(cluster.target, "--failing", "--timeout", "1000s")
        assert waiting.wait_for(lambda: is_recording(cluster), LIMIT)
        getattr(process, fault)()
        process.communicate(timeout=LIMIT)
        assert waiting.wait_for(lambda: not is_recording(cluster), LIMIT), "the master still traces steps for him"
        client.run("simple")
        client.close()
    finally:
        cluster.close()


@pytest.mark.parametrize("fault, left", [("terminate", 0), ("kill", -signal.SIGKILL)])
def test_the_master_ends_while_it_records(fault, left):
    cluster = faults.Cluster()
    try:
        process = recorder(cluster.target, "--timeout", "1000s")
        assert waiting.wait_for(lambda: is_recording(cluster), LIMIT)
        getattr(cluster.processes["master"], fault)()
        status, out, err = heard(process)
        assert (status, out) == (1, "") and "the steps of grpc://" in err
        assert cluster.processes["master"].wait(LIMIT) == left
    finally:
        cluster.close()


@contextlib.contextmanager
def listener(answer):
    """The address of something that is no server of ours: `answer` is what it says to who comes, who is sent away then."""
    with socket.socket() as waits:
        waits.bind(("127.0.0.1", 0))
        waits.listen()

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    with waits.accept()[0] as guest:
                        guest.recv(100)
                        guest.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield "127.0.0.1:%d" % waits.getsockname()[1]
        waits.shutdown(socket.SHUT_RDWR)


def test_a_target_that_is_no_server():
    with listener(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        status, _, err = heard(recorder(f"grpc://{address}", "--timeout", "5s"))
    assert status == 1 and f"the steps of grpc://{address}: " in err
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and nobody listens
        address = "127.0.0.1:%d" % free.getsockname()[1]
        status, _, err = heard(recorder(f"grpc://{address}"))
    assert status == 1 and f"the steps of grpc://{address}: " in err
    status, _, err = heard(recorder("nowhere"))
    assert status == 1 and "'nowhere' is no server: expected grpc://HOST:PORT" in err

# SPDX-License-Identifier: Apache-2.0
"""What makes a step slow, put into one and found on the first screen of its trace (users J1; papers A9.2)."""
import os
import queue
import sys
import threading

import browser
import numpy as np
import pytest
import thalweg as tw
import trace_files

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import serving  # noqa: E402
from slow_link import SlowLink  # noqa: E402
from thalweg.cluster.local_cluster import free_ports  # noqa: E402

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


def traced(session, fetches, path):
    """Runs a step and writes what it tells of itself; the path."""
    metadata = tw.RunMetadata()
    session.run(fetches, options=tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE, output_partition_graphs=True), run_metadata=metadata)
    with open(path, "wb") as file:
        file.write(metadata.SerializeToString())
    return str(path)


def stalls_on_page(chromium, trace, kind):
    """The stalls of a kind, each of which the page shows, flags and goes to."""
    url = trace_files.page_of([trace], trace.replace(".pb", ".html"))
    chromium.open(url)
    chromium.wait_for(f"location.href === '{url}' && typeof app !== 'undefined' && app !== undefined && app.painter.frames > 0")
    stalls = chromium.run("app.summary.stalls")
    found = [stall for stall in stalls if stall["kind"] == kind]
    for stall in found:
        chromium.wait_for_text(stall["sentence"], stall["remedy"])
    assert chromium.run(f"app.painter.marks.flags.filter((flag) => flag.stall.kind === '{kind}').length") == len(found)
    return found


@pytest.fixture(name="ps_and_worker")
def cluster_with_a_slow_link():
    """(target, link): a ps that others reach through a link, and a worker."""
    behind, port = free_ports(2)
    with SlowLink(behind) as link:
        spec = {"ps": [f"127.0.0.1:{link.port}"], "worker": [f"127.0.0.1:{port}"]}
        options = ("--threads", "2", "--channels", "calls")
        processes = [serving.serve(spec, "ps", 0, *options, "--listen", f"127.0.0.1:{behind}"), serving.serve(spec, "worker", 0, *options)]
        try:
            for process in processes:
                serving.ready(process)
            yield f"grpc://127.0.0.1:{port}", link
        finally:
            for process in processes:
                process.kill()
                process.wait(60)


@pytest.mark.parametrize("delay", [0.2, 0.005])  # the first is longer than anything a busy machine adds
def test_a_recv_that_comes_late(chromium, ps_and_worker, tmp_path, delay):
    target, link = ps_and_worker
    with tw.Graph().as_default() as graph:
        with tw.device("/job:ps"):
            v = tw.random.uniform([200, 200], name="v")
        with tw.device("/job:worker"):
            y = tw.matmul(v, v, name="y")
            for i in range(6):
                y = tw.matmul(y / 100.0, y, name=f"y{i}")
        with tw.Session(target, graph=graph) as session:
            for _ in range(3):
                session.run(y.op)
            link.delay = delay
            late = traced(session, y.op, tmp_path / "late.pb")
    found = stalls_on_page(chromium, late, "communication")
    assert found and found[0]["lost_nanos"] >= 0.9 * delay * 1e9
    if delay > 0.1:
        assert chromium.run("app.summary.stalls[0].kind") == "communication", "it is the worst"
    assert f"{WORKER}/device:CPU:0 waited" in found[0]["sentence"] and "160 kB" in found[0]["sentence"] and f"{PS}/device:CPU:0 had sent" in found[0]["sentence"]
    chromium.picture(os.path.join(browser.PICTURES, "trace_late_recv.png"))
    chromium.key("n")
    chromium.wait_for("app.stall !== null && app.selected >= 0")


def test_a_straggler(chromium, tmp_path):
    cluster = tw.train.ClusterSpec({"worker": [f"127.0.0.1:{port}" for port in free_ports(3)]})
    servers = [tw.train.Server(cluster, "worker", task) for task in range(3)]
    with tw.Graph().as_default() as graph:
        sums = []
        for task in range(3):
            with tw.device(f"/job:worker/task:{task}"):
                y = tw.random.uniform([300, 300], name=f"x{task}")
                for i in range(40 if task == 1 else 2):
                    y = tw.matmul(y / 100.0, y, name=f"y{task}_{i}")
                sums.append(tw.reduce_sum(y))
        total = tw.add_n(sums)
        with tw.Session(servers[0].target, graph=graph) as session:
            session.run(total.op)
            trace = traced(session, total.op, tmp_path / "straggler.pb")
    found = stalls_on_page(chromium, trace, "straggler")
    assert len(found) == 1 and "/job:worker/replica:0/task:1 computed for" in found[0]["sentence"]
    chromium.picture(os.path.join(browser.PICTURES, "trace_straggler.png"))


def test_input_that_starves_the_step(chromium, tmp_path):
    examples = queue.Queue()

    def slow():
        while True:
            yield examples.get()
    with tw.Graph().as_default():
        batch = tw.data.Dataset.from_generator(slow, tw.float32, [100, 100]).make_one_shot_iterator().get_next()
        y = tw.matmul(batch, batch)
        with tw.Session() as session:
            examples.put(np.ones([100, 100], np.float32))
            session.run(y.op)
            late = threading.Timer(0.05, examples.put, [np.ones([100, 100], np.float32)])
            late.start()
            trace = traced(session, y.op, tmp_path / "input.pb")
            late.join(30)
    found = stalls_on_page(chromium, trace, "input")
    assert len(found) == 1 and "IteratorGetNext" in found[0]["sentence"]
    assert found[0]["lost_nanos"] > 0

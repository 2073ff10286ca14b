# SPDX-License-Identifier: Apache-2.0
"""What holds the memory of a step, as `thalweg trace memory` tells it, and what an error says that found none (users C6)."""
import contextlib
import json
import subprocess
import sys

import numpy as np
import pytest
import thalweg as tw

_WIDTH, _ROWS = 256, 512


def _trace(path, session, fetches, feed_dict=None):
    options = tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = tw.RunMetadata()
    session.run(fetches, feed_dict, options=options, run_metadata=metadata)
    path.write_bytes(metadata.SerializeToString())


def _memory(*paths, text=False):
    command = [sys.executable, "-m", "thalweg", "trace", "memory", *([] if text else ["--json"]), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout if text else json.loads(done.stdout)


def test_who_holds_the_memory_of_a_training(tmp_path):
    with tw.Graph().as_default():
        x = tw.placeholder(tw.float32, [_ROWS, _WIDTH], name="x")
        w = tw.get_variable("w", [_WIDTH, _WIDTH], initializer=tw.random_normal_initializer(seed=1))
        hidden = x
        for layer in range(4):
            hidden = tw.tanh(tw.matmul(hidden, w, name=f"product{layer}"), name=f"hidden{layer}")
        loss = tw.reduce_mean(tw.square(hidden), name="loss")
        step = tw.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tw.Session() as session:
            session.run(tw.global_variables_initializer())
            feeds = {x: np.ones([_ROWS, _WIDTH], np.float32)}
            session.run(step, feeds)
            _trace(tmp_path / "step.pb", session, step, feeds)
    device, = _memory(tmp_path / "step.pb")["devices"]
    kinds = device["kinds"]
    assert kinds["variables"] == 4 * _WIDTH * _WIDTH
    assert kinds["activations"] >= 4 * _ROWS * _WIDTH  # how many are left at the peak depends on threads
    assert device["knows_allocator"] and not device["inferred"]
    assert device["peak_bytes"] >= sum(kinds.values()) - kinds["constants"]
    held = {holder["node"]: holder for holder in device["holders"]}
    assert held["w"]["shape"] == [_WIDTH, _WIDTH] and held["w"]["dtype"] == "float32"
    lines = {holder.get("line", "").split(" ")[0] for holder in device["holders"] if holder["kind"] == "activations"}
    assert any(line.startswith(__file__) for line in lines)
    curve = [bytes for _, bytes in device["curve"]]
    assert max(curve) == device["step_bytes"]
    shown = _memory(tmp_path / "step.pb", text=True)
    assert "who holds it then" in shown and "activations" in shown and "#" in shown


def test_a_queue_that_grows_is_named(tmp_path):
    with tw.Graph().as_default():
        queue = tw.FIFOQueue(100, [tw.float32], name="kept")
        more = queue.enqueue(tw.fill([1000], 1.0))
        with tw.Session() as session:
            for number in range(3):
                session.run(more)
                _trace(tmp_path / f"{number}.pb", session, queue.size())
    memory = _memory(*sorted(tmp_path.iterdir()))
    grown, = memory["growth"]
    assert grown["node"] == "kept" and grown["last_bytes"] - grown["first_bytes"] == 2 * 4000 and grown["steps"] == 3


@contextlib.contextmanager
def _stopped(server):
    yield
    server.stop()


def test_an_error_says_what_held_the_memory():
    server = tw.train.Server({"local": ["127.0.0.1:0"]}, memory_limit=16 << 20)
    with _stopped(server), tw.Graph().as_default():
        w = tw.get_variable("w", [1000, 1000], initializer=tw.zeros_initializer())
        kept = tw.exp(w, name="kept")
        with tw.control_dependencies([kept]):
            half = tw.fill(tw.placeholder_with_default([500, 1000], [2], name="shape"), 1.0, name="half")
        with tw.control_dependencies([half]):
            more = tw.fill(tw.placeholder_with_default([3000, 1000], [2], name="large"), 1.0, name="more")
        with tw.control_dependencies([more]):
            fetch = tw.reduce_sum(kept) + tw.reduce_sum(half) + tw.reduce_sum(more)
        with tw.Session(server.target) as session:
            session.run(w.initializer)
            with pytest.raises(tw.errors.ResourceExhaustedError) as error:
                session.run(fetch)
    text = str(error.value)
    held = text[text.index("what held the memory of /job:local/replica:0/task:0/device:CPU:0: "):].splitlines()
    assert "of 16.8 MB in use" in held[0]
    assert [line.strip().split(" ")[0] for line in held[1:4]] == ["4.0", "4.0", "2.0"], text
    assert sum("variable VariableV2 'w'" in line for line in held) == 1
    assert sum("'kept'" in line and __file__ in line for line in held) == 1
    assert "'half'" in held[3]

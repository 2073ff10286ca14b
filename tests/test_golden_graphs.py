# SPDX-License-Identifier: Apache-2.0
"""Graphs that TensorFlow 1.15 and 2.21 wrote, run here: every case in its order, values beside the recorded ones.

A graph that needs what is not there yet is named in MISSING with the reason; the test then demands that very reason.
"""
import json
import os

import numpy as np
import pytest

import thalweg as tf

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", "graphs")
GRAPHS = sorted(f"{release}/{name[:-5]}" for release in os.listdir(FOLDER) for name in os.listdir(os.path.join(FOLDER, release))
                if name.endswith(".json"))

# Graph, without its release: the operation that has no kernel yet.
MISSING: dict[str, str] = {}


def run(graph, optimize):
    """[(tensor, ours, recorded)] of every case."""
    base = os.path.join(FOLDER, graph)
    with open(base + ".json") as f:
        cases = json.load(f)["cases"]
    definition = tf.GraphDef()
    with open(base + ".pb", "rb") as f:
        definition.ParseFromString(f.read())
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = 0 if optimize else -1
    compared = []
    with tf.Graph().as_default(), np.load(base + ".npz") as values:
        tf.import_graph_def(definition, name="")
        with tf.Session(config=config) as session:
            for i, case in enumerate(cases):
                feeds = {name: values[f"{i}.in.{name}"] for name in case["feeds"]}
                found = session.run([case["fetches"], case.get("targets", [])], feeds)[0]
                compared += [(f"case {i}: {name}", ours, values[f"{i}.out.{name}"]) for name, ours in zip(case["fetches"], found)]
    return compared


@pytest.mark.parametrize("optimize", [True, False], ids=["passes", "plain"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_gives_what_tensorflow_gave(graph, optimize):
    missing = MISSING.get(graph.partition("/")[2])
    if missing is not None:
        with pytest.raises(tf.errors.OpError, match=f"no kernel is registered for operation {missing}"):
            run(graph, optimize)
        return
    for name, ours, recorded in run(graph, optimize):
        ours = np.asarray(ours)
        assert ours.shape == recorded.shape, name
        if recorded.dtype.kind in "fc":
            np.testing.assert_allclose(ours, recorded, rtol=2e-5, atol=2e-6, err_msg=name)
        elif recorded.dtype.kind == "S":  # numpy drops trailing zero bytes
            assert [bytes(v).rstrip(b"\0") for v in ours.ravel()] == [bytes(v) for v in recorded.ravel()], name
        else:
            np.testing.assert_array_equal(ours, recorded, err_msg=name)

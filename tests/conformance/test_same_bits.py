# SPDX-License-Identifier: Apache-2.0
"""Deterministic: 100 runs with 1, 2 and 8 threads, the same bits, of the recorded graphs that train and of random graphs."""
import json
import os

import numpy as np
import pytest
from both import tf  # with the behaviour of version 1
from cases import ROOT
from random_graph import RandomGraph

import thalweg as tw

assert not tf.executing_eagerly()

FOLDER = os.path.join(ROOT, "tests", "golden", "graphs", "2.21")
TRAINED = sorted(name[:-5] for name in os.listdir(FOLDER) if name.endswith(".json") and name.startswith(("train_", "convnet", "lstm")))
RUNS = {1: 33, 2: 33, 8: 34}


def options(threads):
    return tw.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)


def recorded(name):
    """(definition, [(fetches, targets, feeds)])"""
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as f:
        cases = json.load(f)["cases"]
    with open(os.path.join(FOLDER, name + ".pb"), "rb") as f:
        definition = f.read()
    with np.load(os.path.join(FOLDER, name + ".npz")) as values:
        return definition, [(c["fetches"], c.get("targets", []), {n: values[f"{i}.in.{n}"] for n in c["feeds"]}) for i, c in enumerate(cases)]


def all_the_same(definition, cases):
    first = None
    with tw.Graph().as_default():
        tw.import_graph_def(tw.GraphDef.FromString(definition), name="")
        for threads, runs in RUNS.items():
            for _ in range(runs):
                with tw.Session(config=options(threads)) as session:
                    bits = [np.asarray(v).tobytes() for fetches, targets, feeds in cases for v in session.run([fetches, targets], feeds)[0]]
                first = first or bits
                assert bits == first, f"other bits with {threads} threads"


@pytest.mark.parametrize("name", TRAINED)
def test_training(name):
    all_the_same(*recorded(name))


@pytest.mark.parametrize("seed", range(5000, 5010))
def test_random_graph(seed):
    made = RandomGraph(seed, 30, "float32")
    all_the_same(made.definition, [(made.fetches, [], made.feeds)])

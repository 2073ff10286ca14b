# SPDX-License-Identifier: Apache-2.0
"""Deterministic: 100 runs with 1, 2 and 8 threads, the same bits: of the recorded graphs that train, of random graphs, of the first
generated case of every operation, and of operations on tensors large enough to be split over threads.
"""
import json
import os

import numpy as np
import pytest
from both import tf  # with the behavior of version 1
from cases import ROOT, Built, Fed, L, case, num, pos, type_choices
from expansion import all_cases
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


def first_cases():
    """The first case of each operation whose values are a promise."""
    found = {}
    for number, made in all_cases():
        if number == 0 and type_choices(made) and "shapes" not in made.options:
            found[made.op] = made
    return [found[op] for op in sorted(found)]


LARGE = [
    case("MatMul", num(200, 300), num(300, 250)), case("BatchMatMulV2", num(6, 64, 80), num(6, 80, 96)), case("Conv2D", num(4, 24, 24, 16), num(3, 3, 16, 24), strides=[1, 1, 1, 1], padding="SAME"),
    case("Conv2DBackpropFilter", num(4, 24, 24, 16), [3, 3, 16, 24], num(4, 24, 24, 24), strides=[1, 1, 1, 1], padding="SAME"), case("Conv2DBackpropInput", [4, 24, 24, 16], num(3, 3, 16, 24), num(4, 24, 24, 24), strides=[1, 1, 1, 1], padding="SAME"),
    case("DepthwiseConv2dNative", num(4, 30, 30, 16), num(3, 3, 16, 2), strides=[1, 1, 1, 1], padding="SAME"), case("Conv3D", num(2, 8, 12, 12, 8), num(2, 3, 3, 8, 8), strides=[1, 1, 1, 1, 1], padding="SAME"),
    case("MaxPool", num(4, 40, 40, 16), ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"), case("AvgPool", num(4, 40, 40, 16), ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"), case("FusedBatchNormV3", num(8, 20, 20, 32), num(32), num(32), Fed([]), Fed([]), T="float32", U="float32"),
    *[case(op, num(300, 400), [axis]) for op in ("Sum", "Mean", "Prod", "Max", "EuclideanNorm") for axis in (0, 1)], case("Sum", num(120000), [0]), case("Sum", num(60, 40, 50), [0, 2]), case("ArgMax", num(300, 400), 1), case("Cumsum", num(300, 400), 0), case("Cumprod", pos(300, 400), 1),
    case("Softmax", num(300, 400)), case("LogSoftmax", num(300, 400)), case("SoftmaxCrossEntropyWithLogits", num(300, 400), num(300, 400)), case("BiasAddGrad", num(40, 30, 30, 24)), case("Tanh", num(120000)), case("AddV2", num(300, 1, 40), num(20, 40)), case("Select", num(300, 400), num(300, 400), num(300, 400)),
    case("UnsortedSegmentSum", num(5000, 24), Fed(np.arange(5000) * 7919 % 97), 97), case("SegmentMean", num(5000, 24), Fed(np.arange(5000) // 41)), case("SparseSegmentSum", num(500, 24), Fed(np.arange(5000) * 7919 % 500), Fed(np.arange(5000) // 41)), case("ScatterNd", Fed((np.arange(5000) * 7919 % 97)[:, None]), num(5000, 24), [97, 24]),
    case("SparseTensorDenseMatMul", Fed(np.stack([np.arange(3000) // 10, np.arange(3000) * 7919 % 400], 1)), num(3000), Fed([300, 400]), num(400, 32)), case("TopKV2", num(300, 400), 17), case("FFT2D", num(6, 64, 48), Tcomplex="complex64"), case("Einsum", L(num(30, 40, 20), num(30, 20, 25)), equation="bij,bjk->bik"), case("Transpose", num(60, 50, 40), [2, 0, 1]),
    case("ResizeBilinear", pos(4, 40, 50, 8), [63, 71]), case("LRN", num(4, 20, 20, 24)), case("RandomStandardNormal", [60000], seed=3, seed2=5, dtype="float32"), case("ParameterizedTruncatedNormal", [60000], Fed(0.0), Fed(1.0), Fed(-2.0), Fed(2.0), seed=3, seed2=5, dtype="float32"), case("Cholesky", Fed(np.stack([np.eye(24) * 9 + 1] * 40))),
]


def same_every_time(made):
    """Sessions anew, so that what keeps a state starts again."""
    built, first = Built(made, type_choices(made)[0], made.op), None
    feeds = {name: value for name, (_, value) in built.feeds.items()}
    with tw.Graph().as_default():
        try:
            tw.import_graph_def(tw.GraphDef.FromString(built.graph.SerializeToString()), name="")
        except ValueError:
            return  # a case for the code of an error
        for threads, runs in RUNS.items():
            for _ in range(runs):
                with tw.Session(config=options(threads)) as session:
                    try:
                        for target in built.init:
                            session.run(target, feeds)
                        values = session.run([built.fetches, [] if built.fetches else ["op"]], feeds, options=tw.RunOptions(timeout_in_ms=60000))[0]
                        bits = [repr(v.tolist()) if v.dtype == object else v.tobytes() for v in map(np.asarray, values)]
                    except tw.errors.OpError as error:
                        bits = error.error_code
                first = first or bits
                assert bits == first, f"{made.op}: other bits with {threads} threads"


@pytest.mark.parametrize("made", first_cases(), ids=lambda made: made.op)
def test_operation(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    same_every_time(made)


@pytest.mark.parametrize("made", LARGE, ids=lambda made: made.op)
def test_large(made):
    same_every_time(made)


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

# SPDX-License-Identifier: Apache-2.0
"""Random graphs in both engines: every tensor, and the gradients of their sum. A failure names the smallest part that still
differs, and a line that runs it again:

    THALWEG_REPRO=seed:size:kind ./dev conformance repro
"""
import os

import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from both import PLAIN, Outcome, differ
from random_graph import RandomGraph

import thalweg as tw

CASES = [(seed, 5 + seed * 7 % 56, "float32" if seed % 4 == 0 else "float64") for seed in range(250)]
# A graph is deep: what one node rounds the next may enlarge.
FACTOR = 200


def theirs(made, fetches, feeds=None):
    with tf.Session(graph=made.graph, config=PLAIN) as session:
        return session.run(fetches, made.feeds if feeds is None else feeds)


def ours(made, fetches, feeds=None, config=None):
    with tw.Graph().as_default():
        tw.import_graph_def(tw.GraphDef.FromString(made.definition), name="")
        with tw.Session(config=config) as session:
            return session.run(fetches, made.feeds if feeds is None else feeds)


def difference(made, fetches, feeds=None):
    for name, x, y in zip(fetches, theirs(made, fetches, feeds), ours(made, fetches, feeds)):
        found = differ(Outcome([x]), Outcome([y]), FACTOR)
        if found:
            return name, found
    return None


def smallest(made, name):
    """(node, fed tensors): the fewest nodes behind `name` that still differ when their inputs are TensorFlow's own values."""
    nodes = [made.graph.get_tensor_by_name(name).op]
    for _ in range(len(made.fetches)):
        inside = set(nodes)
        border = sorted({i for n in nodes for i in n.inputs if i.op not in inside and i.op.type != "Const"}, key=lambda t: t.name)
        feeds = {t.name: v for t, v in zip(border, theirs(made, border))} if border else {}
        try:
            if difference(made, [name], feeds):
                return nodes, feeds
        except (tf.errors.OpError, tw.errors.OpError, ValueError):
            pass  # a border through a loop cannot be fed
        grown = [t.op for t in border if t.op.type != "Placeholder"]
        if not grown:
            break
        nodes += grown
    return nodes, made.feeds


def explain(made, case, name, found):
    nodes, feeds = smallest(made, name)
    values = "\n".join(f"  {n} = {v!r}" for n, v in feeds.items())
    return (f"{name}: {found}\nREPRO: THALWEG_REPRO={':'.join(map(str, case))} ./dev conformance repro\n"
            f"smallest part: {', '.join(f'{n.type} {n.name}' for n in nodes)}, fed\n{values}")


def check(case):
    made = RandomGraph(*case)
    found = difference(made, made.fetches)
    assert found is None, explain(made, case, *found)


def check_gradients(case):
    made = RandomGraph(*case)
    with made.graph.as_default():
        total = tf.add_n([tf.reduce_sum(tf.tanh(t)) for t in made.pool[len(made.sources):]], name="total")
        known = tf.gradients(total, made.sources)
        definition = made.graph.as_graph_def().SerializeToString()
        expected = theirs(made, [g for g in known if g is not None])
    with tw.Graph().as_default() as graph:
        tw.import_graph_def(tw.GraphDef.FromString(definition), name="")
        got = tw.gradients(graph.get_tensor_by_name("total:0"), [graph.get_tensor_by_name(s.name) for s in made.sources])
        assert [g is None for g in got] == [g is None for g in known]
        with tw.Session() as session:
            values = session.run([g for g in got if g is not None], made.feeds)
    for source, x, y in zip(made.sources, expected, values):
        found = differ(Outcome([x]), Outcome([np.asarray(y)]), FACTOR)
        assert found is None, f"gradient for {source.name}: {found}\nREPRO: THALWEG_REPRO={':'.join(map(str, case))} ./dev conformance repro"


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[2]}")
def test_values(case):
    check(case)


@pytest.mark.parametrize("case", CASES[1::2], ids=lambda c: f"{c[0]}-{c[1]}-{c[2]}")
def test_gradients(case):
    check_gradients((case[0], min(case[1], 25), "float64"))


@pytest.mark.parametrize("case", CASES[::50], ids=lambda c: str(c[0]))
def test_bits_are_the_same_for_any_number_of_threads(case):
    made = RandomGraph(*case)
    first = None
    for threads in (1, 2, 8):
        config = tw.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
        for _ in range(10):
            bits = [np.asarray(v).tobytes() for v in ours(made, made.fetches, config=config)]
            first = first or bits
            assert bits == first


if os.environ.get("THALWEG_REPRO", "").count(":") == 2:
    def test_repro():
        seed, size, kind = os.environ["THALWEG_REPRO"].split(":")
        check((int(seed), int(size), kind))
        check_gradients((int(seed), int(size), kind))

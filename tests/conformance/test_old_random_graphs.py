# SPDX-License-Identifier: Apache-2.0
"""Random graphs of TensorFlow 1.15, values and derivatives: made and run by it where a Python 3.7 is found, recorded elsewhere
(`.venvs/conformance-1.15/bin/python tests/conformance/old_graphs.py tests/golden/random_graphs/1.15.gz 30` records them again)."""
import gzip
import os
import subprocess

import numpy as np
import pytest
from both import Outcome, differ
from cases import ROOT, numpy_type
from engines import FOLDER
from releases import OLD_PYTHON, their_environment
from wire import read_records, unpack_array

import thalweg as tw

RECORDED = os.path.join(ROOT, "tests", "golden", "random_graphs", "1.15.gz")
LIVE, COUNT = os.path.exists(OLD_PYTHON), 100
FACTOR = 200  # a graph is deep: what one node rounds the next may enlarge


@pytest.fixture(scope="module")
def graphs():
    path = RECORDED
    if LIVE:
        os.makedirs(FOLDER, exist_ok=True)
        path = os.path.join(FOLDER, "old_graphs.gz")
        environment = their_environment()
        subprocess.run([OLD_PYTHON, os.path.join(os.path.dirname(os.path.abspath(__file__)), "old_graphs.py"), path, str(COUNT)], check=True, env=environment,
                       stderr=subprocess.DEVNULL)
    with gzip.open(path) as f:
        return {header["id"]: (header, blocks) for header, blocks in read_records(f)}


def numbers(made, blocks):
    return unpack_array(made, blocks, numpy_type(made["kind"]))


@pytest.mark.parametrize("seed", range(COUNT if LIVE else 30))
def test_old_graph(graphs, seed):
    if str(seed) not in graphs:
        pytest.skip("TensorFlow 1.15 cannot make the derivatives of this graph")
    header, blocks = graphs[str(seed)]
    if b"EuclideanNorm" in blocks[0]:
        pytest.skip("EuclideanNorm of TensorFlow 1.15 loses signs and has no derivative")
    feeds = {name: numbers(made, blocks) for name, made in header["feeds"].items()}
    with tw.Graph().as_default() as graph:
        tw.import_graph_def(tw.GraphDef.FromString(blocks[0]), name="")
        slopes = [tw.convert_to_tensor(g) for g in tw.gradients(graph.get_tensor_by_name("total:0"), [graph.get_tensor_by_name(n) for n in header["by"]])]
        with tw.Session() as session:
            values, slopes = session.run([header["fetches"], slopes], feeds)
    for what, wanted, got in (("value of", zip(header["fetches"], header["outputs"]), values), ("derivative by", zip(header["by"], header["gradients"]), slopes)):
        for (name, made), ours in zip(wanted, got):
            found = differ(Outcome([numbers(made, blocks)]), Outcome([np.asarray(ours)]), FACTOR)
            assert found is None, f"{what} {name}: {found}\nREPRO: ./dev conformance test_old_graph[{seed}]"

# SPDX-License-Identifier: Apache-2.0
"""Tables inside functions, as TensorFlow 2 writes a SavedModel of TensorFlow 1: what fills them runs once for each load."""
import os
import subprocess
import sys

import numpy as np
import pytest
from both import tf
from releases import their_environment

import thalweg as tw

WORDS = [b"red", b"blue", b"green", b"other"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("models") / "model")
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "resaved_model.py"), path], env=their_environment(),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=True)
    return {"first": path + "_first", "again": path}


def answers(module, path):
    """What a session says after the load, time and again, and another one of a load of its own."""
    found = []
    for _ in range(2):
        with module.Graph().as_default(), module.Session() as session:
            signature = module.saved_model.loader.load(session, ["serve"], path).signature_def["serving_default"]
            for _ in range(3):
                found.append(session.run([signature.outputs[k].name for k in ("out", "count")], {signature.inputs["words"].name: WORDS}))
    return found


@pytest.mark.parametrize("name", ["first", "again"])
def test_what_fills_tables_runs_once(models, name):
    theirs, ours = answers(tf, models[name]), answers(tw, models[name])
    for (x, count), (y, our_count) in zip(theirs, ours):
        np.testing.assert_array_equal(x, y)
        assert count == our_count == (1 if name == "first" else 2)  # its own load is written down

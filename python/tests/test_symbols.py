# SPDX-License-Identifier: Apache-2.0
"""Public symbols against what TensorFlow 1.15 has recorded (symbol_cases.py)."""
import glob
import importlib
import json
import os

import numpy as np
import pytest
import symbol_cases
import thalweg as tw

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = {}
for path in sorted(glob.glob(os.path.join(HERE, "symbol_*.py"))):
    importlib.import_module(os.path.basename(path)[:-3])
for path in sorted(glob.glob(os.path.join(HERE, "symbol*.json"))):
    with open(path) as recorded_file:
        RECORDED.update(json.load(recorded_file))


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_as_recorded(name):
    found = symbol_cases.results(tw, symbol_cases.CASES[name])
    assert_same(found, RECORDED[name])


def assert_same(found, recorded):
    assert len(found) == len(recorded)
    for value, wanted in zip(found, recorded):
        if not isinstance(wanted, list):
            assert value == wanted
            continue
        assert value[0] == wanted[0]
        if wanted[1] and isinstance(wanted[1][0], str):
            assert value[1] == wanted[1]
        else:
            np.testing.assert_allclose(np.asarray(value[1], float), np.asarray(wanted[1], float), rtol=2e-5, atol=2e-6)

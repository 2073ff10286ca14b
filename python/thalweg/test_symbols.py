# SPDX-License-Identifier: Apache-2.0
"""Public symbols against what TensorFlow 1.15 has recorded (symbol_cases.py)."""
import json
import os

import numpy as np
import pytest
import symbol_cases
import symbol_values  # noqa: F401
import thalweg as tw

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "symbols_recorded.json")) as recorded_file:
    RECORDED = json.load(recorded_file)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_as_recorded(name):
    found = symbol_cases.results(tw, symbol_cases.CASES[name])
    assert len(found) == len(RECORDED[name])
    for value, wanted in zip(found, RECORDED[name]):
        if not isinstance(wanted, list):
            assert value == wanted
            continue
        assert value[0] == wanted[0]
        if wanted[1] and isinstance(wanted[1][0], str):
            assert value[1] == wanted[1]
        else:
            np.testing.assert_allclose(np.asarray(value[1], float), np.asarray(wanted[1], float), rtol=2e-5, atol=2e-6)

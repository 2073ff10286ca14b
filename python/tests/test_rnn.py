# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells and networks: names, shapes and numbers as TensorFlow 1.15 has recorded them (rnn_cases.py)."""
import json
import os

import numpy as np
import pytest
import rnn_cases
import thalweg as tw

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rnn_recorded.json")) as recorded_file:
    RECORDED = json.load(recorded_file)


@pytest.mark.parametrize("name", sorted(rnn_cases.CASES))
def test_as_recorded(name):
    wanted = RECORDED[name]
    variables, values = rnn_cases.results(tw, rnn_cases.CASES[name])
    assert variables == wanted["variables"]
    assert len(values) == len(wanted["values"])
    for value, (shape, numbers) in zip(values, wanted["values"]):
        assert list(np.shape(value)) == shape
        np.testing.assert_allclose(np.ravel(value), numbers, rtol=2e-5, atol=2e-6)

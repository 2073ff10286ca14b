# SPDX-License-Identifier: Apache-2.0
"""Public symbols where operations run at once, against what TensorFlow 1.15 has recorded of them (symbol_cases.py --eager).

eager_symbols_differ.txt lists the cases that end otherwise, each with its reason.
"""
import json
import os

import pytest
import symbol_cases
import thalweg as tf
from test_symbols import assert_same
from thalweg.eager.context import EagerGraph

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = symbol_cases.every_case()
with open(os.path.join(HERE, "eager_symbols_recorded.json")) as recorded_file:
    RECORDED = json.load(recorded_file)
with open(os.path.join(HERE, "eager_symbols_differ.txt")) as differences:
    DIFFER = dict(line.rstrip("\n").split(": ", 1) for line in differences)


@pytest.mark.parametrize("name", sorted(set(RECORDED) - set(DIFFER)))
def test_as_recorded(name):
    with EagerGraph().as_default():
        found = symbol_cases.results_at_once(tf, CASES[name])
    if isinstance(RECORDED[name], str) or isinstance(found, str):
        assert found == RECORDED[name]
    else:
        assert_same(found, RECORDED[name])


def test_every_difference_is_of_a_case():
    assert set(DIFFER) <= set(RECORDED) <= set(CASES)

# SPDX-License-Identifier: Apache-2.0
"""Feature columns give what TensorFlow 1.15 has recorded: names, variables, values and errors."""
import json
import os

import numpy as np
import pytest

import feature_column_cases
import thalweg as tw

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "feature_column_recorded.json"), encoding="utf-8") as _f:
    RECORDED = json.load(_f)


@pytest.fixture(autouse=True)
def _modules_of_tensorflow():
    """The cases name classes by the paths of TensorFlow."""
    import thalweg.as_tensorflow  # noqa: F401


def alike(ours, theirs, where=""):
    """Numbers within 1e-4 of each other, all else equal."""
    if isinstance(theirs, list) and isinstance(ours, list):
        assert len(ours) == len(theirs), (where, ours, theirs)
        for i, pair in enumerate(zip(ours, theirs)):
            alike(*pair, f"{where}/{i}")
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            alike(ours[key], theirs[key], f"{where}/{key}")
    elif isinstance(theirs, float):
        assert np.isclose(ours, theirs, rtol=1e-4, atol=1e-5), (where, ours, theirs)
    else:
        assert ours == theirs, (where, ours, theirs)


@pytest.mark.parametrize("case", feature_column_cases.CASES, ids=lambda c: c.__name__)
def test_as_in_tensorflow(case):
    ours = json.loads(json.dumps(feature_column_cases.results(tw, case), sort_keys=True))
    if case is feature_column_cases.mistakes:
        for i, (mine, theirs) in enumerate(zip(ours, RECORDED[case.__name__])):
            if theirs[0] == "fine":
                assert mine[0] == "fine", (i, mine)
            else:
                assert mine == theirs, (i, mine, theirs)
        return
    alike(ours, RECORDED[case.__name__])

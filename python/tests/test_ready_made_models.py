# SPDX-License-Identifier: Apache-2.0
"""Ready-made models and heads give what TensorFlow 1.15 has recorded: variables, losses, metrics, predictions and errors."""
import json
import os

import pytest

import estimator_cases
import thalweg as tw
from test_feature_columns import alike

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "estimator_recorded.json"), encoding="utf-8") as _f:
    RECORDED = json.load(_f)


@pytest.mark.parametrize("case", estimator_cases.CASES, ids=lambda c: c.__name__)
def test_as_in_tensorflow(case):
    ours = json.loads(json.dumps(estimator_cases.results(tw, case), sort_keys=True))
    alike(ours, RECORDED[case.__name__], case.__name__)

# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.legacy_seq2seq beside what TensorFlow 1.15 has recorded: names of variables and values."""
import json
import os

import numpy as np
import pytest
import thalweg as tw
from legacy_seq2seq_cases import cases, outcome

with open(os.path.join(os.path.dirname(__file__), "legacy_seq2seq_recorded.json"), encoding="utf-8") as _file:
    RECORDED = json.load(_file)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_as_recorded(name):
    found = outcome(tw, cases(tw)[name])
    assert found["variables"] == RECORDED[name]["variables"]
    for a, b in zip(found["values"], RECORDED[name]["values"]):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6)


def test_every_case_is_recorded_and_refusals():
    assert set(RECORDED) == set(cases(tw))
    m = tw.contrib.legacy_seq2seq
    with pytest.raises(ValueError, match="at least 1 input"):
        m.attention_decoder([], None, None, None)
    with pytest.raises(ValueError, match="must be the same"):
        m.sequence_loss([1], [1, 2], [1])
    with pytest.raises(ValueError, match="last bucket"):
        m.model_with_buckets([], [], [], [], [(1, 1)], None)

# SPDX-License-Identifier: Apache-2.0
"""Programs whose control flow follows tensors give what TensorFlow 1.15 and 2.21 gave: see autograph_cases.py."""
import re

import autograph_cases
import pytest

import thalweg as tw

RECORDED = autograph_cases.recorded()


def numbers(*values):
    return [{"value": value, "dtype": "int32"} for value in values]


# What works here, where both releases refuse it or give what Python does not: what Python gives.
OURS = {
    "nonlocal_name": numbers(2, 1),
    "methods": numbers(30, -3),
    "callable_objects": numbers(30, -3),
    "return_in_while": numbers(500, -1),
    "return_in_nested_loops": numbers(206, -1),
    "while_true_with_break": numbers(2),
    "for_else": numbers(6, -1),
    "break_from_python_loop": numbers(6, 1),
}


def heads(outcome):
    """Values as they are, errors by their type and first words."""
    def head(error):
        words = re.sub(r"[\"'`]|\[_Derived_\] *", "", error["words"])
        return error["error"], "" if words.startswith("Graph execution error") else words[:35]
    return [head(o) if "error" in o else o for o in outcome]


def test_each_case_is_recorded():
    assert sorted(autograph_cases.CASES) == sorted(RECORDED) and OURS.keys() <= RECORDED.keys()


@pytest.mark.parametrize("name", autograph_cases.CASES)
def test_as_recorded(name):
    ours, theirs = heads(autograph_cases.outcome(tw, name)), [heads(outcome) for outcome in RECORDED[name].values()]
    if name in OURS:
        assert ours == OURS[name] and ours not in theirs
    else:
        assert ours in theirs, f"theirs {theirs}\nours {ours}"


def test_cases_have_values_and_mistakes():
    outcomes = [o for recorded in RECORDED.values() for release in recorded.values() for o in release]
    assert sum("error" not in o for o in outcomes) > 180 and sum("error" in o for o in outcomes) > 20

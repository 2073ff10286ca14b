# SPDX-License-Identifier: Apache-2.0
"""RaggedTensors made, taken apart and put into datasets: what both releases give for the same programs."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import ragged_values
from both import tf
from releases import OLD_PYTHON, need_1_15, their_environment

import thalweg as tw

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "tests"))
import ragged_cases  # noqa: E402

# What is otherwise in 1.15: slices of rows that go backward are empty, sizes of both kinds cannot be put side by side, a stack takes
# tensors of one shape, and operators do not look whether rows are the same.
ONLY_2_21 = {"rows[:,::-1]", "deep[:,::-1]", "deep[:,:,::-1]", "bounding_shape of pairs", "bounding_shape", "bounding_shape of an axis", "stack",
             "operators of other rows"}


def theirs(python, program=os.path.join(os.path.dirname(__file__), "ragged_values.py")):
    done = subprocess.run([python, program], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=1800, env=their_environment())
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("release", ["2.21", "1.15"])
def test_the_same_values(release):
    if release == "1.15":
        need_1_15()
    expected = theirs(OLD_PYTHON if release == "1.15" else sys.executable)
    found = json.loads(json.dumps(ragged_values.all_outcomes(tw, newer=release == "2.21")))
    assert set(found) == set(expected) and len(expected) > 150
    left_out = ONLY_2_21 if release == "1.15" else ()
    differ = {name: (value, found[name]) for name, value in expected.items() if found[name] != value and name not in left_out}
    assert not differ, "\n".join(f"{name}: theirs {a}; ours {b}" for name, (a, b) in differ.items())


@pytest.mark.parametrize("release", ["2.21", "1.15"])
def test_functions_give_what_is_recorded(release):
    """python/tests/test_ragged_functions.py compares ours with these records."""
    if release == "1.15":
        need_1_15()
    found = theirs(OLD_PYTHON if release == "1.15" else sys.executable, ragged_cases.__file__)
    differ = [e for e, outcomes in ragged_cases.recorded().items() if not ragged_cases.alike(found[e], outcomes[release])]
    assert len(found) > 450 and not differ, "\n".join(f"{e}: {found[e]}" for e in differ)


def test_the_same_specifications():
    for name, make in {**ragged_values.DATASETS, **ragged_values.NEWER_DATASETS}.items():
        said = []
        for t in (tf, tw):
            with t.Graph().as_default():
                spec = make(t, t.data.Dataset).element_spec
                said.append([(type(s).__name__, s.shape.as_list(), s.dtype.name, getattr(s, "ragged_rank", None))
                             for s in (spec if isinstance(spec, tuple) else (spec,))])
        assert said[0] == said[1], name


def test_both_feed_the_same_values():
    for t in (tf, tw):
        with t.Graph().as_default(), t.Session() as session:
            fed = t.ragged.placeholder(t.float32, 2)
            value = t.ragged.constant_value([[[1.0], []], [[2.0, 3.0]]], "float32", ragged_rank=2)
            given, lengths = session.run([fed, fed.row_lengths()], {fed: value})
            assert given.to_list() == [[[1.0], []], [[2.0, 3.0]]] and lengths.tolist() == [2, 1]
            assert str(given) == "<tf.RaggedTensorValue [[[1.0], []], [[2.0, 3.0]]]>" and given.shape == (2, None, None)
            assert given.dtype == np.float32 and given.ragged_rank == 2

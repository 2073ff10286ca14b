# SPDX-License-Identifier: Apache-2.0
"""Feature columns give what TensorFlow 1.15 has recorded: names, variables, values and errors."""
import json
import os

import numpy as np
import pytest

import feature_column_cases
import thalweg as tw
from thalweg.feature_column.column import FeatureTransformationCache, StateManager
from thalweg.feature_column.layer_of_columns import InputLayer

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "feature_column_recorded.json"), encoding="utf-8") as _f:
    RECORDED = json.load(_f)


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


def test_features_of_a_rank_that_only_the_step_knows():
    x = tw.placeholder(tw.float32)
    layer = tw.feature_column.input_layer({"x": x}, [tw.feature_column.numeric_column("x")])
    with tw.Session() as session:
        for given in ([1.0, 2.0], [[1.0], [2.0]]):
            assert session.run(layer, {x: given}).tolist() == [[1.0], [2.0]]


class _Manager(StateManager):
    """Keeps the variables of columns."""

    def __init__(self):
        self.made = {}

    def create_variable(self, feature_column, name, shape, dtype=None, trainable=True, use_resource=True, initializer=None):
        self.made[feature_column, name] = tw.get_variable(name, shape, trainable=trainable, initializer=tw.ones_initializer())

    def get_variable(self, feature_column, name):
        return self.made[feature_column, name]


def test_columns_with_variables_that_a_layer_keeps():
    fc, manager = tw.feature_column, _Manager()
    column = fc.embedding_column(fc.weighted_categorical_column(fc.categorical_column_with_identity("ids", 3), "weights"), 2, combiner="sum")
    column.create_state(manager)
    features = {"ids": tw.constant([[0, 2], [1, -1]], tw.int64), "weights": tw.constant([[1.0, 2.0], [3.0, 0.0]])}
    cache = FeatureTransformationCache(features)
    crossed = fc.crossed_column([fc.categorical_column_with_identity("ids", 3), "word"], 5)
    words = FeatureTransformationCache({**features, "word": tw.constant([["a"], ["b"]])})
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        assert session.run(column.get_dense_tensor(cache, manager)).tolist() == [[3.0, 3.0], [3.0, 3.0]]
        assert session.run(crossed.get_sparse_tensors(words, manager).id_tensor).dense_shape.tolist()[0] == 2
    assert cache.get("weights", manager) is cache.get("weights", manager)


def test_a_layer_that_is_called_again_has_the_same_variables():
    fc = tw.feature_column
    layer = InputLayer([fc.embedding_column(fc.categorical_column_with_identity("ids", 3), 2)])
    first, second = (layer({"ids": tw.constant([[0], [2]], tw.int64)}) for _ in range(2))
    assert len(tw.global_variables()) == 1
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        one, two = session.run([first, second])
    assert one.tolist() == two.tolist()


def test_the_table_of_shared_columns_is_made_once():
    fc = tw.feature_column
    columns = fc.shared_embedding_columns([fc.categorical_column_with_identity(k, 3) for k in "ab"], 2)
    features = {k: tw.constant([[0], [2]], tw.int64) for k in "ab"}
    for column in columns:
        fc.input_layer(features, [column])
    assert len(tw.global_variables()) == 1
    other = fc.shared_embedding_columns([fc.categorical_column_with_identity(k, 4) for k in "ab"], 2)
    with pytest.raises(ValueError, match="Shared embedding collection a_b_shared_embedding contains variable"):
        fc.input_layer(features, other)


def test_a_cache_of_what_is_no_column():
    cache = FeatureTransformationCache({"x": tw.constant([1.0])})
    with pytest.raises(TypeError, match="\"key\" must be either a \"str\" or \"_FeatureColumn\""):
        cache.get(5)
    with pytest.raises(ValueError, match="Feature y is not in features dictionary"):
        cache.get("y")

# SPDX-License-Identifier: Apache-2.0
"""Boosted trees: ensembles and streams in checkpoints, models of tf.estimator."""
import json
import os

import boosted_trees_cases
import numpy as np
import pytest
import thalweg as tw
from thalweg.estimator.tree_resources import PruningMode, QuantileAccumulator, TreeEnsemble

SPLIT = dict(node_ids=[[0]], gains=[[1.0]], thresholds=[[5]], left_node_contribs=[[[2.0]]], right_node_contribs=[[[-3.0]]], max_depth=3,
             learning_rate=0.5, pruning_mode=0)


def _grow(ensemble):
    return tw.raw_ops.BoostedTreesUpdateEnsemble(tree_ensemble_handle=ensemble.resource_handle, feature_ids=[0], **SPLIT)


def test_checkpoints_have_what_was_grown_and_its_boundaries(tmp_path):
    with tw.Graph().as_default():
        ensemble, streams = TreeEnsemble("trees"), QuantileAccumulator(0.1, 2, 3, name="quantiles")
        add = streams.add_summaries([tw.constant([1.0, 2.0, 3.0]), tw.constant([5.0, 5.0, 6.0])], tw.constant([1.0, 1.0, 1.0]))
        grow, flush, boundaries = _grow(ensemble), streams.flush(), streams.get_bucket_boundaries()
        states, serialized = ensemble.get_states(), ensemble.serialize()
        saver = tw.train.Saver()
        with tw.Session() as session:
            assert not session.run(ensemble.is_initialized()) and not session.run(streams.is_initialized())
            session.run(tw.tables_initializer())
            assert session.run(ensemble.is_initialized()) and session.run(streams.is_initialized())
            for step in (grow, add, flush):
                session.run(step)
            kept = session.run([states, serialized, boundaries])
            path = saver.save(session, str(tmp_path / "model"))
        assert kept[0][:2] == (1, 1) and [list(b) for b in kept[2]] == [[1.0, 3.0], [5.0, 6.0]]
        with tw.Session() as session:  # nothing is there before it is restored
            saver.restore(session, path)
            again = session.run([states, serialized, boundaries])
    assert again[1] == kept[1] and [list(b) for b in again[2]] == [list(b) for b in kept[2]]
    assert {n for n, _ in tw.train.list_variables(path)} == {
        "trees:0_stamp", "trees:0_serialized", "quantiles:0_bucket_boundaries_0", "quantiles:0_bucket_boundaries_1"}


def test_pruning_modes_have_names():
    assert [PruningMode.from_str(m) for m in ("none", "pre", "post")] == [0, 1, 2]
    with pytest.raises(ValueError, match="pruning_mode mode must be one of: none, post, pre"):
        PruningMode.from_str("some")


def test_an_ensemble_that_was_not_made_is_not_found():
    with tw.Graph().as_default(), tw.Session() as session, pytest.raises(tw.errors.NotFoundError):
        session.run(TreeEnsemble("trees").serialize())


def _columns():
    fc = tw.feature_column
    return [fc.bucketized_column(fc.numeric_column(f"f{i}"), [-2.0, 0.5, 12.0]) for i in range(3)] + [
        fc.indicator_column(fc.categorical_column_with_vocabulary_list("word", ["bad", "good", "ok"]))]


FEATURES = {"f0": np.array([12.5, 1.0, -2.001, -2.0001, -1.999], np.float32), "f1": np.array([2.0, -3.0, 0.5, 0.0, 0.4995], np.float32),
            "f2": np.array([3.0, 20.0, 50.0, -100.0, 102.75], np.float32), "word": np.array(["bad", "good", "good", "ok", "bad"])}
CLASSES = np.array([0, 1, 1, 0, 0])
NUMBERS = np.array([1.5, 0.3, 0.2, 2.0, 5.0], np.float32)


def _input(labels=None, epochs=None, size=5):
    return tw.estimator.inputs.numpy_input_fn(FEATURES, labels, size, num_epochs=epochs, shuffle=False)


def _grown(model):
    """(finished trees, layers tried, steps) of the latest checkpoint."""
    path = model.latest_checkpoint()
    with tw.Graph().as_default(), tw.Session() as session:
        ensemble = TreeEnsemble("again", serialized_proto=tw.train.load_variable(path, _serialized(path)))
        session.run(tw.tables_initializer())
        states = session.run(ensemble.get_states())
    return int(states[2]), int(states[3]), int(model.get_variable_value("global_step"))


def _serialized(path):
    return next(n for n, _ in tw.train.list_variables(path) if n.endswith("_serialized"))


def test_a_classifier_stops_when_its_trees_are_grown(tmp_path):
    model = tw.estimator.BoostedTreesClassifier(_columns(), 1, str(tmp_path), n_trees=2, max_depth=3)
    model.train(_input(CLASSES), steps=100)
    assert _grown(model) == (2, 6, 6)
    # Names and numbers are those of TensorFlow 1.15.
    assert [n for n, _ in tw.train.list_variables(model.latest_checkpoint())] == [
        "boosted_trees/are_boundaries_ready", "boosted_trees/center_bias_needed", "boosted_trees:0_serialized", "boosted_trees:0_stamp",
        "global_step"]
    np.testing.assert_allclose([row["probabilities"][1] for row in model.predict(_input(None, 1))],
                               [0.26903, 0.73097, 0.73097, 0.26903, 0.26903], atol=1e-5)
    measured = model.evaluate(_input(CLASSES, 1))
    assert measured["accuracy"] == 1.0
    assert [int(row["class_ids"][0]) for row in model.predict(_input(None, 1))] == list(CLASSES)


def test_layers_grow_from_several_batches(tmp_path):
    model = tw.estimator.BoostedTreesRegressor(_columns(), 2, str(tmp_path), n_trees=1, max_depth=2)
    model.train(_input(NUMBERS), steps=100)
    assert _grown(model) == (1, 2, 4)
    whole = tw.estimator.BoostedTreesRegressor(_columns(), 1, str(tmp_path / "whole"), n_trees=1, max_depth=2)
    whole.train(_input(NUMBERS), steps=100)
    np.testing.assert_allclose(*[[row["predictions"] for row in m.predict(_input(None, 1))] for m in (model, whole)], rtol=1e-5)


def test_a_bias_is_centered_first(tmp_path):
    model = tw.estimator.BoostedTreesRegressor(_columns(), 1, str(tmp_path), n_trees=1, max_depth=1, center_bias=True, learning_rate=0.0)
    model.train(_input(NUMBERS), steps=50)
    assert _grown(model)[:2] == (1, 1)
    np.testing.assert_allclose([row["predictions"][0] for row in model.predict(_input(None, 1))], [NUMBERS.mean()] * 5, rtol=1e-2)
    shrunk = tw.estimator.BoostedTreesRegressor(_columns(), 1, str(tmp_path / "shrunk"), n_trees=1, max_depth=2, center_bias=True,
                                                l2_regularization=0.1)
    shrunk.train(_input(NUMBERS), steps=60)
    assert shrunk.get_variable_value("global_step") == 6  # as in TensorFlow 1.15
    several = tw.estimator.BoostedTreesRegressor(_columns(), 2, str(tmp_path / "several"), n_trees=1, max_depth=2, center_bias=True,
                                                 l2_regularization=0.1)
    several.train(_input(NUMBERS), steps=60)
    assert several.get_variable_value("global_step") == 12
    for model in (shrunk, several):
        np.testing.assert_allclose([row["predictions"][0] for row in model.predict(_input(None, 1))],
                                   [1.88008, 1.5343, 1.5343, 1.88008, 2.14135], atol=1e-5)


def test_arguments_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match="pruning_mode mode must be one of"):
        tw.estimator.BoostedTreesRegressor(_columns(), 1, pruning_mode="never")
    with pytest.raises(ValueError, match="must be positive"):
        tw.estimator.BoostedTreesRegressor(_columns(), 0)
    with pytest.raises(ValueError, match="For now only one dimensional outputs"):
        tw.estimator.BoostedTreesClassifier(_columns(), 1, n_classes=3)
    plain = tw.estimator.BoostedTreesRegressor([tw.feature_column.numeric_column("f0")], 1, str(tmp_path))
    with pytest.raises(ValueError, match="only bucketized_column and indicator column are supported"):
        plain.train(_input(NUMBERS), steps=1)


with open(os.path.join(os.path.dirname(__file__), "boosted_trees_recorded.json"), encoding="utf-8") as recorded:
    RECORDED = json.load(recorded)


@pytest.mark.parametrize("case,seed", boosted_trees_cases.CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_random_programs_are_those_of_1_15(case, seed):
    expected = RECORDED[f"{case.__name__}_{seed}"]
    assert json.loads(json.dumps(boosted_trees_cases.results(tw, case, seed))) == expected

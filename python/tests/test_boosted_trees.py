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
    words = tw.feature_column.categorical_column_with_vocabulary_list("word", ["bad", "good", "ok"])
    plain = tw.estimator.BoostedTreesRegressor([tw.feature_column.embedding_column(words, 2)], 1, str(tmp_path))
    with pytest.raises(ValueError, match="only numeric_column, bucketized_column and indicator_column are supported"):
        plain.train(_input(NUMBERS), steps=1)


def _sixty():
    """(features, classes, numbers), random ones that TensorFlow 1.15 was given too."""
    draw = np.random.RandomState(7)
    age, two = draw.randn(60).astype(np.float32), draw.randn(60).astype(np.float32)
    word = draw.choice(["a", "b", "c"], 60)
    classes = ((age + two * .7 + (word == "b") * .8 + .2 * draw.randn(60)) > 0).astype("i")
    return {"age": age, "two": two, "word": word}, classes, (age * 2 - two + (word == "c")).astype(np.float32)


def _sixty_columns():
    fc = tw.feature_column
    return [fc.bucketized_column(fc.numeric_column("age"), [-1.0, -.3, 0.0, .5, 1.0]),
            fc.bucketized_column(fc.numeric_column("two"), [-.5, 0.0, .5]),
            fc.indicator_column(fc.categorical_column_with_vocabulary_list("word", ["a", "b", "c"]))]


def _whole(labels):
    return lambda: tw.data.Dataset.from_tensors((_sixty()[0], labels)).repeat()


def _first_three():
    return tw.data.Dataset.from_tensors({name: values[:3] for name, values in _sixty()[0].items()})


def _explained(model, *keys):
    return list(model.experimental_predict_with_explanations(_first_three, *keys))


def test_a_classifier_is_explained_as_1_15_explains_it(tmp_path):
    model = tw.estimator.BoostedTreesClassifier(_sixty_columns(), 1, str(tmp_path), n_trees=3, max_depth=2, center_bias=True)
    model.train(_whole(_sixty()[1]), max_steps=100)
    rows = _explained(model)
    np.testing.assert_allclose([r["probabilities"][1] for r in rows], [0.77638054, 0.45345649, 0.77638054], atol=1e-6)
    np.testing.assert_allclose([r["bias"] for r in rows], [0.63333332] * 3, atol=1e-6)
    # The largest comes first, whichever its sign.
    assert [list(r["dfc"]) for r in rows] == [["age_bucketized", "two_bucketized", "word"]] * 3
    np.testing.assert_allclose([list(r["dfc"].values()) for r in rows], [
        [0.07262398, 0.07042327, 0.0], [-0.11367596, -0.04606588, -0.02013498], [0.07262398, 0.07042327, 0.0]], atol=1e-6)
    assert all(abs(r["bias"] + sum(r["dfc"].values()) - r["probabilities"][1]) < 1e-6 for r in rows)
    assert [sorted(r) for r in _explained(model, ["probabilities"])] == [["bias", "dfc", "probabilities"]] * 3
    found = model.experimental_feature_importances()
    assert list(found) == ["age_bucketized", "two_bucketized", "word"]
    np.testing.assert_allclose(list(found.values()), [0.84376305, 0.51390754, 0.14553567], rtol=1e-5)
    np.testing.assert_allclose(list(model.experimental_feature_importances(normalize=True).values()),
                               [0.56130890, 0.34187427, 0.09681683], rtol=1e-5)


def test_a_regressor_is_explained_as_1_15_explains_it(tmp_path):
    model = tw.estimator.BoostedTreesRegressor(_sixty_columns(), 1, str(tmp_path), n_trees=3, max_depth=2, center_bias=True,
                                               pruning_mode="post", tree_complexity=.01)
    model.train(_whole(_sixty()[2]), max_steps=100)
    rows = _explained(model)
    np.testing.assert_allclose([r["predictions"][0] for r in rows], [1.08905697, -0.05277754, -0.05277754], atol=1e-5)
    assert dict(rows[0]["dfc"]) == pytest.approx({"age_bucketized": 0.73361871, "word": 0.25593239, "two_bucketized": 0.0}, abs=1e-5)
    assert rows[0]["bias"] == pytest.approx(0.09950586, abs=1e-5)
    assert dict(model.experimental_feature_importances()) == pytest.approx(
        {"age_bucketized": 16.29586256, "word": 1.14711571, "two_bucketized": 0.38185668}, rel=1e-5)


def test_what_cannot_be_explained_says_why(tmp_path):
    make = tw.estimator.BoostedTreesClassifier
    with pytest.raises(ValueError, match="center_bias must be enabled during estimator instantiation"):
        _explained(make(_sixty_columns(), 1, str(tmp_path / "plain")))
    with pytest.raises(ValueError, match="nothing to explain: no checkpoint is in .*untrained"):
        _explained(make(_sixty_columns(), 1, str(tmp_path / "untrained"), center_bias=True))
    with pytest.raises(ValueError, match="no importances: no checkpoint is in"):
        make(_sixty_columns(), 1, str(tmp_path / "untrained")).experimental_feature_importances()
    model = make(_sixty_columns(), 1, str(tmp_path / "stumps"), n_trees=1, max_depth=1, tree_complexity=1e6, pruning_mode="pre")
    model.train(_whole(_sixty()[1]), max_steps=1)
    assert set(model.experimental_feature_importances().values()) == {0.0}
    with pytest.raises(ValueError, match="normalize feature importances"):
        model.experimental_feature_importances(normalize=True)
    loss = tw.estimator.BoostedTreesEstimator(_sixty_columns(), 1, tw.estimator.PoissonRegressionHead(), str(tmp_path / "poisson"),
                                              n_trees=1, max_depth=1, center_bias=True)
    loss.train(_whole(_sixty()[1].astype(np.float32)), max_steps=3)
    with pytest.raises(ValueError, match="of a PoissonRegressionHead are not explained"):
        _explained(loss)


class _Steps(tw.train.SessionRunHook):
    """Notes (global step, whether a bias is still sought, whether there are boundaries) after each step."""

    def __init__(self):
        self.seen = []

    def before_run(self, run_context):
        named = {v.op.name: v for v in tw.global_variables()}
        return tw.train.SessionRunArgs([named[n] for n in ("global_step", "boosted_trees/center_bias_needed",
                                                           "boosted_trees/are_boundaries_ready")])

    def after_run(self, run_context, run_values):
        self.seen.append(tuple(int(v) for v in run_values.results))


@pytest.mark.parametrize("batches, center_bias, logits, steps", [
    (1, False, [0.89579695, -0.25668365, 0.89579695], [(0, 0, 0), *((i, 0, 1) for i in range(6))]),
    (2, False, [0.89579695, -0.25668365, 0.89579695], [(0, 0, 0), (0, 0, 0), *((i, 0, 1) for i in range(12))]),
    (1, True, [1.26732361, 0.02583931, 1.26732361], [(0, 1, 0), (0, 1, 1), (1, 1, 1), (2, 1, 1), *((i, 0, 1) for i in range(3, 9))])])
def test_numbers_get_their_boundaries_as_in_1_15(batches, center_bias, logits, steps, tmp_path):
    features, classes, _ = _sixty()
    columns = [tw.feature_column.numeric_column("age"), *_sixty_columns()[1:]]
    model = tw.estimator.BoostedTreesClassifier(columns, batches, str(tmp_path), n_trees=3, max_depth=2, center_bias=center_bias)
    seen = _Steps()
    model.train(lambda: tw.data.Dataset.from_tensor_slices((features, classes)).batch(60 // batches).repeat(), max_steps=100, hooks=[seen])
    # A session that fetches a variable beside the step that changes it may see either value.
    assert len(seen.seen) == len(steps) and [s[0] for s in seen.seen if s[2]][-1] in (steps[-1][0], steps[-1][0] + 1)
    assert model.get_variable_value("global_step") == steps[-1][0] + 1
    np.testing.assert_array_equal(model.get_variable_value("boosted_trees/QuantileAccumulator:0_bucket_boundaries_0"), np.sort(features["age"]))
    np.testing.assert_allclose([r["logits"][0] for r in model.predict(_first_three)], logits, atol=1e-6)
    if not center_bias:
        assert dict(model.experimental_feature_importances()) == pytest.approx(
            {"age": 0.90877654, "two_bucketized": 0.35108545, "word": 0.09170755}, rel=1e-5)


def test_numbers_of_one_column_are_features_of_their_own(tmp_path):
    draw = np.random.RandomState(3)
    z, a, m = (draw.randn(1000, *shape).astype(np.float32) for shape in ((), (), (2,)))
    features = {"a": a[:90], "m": m[:90], "w": draw.rand(1000).astype(np.float32)[:90]}
    classes = ((z + a * .7 + m[:, 1] + .2 * draw.randn(1000)) > 0).astype("i")
    fc = tw.feature_column
    columns = [fc.numeric_column("m", shape=(2,)), fc.bucketized_column(fc.numeric_column("a"), [-.5, 0.0, .5])]
    model = tw.estimator.BoostedTreesClassifier(columns, 1, str(tmp_path / "90"), n_trees=2, max_depth=2)
    model.train(lambda: tw.data.Dataset.from_tensors((features, classes[:90])).repeat(), max_steps=100)
    three = {name: values[:3] for name, values in features.items()}
    np.testing.assert_allclose([r["logits"][0] for r in model.predict(lambda: tw.data.Dataset.from_tensors(three))],
                               [0.12928936, 0.44688112, 0.03895203], atol=1e-6)
    # More values than boundaries, of which 1.15 loses its memory.
    weighed = tw.estimator.BoostedTreesClassifier(columns, 1, str(tmp_path / "all"), n_trees=2, max_depth=2, weight_column="w")
    whole = {"a": a, "m": m, "w": np.arange(1000, dtype=np.float32)}
    weighed.train(lambda: tw.data.Dataset.from_tensors((whole, classes)).repeat(), max_steps=100)
    boundaries = weighed.get_variable_value("boosted_trees/QuantileAccumulator:0_bucket_boundaries_0")
    assert 90 <= len(boundaries) <= 101 and np.all(np.diff(boundaries) > 0)
    assert weighed.evaluate(lambda: tw.data.Dataset.from_tensors((whole, classes)))["accuracy"] > 0.7
    assert len(list(weighed.predict(lambda: tw.data.Dataset.from_tensors({"a": a[:3], "m": m[:3]})))) == 3  # without weights


def test_trees_that_are_grown_in_memory_are_those_of_1_15(tmp_path):
    features, classes, numbers = _sixty()
    grow = tw.contrib.estimator.boosted_trees_classifier_train_in_memory

    def examples():
        return tw.data.Dataset.zip((tw.data.Dataset.from_tensors(features), tw.data.Dataset.from_tensors(classes)))
    for name, given in (("dataset", examples), ("tensors", lambda: (dict(features), classes))):
        model = grow(given, _sixty_columns(), str(tmp_path / name), n_trees=3, max_depth=2, center_bias=True)
        np.testing.assert_allclose([r["logits"][0] for r in model.predict(_first_three)], [1.24469721, -0.18671453, 1.24469721], atol=1e-6)
    model = tw.contrib.estimator.boosted_trees_regressor_train_in_memory(
        lambda: (dict(features), numbers), _sixty_columns(), str(tmp_path / "numbers"), n_trees=3, max_depth=2, center_bias=True)
    np.testing.assert_allclose([r["predictions"][0] for r in model.predict(_first_three)], [1.08905697, -0.05277754, -0.05277754], atol=1e-5)


with open(os.path.join(os.path.dirname(__file__), "boosted_trees_recorded.json"), encoding="utf-8") as recorded:
    RECORDED = json.load(recorded)


@pytest.mark.parametrize("case,seed", boosted_trees_cases.CASES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_random_programs_are_those_of_1_15(case, seed):
    expected = RECORDED[f"{case.__name__}_{seed}"]
    assert json.loads(json.dumps(boosted_trees_cases.results(tw, case, seed))) == expected

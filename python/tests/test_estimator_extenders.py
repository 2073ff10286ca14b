# SPDX-License-Identifier: Apache-2.0
"""Estimators made from others, hooks that end training early, and the logits of ready-made models."""
import numpy as np
import pytest

import thalweg as tw
from thalweg.estimator.early_stopping import read_eval_metrics

fc, estimator = tw.feature_column, tw.estimator
ROWS = {"x": np.array([1.0, 2.0, 3.0], np.float32), "key": np.array(["a", "b", "c"])}


def inputs(epochs=1, labels=True):
    return estimator.inputs.numpy_input_fn(ROWS, np.array([1.0, 2.0, 3.0], np.float32) if labels else None, 3, num_epochs=epochs,
                                           shuffle=False)


@pytest.fixture(name="model")
def _model(tmp_path):
    return estimator.LinearRegressor([fc.numeric_column("x")], str(tmp_path / "model")).train(inputs(None), steps=3)


def test_features_are_forwarded(model, tmp_path):
    keyed = tw.contrib.estimator.forward_features(model, "key")
    assert [row["key"] for row in keyed.predict(inputs(labels=False))] == [b"a", b"b", b"c"]
    assert sorted(next(tw.contrib.estimator.forward_features(model).predict(inputs(labels=False)))) == ["key", "predictions", "x"]
    features = {"x": tw.placeholder(tw.float32, [None]), "key": tw.placeholder(tw.string, [None])}
    path = keyed.export_saved_model(str(tmp_path / "out"), estimator.export.build_raw_serving_input_receiver_fn(features)).decode()
    answer = tw.load(path).signature("predict")(**ROWS)
    assert [bytes(k) for k in answer["key"]] == [b"a", b"b", b"c"]
    with pytest.raises(ValueError, match="keys should be exist in features"):
        next(tw.contrib.estimator.forward_features(model, "other").predict(inputs(labels=False)))


def test_sparse_features_are_forwarded_dense(model):
    def sparse():
        return {"x": tw.constant([1.0]), "words": tw.SparseTensor([[0, 0]], ["a"], [1, 2])}
    found = next(tw.contrib.estimator.forward_features(model, "words", {"words": "none"}).predict(sparse))
    assert found["words"].tolist() == [b"a", b"none"]


def test_logits_of_functions_that_take_what_they_name():
    features = {"x": tw.constant([1.0, 2.0])}
    network = estimator.experimental.dnn_logit_fn_builder(2, [3], [fc.numeric_column("x")], tw.nn.relu, None, None, False)
    assert estimator.experimental.call_logit_fn(network, features, "train", {}, None).shape.as_list() == [2, 2]
    linear = estimator.experimental.linear_logit_fn_builder(1, [fc.numeric_column("x")])
    assert tw.contrib.estimator.call_logit_fn(linear, features, "train", {}, None).shape.as_list() == [2, 1]
    with pytest.raises(ValueError, match="logit_fn should return a Tensor"):
        estimator.experimental.call_logit_fn(lambda features: 5, features, "train", {}, None)


def measured(folder, losses):
    """Losses by step, as evaluate() writes them."""
    writer = tw.summary.FileWriter(str(folder))
    for step, loss in losses.items():
        writer.add_summary(tw.Summary(value=[tw.Summary.Value(tag="loss", simple_value=loss)]), step)
    writer.close()
    return str(folder)


@pytest.mark.parametrize("hook, arguments, losses, stops", [
    ("stop_if_higher_hook", {"threshold": 0.9}, {1: 0.5, 2: 1.0, 3: 0.5}, True),
    ("stop_if_higher_hook", {"threshold": 0.9, "min_steps": 3}, {1: 0.5, 2: 1.0, 3: 0.5}, False),
    ("stop_if_lower_hook", {"threshold": 0.5}, {1: 0.5, 2: 1.0}, False),
    ("stop_if_lower_hook", {"threshold": 0.6}, {1: 0.5, 2: 1.0}, True),
    ("stop_if_no_decrease_hook", {"max_steps_without_decrease": 10}, {1: 0.5, 11: 0.5}, True),
    ("stop_if_no_decrease_hook", {"max_steps_without_decrease": 11}, {1: 0.5, 11: 0.5}, False),
    ("stop_if_no_decrease_hook", {"max_steps_without_decrease": 10}, {1: 0.5, 6: 0.4, 15: 0.45}, False),
    ("stop_if_no_increase_hook", {"max_steps_without_increase": 10}, {1: 0.5, 6: 0.4, 15: 0.45}, True),
])
def test_training_ends_early(tmp_path, hook, arguments, losses, stops):
    model = estimator.LinearRegressor([fc.numeric_column("x")], str(tmp_path / "model"))
    made = getattr(estimator.experimental, hook)(model, "loss", eval_dir=measured(tmp_path / "losses", losses), run_every_secs=None,
                                                 run_every_steps=1, **arguments)
    model.train(inputs(None), hooks=[made], steps=5)
    assert model.get_variable_value("global_step") == (1 if stops else 5)
    assert model.get_variable_value("signal_early_stopping/STOP") == stops


def test_hooks_that_end_training_are_asked_one_way(model):
    make = estimator.experimental.make_early_stopping_hook
    with pytest.raises(ValueError, match="Only one of `run_every_secs` and `run_every_steps` must be set"):
        make(model, lambda: True, 60, 5)
    with pytest.raises(TypeError, match="`estimator` must have type"):
        make("model", lambda: True)
    with pytest.raises(TypeError, match="`should_stop_fn` must be callable"):
        make(model, True)
    model.train(inputs(None), hooks=[estimator.experimental.make_stop_at_checkpoint_step_hook(model, 5)], steps=20)
    assert model.get_variable_value("global_step") == 5


def test_measuring_while_training_without_checkpoints(tmp_path):
    model = estimator.LinearRegressor([fc.numeric_column("x")], str(tmp_path / "model"))
    hook = estimator.experimental.InMemoryEvaluatorHook(model, inputs(), every_n_iter=2)
    model.train(inputs(None), hooks=[hook], steps=5)
    found = read_eval_metrics(model.eval_dir())
    assert list(found) == [0, 2, 4, 5]
    assert found[0]["average_loss"] > found[2]["average_loss"] > found[5]["average_loss"]
    assert np.isclose(found[5]["average_loss"], model.evaluate(inputs())["average_loss"])
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        estimator.experimental.InMemoryEvaluatorHook(model, inputs(), every_n_iter=0)

# SPDX-License-Identifier: Apache-2.0
"""tf.estimator: train, evaluate, predict; the numbers are those of TensorFlow 1.15."""
import os

import numpy as np
import pytest
import thalweg as tw

ROWS = np.arange(10, dtype=np.float32) / 10
KEYS = tw.estimator.ModeKeys


def _model(features, labels, mode, params):
    w = tw.get_variable("w", [], initializer=tw.zeros_initializer())
    found = features["x"] * w
    if mode == KEYS.PREDICT:
        return tw.estimator.EstimatorSpec(mode, predictions={"p": found})
    loss = tw.losses.mean_squared_error(labels, found)
    if mode == KEYS.EVAL:
        return tw.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"mae": tw.metrics.mean_absolute_error(labels, found)})
    tw.summary.scalar("mse", loss)
    step = tw.train.GradientDescentOptimizer(params["lr"]).minimize(loss, global_step=tw.train.get_global_step())
    return tw.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def _input(y=3 * ROWS, epochs=None, **more):
    return tw.estimator.inputs.numpy_input_fn({"x": ROWS}, y, batch_size=4, num_epochs=epochs, shuffle=False, **more)


@pytest.fixture
def made(tmp_path):
    return tw.estimator.Estimator(_model, str(tmp_path / "model"), params={"lr": 0.1})


def test_trains_measures_and_predicts(made):
    assert made.train(_input(), steps=20) is made
    measured = made.evaluate(_input(epochs=1))
    assert measured["global_step"] == 20
    np.testing.assert_allclose([measured["loss"], measured["mae"]], [0.2986257, 0.41080198], rtol=1e-5)
    made.train(_input(), steps=5)
    np.testing.assert_allclose(made.evaluate(_input(epochs=1), name="again")["mae"], 0.3051105, rtol=1e-5)
    asked = list(made.predict(_input(None, 1)))
    assert len(asked) == 10
    np.testing.assert_allclose(asked[3]["p"], 0.69659305, rtol=1e-5)
    assert [len(b["p"]) for b in made.predict(_input(None, 1), yield_single_examples=False)] == [4, 4, 2]
    files = os.listdir(made.model_dir)
    assert {"checkpoint", "eval", "eval_again", "graph.pbtxt", "model.ckpt-0.index", "model.ckpt-20.index",
            "model.ckpt-25.index"} <= set(files)
    assert made.get_variable_names() == ["global_step", "w"] and made.latest_checkpoint().endswith("model.ckpt-25")
    np.testing.assert_allclose(made.get_variable_value("w"), 2.3219767, rtol=1e-6)
    another = tw.estimator.Estimator(_model, made.model_dir, params={"lr": 0.1})
    assert another.train(_input(), max_steps=25).evaluate(_input(epochs=1), steps=1)["global_step"] == 25


def test_train_and_evaluate(made):
    found, exports = tw.estimator.train_and_evaluate(made, tw.estimator.TrainSpec(_input(), max_steps=40),
                                                     tw.estimator.EvalSpec(_input(epochs=1), steps=None, throttle_secs=0))
    assert found["global_step"] == 40 and exports == []
    np.testing.assert_allclose(found["mae"], 0.12500615, rtol=1e-4)


def test_before_training(made):
    assert [row["p"] for row in made.predict(_input(None, 1))] == [0] * 10
    np.testing.assert_allclose(made.evaluate(_input(epochs=1))["mae"], 1.35, rtol=1e-6)
    with pytest.raises(ValueError, match="not been trained"):
        made.get_variable_names()


def test_a_warm_start(made, tmp_path):
    made.train(_input(), steps=20)
    warm = tw.estimator.Estimator(_model, str(tmp_path / "warm"), params={"lr": 0.0}, warm_start_from=made.model_dir)
    warm.train(_input(), steps=1)
    assert warm.get_variable_value("w") == made.get_variable_value("w")


def test_the_predictions_leave_the_callers_graph_alone(made):
    here = tw.get_default_graph()
    for _ in made.predict(_input(None, 1)):
        assert tw.get_default_graph() is here


def test_inputs_end_and_shuffle():
    function = tw.estimator.inputs.numpy_input_fn(np.arange(12.0), {"y": np.arange(12)}, batch_size=5, num_epochs=2,
                                                  shuffle=True, num_threads=2)
    x, y = function()
    assert x.dtype is tw.float64 and x.shape.as_list() == [None]
    seen = []
    with tw.train.MonitoredSession() as sess:
        while not sess.should_stop():
            a, b = sess.run([x, y["y"]])
            assert a.tolist() == b.tolist()
            seen.extend(a)
    assert sorted(seen) == sorted(2 * list(range(12))) and seen != 2 * list(range(12))


@pytest.mark.parametrize("refused, words", [
    (lambda e: tw.estimator.EstimatorSpec("train", loss=tw.constant(1.0)), "Missing train_op"),
    (lambda e: tw.estimator.EstimatorSpec("eval"), "Missing loss"),
    (lambda e: tw.estimator.EstimatorSpec("infer"), "Missing predictions"),
    (lambda e: tw.estimator.EstimatorSpec("eval", loss=tw.constant([1.0, 2.0])), "Loss must be scalar"),
    (lambda e: e.train(_input(), steps=1, max_steps=2), "both steps and max_steps"),
    (lambda e: e.train(_input(), steps=0), "steps > 0"),
    (lambda e: _input(ROWS[:3])(), "mismatched"),
    (lambda e: tw.estimator.inputs.numpy_input_fn({"x": ROWS}), "shuffle must be"),
    (lambda e: tw.estimator.Estimator(lambda a: a), "must include features"),
    (lambda e: tw.estimator.Estimator(lambda features: 1).train(lambda: ROWS), "should return an EstimatorSpec"),
    (lambda e: tw.estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1), "cannot be both set"),
    (lambda e: tw.estimator.RunConfig().replace(master="x"), "not supported")])
def test_refusals(made, refused, words):
    with pytest.raises(ValueError, match=words):
        refused(made)



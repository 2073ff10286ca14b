# SPDX-License-Identifier: Apache-2.0
"""Models as functions of arrays: of SavedModels and of Estimators."""
import numpy as np
import pytest

import thalweg as tw

predictor = tw.contrib.predictor


def saved(folder):
    """A model of x * w, with a second signature."""
    with tw.Graph().as_default(), tw.Session() as session:
        x, w = tw.placeholder(tw.float32, [None], name="x"), tw.get_variable("w", initializer=3.0)
        session.run(tw.global_variables_initializer())
        tensors = {"x": x}, {"y": tw.identity(x * w, name="y")}
        builder = tw.saved_model.Builder(folder)
        builder.add_meta_graph_and_variables(session, ["serve", "more"], {
            "serving_default": tw.saved_model.predict_signature_def(*tensors),
            "less": tw.saved_model.predict_signature_def(tensors[0], {"z": x - w})})
        builder.save()
    return folder


def test_signatures_of_a_saved_model(tmp_path):
    path = saved(str(tmp_path / "model"))
    model = predictor.from_saved_model(path, tags="serve,more")
    assert model({"x": [1.0, 2.0]})["y"].tolist() == [3.0, 6.0]
    assert sorted(model.feed_tensors) == ["x"] and sorted(model.fetch_tensors) == ["y"] and model.session.graph is model.graph
    assert predictor.from_saved_model(path, "less", tags="serve,more")({"x": [1.0]})["z"].tolist() == [-2.0]
    named = predictor.from_saved_model(path, input_names={"in": "x:0"}, output_names={"out": "y:0"}, tags="serve,more")
    assert named({"in": [2.0]})["out"].tolist() == [6.0]


def test_what_is_asked_wrongly(tmp_path):
    path = saved(str(tmp_path / "model"))
    with pytest.raises(ValueError, match="Got unexpected keys in input_dict: {'other'}"):
        predictor.from_saved_model(path, tags="serve,more")({"other": [1.0]})
    with pytest.raises(ValueError, match="Got signature_def_key \"what\""):
        predictor.from_saved_model(path, "what", tags="serve,more")
    with pytest.raises(ValueError, match="Only one of"):
        predictor.from_saved_model(path, "less", input_names={"a": "x:0"}, output_names={"a": "y:0"})
    with pytest.raises(TypeError, match="Expected estimator"):
        predictor.from_estimator("model", None)


def test_an_estimator(tmp_path):
    fc, rows = tw.feature_column, {"x": np.array([1.0, 2.0, 3.0], np.float32)}
    model = tw.estimator.LinearRegressor([fc.numeric_column("x")], str(tmp_path))
    model.train(tw.estimator.inputs.numpy_input_fn(rows, rows["x"], num_epochs=None, shuffle=False), steps=3)
    said = [row["predictions"] for row in model.predict(tw.estimator.inputs.numpy_input_fn(rows, shuffle=False))]
    with tw.Graph().as_default():
        receiver = tw.estimator.export.build_raw_serving_input_receiver_fn({"x": tw.placeholder(tw.float32, [None])})
    answer = predictor.from_estimator(model, receiver, "predict")
    assert np.allclose(answer(rows)["predictions"], said)
    with pytest.raises(ValueError, match="output_key must be one of"):
        predictor.from_estimator(model, receiver)

# SPDX-License-Identifier: Apache-2.0
"""Estimators write SavedModels: what these offer, what they answer, and which of them exporters keep."""
import os
import types

import numpy as np
import pytest

import thalweg as tw

fc = tw.feature_column
AGE, JOB = fc.numeric_column("age"), fc.categorical_column_with_vocabulary_list("job", ["cook", "clerk"])
COLUMNS = [AGE, fc.indicator_column(JOB)]
ROWS = {"age": np.array([20.0, 50.0, 30.0], np.float32), "job": np.array(["cook", "clerk", "smith"])}


def inputs(epochs=1, labels=True):
    return tw.estimator.inputs.numpy_input_fn(ROWS, np.array([0, 1, 0]) if labels else None, 3, num_epochs=epochs, shuffle=False)


@pytest.fixture(name="model")
def _model(tmp_path):
    made = tw.estimator.DNNClassifier([4], COLUMNS, str(tmp_path / "model"), config=tw.estimator.RunConfig(tf_random_seed=1))
    return made.train(inputs(None), steps=5)


def example(age, job):
    f = tw.train.Feature
    return tw.train.Example(features=tw.train.Features(feature={
        "age": f(float_list=tw.train.FloatList(value=[age])), "job": f(bytes_list=tw.train.BytesList(value=[job.encode()]))})).SerializeToString()


def parsing():
    return tw.estimator.export.build_parsing_serving_input_receiver_fn(fc.make_parse_example_spec(COLUMNS))


def raw():
    features = {"age": tw.placeholder(tw.float32, [None]), "job": tw.placeholder(tw.string, [None])}
    return tw.estimator.export.build_raw_serving_input_receiver_fn(features)


def asked(path, signature, inputs_of):
    """What a signature of a SavedModel gives, with the loader of sessions."""
    with tw.Graph().as_default(), tw.Session() as session:
        found = tw.saved_model.load(session, ["serve"], path).signature_def[signature]
        feeds = {found.inputs[name].name: value for name, value in inputs_of.items()}
        return session.run({name: info.name for name, info in found.outputs.items()}, feeds)


def test_serialized_examples_are_classified(model, tmp_path):
    path = model.export_saved_model(str(tmp_path / "export"), parsing())
    assert isinstance(path, bytes)
    assert os.path.dirname(path.decode()) == str(tmp_path / "export") and os.path.basename(path).isdigit()
    examples = [example(*row) for row in ((20.0, "cook"), (50.0, "clerk"), (30.0, "smith"))]
    said = [row["probabilities"] for row in model.predict(inputs(labels=False))]
    for signature in ("serving_default", "classification"):
        found = asked(path.decode(), signature, {"inputs": examples})
        assert np.allclose(found["scores"], said) and found["classes"].tolist() == [[b"0", b"1"]] * 3
    assert np.allclose(asked(path.decode(), "predict", {"examples": examples})["probabilities"], said)
    assert np.allclose(asked(path.decode(), "regression", {"inputs": examples})["outputs"][:, 0], np.array(said)[:, 1])


def test_raw_features_have_no_classifier(model, tmp_path):
    with tw.Graph().as_default():
        path = model.export_savedmodel(str(tmp_path), raw(), as_text=True).decode()
    assert os.path.exists(os.path.join(path, "saved_model.pbtxt"))
    with tw.Graph().as_default(), tw.Session() as session:
        assert sorted(tw.saved_model.load(session, ["serve"], path).signature_def) == ["predict"]
    said = [row["class_ids"] for row in model.predict(inputs(labels=False))]
    assert asked(path, "predict", ROWS)["class_ids"].tolist() == np.array(said).tolist()


def test_a_model_function_with_outputs_of_its_own(tmp_path):
    def model_fn(features, labels, mode):
        w = tw.get_variable("w", initializer=3.0)
        y = features["x"] * w
        outputs = {"double": tw.estimator.export.PredictOutput({"y": 2.0 * y})}
        return tw.estimator.EstimatorSpec(mode, predictions=y, loss=tw.reduce_sum(y), export_outputs=outputs,
                                          train_op=tw.assign_add(tw.train.get_global_step(), 1))
    model = tw.estimator.Estimator(model_fn, str(tmp_path / "model"))
    model.train(lambda: ({"x": tw.constant([1.0])}, tw.constant([1.0])), steps=1)

    def receiver():
        x = tw.placeholder(tw.float32, [None])
        return tw.estimator.export.ServingInputReceiver({"x": x}, x, {"half": {"h": tw.placeholder_with_default([1.0], [None])}})
    (tmp_path / "words.txt").write_text("a\n")
    path = model.export_saved_model(str(tmp_path / "out"), receiver, {"more/words.txt": str(tmp_path / "words.txt")}).decode()
    assert asked(path, "double", {"input": [2.0]})["y"].tolist() == [12.0]
    assert asked(path, "serving_default", {"input": [2.0]})["y"].tolist() == [12.0]
    with tw.Graph().as_default(), tw.Session() as session:
        assert sorted(tw.saved_model.load(session, ["serve"], path).signature_def) == ["double", "half:double", "half:serving_default",
                                                                                       "serving_default"]
    with open(os.path.join(path, "assets.extra", "more", "words.txt"), encoding="utf-8") as f:
        assert f.read() == "a\n"


def test_a_vocabulary_travels_with_the_model(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("cook\nclerk\n")
    columns = [fc.categorical_column_with_vocabulary_file("job", str(words))]
    model = tw.estimator.LinearClassifier(columns, str(tmp_path / "model")).train(inputs(None), steps=5)
    said = [row["logits"] for row in model.predict(inputs(labels=False))]
    receiver = tw.estimator.export.build_parsing_serving_input_receiver_fn(fc.make_parse_example_spec(columns))
    path = model.export_saved_model(str(tmp_path / "out"), receiver).decode()
    words.unlink()
    assert os.listdir(os.path.join(path, "assets")) == ["words.txt"]
    examples = [example(0.0, job) for job in ROWS["job"]]
    assert np.allclose(asked(path, "predict", {"examples": examples})["logits"], said)


def test_two_exports_of_a_second_have_names_of_their_own(model, tmp_path):
    paths = [model.export_saved_model(str(tmp_path / "out"), parsing()) for _ in range(3)]
    assert len(set(paths)) == 3 and sorted(os.listdir(tmp_path / "out")) == sorted(os.path.basename(p).decode() for p in paths)


def test_exporters_remove_older_models_and_nothing_else(model, tmp_path, monkeypatch):
    monkeypatch.setattr("thalweg.estimator.saved_models.time", types.SimpleNamespace(time=lambda: 1.7e9))
    base = tmp_path / "export"
    for name in ("1", "20240101", "1600000000", "\u00b2"):  # none of them is an exported model
        (base / name).mkdir(parents=True)
    (base / "1600000001").symlink_to(base / "1")
    exporter = tw.estimator.LatestExporter("last", parsing(), exports_to_keep=1)
    paths = [exporter.export(model, base, None, {}, False).decode() for _ in range(3)]
    assert sorted(os.listdir(base)) == sorted(["1", "20240101", "1600000000", "1600000001", "\u00b2", os.path.basename(paths[-1])])
    assert paths == sorted(set(paths)) and tw.saved_model.contains_saved_model(paths[-1])


def test_an_export_that_fails_leaves_nothing(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="no_such_file"):
        model.export_saved_model(tmp_path / "out", parsing(), {"words": str(tmp_path / "no_such_file")})
    assert os.listdir(tmp_path / "out") == []


def test_a_model_that_was_not_written_is_not_the_best_one(tmp_path):
    exporter, model = tw.estimator.BestExporter("best", None, None), _Written(tmp_path)
    with pytest.raises(NotADirectoryError):
        (tmp_path / "full").touch()
        exporter.export(model, str(tmp_path / "full" / "x"), "", {"loss": 0.1}, False)
    assert exporter.export(model, str(tmp_path / "export"), "", {"loss": 0.2}, False) == b"2"


def test_what_is_not_trained_is_not_exported(tmp_path):
    with pytest.raises(ValueError, match="Couldn't find trained model at"):
        tw.estimator.DNNClassifier([4], COLUMNS, str(tmp_path)).export_saved_model(str(tmp_path), parsing())


def test_exporters_of_train_and_evaluate(tmp_path):
    model = tw.estimator.LinearClassifier(COLUMNS, str(tmp_path), config=tw.estimator.RunConfig(save_checkpoints_steps=5))
    exporters = [tw.estimator.FinalExporter("final", parsing()), tw.estimator.LatestExporter("last", parsing(), exports_to_keep=2),
                 tw.estimator.BestExporter("best", parsing(), exports_to_keep=1)]
    result, exports = tw.estimator.train_and_evaluate(
        model, tw.estimator.TrainSpec(inputs(None), max_steps=20),
        tw.estimator.EvalSpec(inputs(), steps=None, exporters=exporters, start_delay_secs=0, throttle_secs=0))
    assert result["global_step"] == 20 and [e is not None for e in exports][:2] == [True, True]
    kept = {name: len(os.listdir(tmp_path / "export" / name)) for name in ("final", "last", "best")}
    assert kept == {"final": 1, "last": 2, "best": 1}


class _Written:
    """An estimator that writes empty folders."""

    def __init__(self, folder):
        self.model_dir, self.count = str(folder), 0

    def export_saved_model(self, base, *unused, **named):
        self.count += 1
        os.makedirs(os.path.join(base, str(self.count)))
        return str(self.count).encode()


def test_the_best_exporter_remembers_what_was_measured_before(tmp_path):
    model, base = _Written(tmp_path), str(tmp_path / "export")
    writer = tw.summary.FileWriter(str(tmp_path / "eval"))
    writer.add_summary(tw.Summary(value=[tw.Summary.Value(tag="loss", simple_value=0.5)]), 10)
    writer.close()
    exporter = tw.estimator.BestExporter("best", None)
    found = [exporter.export(model, base, "", {"loss": loss, "global_step": step}, False)
             for step, loss in ((20, 0.7), (30, 0.4), (40, 0.4), (50, 0.1))]
    assert found == [None, b"1", None, b"2"]
    largest = tw.estimator.BestExporter("best", None, None, lambda best_eval_result, current_eval_result:
                                        best_eval_result["auc"] < current_eval_result["auc"])
    assert [largest.export(model, base, "", {"auc": auc}, False) for auc in (0.5, 0.4, 0.6)] == [b"3", None, b"4"]


def test_more_metrics(model):
    def measure(features, labels, predictions):
        return {"mean_age": tw.metrics.mean(features["age"]), "hits": tw.metrics.accuracy(labels, predictions["class_ids"][:, 0])}
    found = tw.estimator.add_metrics(model, measure).evaluate(inputs())
    assert np.isclose(found["mean_age"], 100 / 3) and np.isclose(found["hits"], found["accuracy"])
    with pytest.raises(ValueError, match="has following not expected args"):
        tw.estimator.add_metrics(model, lambda what: {})


def test_a_model_begins_from_another_one(model, tmp_path):
    again = tw.estimator.DNNClassifier([4], COLUMNS, str(tmp_path / "again"), optimizer=tw.train.GradientDescentOptimizer(0.0),
                                       warm_start_from=tw.estimator.WarmStartSettings(
        model.model_dir, vars_to_warm_start="dnn/hidden.*"))
    again.train(inputs(None), steps=1)
    kernel = "dnn/hiddenlayer_0/kernel"
    assert np.allclose(again.get_variable_value(kernel), model.get_variable_value(kernel))
    assert not np.allclose(again.get_variable_value("dnn/logits/kernel"), model.get_variable_value("dnn/logits/kernel"), atol=0.01)

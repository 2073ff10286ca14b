# SPDX-License-Identifier: Apache-2.0
"""What TensorBoard shows of what Thalweg writes: each plug-in's data over HTTP, compared with the values that were written."""
import io
import json
import wave

import log_directory as logs
import numpy as np
import plugin_values as values
import pytest
from PIL import Image

RUNS = ["contrib", "hyperparameters", "hyperparameters/run0", "hyperparameters/run1", "newer", "operations", "v1", "v2"]


def test_runs_and_plugins(board):
    assert sorted(json.loads(board.bytes("runs"))) == RUNS
    shown = json.loads(board.bytes("plugins_listing"))
    asked = ["scalars", "custom_scalars", "images", "audio", "graphs", "distributions", "histograms", "text", "pr_curves", "hparams", "mesh"]
    assert [name for name in asked if not shown[name]["enabled"]] == []


@pytest.mark.parametrize("run, tag, expected", [
    ("v1", "model/loss", dict(enumerate(logs.LOSS))), ("v2", "model/loss", dict(enumerate(logs.LOSS))),
    ("contrib", "loss", {0: logs.LOSS[0], 2: logs.LOSS[2]}), ("newer", "loss", {1: 0.5}), ("operations", "number/scalar_summary", {0: 2.5})])
def test_scalars(board, run, tag, expected):
    assert {step: value for _, step, value in board("scalars/scalars", run=run, tag=tag)} == expected


def test_descriptions(board):
    tags = board("scalars/tags")
    assert tags["v2"]["model/loss"]["description"] == "<p>how far <em>off</em></p>"
    assert tags["operations"]["number/scalar_summary"] == {"displayName": "number", "description": "<p>a <em>number</em></p>"}


def pixels(board, run, tag, sample=0):
    """The pictures of a tag, one for each step."""
    found = board("images/images", run=run, tag=tag, sample=sample)
    return {row["step"]: np.asarray(Image.open(io.BytesIO(board.bytes("plugin/images/individualImage?" + row["query"])))) for row in found}


@pytest.mark.parametrize("run, tag, sample, which, steps", [
    ("v1", "picture/image/0", 0, 0, logs.STEPS), ("v1", "picture/image/1", 0, 1, logs.STEPS), ("v2", "model/picture", 0, 0, logs.STEPS),
    ("v2", "model/floats", 1, 1, logs.STEPS), ("contrib", "picture/image/1", 0, 1, (0, 2))])
def test_images(board, run, tag, sample, which, steps):
    found = pixels(board, run, tag, sample)
    assert tuple(found) == tuple(steps)
    for picture in found.values():
        np.testing.assert_array_equal(picture, logs.IMAGES[which])


def test_images_of_the_package(board):
    for run, tag in (("operations", "dots/image_summary"), ("newer", "picture")):
        (picture,) = pixels(board, run, tag).values()
        np.testing.assert_array_equal(picture, values.DOTS[0])


@pytest.mark.parametrize("run, tag, sample, which", [("v1", "sound/audio/1", 0, 1), ("v2", "model/sound", 1, 1), ("v2", "model/sound", 0, 0),
                                                     ("contrib", "sound/audio/0", 0, 0)])
def test_audio(board, run, tag, sample, which):
    rows = board("audio/audio", run=run, tag=tag, sample=sample)
    # The data server does not know the kind of older summaries, also of those that TensorFlow 1.15 wrote.
    assert rows[0]["contentType"] in ("audio/wav", "audio/wav" if run == "v2" else "application/octet-stream")
    with wave.open(io.BytesIO(board.bytes("plugin/audio/individualAudio?" + rows[0]["query"]))) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (logs.RATE, 1, 2)
        found = np.frombuffer(sound.readframes(100), np.int16)
    np.testing.assert_allclose(found / 32767, logs.SOUNDS[which, :, 0], atol=1.0 / 32767)


@pytest.mark.parametrize("run, tag, expected", [
    ("v2", "model/weights", [[1, 2, 1], [2, 3, 2], [3, 4, 0], [4, 5, 0], [5, 6, 1]]),
    ("newer", "weights", [[1, 2, 1], [2, 3, 2], [3, 4, 0], [4, 5, 0], [5, 6, 1]]),
    ("operations", "values/histogram_summary", [[1.0, 2.25, 2], [2.25, 3.5, 0], [3.5, 4.75, 0], [4.75, 6, 1]])])
def test_histograms(board, run, tag, expected):
    np.testing.assert_allclose(board("histograms/histograms", run=run, tag=tag)[0][2], expected)


def test_histograms_of_old_summaries(board):
    for run, steps in (("v1", logs.STEPS), ("contrib", (0, 2))):
        rows = board("histograms/histograms", run=run, tag="weights")
        assert tuple(step for _, step, _ in rows) == tuple(steps)
        for _, step, buckets in rows:
            given = logs.WEIGHTS + (step if run == "v1" else 0)
            buckets = np.array(buckets)
            assert (buckets[0, 0], buckets[-1, 1], buckets[:, 2].sum()) == (given.min(), given.max(), given.size)
            for left, right, count in buckets[buckets[:, 2] > 0]:
                assert ((given >= left) & (given <= right)).sum() == count


def test_distributions(board):
    for run, tag in (("v1", "weights"), ("v2", "model/weights"), ("contrib", "weights"), ("newer", "weights")):
        points = dict(board("distributions/distributions", run=run, tag=tag)[0][2])
        assert points[0] == 1.0 and points[10000] == 6.0 and 2.0 <= points[5000] <= 3.0


def test_text(board):
    assert [row["text"] for row in board("text/text", run="v1", tag="words")] == ["<p><strong>bold</strong> words</p>"] * 3
    assert board("text/text", run="v2", tag="model/words")[0]["text"] == "<p><strong>bold</strong> words</p>"
    table = board("text/text", run="v2", tag="model/table")[0]["text"]
    assert [cell.split("</p>")[0] for cell in table.split("<td><p>")[1:]] == ["a", "b", "c", "d"]
    assert board("text/text", run="operations", tag="said/text_summary")[0]["text"] == "<p>hello</p>"


def test_graphs(board):
    info = board("graphs/info")
    assert info["v1"]["run_graph"] and info["contrib"]["run_graph"]
    assert {tag: row["profile"] for tag, row in info["v1"]["tags"].items()} == {f"step {n}": True for n in logs.STEPS}
    shown = board.bytes("plugin/graphs/graph", run="v1").decode()
    assert 'name: "model/loss_at"\n  op: "GatherV2"\n  input: "model/Const"\n  input: "step"' in shown
    assert 'op: "WriteScalarSummary"' in board.bytes("plugin/graphs/graph", run="contrib").decode()


def test_run_metadata(board):
    told = board.bytes("plugin/graphs/run_metadata", run="v1", tag="step 1").decode()
    assert 'node_name: "model/loss_at"' in told and "all_end_rel_micros" in told


def test_pr_curves(board):
    (curve,) = board("pr_curves/pr_curves", run="operations", tag="curve/pr_curves")["operations"]
    thresholds = np.array(curve["thresholds"])
    np.testing.assert_allclose(thresholds, [0, 0.25, 0.5, 0.75])  # the last, 1, has nothing above it and is not shown
    above = values.PREDICTIONS >= thresholds[:, None]
    true, false = (above & values.LABELS).sum(1), (above & ~values.LABELS).sum(1)
    assert (curve["true_positives"], curve["false_positives"]) == (true.tolist(), false.tolist())
    np.testing.assert_allclose(curve["precision"], true / (true + false), rtol=1e-6)
    np.testing.assert_allclose(curve["recall"], true / values.LABELS.sum(), rtol=1e-6)
    (message,) = board("pr_curves/pr_curves", run="operations", tag="message/pr_curves")["operations"]
    assert message["precision"] == curve["precision"]
    (streamed,) = board("pr_curves/pr_curves", run="operations", tag="streamed/pr_curves")["operations"]
    np.testing.assert_allclose(streamed["recall"], curve["recall"], rtol=1e-6)


def test_meshes(board):
    rows = board("mesh/meshes", run="operations", tag="shape", sample=0)
    assert json.loads(rows[0]["config"]) == {"camera": {"fov": 60}}
    kinds = {"VERTEX": (np.float32, values.VERTICES), "FACE": (np.int32, values.FACES), "COLOR": (np.uint8, values.COLORS)}
    for kind, (dtype, expected) in kinds.items():
        found = np.frombuffer(board.bytes("plugin/mesh/data", run="operations", tag="shape", sample=0, content_type=kind), dtype)
        np.testing.assert_array_equal(found, expected.ravel())
    found = np.frombuffer(board.bytes("plugin/mesh/data", run="newer", tag="shape", sample=0, step=1, content_type="VERTEX"), np.float32)
    np.testing.assert_array_equal(found, values.VERTICES.ravel())


def test_hyperparameters(board):
    experiment = board("hparams/experiment", body={"experimentName": ""})
    assert {row["name"]: row.get("domainInterval", row.get("domainDiscrete")) for row in experiment["hparamInfos"]} == {
        "dropout": {"minValue": 0.0, "maxValue": 0.5}, "optimizer": ["adam", "sgd"]}
    assert experiment["metricInfos"][0]["displayName"] == "Accuracy"
    asked = {"experimentName": "", "colParams": [], "startIndex": 0, "sliceSize": 10,
             "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"]}
    groups = board("hparams/session_groups", body=asked)["sessionGroups"]
    assert {g["name"]: (g["hparams"]["dropout"], g["hparams"]["optimizer"], g["metricValues"][0]["value"]) for g in groups} == {
        f"trial {n}": trial for n, trial in enumerate(values.TRIALS)}


def test_layouts(board):
    assert board("custom_scalars/layout")["category"][0]["chart"][0]["multiline"] == {"tag": ["number"]}

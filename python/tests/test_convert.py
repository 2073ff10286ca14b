# SPDX-License-Identifier: Apache-2.0
"""Models that are converted to graphs without variables, compared with records, and counted."""
import json
import os

import numpy as np
import pytest
import thalweg as tw

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden")


def normal(*shape, seed=0, scale=1.0):
    return (np.random.RandomState(seed).randn(*shape) * scale).astype(np.float32)


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """Convolutions and a dense layer, each with a normalization behind it, fused and in parts; channels are not alike."""
    path = str(tmp_path_factory.mktemp("net") / "model")
    with tw.Graph().as_default(), tw.Session() as session:
        x = tw.placeholder(tw.float32, [None, 8, 8, 3], name="x")
        h = x
        for i, separable in enumerate((False, True)):
            channels = h.shape[-1].value
            if separable:
                h = tw.nn.depthwise_conv2d(h, tw.Variable(normal(3, 3, channels, 2, seed=i)), [1, 1, 1, 1], "SAME")
            else:
                h = tw.nn.bias_add(tw.nn.conv2d(h, tw.Variable(normal(3, 3, channels, 5, seed=i)), [1, 1, 1, 1], "SAME"),
                                   tw.Variable(normal(5, seed=9), use_resource=True))
            n = h.shape[-1].value
            parts = [tw.Variable(normal(n, seed=10 + k)) for k in range(3)] + [tw.Variable(np.abs(normal(n, seed=14)) + 0.5)]
            h = tw.nn.relu(tw.nn.fused_batch_norm(h, *parts, is_training=False)[0])
        h = tw.matmul(tw.reduce_mean(h, [1, 2]), tw.Variable(normal(10, 4, seed=20), use_resource=True))
        h = tw.nn.batch_normalization(h, tw.Variable(normal(4, seed=21)), tw.Variable(np.abs(normal(4, seed=22)) + 1),
                                      tw.Variable(normal(4, seed=23)), tw.Variable(normal(4, seed=24)), 1e-3)
        y = tw.nn.softmax(h, name="softmax")
        session.run(tw.global_variables_initializer())
        tw.saved_model.simple_save(session, path, {"image": x}, {"p": y, "logits": h})
    return path


def ops_of(path):
    with open(path, "rb") as f:
        return [n.op for n in tw.GraphDef.FromString(f.read()).node]


def test_batch_norms_become_weights(net, tmp_path):
    model, image = tw.load(net), normal(4, 8, 8, 3, seed=3)
    wanted = model(image=image)
    model.convert(tmp_path / "folded.pb")
    model.convert(tmp_path / "kept.pb", fold_batch_norms=False)
    ops = ops_of(tmp_path / "folded.pb")
    assert not {"VariableV2", "VarHandleOp", "FusedBatchNormV3", "Mul", "Rsqrt", "RestoreV2", "SaveV2"} & set(ops), ops
    assert ops.count("BiasAdd") == 3
    assert "FusedBatchNormV3" in ops_of(tmp_path / "kept.pb")
    folded, kept = tw.load(tmp_path / "folded.pb"), tw.load(tmp_path / "kept.pb")
    assert str(folded.signatures["serving_default"]).startswith("serving_default(image: float32 [?, 8, 8, 3]) -> logits")
    for name, value in folded(image=image).items():
        np.testing.assert_allclose(value, wanted[name], rtol=1e-4, atol=1e-5)
    for name, value in kept(image=image).items():
        np.testing.assert_array_equal(value, wanted[name])


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_models_of_both_releases(release, tmp_path):
    """Loops, conditionals and a table of a file; what it held goes with it."""
    path = os.path.join(GOLDEN, "saved_models", release, "tf2_module")
    with open(path + ".json") as f:
        cases = json.load(f)["cases"]
    tw.load(path).convert(tmp_path / "out", saved_model=True)
    frozen = tw.load(tmp_path / "out")
    with np.load(path + ".npz") as wanted:
        for i, case in enumerate(cases):
            if case["signature"] != "serving_default":
                continue
            found = frozen(**{n: wanted[f"{i}.in.{n}"] for n in case["inputs"]})
            for name in case["outputs"]:
                np.testing.assert_allclose(found[name], wanted[f"{i}.out.{name}"], rtol=1e-5)


def test_an_export_of_keras_3(tmp_path):
    path = os.path.join(GOLDEN, "saved_models", "2.21", "keras_export")
    tw.load(path).convert(tmp_path / "out", saved_model=True)
    with np.load(path + ".npz") as wanted:
        found = tw.load(tmp_path / "out")(**{n[3:]: wanted[n] for n in wanted.files if n.startswith("in.")})
        for name, value in found.items():
            np.testing.assert_allclose(value, wanted["out." + name], atol=1e-5 * np.abs(wanted["out." + name]).max())


def test_a_default_stays_one(tmp_path):
    x = tw.placeholder(tw.float32, [None], name="x")
    b = tw.placeholder_with_default(np.float32(1), [], name="b")
    v = tw.Variable(2.0, name="v")
    tw.add(x * v, b, name="y")
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        tw.train.Saver().save(session, str(tmp_path / "ckpt"))
    tw.load(tmp_path / "ckpt.meta").convert(tmp_path / "out.pb")
    model = tw.load(tmp_path / "out.pb")
    assert model(x=[1]).tolist() == [3] and model(x=[1], b=5).tolist() == [7]


def test_what_cannot_be_converted_says_why(tmp_path):
    v = tw.Variable(1.0, use_resource=True, name="v")
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        tw.saved_model.simple_save(session, str(tmp_path / "model"), {"x": tw.placeholder(tw.float32, [], "x")},
                                   {"y": v.assign_add(1.0)})
    model = tw.load(tmp_path / "model")
    with pytest.raises(tw.errors.FailedPreconditionError, match="does more with the variable 'v' than read it") as refused:
        model.convert(tmp_path / "out.pb")
    assert refused.value.message.startswith(f"{tmp_path}/model: signature 'serving_default': ")
    assert not (tmp_path / "out.pb").exists()
    with pytest.raises(tw.errors.NotFoundError, match="there is no signature 'other'"):
        model.convert(tmp_path / "out.pb", "other")


def test_a_record_is_compared(net):
    model, image = tw.load(net), normal(2, 8, 8, 3)
    names = ["softmax:0", "MatMul:0", "Relu:0"]
    values = dict(zip(names, model.fetch(names, {"image": image})))
    found = model.verify({"image": image}, {**values, "none:0": image})
    assert found["same"] and found["first"] is None and found["missing"] == ["none:0"] and len(found["values"]) == 3
    values["MatMul:0"] = values["MatMul:0"] + np.float32([0, 0, 0.5, 0])
    found = model.verify({"image": image}, values)
    first = found["values"][found["first"]]
    assert first["tensor"] == "MatMul:0" and first["differing"] == 2 and abs(first["max_abs"] - 0.5) < 1e-5
    assert [found["values"][i]["tensor"] for i in first["inputs"]] == ["Relu:0"]
    assert model.verify({"image": image}, values, atol=1.0)["same"]
    wrong = model.verify({"image": image}, {"Relu:0": np.zeros([1], np.float64)})["values"][0]
    assert wrong["kind"] == "expected float64 [1], found float32 [2,8,8,5]"


def test_costs(net):
    model = tw.load(net)
    costs = model.costs(batch=4)
    flops = {row["name"]: row["flops"] for row in costs["operations"]}
    assert flops["Conv2D"] == 2 * 4 * 64 * 5 * 27 and flops["DepthwiseConv2dNative"] == 2 * 4 * 64 * 10 * 9
    assert flops["MatMul"] == 2 * 4 * 10 * 4 and costs["inputs"] == {"image": [4, 8, 8, 3]}
    assert costs["peak_bytes"] > 4 * 64 * 5 * 4 and costs["not_counted"] == 0
    assert model.costs(shapes={"image": [2, None, None, None]})["inputs"] == {"image": [2, 8, 8, 3]}
    assert model.costs(batch=8)["flops"] > 1.9 * costs["flops"]
    with pytest.raises(tw.errors.InvalidArgumentError, match=r"input 'image' float32 \[\?,8,8,3\] cannot have the shape \[2,2\]"):
        model.costs(shapes={"image": [2, 2]})


def test_other_tensors_of_a_meta_graph(tmp_path):
    x = tw.placeholder(tw.float32, [None, 2], name="x")
    w = tw.Variable([[1.0], [2.0]], name="w")
    hidden = tw.matmul(x, w, name="hidden")
    tw.add(hidden, 1, name="y")
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        tw.train.Saver().save(session, str(tmp_path / "ckpt"))
    model = tw.load(tmp_path / "ckpt.meta")
    hidden, weights = model.fetch(["hidden:0", "w"], {"x": normal(1, 2)})
    assert hidden.shape == (1, 1) and weights.tolist() == [[1], [2]]
    assert model.fetch("y", {"hidden": np.float32([[5]])}).tolist() == [[6]]
    with pytest.raises(tw.errors.InvalidArgumentError, match=r"ckpt.meta: fetch 'hiden:0': "):
        model.fetch("hiden:0")
    with pytest.raises(TypeError, match="names of tensors are text, got 3"):
        model.fetch([3])


def test_paths_that_are_no_utf8(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.mkdir(folder)
    tw.add(tw.placeholder(tw.float32, [], name="x"), 1, name="y")
    path = folder + b"/graph.pb"
    with open(path, "wb") as f:
        f.write(tw.get_default_graph().as_graph_def().SerializeToString())
    for given in (path, os.fsdecode(path)):
        model = tw.load(given)
        assert model(x=1) == 2 and repr(model).startswith("Model(")
    model.convert(folder + b"/out.pb")
    assert tw.load(folder + b"/out.pb")(x=1) == 2
    with pytest.raises(tw.errors.NotFoundError, match="there is no such file or directory"):
        tw.load(folder + b"/none")
    with pytest.raises(tw.errors.InvalidArgumentError, match="missing 'x'"):
        model()

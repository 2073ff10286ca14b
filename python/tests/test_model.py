# SPDX-License-Identifier: Apache-2.0
"""Models that TensorFlow has written, loaded with tw.load and called."""
import concurrent.futures
import json
import os
import pathlib
import signal
import threading

import numpy as np
import pytest
import thalweg as tw

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden")
MODELS = os.path.join(GOLDEN, "saved_models")
RELEASES = pytest.mark.parametrize("release", ["1.15", "2.21"])


@RELEASES
def test_a_model_of_functions(release):
    path = os.path.join(MODELS, release, "tf2_module")
    with open(path + ".json") as f:
        cases = json.load(f)["cases"]
    model = tw.load(path)
    with np.load(path + ".npz") as wanted:
        for i, case in enumerate(cases):
            found = model.signature(case["signature"])(**{n: wanted[f"{i}.in.{n}"] for n in case["inputs"]})
            found = found if isinstance(found, dict) else {case["outputs"][0]: found}
            assert sorted(found) == case["outputs"]
            for name, value in found.items():
                np.testing.assert_allclose(value, wanted[f"{i}.out.{name}"], rtol=1e-5)


@RELEASES
def test_tables_and_tags(release):
    path = os.path.join(MODELS, release, "tf1_lookup")
    with open(path + ".json") as f:
        facts = json.load(f)
    model = tw.load(path, tags="serve")
    assert sorted(model.signatures) == sorted(facts["signatures"]) and model.tags == ["serve"]
    with np.load(path + ".npz") as wanted:
        found = model.signature("ids")(text=facts["feeds"]["text:0"])
        found = found if isinstance(found, dict) else {"ids": found}
        np.testing.assert_array_equal(found["ids"], wanted["ids"])
    assert tw.load(pathlib.Path(path), tags=["other"]).tags == ["other"]
    with pytest.raises(tw.errors.NotFoundError, match=r"no graph of this SavedModel has the tags \['none'\]; there are"):
        tw.load(path, tags="none")


def test_an_export_of_keras_3():
    """Batch normalization with statistics of its own, an LSTM, a vocabulary."""
    path = os.path.join(MODELS, "2.21", "keras_export")
    model = tw.load(path)
    with np.load(path + ".npz") as wanted:
        found = model(**{n[3:]: wanted[n] for n in wanted.files if n.startswith("in.")})
        assert sorted(found) == ["class", "code"]
        for name, value in found.items():
            largest = np.abs(wanted["out." + name]).max()
            np.testing.assert_allclose(value, wanted["out." + name], atol=1e-5 * largest)
    assert repr(model).splitlines()[1] == ("  serve(image: float32 [?, 6, 6, 2], words: string [?, 4]) -> "
                                           "class: float32 [?, 3], code: float32 [?, 4]")
    assert model.signatures["serve"].inputs["image"].shape == [None, 6, 6, 2]


@pytest.mark.parametrize("name", ["convnet", "lstm_classifier", "math_mix"])
@RELEASES
def test_graphs(release, name):
    """A GraphDef in both forms has the signature of its placeholders and last results."""
    path = os.path.join(GOLDEN, "graphs", release, name)
    for extension in (".pb", ".pbtxt"):
        model = tw.load(path + extension)
        assert model.kind == "GraphDef" and list(model.signatures) == ["serving_default"]
        assert model.signatures["serving_default"].outputs


@pytest.fixture
def frozen(tmp_path):
    x = tw.placeholder(tw.float32, [None, 2], name="x")
    b = tw.placeholder_with_default(np.float32(1), [], name="b")
    tw.add(x, b, name="y")
    path = tmp_path / "graph.pb"
    path.write_bytes(tw.get_default_graph().as_graph_def().SerializeToString())
    return path


def test_values_without_copies(frozen):
    model = tw.load(frozen)
    given = np.arange(2000, dtype=np.float32).reshape(1000, 2)

    class Lent:
        """What speaks DLPack and nothing else."""

        def __dlpack__(self, *args, **kwargs):
            return given.__dlpack__()

        def __dlpack_device__(self):
            return given.__dlpack_device__()
    for value in (given, memoryview(given), Lent(), given.tolist()):
        found = model(x=value, b=3.0)
        np.testing.assert_array_equal(found, given + 3)
    assert found.flags.writeable and not found.flags.owndata  # the memory of the step's tensor
    np.testing.assert_array_equal(np.from_dlpack(found), given + 3)
    np.testing.assert_array_equal(model(given), given + 1)  # the only input without a default


def test_wrong_values_are_told_in_one_sentence(frozen):
    model = tw.load(str(frozen))
    inputs = r"; its inputs are 'b' float32 \[\] \(optional\), 'x' float32 \[\?,2\]$"
    for values, said in (({}, "missing 'x'" + inputs), ({"z": 1}, "missing 'x'; unknown 'z'" + inputs),
                         ({"x": [1.0]}, r"input 'x' float32 \[\?,2\] got float32 \[1\]$")):
        with pytest.raises(tw.errors.InvalidArgumentError, match="signature 'serving_default': " + said) as refused:
            model(**values)
        assert refused.value.message.startswith(str(frozen))
    for values, said in (({"x": [[3, 4]]}, "given twice 'x'" + inputs), ({"z": 1}, "unknown 'z'" + inputs)):
        with pytest.raises(tw.errors.InvalidArgumentError, match="signature 'serving_default': " + said):
            model([[1, 2]], **values)
    with pytest.raises(ValueError, match="signature 'serving_default': input 'x': ") as unfit:
        model(x="text")
    assert str(unfit.value).startswith(str(frozen))
    with pytest.raises(TypeError, match="the name of a signature is text, got 3 of type 'int'"):
        model.signature(3)
    with pytest.raises(TypeError, match="tags are text, got 3 of type 'int'"):
        tw.load(frozen, tags=[3])
    with pytest.raises(tw.errors.NotFoundError, match="there is no signature 'other'; it has 'serving_default'"):
        model.signature("other")
    with pytest.raises(TypeError, match="by name"):
        model([[1, 2]], 2)


def test_threads(frozen):
    model = tw.load(frozen)

    def work(n):
        return {float(model(x=[[n, n]])[0, 0]) for _ in range(50)}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4), timeout=60)) == [{1.0}, {2.0}, {3.0}, {4.0}]


def test_what_is_not_known(tmp_path):
    (tmp_path / "graph.pbtxt").write_text("""
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "z" op: "Zzyzx" input: "x" }""")
    model = tw.load(tmp_path / "graph.pbtxt")
    assert model.unknown_operations == "'Zzyzx'" and model(2.0) == -2.0
    assert "unknown operations: 'Zzyzx'" in repr(model)


def test_what_was_saved_here(tmp_path):
    x = tw.placeholder(tw.float32, [None], name="x")
    y = x * tw.Variable(3.0)
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        tw.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})
        tw.train.Saver().save(session, str(tmp_path / "ckpt"))
    model = tw.load(tmp_path / "model")
    assert model(x=[1, 2]).tolist() == [3, 6]
    for one in (tmp_path / "model").glob("variables/*"):
        one.write_bytes(b"")
    assert model(x=[2]).tolist() == [6]
    assert tw.load(tmp_path / "ckpt.meta").kind == "MetaGraph"
    assert tw.load(tmp_path / "ckpt.meta")(x=[1]).tolist() == [3]


WAITS_FOREVER = """saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' } graph_def {
    node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'd' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'init' op: 'NoOp' input: '^d' } }
  %s signature_def { key: 'serving_default' value { outputs { key: 'y' value { name: 'd:0' } } } } }"""


def test_ctrl_c_ends_a_load_and_a_run(tmp_path, interruptible):
    def interrupted(call):
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()  # here: nobody knows how far the call is then
            call()
        timer.join()
    path = tmp_path / "saved_model.pbtxt"
    path.write_text(WAITS_FOREVER % "collection_def { key: 'saved_model_main_op' value { node_list { value: 'init' } } }")
    interrupted(lambda: tw.load(tmp_path))
    path.write_text(WAITS_FOREVER % "")
    model = tw.load(tmp_path)
    interrupted(model)
    interrupted(model)


def test_threads_run_a_model_that_is_dropped(frozen):
    """What runs keeps the model; others come and go meanwhile."""
    models, ready = [tw.load(frozen)], threading.Barrier(4)

    def work(_):
        model = models[0]
        ready.wait(60)
        return {float(model(x=[[1, 1]])[0, 0]) for _ in range(200)}
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        given = pool.map(work, range(3), timeout=60)
        ready.wait(60)
        models.clear()
        for _ in range(20):
            assert tw.load(frozen)(x=[[2, 2]])[0, 0] == 3
        assert list(given) == [{2.0}] * 3


def test_a_table_is_restored_where_there_are_no_variables(tmp_path):
    table = tw.lookup.MutableHashTable(tw.string, tw.int64, -1, checkpoint=True)
    keys = tw.placeholder(tw.string, [None], name="keys")
    found = table.lookup(keys)
    with tw.Session() as session:
        session.run(table.insert(tw.constant(["a", "b"]), tw.constant([3, 4], tw.int64)))
        tw.saved_model.simple_save(session, str(tmp_path / "model"), {"keys": keys}, {"found": found})
        tw.train.Saver().save(session, str(tmp_path / "ckpt"))
    assert tw.load(tmp_path / "model")(keys=["b", "a", "c"]).tolist() == [4, 3, -1]
    assert tw.load(tmp_path / "ckpt.meta").signature()(keys=["a"]).tolist() == [3]

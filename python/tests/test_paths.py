# SPDX-License-Identifier: Apache-2.0
"""A path is a str, a PathLike or bytes, wherever TensorFlow 1.15 takes one; what comes back is a str."""
import os
import pathlib

import pytest

import thalweg as tw

KINDS = [str, pathlib.Path, os.fsencode]


@pytest.fixture
def session():
    with tw.Graph().as_default():
        tw.Variable(1.0, name="v")
        with tw.Session() as open_session:
            open_session.run(tw.global_variables_initializer())
            yield open_session


@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints(kind, session, tmp_path):
    tw.train.Saver().save(session, str(tmp_path / "model"))
    prefix, folder = kind(tmp_path / "model"), kind(tmp_path)
    assert tw.train.NewCheckpointReader(prefix).has_tensor("v")
    assert tw.train.load_variable(prefix, "v") == 1.0 and tw.train.load_variable(folder, "v") == 1.0
    assert tw.train.list_variables(folder) == [("v", [])]
    assert tw.train.checkpoint_exists(prefix)
    assert tw.train.latest_checkpoint(folder) == str(tmp_path / "model")
    assert tw.train.get_checkpoint_state(folder).model_checkpoint_path == str(tmp_path / "model")
    tw.train.init_from_checkpoint(prefix, {"v": session.graph.get_collection("variables")[0]})


@pytest.mark.parametrize("kind", KINDS)
def test_models_graphs_and_events(kind, session, tmp_path):
    value = session.graph.get_tensor_by_name("v:0")
    tw.saved_model.simple_save(session, kind(tmp_path / "saved"), {"v": value}, {"v": value})
    assert tw.saved_model.loader.maybe_saved_model_directory(kind(tmp_path / "saved"))
    with tw.Graph().as_default(), tw.Session() as other:
        tw.saved_model.loader.load(other, ["serve"], kind(tmp_path / "saved"))
        assert other.run("v:0") == 1.0
    assert os.path.exists(tw.train.write_graph(session.graph, kind(tmp_path / "graphs"), "graph.pbtxt"))
    with tw.summary.FileWriter(kind(tmp_path / "events"), session.graph) as writer:
        assert writer.get_logdir() == str(tmp_path / "events")
    assert len(os.listdir(tmp_path / "events")) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_files(kind, tmp_path):
    with tw.gfile.GFile(kind(tmp_path / "a.txt"), "w") as file:
        file.write("text")
    assert tw.gfile.ListDirectory(kind(tmp_path)) == ["a.txt"]
    assert tw.gfile.Glob(kind(tmp_path / "*.txt")) == [str(tmp_path / "a.txt")]
    assert list(tw.gfile.Walk(kind(tmp_path))) == [(str(tmp_path), [], ["a.txt"])]
    with pytest.raises(tw.errors.NotFoundError) as caught:
        tw.gfile.Remove(kind(tmp_path / "none"))
    assert str(caught.value).startswith(f"{tmp_path / 'none'}; No such file")

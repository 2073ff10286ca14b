# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of format V1: those that the releases wrote, and ours."""
import glob
import json
import os

import numpy as np
import pytest

import thalweg as tw
from thalweg import raw_ops

GOLDEN = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "golden", "checkpoints")
V1 = tw.train.SaverDef.V1


def saved(session, path, **more):
    saver = tw.train.Saver(write_version=V1, **more)
    return saver, saver.save(session, str(path), write_meta_graph=False)


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_what_the_releases_wrote(release, run):
    folder = os.path.join(GOLDEN, release, "v1")
    with open(os.path.join(folder, "typed.json"), encoding="utf-8") as f:
        known = json.load(f)["tensors"]
    values = np.load(os.path.join(folder, "typed.npz"))
    path = os.path.join(folder, "typed.ckpt")
    reader = tw.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {name: about["shape"] for name, about in known.items()}
    for name, about in known.items():
        value = values[name] if name in values.files else values[name.replace("/", "__")]
        if about["dtype"] == "string":
            value = value.astype(object)
        np.testing.assert_array_equal(reader.get_tensor(name), value, err_msg=name)
        found = run(raw_ops.Restore(file_pattern=path, tensor_name=name, dt=getattr(tw, about["dtype"])))
        np.testing.assert_array_equal(found, value, err_msg=name)


def test_saved_and_restored(tmp_path):
    with tw.Session() as session:
        v, w = tw.get_variable("v", initializer=[1.0, 2.0]), tw.get_variable("w", initializer=3)
        session.run(tw.global_variables_initializer())
        saver, path = saved(session, tmp_path / "model")
        assert sorted(os.listdir(tmp_path)) == ["checkpoint", "model"] and saver.to_proto().version == V1
        session.run([v.assign([7.0, 8.0]), w.assign(9)])
        saver.restore(session, path)
        assert session.run(w) == 3 and session.run(v).tolist() == [1, 2]
        session.run(v.assign([7.0, 8.0]))
        tw.train.Saver().restore(session, path)  # one that writes V2 reads both
        assert session.run(v).tolist() == [1, 2]
    assert tw.train.latest_checkpoint(str(tmp_path)) == path and tw.train.checkpoint_exists(path)
    assert tw.train.list_variables(path) == [("v", [2]), ("w", [])] and tw.train.load_variable(path, "w") == 3


def test_old_ones_go(tmp_path):
    with tw.Session() as session:
        v = tw.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        saver = tw.train.Saver(write_version=V1, max_to_keep=2)
        for step in range(4):
            saver.save(session, str(tmp_path / "model"), global_step=step)
    assert sorted(os.path.basename(p) for p in glob.glob(str(tmp_path / "model*"))) == ["model-2", "model-2.meta", "model-3", "model-3.meta"]


def test_errors(tmp_path):
    with pytest.raises(RuntimeError, match="write_version"):
        tw.train.Saver(write_version=3)
    with tw.Session() as session:
        v = tw.get_variable("v", initializer=[1.0, 2.0])
        session.run(v.initializer)
        saver, path = saved(session, tmp_path / "model")
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(session, path + "x")
        with open(path, "r+b") as f:
            f.seek(9)
            f.write(b"\xff")
        with pytest.raises(tw.errors.DataLossError, match="checksum"):
            saver.restore(session, path)
        with pytest.raises(tw.errors.DataLossError, match="checksum"):
            tw.train.NewCheckpointReader(path)
        with pytest.raises(tw.errors.NotFoundError, match="matching"):
            session.run(raw_ops.Restore(file_pattern=path + "y", tensor_name="v", dt=tw.float32))

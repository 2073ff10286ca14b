# SPDX-License-Identifier: Apache-2.0
"""Saving in the background, the best kept, a part restored, and what stands in the way of a save (users A6, G1)."""
import errno
import os
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import pytest
from full_disks import full_disk

import thalweg as tw

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def values(path):
    reader = tw.train.load_checkpoint(path)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def model(elements=1_000_000):
    v = tw.get_variable("v", [elements], initializer=tw.zeros_initializer())
    r = tw.get_variable("r", [elements], initializer=tw.zeros_initializer(), use_resource=True)
    return tw.group(v.assign_add(tw.ones([elements])), r.assign_add(tw.ones([elements])))


def test_values_are_of_one_moment_and_the_session_waits(tmp_path):
    step = model()
    saver = tw.train.Saver(max_to_keep=0, async_save=True)
    paths = []
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        for i in range(5):
            session.run(step)
            paths.append(saver.save(session, tmp_path / "m", global_step=i))
            session.run(step)
            session.run(step)
    assert not saver.is_saving and tw.train.latest_checkpoint(tmp_path) == paths[-1]
    for i, path in enumerate(paths):
        for name, value in values(path).items():
            assert np.unique(value).tolist() == [3 * i + 1], name
        assert os.path.exists(path + ".meta")


def test_errors_come_with_the_next_call(tmp_path):
    (tmp_path / "file").write_text("")
    step = model(10)
    saver = tw.train.Saver(async_save=True)
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        session.run(step)
        good = saver.save(session, tmp_path / "m", global_step=1)
        os.mkdir(tmp_path / "gone")
        saver.wait()
        bad = tmp_path / "gone" / "m"
        os.rename(tmp_path / "file", tmp_path / "gone" / "m.data-00000-of-00001")
        os.mkdir(tmp_path / "gone" / "m.index")  # an index cannot have that name
        saver.save(session, bad, write_meta_graph=False)
        with pytest.raises(tw.errors.OpError, match=r"gone/m' in the background.*m\.index"):
            saver.save(session, tmp_path / "m", global_step=2)
        saver.wait()  # told once
        saver.save(session, bad)
        with pytest.raises(tw.errors.OpError, match=r"m\.index"):
            session.close()
    assert tw.train.latest_checkpoint(tmp_path) == good
    with pytest.raises(ZeroDivisionError), tw.Session() as session:  # the program's error comes first
        session.run(tw.global_variables_initializer())
        saver.save(session, bad)
        raise ZeroDivisionError


def test_the_end_of_a_program_waits(tmp_path):
    program = textwrap.dedent(f"""
        import thalweg as tw
        v = tw.get_variable("v", [5_000_000], initializer=tw.ones_initializer())
        session = tw.Session()
        session.run(v.initializer)
        tw.train.Saver(async_save=True).save(session, {str(tmp_path / "m")!r})
    """)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
    assert np.unique(values(tmp_path / "m")["v"]).tolist() == [1]


class Listener(tw.train.CheckpointSaverListener):
    def __init__(self, folder):
        self.folder, self.seen = folder, []

    def after_save(self, session, global_step_value):
        path = tw.train.latest_checkpoint(self.folder)
        self.seen.append((global_step_value, int(values(path)["global_step"])))


def test_hooks_tell_what_is_written(tmp_path):
    step = tw.train.get_or_create_global_step()
    large = tw.get_variable("large", [1_000_000])
    train = tw.group(tw.assign_add(step, 1), large.assign_add(large))
    listener = Listener(tmp_path)
    scaffold = tw.train.Scaffold(saver=tw.train.Saver(async_save=True))
    hook = tw.train.CheckpointSaverHook(tmp_path, save_steps=3, scaffold=scaffold, listeners=[listener])
    with tw.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), scaffold=scaffold, chief_only_hooks=[hook],
                                           save_checkpoint_secs=None) as session:
        for _ in range(8):
            session.run(train)
    assert [step for step, _ in listener.seen] == [0, 3, 6, 8]
    assert all(written == step for step, written in listener.seen)
    assert int(values(tw.train.latest_checkpoint(tmp_path))["global_step"]) == 8


def test_a_loop_is_told_at_the_end_of_a_monitored_session(tmp_path):
    step = tw.train.get_or_create_global_step()
    train = tw.assign_add(step, 1)
    scaffold = tw.train.Scaffold(saver=tw.train.Saver(async_save=True))
    with pytest.raises(tw.errors.OpError, match=r"model\.ckpt-2"):
        with tw.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), scaffold=scaffold, save_checkpoint_steps=1000) as session:
            os.mkdir(tmp_path / "model.ckpt-2.index")
            session.run(train)
            session.run(train)
    assert tw.train.latest_checkpoint(tmp_path).endswith("model.ckpt-0")


def test_the_best_stay(tmp_path):
    with tw.Session() as session:
        v = tw.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        saver = tw.train.Saver(max_to_keep=2, keep_best=1, best_mode="max")
        for step, accuracy in enumerate([0.5, 0.9, 0.7, 0.8, 0.6]):
            saver.save(session, tmp_path / "m", global_step=step, metric=accuracy)
        names = [os.path.basename(p) for p in saver.last_checkpoints]
        assert names == ["m-1", "m-3", "m-4"] and tw.train.best_checkpoint(tmp_path).endswith("m-1")
        again = tw.train.Saver(max_to_keep=2, keep_best=1, best_mode="max")
        again.recover_last_checkpoints(tw.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths)
        again.save(session, tmp_path / "m", global_step=5, metric=0.1)
        assert [os.path.basename(p) for p in again.last_checkpoints] == ["m-1", "m-4", "m-5"]
        assert tw.train.best_checkpoint(tmp_path / "none") is None
    for wrong in ({"best_mode": "most"}, {"async_timeout_secs": 0}, {"keep_best": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            tw.train.Saver(**wrong)


def test_what_differs_is_told_at_once(tmp_path):
    with tw.Session() as session:
        tw.get_variable("a", initializer=[1.0, 2.0])
        tw.get_variable("b", initializer=3)
        tw.get_variable("c", initializer=4.0)
        session.run(tw.global_variables_initializer())
        path = tw.train.Saver().save(session, tmp_path / "m")
    with tw.Graph().as_default(), tw.Session() as session:
        a = tw.get_variable("a", initializer=[9.0, 9.0, 9.0], use_resource=True)
        b = tw.get_variable("b", initializer=9.0)
        c = tw.get_variable("c", initializer=9.0)
        d, e = tw.get_variable("d", initializer=9.0), tw.get_variable("e", initializer=9.0)
        session.run(tw.global_variables_initializer())
        saver = tw.train.Saver({"a": a, "b": b, "d": d, "e": e})
        found = saver.compare(path)
        assert found == (["d", "e"], ["c"], [("a", "[2]", "[3]")], [("b", "int32", "float32")]) and not found.fits
        with pytest.raises(tw.errors.NotFoundError) as refused:
            saver.restore(session, path)
        for words in ("'d' float32 []", "'e' float32 []", "'a' [2], not [3]", "'b' int32, not float32", "'c' float32 []"):
            assert words in refused.value.message
        both = tw.train.Saver([a, b, c, d, e])
        assert both.restore(session, path, partial=True).extra == []
        assert session.run(c) == 4 and session.run(b) == 9 and session.run(a).tolist() == [9, 9, 9]
        with pytest.raises(tw.errors.InvalidArgumentError, match="of another shape: 'a'"):
            tw.train.Saver([a]).restore(session, path)
        assert str(tw.train.Saver([c]).compare(path)) == "only in the checkpoint: a, b"
        assert tw.train.Saver([c]).restore(session, path) is None


# ---- what stands in the way ----
@pytest.mark.parametrize("in_background", [False, True], ids=["at once", "in the background"])
def test_a_full_disk_loses_nothing(tmp_path, in_background):
    step = model()
    saver = tw.train.Saver(async_save=in_background)
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        good = saver.save(session, tmp_path / "m", global_step=1)
        saver.wait()
        before = sorted(os.listdir(tmp_path))
        session.run(step)
        with full_disk(1 << 20), pytest.raises(tw.errors.ResourceExhaustedError,
                                               match=r"(?s)'[rv]'.*cannot write '.*m-2\.tempstate.*File too large"):
            saver.save(session, tmp_path / "m", global_step=2)
            saver.wait()
        assert sorted(os.listdir(tmp_path)) == before and tw.train.latest_checkpoint(tmp_path) == good
        saver.restore(session, good)
        saver.save(session, tmp_path / "m", global_step=3)


def test_rights_that_are_missing_are_told():
    model(10)
    saver, user = tw.train.Saver(), os.geteuid()
    with tempfile.TemporaryDirectory() as folder, tw.Session() as session:
        os.chmod(folder, 0o755)  # others may enter it, as the user is who stands in for us where we may do all
        session.run(tw.global_variables_initializer())
        good = saver.save(session, os.path.join(folder, "m"), global_step=1)
        try:
            if user == 0:
                os.seteuid(65534)
            else:
                os.chmod(folder, 0o555)
            with pytest.raises(tw.errors.PermissionDeniedError, match=r"m-2.*" + os.strerror(errno.EACCES)):
                saver.save(session, os.path.join(folder, "m"), global_step=2)
        finally:
            os.seteuid(user)
            os.chmod(folder, 0o755)
        assert tw.train.latest_checkpoint(folder) == good
        saver.restore(session, good)


def test_processes_that_are_killed_leave_the_newest_whole():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "failures", "killed_saves.py"), "30", "1"], timeout=600,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "30 processes were killed" in done.stdout

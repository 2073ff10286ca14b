# SPDX-License-Identifier: Apache-2.0
"""Steps that training records of itself (users J1), as `thalweg trace` reads them."""
import json
import os
import subprocess
import sys

import pytest
import thalweg as tw


def _train(hook, runs, act=None):
    """A session of so many runs; act(step, session) runs one of them instead."""
    with tw.Graph().as_default():
        fed = tw.placeholder_with_default(1.0, [], name="fed")
        y = tw.multiply(tw.py_func(lambda value: act(value) if act else value, [fed], tw.float32), 2.0, name="y")
        with tw.train.MonitoredSession(hooks=[hook]) as session:
            return [session.run(y, {fed: float(step)}) for step in range(runs)]


def _summary(path):
    done = subprocess.run([sys.executable, "-m", "thalweg", "trace", "summary", "--json", str(path)], capture_output=True, text=True, check=True,
                          timeout=120)
    return json.loads(done.stdout)


def test_runs_that_were_asked_for(tmp_path):
    folder = tmp_path / "made" / "here"
    assert _train(tw.train.TraceHook(str(folder), steps=[1, 3]), 5) == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert sorted(os.listdir(folder)) == ["step-1.pb", "step-3.pb"]
    summary = _summary(folder / "step-3.pb")
    assert summary["nodes"] >= 2 and "Mul" in {op["op"] for op in summary["ops"]}
    metadata = tw.RunMetadata()
    metadata.ParseFromString((folder / "step-3.pb").read_bytes())
    assert metadata.partition_graphs


def test_runs_that_are_slow(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("thalweg.training.trace_hook.time.monotonic", lambda: now[0])

    def slow(step):
        now[0] += {0.0: 9.0, 2.0: 0.5, 3.0: 0.2, 4.0: 0.6, 5.0: 0.7}.get(float(step), 0.1)
        return step
    _train(tw.train.TraceHook(str(tmp_path), slower_than=0.3, most=2), 7, slow)
    assert sorted(os.listdir(tmp_path)) == ["step-2.pb", "step-4.pb"], "neither the first run nor more than two"


def test_other_runs_are_not_traced(tmp_path):
    hook = tw.train.TraceHook(str(tmp_path), steps=[2])
    assert [hook.before_run(None) is not None for _ in range(4)] == [False, False, True, False]


def test_what_it_refuses(tmp_path):
    with pytest.raises(ValueError, match="needs steps or slower_than"):
        tw.train.TraceHook(str(tmp_path))
    with pytest.raises(ValueError, match="0 or more seconds, got -1"):
        tw.train.TraceHook(str(tmp_path), slower_than=-1)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        _train(tw.train.TraceHook(str(tmp_path / "file"), steps=[0]), 1)

# SPDX-License-Identifier: Apache-2.0
"""Steps that training records of itself (users J1), as `thalweg trace` reads them."""
import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import thalweg as tw


def _train(hook, runs):
    """A session of so many runs."""
    with tw.Graph().as_default():
        fed = tw.placeholder_with_default(1.0, [], name="fed")
        y = tw.multiply(tw.py_func(lambda value: value, [fed], tw.float32), 2.0, name="y")
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


def test_compact_files(tmp_path):
    _train(tw.train.TraceHook(str(tmp_path), steps=[2], compact=True), 3)
    assert os.listdir(tmp_path) == ["step-2.trace"]
    metadata = tw.debugging.read_trace(tmp_path / "step-2.trace")
    assert metadata.partition_graphs and (tmp_path / "step-2.trace").stat().st_size < len(metadata.SerializeToString())
    assert "Mul" in {op["op"] for op in _summary(tmp_path / "step-2.trace")["ops"]}
    for name in ("again.pb", b"again.trace"):
        path = os.path.join(os.fsencode(tmp_path) if isinstance(name, bytes) else tmp_path, name)
        tw.debugging.write_trace(path, metadata)
        assert tw.debugging.read_trace(path).SerializeToString() == metadata.SerializeToString()
    with open(tmp_path / "again.pb", "rb") as file, gzip.open(tmp_path / "again.pb.gz", "wb") as compressed:
        compressed.write(file.read())
    assert tw.debugging.read_trace(tmp_path / "again.pb.gz") == metadata
    assert sorted(os.listdir(tmp_path)) == ["again.pb", "again.pb.gz", "again.trace", "step-2.trace"]


def test_errors_have_their_kind_before_a_graph_is_made(tmp_path):
    (tmp_path / "cut.trace").write_bytes(b"\x1f\x8b\x08")
    ran = subprocess.run([sys.executable, "-c", "import sys, thalweg as tw; tw.debugging.read_trace(sys.argv[1])", tmp_path / "cut.trace"],
                         capture_output=True, text=True, timeout=120)
    assert ran.stderr.splitlines()[-1].startswith("thalweg.errors.DataLossError: "), ran.stderr


def test_files_that_hold_no_trace(tmp_path):
    path = tmp_path / "step.trace"
    tw.debugging.write_trace(path, tw.RunMetadata(partition_graphs=[tw.GraphDef()]))
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(tw.errors.DataLossError, match="step.trace: the compressed bytes end too early, at byte "):
        tw.debugging.read_trace(path)
    path.write_bytes(b"<html>")
    with pytest.raises(tw.errors.InvalidArgumentError, match="step.trace: expected a RunMetadata message .*, found XML or HTML"):
        tw.debugging.read_trace(path)
    with pytest.raises(FileNotFoundError):
        tw.debugging.write_trace(tmp_path / "none" / "step.trace", tw.RunMetadata())
    with pytest.raises(TypeError, match="expected a RunMetadata, got a str"):
        tw.debugging.write_trace(path, "abc")
    with pytest.raises(TypeError, match="expected a RunMetadata, got a GraphDef"):
        tw.debugging.write_trace(path, tw.GraphDef())


@pytest.mark.parametrize("wanted, kind, said", [
    ({}, ValueError, "needs steps, slower_than or failing"), ({"steps": [3, -1]}, ValueError, "numbers of runs, from 0 on, got -1 among them"),
    ({"steps": "12"}, TypeError, "steps must be numbers of runs, got '12'"), ({"steps": 5}, TypeError, "steps must be numbers of runs, got 5"),
    ({"slower_than": 1, "most": -1}, ValueError, "most must be a whole number from 0 on, got -1"),
    ({"failing": True, "first_step": 1.5}, ValueError, "first_step must be a whole number from 0 on, got 1.5"),
    ({"slower_than": "a"}, ValueError, "slower_than must be 0 or more seconds, got 'a'"), ({"slower_than": -1}, ValueError, "got -1")])
def test_runs_that_are_none(tmp_path, wanted, kind, said):
    with pytest.raises(kind, match=said):
        tw.train.TraceHook(str(tmp_path), **wanted)


def _told(*nodes):
    """What a traced step has left whose nodes (job, kind of device, begin, seconds) are these."""
    step = tw.RunMetadata()
    for job, device, begin, lasted in nodes:
        made = step.step_stats.dev_stats.add(device=f"/job:{job}/replica:0/task:0/device:{device}:0")
        made.node_stats.add(node_name="y", all_start_micros=int(begin * 1e6), all_end_rel_micros=int(lasted * 1e6))
    return step


def _pass(hook, steps):
    """The hook among runs that leave these; it looks at none that it has not asked for."""
    for step in steps:
        asked = hook.before_run(None)
        hook.after_run(None, tw.train.SessionRunValues(None, None, None if asked is None else step))


def _lasting(*seconds):
    return [_told(("worker", "CPU", 0, lasted)) for lasted in seconds]


def test_runs_that_are_slow(tmp_path):
    hook = tw.train.TraceHook(str(tmp_path), slower_than=1.0, most=2)
    _pass(hook, _lasting(1.2, 0.1, 1.2, 1.0, 1.2, 1.2, 0.1))
    assert sorted(os.listdir(tmp_path)) == ["step-2.pb", "step-4.pb"], "neither the first run nor more than two"


def test_every_run_takes_longer_than_nothing(tmp_path):
    _train(tw.train.TraceHook(str(tmp_path), slower_than=0, most=2), 5)
    assert sorted(os.listdir(tmp_path)) == ["step-1.pb", "step-2.pb"]


def _failing(hook, feeds, **arguments):
    """A session that runs with these values fed: what came of each run."""
    with tw.Graph().as_default():
        fed = tw.placeholder(tw.float32, [], name="fed")
        before = tw.exp(fed, name="before")
        with tw.control_dependencies([before]):
            y = tw.check_numerics(tw.log(fed, name="log"), "no number", name="y")
        after = tw.add(y, 1.0, name="after")
        came = []
        for value in feeds:
            try:
                with tw.train.MonitoredSession(hooks=[hook]) as session:
                    came.append(session.run(after, {fed: value}, **arguments))
            except tw.errors.InvalidArgumentError as error:
                came.append(error)
        return came


def test_runs_that_fail(tmp_path):
    came = _failing(tw.train.TraceHook(str(tmp_path), first_step=0, failing=True), [1.0, -1.0])
    assert came[0] == 1.0 and "no number" in came[1].message
    assert os.listdir(tmp_path) == ["step-0-failed.pb"]
    metadata = tw.RunMetadata.FromString((tmp_path / "step-0-failed.pb").read_bytes())
    ran = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert {"before", "y"} <= ran and "after" not in ran
    assert metadata.partition_graphs
    assert _summary(tmp_path / "step-0-failed.pb")["nodes"] >= 2


def test_a_trace_that_cannot_be_written_leaves_the_run_its_error(tmp_path, caplog):
    folder = tmp_path / "gone"

    class Removes(tw.train.SessionRunHook):
        def before_run(self, run_context):
            folder.rmdir()

    with tw.Graph().as_default():
        y = tw.check_numerics(tw.log(tw.constant(-1.0)), "no number")
        with pytest.raises(tw.errors.InvalidArgumentError, match="no number"):
            with tw.train.MonitoredSession(hooks=[tw.train.TraceHook(str(folder), first_step=0, failing=True), Removes()]) as session:
                session.run(y)
    assert "The trace of the run that failed is lost: " in caplog.text and "step-0-failed.pb" in caplog.text


def test_failing_runs_are_not_traced_for_other_hooks(tmp_path):
    came = _failing(tw.train.TraceHook(str(tmp_path), first_step=0, slower_than=100), [-1.0])
    assert "no number" in came[0].message and os.listdir(tmp_path) == []
    seen = tw.RunMetadata()
    _failing(tw.train.TraceHook(str(tmp_path), first_step=0, failing=True), [-1.0], run_metadata=seen)
    assert not seen.step_stats.dev_stats and os.listdir(tmp_path) == [], "metadata of the program's own are as they were"


def test_the_end_of_the_data_is_no_failure(tmp_path):
    hook = tw.train.TraceHook(str(tmp_path), first_step=0, failing=True)
    with tw.Graph().as_default():
        value = tw.data.make_one_shot_iterator(tw.data.Dataset.range(2)).get_next()
        with tw.train.MonitoredSession(hooks=[hook]) as session:
            while not session.should_stop():
                session.run(value)
    assert os.listdir(tmp_path) == []


def test_time_is_the_longest_of_all_tasks(tmp_path):
    """Their clocks differ, so that of all together means nothing."""
    hook = tw.train.TraceHook(str(tmp_path), slower_than=1.0, first_step=0)
    _pass(hook, [_told(("worker", "CPU", 0, 0.8), ("ps", "CPU", 9, 0.4)), _told(("worker", "CPU", 0, 0.8), ("worker", "GPU", 0.8, 0.4)),
                 _told()])
    assert os.listdir(tmp_path) == ["step-1.pb"]


def test_each_session_counts_its_own_runs(tmp_path):
    hook = tw.train.TraceHook(str(tmp_path), steps=np.array([1]), slower_than=0, first_step=2, most=1)
    for _ in range(2):
        _train(hook, 5)
        assert sorted(os.listdir(tmp_path)) == ["step-1.pb", "step-2.pb"]
        for name in os.listdir(tmp_path):
            os.remove(tmp_path / name)


def test_other_runs_are_not_traced(tmp_path):
    hook = tw.train.TraceHook(str(tmp_path), steps=[2])
    assert [hook.before_run(None) is not None for _ in range(4)] == [False, False, True, False]


def test_what_it_refuses(tmp_path):
    with pytest.raises(ValueError, match="needs steps, slower_than or failing"):
        tw.train.TraceHook(str(tmp_path))
    with pytest.raises(ValueError, match="0 or more seconds, got -1"):
        tw.train.TraceHook(str(tmp_path), slower_than=-1)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        _train(tw.train.TraceHook(str(tmp_path / "file"), steps=[0]), 1)

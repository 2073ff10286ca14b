# SPDX-License-Identifier: Apache-2.0
"""Steps that fail are kept and run again from their files (papers A6: numbers one can trust)."""
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import thalweg as tw
from thalweg.debugger import replay as replay_module
from thalweg.debugger.step_files import KeptStep


def _fails(session, fetches, feeds=None, **more):
    with pytest.raises(tw.errors.OpError) as error:
        session.run(fetches, feeds, **more)
    return error.value


def _replay_elsewhere(path):
    """(status, output) of the command in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "thalweg", "replay", path], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_a_failed_step_runs_again_in_another_process(tmp_path):
    x = tw.placeholder(tw.float32, [2], name="x")
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
    y = tw.check_numerics(tw.log(w * x), "the logarithm", name="check")
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        session.run(w.initializer)
        assert session.run(y, {x: [1, 1]}).tolist() == pytest.approx([0, np.log(2)])
        assert captured.files == []
        _fails(session, y, {x: [1, -1]})
    assert captured.files == [str(tmp_path / "run-2.step")]
    status, said = _replay_elsewhere(captured.files[0])
    assert status == 0, said
    assert "InvalidArgumentError" in said and "the logarithm" in said and "the same error" in said
    assert "run" not in vars(session), "the session is as it was"


@pytest.mark.parametrize("resource", [False, True])
def test_variables_as_they_were_before_and_after(tmp_path, resource):
    """The update comes before the failure: only the state before the step leads there again."""
    w = tw.get_variable("w", initializer=1.0, use_resource=resource)
    with tw.control_dependencies([w.assign_add(1.0)]):
        seen = w.read_value()
    failing = tw.debugging.assert_less(seen, 3.0, message="w")
    with tw.Session() as session:
        session.run(w.initializer)
        with tw.debugging.capture(session, str(tmp_path / "before"), state="before") as before:
            session.run(failing)
            _fails(session, failing)
        assert session.run(w) == 3
        with tw.debugging.capture(session, str(tmp_path / "after")) as after:
            _fails(session, failing)
    again = tw.debugging.replay(before.files[0])
    assert again.is_the_same and again.step.state == {"w": 2.0} and again.step.state_is_of == "before"
    again = tw.debugging.replay(after.files[0])
    assert again.raised is not None and not again.is_the_same and again.step.state == {"w": 4.0} and "after the step" in again.text()


def test_what_random_operations_iterators_and_queues_gave(tmp_path):
    """None of them would give it again."""
    noise = tw.random_uniform([3], name="noise")
    item = tw.data.Dataset.range(5).map(lambda i: tw.cast(i, tw.float32)).make_one_shot_iterator().get_next()
    queue = tw.FIFOQueue(10, [tw.float32], [[]])
    fill = queue.enqueue_many([[10.0, 11.0, 12.0, 13.0]])
    told = tw.py_func(lambda v: v * np.float32(100), [item], tw.float32)
    total = tw.reduce_sum(noise) + item + queue.dequeue() + told
    check = tw.group(tw.debugging.assert_less(total, 105.0, data=[noise, item, told, total]))
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        session.run(fill)
        session.run(check)
        error = _fails(session, check)
    again = tw.debugging.replay(captured.files[0])
    assert again.is_the_same, again.text()
    assert len(again.step.given) == 4 and not again.step.lost
    status, said = _replay_elsewhere(captured.files[0])
    assert status == 0 and error.message.split("[[")[0].strip()[:60] in said


def test_what_could_not_be_kept_is_said(tmp_path):
    looped = tw.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + tw.random_uniform([], name="dice")), [0, 0.0])[1]

    def refuse(value):
        raise ValueError("no")
    failing = tw.py_func(refuse, [looped], tw.float32, name="refuse")
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        _fails(session, failing * 2.0)
    status, said = _replay_elsewhere(captured.files[0])
    assert status == 1 and "PyFunc 'refuse'" in said and said.endswith("not the same\n")
    again = tw.debugging.replay(captured.files[0])
    assert "runs in a loop" in again.step.lost["while/dice/RandomUniform"]
    assert "had given nothing" in again.step.lost["refuse"]
    assert "not kept: refuse" in again.text()


def test_the_run_before_leaves_nothing(tmp_path):
    """A value of an earlier run is none of this one."""
    x = tw.placeholder(tw.float32, [])
    with tw.control_dependencies([tw.debugging.assert_positive(x)]):
        noise = tw.random_uniform([], name="noise") + 0.0
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        session.run(noise, {x: 1.0})
        _fails(session, noise, {x: -1.0})
    step = tw.debugging.replay(captured.files[0]).step
    assert step.given == {} and "had given nothing" in step.lost["noise/RandomUniform"]


def test_which_runs_are_kept(tmp_path):
    x = tw.placeholder(tw.float32, [])
    y = tw.check_numerics(x, "x")
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path), first_run=2, most=2) as captured:
        for value in (np.nan, 1, np.nan, np.nan, np.nan):
            try:
                session.run(y, {x: value})
            except tw.errors.InvalidArgumentError:
                pass
        end = tw.data.Dataset.range(0).make_one_shot_iterator().get_next()
        with pytest.raises(tw.errors.OutOfRangeError):
            session.run(end)
    assert sorted(os.listdir(tmp_path)) == ["run-2.step", "run-3.step"] == [os.path.basename(f) for f in captured.files]


def test_a_queue_that_nobody_fills_is_not_waited_for_ever(tmp_path, monkeypatch):
    queue = tw.FIFOQueue(10, [tw.float32], [[]], name="queue")
    y = tw.check_numerics(queue.dequeue(name="next"), "y")
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        session.run(queue.enqueue(np.nan))
        _fails(session, y)
    step = KeptStep.load(captured.files[0])
    assert np.isnan(step.given.pop("next:0"))
    step.save(str(tmp_path / "without"))
    monkeypatch.setattr(replay_module, "_LONGEST_MS", 200)
    again = tw.debugging.replay(str(tmp_path / "without"))
    assert isinstance(again.raised, tw.errors.DeadlineExceededError) and "next" in again.raised.message and not again.is_the_same


def test_options_of_the_step(tmp_path):
    y = tw.log(tw.placeholder(tw.float32, [], name="x"), name="y")
    with tw.Session(config=tw.ConfigProto(intra_op_parallelism_threads=1)) as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        _fails(session, y, {"x:0": -1.0}, options=tw.train.check_numerics_options())
    again = tw.debugging.replay(captured.files[0])
    assert again.is_the_same and again.step.config.intra_op_parallelism_threads == 1
    other = tw.debugging.replay(captured.files[0], options=tw.RunOptions())
    assert other.raised is None and np.isnan(other.values[0]) and "no error" in other.text()


def test_a_training_keeps_its_failed_step(tmp_path):
    x = tw.placeholder(tw.float32, [None, 2], name="x")
    w = tw.get_variable("w", initializer=[[1.0], [1.0]])
    step = tw.train.get_or_create_global_step()
    loss = tw.reduce_mean(tw.nn.dropout(tw.matmul(x, w), rate=0.5, seed=3) ** 2)
    checked = tw.check_numerics(loss, "the loss")
    train = tw.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    hook = tw.train.CaptureHook(str(tmp_path), state="before")
    with pytest.raises(tw.errors.InvalidArgumentError, match="the loss"):
        with tw.train.MonitoredSession(hooks=[hook, tw.train.LoggingTensorHook({"loss": loss}, every_n_iter=1)]) as session:
            for value in (1.0, 2.0, np.inf):
                session.run([train, checked], {x: [[value, value]]})
    again = tw.debugging.replay(hook.files[0])
    assert again.is_the_same, again.text()
    assert again.step.run == 2 and again.step.state["global_step"] == 2 and "w/Adam" in again.step.state
    assert loss.name in again.step.fetches, "what other hooks fetch is of the step"


def test_a_step_of_a_cluster(tmp_path):
    server = tw.train.Server.create_local_server()
    with tw.device("/job:localhost/task:0"):
        w = tw.get_variable("w", initializer=2.0, use_resource=True)
    y = tw.check_numerics(tw.log(w * tw.random_uniform([], 1, 2) * -1.0), "y")
    with tw.Session(server.target) as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        session.run(w.initializer)
        _fails(session, y)
    again = tw.debugging.replay(captured.files[0])
    assert again.raised is not None and "y : Tensor had NaN" in again.raised.message and again.step.state == {"w": 2.0}
    assert len(again.step.given) == 1


def test_a_kept_step_by_commands(tmp_path):
    x = tw.placeholder(tw.float32, [2], name="x")
    y = tw.check_numerics(tw.log(x, name="log"), "bad", name="check")
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        _fails(session, y, {x: [1, -1]})
    lines = ["where", "break * inf", "type Log", "breaks", "run", "print log", "print x:0", "print check", "cont", "bogus", "clear 9", "clear", "run", "break", "help", "exit"]
    done = subprocess.run([sys.executable, "-m", "thalweg", "replay", "--debug", captured.files[0]], capture_output=True, text=True, timeout=120,
                          input="\n".join(lines))
    said = done.stdout
    assert done.returncode == 0, done.stderr
    assert "no step stands" in said and "1: * where a value is not finite\n2: * of Log" in said
    assert "behind Log 'log', iteration 0" in said and "log:0 = [ 0. nan]" in said and "[ 1. -1.]" in said
    assert "'check:0' has not been computed yet" in said and said.count("InvalidArgumentError: bad") >= 2
    assert "no command 'bogus'" in said and "no breakpoint 9; there are [1, 2]" in said and "break: missing a required argument: 'name'" in said and "lists the breakpoints" in said


@pytest.mark.parametrize("damage, said", [("cut", "damaged"), ("text", "damaged"), ("page", "damaged"), ("format", "of format 7"),
                                          ("graph", "must have a graph.pb"), ("kind", "fetches must be a list"), ("name", "cannot be made")])
def test_bad_files(tmp_path, damage, said):
    y = tw.check_numerics(tw.placeholder(tw.float32, [], name="x"), "x", name="y")
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)) as captured:
        _fails(session, y, {"x:0": np.nan})
    path, bad = captured.files[0], str(tmp_path / "bad.step")
    whole = open(path, "rb").read()
    if damage in ("cut", "text"):
        with open(bad, "wb") as file:
            file.write(whole[:len(whole) // 2] if damage == "cut" else b"no archive")
    else:
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(bad, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name == "step.json":
                    page = json.loads(data)
                    page.update({"page": {"feeds": 3}, "format": {"format": 7}, "kind": {"fetches": "y"}, "name": {"fetches": ["z:0"]}}.get(damage, {}))
                    data = json.dumps(page)
                if damage != "graph" or name != "graph.pb":
                    new.writestr(name, data)
    with pytest.raises(ValueError, match=said):
        tw.debugging.replay(bad)
    assert _replay_elsewhere(bad)[0] == 2
    with pytest.raises(FileNotFoundError):
        tw.debugging.replay(str(tmp_path / "none.step"))


def test_what_it_refuses(tmp_path):
    with tw.Session() as session:
        with pytest.raises(ValueError, match="before, after, none, got 'now'"):
            tw.debugging.capture(session, str(tmp_path), state="now")


def test_a_folder_that_cannot_be_written_hides_no_error(tmp_path):
    x = tw.placeholder(tw.float32, [])
    folder = tmp_path / "gone"
    with tw.Session() as session, tw.debugging.capture(session, str(folder)) as captured:
        folder.rmdir()
        _fails(session, tw.check_numerics(x, "x"), {x: np.nan})
    assert captured.files == []


def _two_sessions_fail(folder):
    x = tw.placeholder(tw.float32, [])
    y = tw.check_numerics(x, "x")
    files = []
    for _ in range(2):
        with tw.Session() as session, tw.debugging.capture(session, folder) as captured:
            _fails(session, y, {x: np.nan})
        files += captured.files
    return files


def test_a_file_that_is_there_stays(tmp_path):
    files = _two_sessions_fail(str(tmp_path))
    assert [os.path.basename(f) for f in files] == ["run-0.step", "run-0-1.step"]
    assert all(tw.debugging.replay(f).is_the_same for f in files)


def test_a_session_is_captured_once_and_by_a_hook_where_it_is_monitored(tmp_path):
    tw.train.get_or_create_global_step()
    with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)):
        with pytest.raises(RuntimeError, match="captured already"), tw.debugging.capture(session, str(tmp_path)):
            pass
    with tw.train.MonitoredSession() as session, pytest.raises(TypeError, match="tw.train.CaptureHook"):
        tw.debugging.capture(session, str(tmp_path))
    with tw.train.MonitoredSession() as session, pytest.raises(TypeError, match="a Debugger takes a Session"):
        tw.debugging.Debugger(session)
    with pytest.raises(ValueError, match="state must be one of before, after, none"):
        tw.train.CaptureHook(str(tmp_path), state="always")


def test_what_was_around_a_session_comes_back(tmp_path):
    with tw.Session() as session:
        calls = []

        def around(fetches, *more):
            calls.append(fetches)
            return type(session).run(session, fetches, *more)
        session.run = around
        two = tw.constant(2.0)
        with tw.debugging.capture(session, str(tmp_path)):
            assert session.run(two) == 2.0 and calls == [two]
        assert session.run == around
        with tw.debugging.capture(session, str(tmp_path)), pytest.raises(ValueError):  # in the session's own words
            session.run("no_such_tensor:0")


def test_functions_of_the_program_are_not_those_of_the_process_that_replays(tmp_path):
    def refuse(value):
        raise ValueError("no")
    with tw.Graph().as_default():
        failing = tw.py_func(refuse, [tw.constant(1.0)], tw.float32, name="refuse")
        with tw.Session() as session, tw.debugging.capture(session, str(tmp_path)) as captured:
            _fails(session, failing * 2.0)
    again = tw.debugging.replay(captured.files[0])
    assert isinstance(again.raised, tw.errors.UnimplementedError) and "refuse" in again.raised.message and not again.is_the_same


def test_devices_are_others_where_a_step_of_a_cluster_runs_again():
    then, now = (f"x on {device}" for device in ("/job:ps/replica:0/task:3/device:CPU:0 (created at a.py:1)",
                                                 "/job:localhost/replica:0/task:0/device:GPU:0"))
    step = KeptStep(tw.GraphDef(), [], error={"type": "InvalidArgumentError", "message": then})
    assert replay_module.Replay(step, tw.errors.InvalidArgumentError(None, None, now), []).is_the_same
    assert not replay_module.Replay(step, tw.errors.InvalidArgumentError(None, None, now.replace("x", "y")), []).is_the_same


def test_any_damage_of_a_file_is_said_so(tmp_path):
    [path, _] = _two_sessions_fail(str(tmp_path))
    with open(path, "rb") as f:
        whole = f.read()
    draw = np.random.RandomState(1)
    for _ in range(200):
        spoiled = bytearray(whole)
        for at in draw.randint(0, len(whole), 3):
            spoiled[at] ^= 1 << draw.randint(8)
        with open(tmp_path / "spoiled.step", "wb") as f:
            f.write(spoiled)
        try:
            tw.debugging.replay(str(tmp_path / "spoiled.step"))
        except (OSError, ValueError):
            pass
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    page = json.loads(parts["step.json"])
    for name, changed in (("step.json", b"[" * 100_000), ("step.json", json.dumps({**page, "fetches": [1]}).encode()),
                          ("graph.pb", parts["graph.pb"].replace(b"CheckNumerics", b"CheckNumeric0"))):
        with zipfile.ZipFile(tmp_path / "spoiled.step", "w") as archive:
            for other, text in parts.items():
                archive.writestr(other, changed if other == name else text)
        with pytest.raises(ValueError, match="spoiled.step"):
            tw.debugging.replay(str(tmp_path / "spoiled.step"))

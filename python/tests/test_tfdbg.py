# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.debug: dumps, watches, and the wrappers that ask."""
import base64
import io
import json
import os
import pathlib
import re
import sys

import numpy as np
import pytest
import thalweg as tw
from thalweg.compatibility import stand_ins

tf_debug = stand_ins.module("tensorflow.python.debug")
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def _model():
    x = tw.placeholder(tw.float32, [2], name="x")
    w = tw.Variable([1.0, 0.0], name="w", use_resource=True)
    y = tw.log(w * x, name="scope/y")
    _, v = tw.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tw.multiply(v, 2.0, name="double")), [0, 1.0])
    return x, w, tw.reduce_sum(y, name="z"), v


def _dump(folder):
    (name,) = [name for name in os.listdir(folder) if name.startswith("run_")]
    return tf_debug.DebugDumpDir(os.path.join(folder, name))


def test_a_run_that_dumps(tmp_path):
    x, w, z, v = _model()
    with tw.Session() as session:
        session.run(w.initializer)
        wrapper = tf_debug.DumpingDebugWrapperSession(session, str(tmp_path))
        assert wrapper.run([z, v], {x: [1.0, 2.0]}) == [-np.inf, 8.0]
        assert wrapper.graph is session.graph and wrapper.run_call_count == 1
    dump = _dump(tmp_path)
    assert dump.devices() == [DEVICE] and dump.size == len(dump.dumped_tensor_data) > 10
    assert dump.get_tensors("scope/y", 0, "DebugIdentity")[0].tolist() == [0, -np.inf]
    assert [float(t) for t in dump.get_tensors("while/double", 0, "DebugIdentity")] == [2, 4, 8], "one an iteration"
    assert {d.tensor_name for d in dump.find(tf_debug.has_inf_or_nan)} == {"scope/y:0", "z:0"}
    assert [d.tensor_name for d in dump.find(tf_debug.has_inf_or_nan, first_n=1)] == ["scope/y:0"]
    assert dump.find(tf_debug.has_inf_or_nan, exclude_node_names="z|scope") == []
    assert dump.node_inputs("z") == ["scope/y", "Const"] and dump.node_recipients("scope/y") == ["z"]
    assert dump.node_op_type("scope/y") == "Log" and dump.node_device("z") == DEVICE and dump.node_attributes("z")["T"].type == 1
    assert "mul" in dump.transitive_inputs("z") and dump.find_some_path("mul", "z") == ["mul", "scope/y", "z"]
    assert dump.find_some_path("z", "mul") is None and dump.debug_watch_keys("z") == ["z:0:DebugIdentity"]
    assert dump.core_metadata.input_names == ["x:0"] and dump.core_metadata.output_names == ["z:0", "while/Exit_1:0"]
    assert not any(name.startswith(("__", "watch/")) for name in dump.nodes())
    assert dump.t0 <= dump.dumped_tensor_data[-1].timestamp
    dump.set_python_graph(tw.get_default_graph())
    assert "test_tfdbg.py" in str(dump.node_traceback("z:0"))


def test_a_dump_of_tensorflow(tmp_path):
    """Every answer is that which 1.15 gave of its own folder, but for the output that it leaves in some names of nodes."""
    recorded = json.loads(pathlib.Path(__file__).with_name("tfdbg_recorded.json").read_text())
    for path, data in recorded["files"].items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(base64.b64decode(data))
    dump, said = tf_debug.DebugDumpDir(str(tmp_path)), recorded["said"]
    assert [dump.size, dump.devices(), sorted(dump.nodes()), dump.t0] == [said[key] for key in ("size", "devices", "nodes", "t0")]
    for name in dump.nodes():
        assert dump.node_inputs(name) == [re.sub(":\\d+$", "", n) for n in said["inputs"][name]]
        assert dump.node_inputs(name, is_control=True) == said["control_inputs"][name]
        assert sorted(dump.node_recipients(name)) == said["recipients"][name]
        assert dump.node_op_type(name) == said["types"][name] and sorted(dump.debug_watch_keys(name)) == said["watch_keys"][name]
    data = sorted(dump.dumped_tensor_data, key=lambda d: (d.timestamp, d.watch_key))
    assert [[d.watch_key, repr(np.asarray(d.get_tensor()).tolist())] for d in data] == said["tensors"]
    assert sorted(d.watch_key for d in dump.find(tf_debug.has_inf_or_nan)) == said["bad"]
    assert sorted(dump.transitive_inputs("z")) == said["transitive"] and list(dump.core_metadata) == said["metadata"]
    assert [dump.run_fetches_info, dump.run_feed_keys_info] == [said["fetches"], said["feeds"]]


def test_what_is_watched(tmp_path):
    x, w, z, v = _model()
    with tw.Session() as session:
        session.run(w.initializer)

        def chosen(fetches, feeds):
            return tf_debug.WatchOptions(debug_ops=["DebugIdentity", "DebugNumericSummary(lower_bound=-1;mute_if_healthy=true)"],
                                         node_name_regex_whitelist="scope/.*|while/.*", tensor_dtype_regex_whitelist="float.*")
        tf_debug.DumpingDebugWrapperSession(session, str(tmp_path / "chosen"), watch_fn=chosen).run([z, v], {x: [1.0, 2.0]})
        dump = _dump(tmp_path / "chosen")
        assert "scope/y" in {d.node_name for d in dump.dumped_tensor_data} and "z" not in {d.node_name for d in dump.dumped_tensor_data}
        assert not any("Less" in d.node_name for d in dump.dumped_tensor_data)
        (summary,) = dump.get_tensors("scope/y", 0, "DebugNumericSummary")
        assert summary[3] == 1 and summary[1] == 2, "one element is below"
        with pytest.raises(ValueError, match="does not exist in the debug dump"):
            dump.get_tensors("while/double", 0, "DebugNumericSummary")
        options = tw.RunOptions()
        tf_debug.watch_graph(options, session.graph, debug_urls=[f"file://{tmp_path}/plain"], node_name_regex_whitelist="scope/.*|z")
        assert session.run([z, v], {x: [1.0, 2.0]}, options=options)[1] == 8
        dump = tf_debug.DebugDumpDir(str(tmp_path / "plain"))
        assert {d.node_name for d in dump.dumped_tensor_data} == {"scope/y", "z"}
        options = tw.RunOptions()
        tf_debug.watch_graph_with_blacklists(options, session.graph, op_type_regex_blacklist=".*")
        assert len(options.debug_options.debug_tensor_watch_opts) == 0
        with pytest.raises(ValueError, match="no attribute 'lower'"):
            tf_debug.DumpingDebugWrapperSession(session, str(tmp_path), watch_fn=lambda f, d: tf_debug.WatchOptions("DebugNumericSummary(lower=1)")).run(z, {x: [1, 1]})


def test_a_training_that_dumps(tmp_path):
    x, w, z, _ = _model()
    step = tw.train.get_or_create_global_step()
    train = tw.train.GradientDescentOptimizer(0.1).minimize(tw.reduce_sum(w * x), global_step=step)
    with tw.train.MonitoredSession(hooks=[tf_debug.DumpingDebugHook(str(tmp_path))]) as session:
        session.run(train, {x: [1.0, 2.0]})
        session.run([train, z], {x: [1.0, 2.0]})
    folders = sorted(os.listdir(tmp_path), key=lambda name: int(name.rsplit("_", 1)[1]))
    assert [name.rsplit("_", 1)[1] for name in folders] == ["0", "1"]
    dump = tf_debug.DebugDumpDir(str(tmp_path / folders[1]))
    assert np.isnan(dump.get_tensors("z", 0, "DebugIdentity")[0])


def test_a_failed_run_is_there_too(tmp_path):
    x = tw.placeholder(tw.float32, [], name="x")
    y = tw.check_numerics(tw.log(x, name="log"), "bad")
    with tw.Session() as session, pytest.raises(tw.errors.InvalidArgumentError):
        tf_debug.DumpingDebugWrapperSession(session, str(tmp_path)).run(y, {x: -1.0})
    assert np.isnan(_dump(tmp_path).get_tensors("log", 0, "DebugIdentity")[0])


def test_a_failed_run_with_watches_is_there_too(tmp_path):
    x = tw.placeholder(tw.float32, [], name="x")
    y = tw.check_numerics(tw.log(x, name="log"), "bad")
    options = tw.RunOptions()
    tf_debug.watch_graph(options, tw.get_default_graph(), debug_urls=[f"file://{tmp_path}/failed"], node_name_regex_whitelist="log")
    with tw.Session() as session:
        with pytest.raises(tw.errors.InvalidArgumentError):
            session.run(y, {x: -1.0}, options=options)
        dump = tf_debug.DebugDumpDir(str(tmp_path / "failed"))
        assert np.isnan(dump.get_tensors("log", 0, "DebugIdentity")[0]) and "log" in dump.nodes()
        (tmp_path / "failed").rename(tmp_path / "kept")
        (tmp_path / "failed").write_text("no folder")  # where the values are to go
        with pytest.raises(tw.errors.OpError):  # of the run, not of what writes
            session.run(y, {x: -1.0}, options=options)


def test_numbers_of_two_bytes_are_looked_at_by_the_filter():
    bfloat16 = tw.bfloat16.as_numpy_dtype
    assert tf_debug.has_inf_or_nan(None, np.array([1, np.nan], bfloat16)) and not tf_debug.has_inf_or_nan(None, np.array([1, 2], bfloat16))


def test_an_empty_file_of_a_dump_is_named(tmp_path):
    x, w, z, _ = _model()
    with tw.Session() as session:
        session.run(w.initializer)
        tf_debug.DumpingDebugWrapperSession(session, str(tmp_path)).run(z, {x: [1.0, 2.0]})
    dump = _dump(tmp_path)
    path = dump.watch_key_to_data("z:0:DebugIdentity")[0].file_path
    with open(path, "wb"):
        pass
    with pytest.raises(ValueError, match="z_0_DebugIdentity.*empty or cut off"):
        _dump(tmp_path).find(tf_debug.has_inf_or_nan)


def test_bad_dumps(tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        tf_debug.DebugDumpDir(str(tmp_path / "none"))
    with tw.Session() as session:
        tf_debug.DumpingDebugWrapperSession(session, str(tmp_path)).run(tw.constant(1.0) + 1.0)
    dump = _dump(tmp_path)
    path = dump.get_tensor_file_paths("add", 0, "DebugIdentity")[0]
    with open(path, "rb") as file:
        whole = file.read()
    with open(path, "wb") as file:
        file.write(whole[:len(whole) // 2])
    with pytest.raises(ValueError, match="no Event of a dump, or damaged"):
        dump.get_tensors("add", 0, "DebugIdentity")
    os.rename(path, os.path.join(os.path.dirname(path), "other_0_DebugIdentity_7"))
    root = os.path.dirname(os.path.dirname(path))
    with pytest.raises(ValueError, match="'other' is not found in partition graphs"):
        tf_debug.DebugDumpDir(root)
    assert tf_debug.DebugDumpDir(root, validate=False).size == 3
    with open(os.path.join(os.path.dirname(path), "stray"), "w"):
        pass
    with pytest.raises(ValueError, match="stray is no file of a dump"):
        tf_debug.DebugDumpDir(root, validate=False)


def _asked(monkeypatch, capsys, lines, run):
    """What is said where a person says these lines."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))
    run()
    return capsys.readouterr().out


def test_questions_around_a_run(monkeypatch, capsys):
    x, w, z, v = _model()
    with tw.Session() as session:
        session.run(w.initializer)
        wrapper = tf_debug.LocalCLIDebugWrapperSession(session, ui_type="readline")
        wrapper.add_tensor_filter("large", lambda datum, tensor: datum.node_name == "while/double" and tensor > 5)
        lines = ["ri", "lt", "bogus", "run", "lt -f has_inf_or_nan", "lt -t Log", "pt scope/y:0", "pt scope/y:0[1]", "pt while/double -n 1", "pt no:0",
                 "ni -d -a scope/y", "li -r z", "lo scope/y", "ni none", "lt -f other", "lt -f large", "pt -s scope/y:0", "help", "run -n"]
        said = _asked(monkeypatch, capsys, lines, lambda: wrapper.run([z, v], {x: [1.0, 2.0]}))
    assert "feeds: ['x:0']" in said and "nothing has run yet" in said and "no command 'bogus'" in said
    assert "2 dumped tensor(s) passing filter \"has_inf_or_nan\"" in said
    assert "dtype: float32\n  shape: (2,)\n[  0. -inf]" in said and "\"scope/y:0:DebugIdentity[1]\"" in said
    assert "dumped 3 times\n4.0" in said and "\"no:0:DebugIdentity\" does not exist" in said
    assert "Op: Log" in said and "1 dumped tensor(s):" in said and "|- (1) scope/y\n|  |- (2) mul" in said
    assert "There is no node named \"none\"" in said and "no tensor filter 'other'; there are has_inf_or_nan, large" in said
    assert "1 dumped tensor(s) passing filter \"large\"" in said and "-inf 1" in said


def test_until_a_filter_passes(monkeypatch, capsys):
    x, w, z, _ = _model()
    with tw.Session() as session:
        session.run(w.initializer)
        session.run(w.assign([1.0, 1.0]).op)
        wrapper = tf_debug.LocalCLIDebugWrapperSession(session)

        def runs():
            for second in (3.0, 2.0, 0.0, 1.0):
                wrapper.run(z, {x: [1.0, second]})
        said = _asked(monkeypatch, capsys, ["run -f has_inf_or_nan", "pt scope/y:0", "run -n -t 9"], runs)
    assert re.findall(r"run-(?:start|end): run \d", said) == ["run-start: run 1", "run-end: run 3"]
    assert "[  0. -inf]" in said


def test_the_end_of_input_ends_the_program(monkeypatch, capsys):
    y = tw.constant(1.0) + 1.0
    with tw.Session() as session, pytest.raises(SystemExit):
        _asked(monkeypatch, capsys, [], lambda: tf_debug.LocalCLIDebugWrapperSession(session).run(y))
    with tw.Session() as session, pytest.raises(ValueError, match="ui_type must be"):
        tf_debug.LocalCLIDebugWrapperSession(session, ui_type="window")


def test_questions_around_a_training(monkeypatch, capsys):
    x = tw.placeholder(tw.float32, [], name="x")
    y = tw.check_numerics(tw.log(x, name="log"), "bad")

    def train():
        with tw.train.MonitoredSession(hooks=[tf_debug.LocalCLIDebugHook()]) as session:
            session.run(y, {x: 1.0})
            session.run(y, {x: -1.0})
    with pytest.raises(tw.errors.InvalidArgumentError, match="bad"):
        _asked(monkeypatch, capsys, ["run", "run", "pt log:0", "run"], train)
    said = capsys.readouterr().out
    assert "InvalidArgumentError" in said and "nan" in said and said.count("run-end") == 2


def test_a_hook_asks_on_the_threads_that_it_is_for(monkeypatch, capsys):
    hook = tf_debug.LocalCLIDebugHook(thread_name_filter="other")
    with tw.Session() as session:
        hook.after_create_session(session, None)
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # a question would end the program
        context = tw.train.SessionRunContext(tw.train.SessionRunArgs(tw.constant(1.0)), session)
        assert hook.before_run(context) is None
        hook.after_run(context, None)
    assert "run-start" not in capsys.readouterr().out


def test_an_expression_that_is_none_is_said_so(monkeypatch, capsys):
    x, w, z, _ = _model()
    with tw.Session() as session:
        session.run(w.initializer)
        wrapper = tf_debug.LocalCLIDebugWrapperSession(session)
        said = _asked(monkeypatch, capsys, ["run", "lt -n [", "run"], lambda: wrapper.run(z, {x: [1.0, 2.0]}))
    assert "'[' is no regular expression" in str(said)


def test_graphs_without_what_a_debugger_put_in():
    graph_def = tw.GraphDef()
    graph_def.node.add(name="a", op="Const")
    graph_def.node.add(name="__copy_a_0", op="Copy", input=["a"])
    graph_def.node.add(name="__dbg_a:0_0_DebugIdentity", op="DebugIdentity", input=["__copy_a_0"])
    graph_def.node.add(name="b", op="Neg", input=["__copy_a_0", "^__dbg_a:0_0_DebugIdentity"])
    plain = tf_debug.reconstruct_non_debug_graph_def(graph_def)
    assert [(n.name, list(n.input)) for n in plain.node] == [("a", []), ("b", ["a"])]

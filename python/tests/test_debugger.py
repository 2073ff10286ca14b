# SPDX-License-Identifier: Apache-2.0
"""Steps that stand at breakpoints while their values are looked at (papers A6: tools that porting needs)."""
import numpy as np
import pytest
import thalweg as tw
from thalweg.cluster.local_cluster import create_local_cluster


@pytest.fixture(params=["local", "cluster"])
def session(request):
    """Of this process, and of a server."""
    target = tw.train.Server.create_local_server().target if request.param == "cluster" else ""
    with tw.Session(target) as made:
        yield made


def test_a_step_stands_and_goes_on(session):
    x = tw.placeholder(tw.float32, [2], name="x")
    y = tw.multiply(x, [2.0, 3.0], name="y")
    z = tw.reduce_sum(y, name="z")
    w = tw.get_variable("w", initializer=0.0, use_resource=True)
    train = w.assign(z, name="train").op
    session.run(w.initializer)
    with tw.debugging.Debugger(session) as debugger:
        number = debugger.break_at("y")
        stop = debugger.start([z, train], {x: [1, 2]})
        assert stop.op == y.op and stop.values["y:0"].tolist() == [2, 6] and stop.iteration == 0
        assert debugger.value("y:0").tolist() == [2, 6] and debugger.value(x).tolist() == [1, 2]
        assert debugger.value("y/y:0").tolist() == [2, 3], "a constant"
        assert session.run(w) == 0, "others run meanwhile, and what comes behind has not"
        with pytest.raises(ValueError, match="'z:0' has not been computed yet"):
            debugger.value(z)
        with pytest.raises(RuntimeError, match="the step stands at <stop behind Mul 'y'"):
            debugger.result()
        with pytest.raises(RuntimeError, match="resume\\(\\) or abort\\(\\) it first"):
            debugger.start(z, {x: [1, 2]})
        assert debugger.resume() is None
        assert debugger.result() == [8.0, None] and session.run(w) == 8 and debugger.value("z:0") == 8
        debugger.clear(number)
        assert debugger.start(z, {x: [1, 1]}) is None and debugger.result() == 5


def test_by_node(session):
    x = tw.placeholder(tw.float32, [], name="x")
    a = tw.negative(x, name="a")
    b = tw.square(a, name="b")
    c = tw.sqrt(b, name="c")
    with tw.debugging.Debugger(session) as debugger:
        debugger.break_at("a")
        seen = [debugger.start(c, {x: 3.0})]
        while seen[-1] is not None:
            seen.append(debugger.next_node())
        assert [stop.op.name for stop in seen[:-1]] == ["a", "b", "c"]
        assert debugger.result() == 3
        with pytest.raises(RuntimeError, match="no step stands: it has ended"):
            debugger.next_node()


def test_by_iteration(session):
    x = tw.placeholder(tw.float32, [], name="x")
    y = tw.while_loop(lambda v: v < 100, lambda v: tw.multiply(v, 3.0, name="three"), [x])
    with tw.debugging.Debugger(session) as debugger:
        debugger.break_at("while/three")
        stop = debugger.start(y, {x: 2.0})
        debugger.clear()
        found = []
        while stop is not None:
            found.append((stop.iteration, float(stop.values["while/three:0"])))
            stop = debugger.next_iteration()
        assert found == [(0, 6), (1, 18), (2, 54), (3, 162)]
        assert debugger.result() == 162


def test_conditions():
    x = tw.placeholder(tw.float32, [None], name="x")
    y = tw.reduce_mean(tw.log(x, name="log") * 2.0, name="mean")
    looped = tw.while_loop(lambda i, _: i < 10, lambda i, v: (i + 1, tw.add(v, tw.cast(i, tw.float32), name="sum")), [0, y])[1]
    with tw.Session() as session, tw.debugging.Debugger(session) as debugger:
        debugger.break_at(when=tw.debugging.has_inf_or_nan)
        debugger.break_at(op_type="AddV2", when=lambda value: value.dtype == np.float32 and value > 20)
        debugger.break_at("*um", op_type="Add", when=lambda value: value.dtype == np.float32 and value > 20)
        stop = debugger.start(looped, {x: [1.0, 0.0]})
        assert stop.op.name == "log" and stop.values["log:0"].tolist() == [0, -np.inf]
        assert debugger.value(x).tolist() == [1, 0]
        debugger.abort()
        stop = debugger.start(looped, {x: [1.0, 1.0]})
        assert stop.op.name == "while/sum" and stop.iteration == 6 and stop.values["while/sum:0"] == 21
        debugger.clear()
        assert debugger.resume() is None and debugger.result() == 45

        def fails(value):
            raise LookupError("of the condition")
        debugger.break_at("log", when=fails)
        with pytest.raises(LookupError, match="of the condition"):
            debugger.start(y, {x: [1.0]})
        assert debugger.stop.op.name == "log"
        debugger.clear()
        debugger.resume()


def test_branches_and_variables():
    x = tw.placeholder(tw.float32, [], name="x")
    y = tw.cond(x > 0, lambda: tw.negative(x, name="yes"), lambda: tw.square(x, name="no"), name="choice")
    w = tw.get_variable("w", initializer=1.0, use_resource=False)
    train = tw.train.GradientDescentOptimizer(1.0).minimize(w * y)
    with tw.Session() as session, tw.debugging.Debugger(session) as debugger:
        session.run(w.initializer)
        debugger.break_at("choice/*", when=lambda value: True)
        debugger.break_at(op_type="ApplyGradientDescent")
        names = []
        stop = debugger.start([y, train], {x: -2.0})
        while stop is not None:
            names.append(stop.op.name)
            last, stop = stop, debugger.resume()
        assert "choice/no" in names and "choice/yes" not in names
        assert last.op.type == "ApplyGradientDescent" and list(last.values.values()) == [-3.0], "what the update has left"
        assert debugger.result() == [4.0, None] and session.run(w) == -3


def test_abort_and_errors(session):
    x = tw.placeholder(tw.float32, [], name="x")
    y = tw.check_numerics(tw.log(x, name="log"), "bad", name="check")
    w = tw.get_variable("w", initializer=0.0, use_resource=True)
    train = w.assign(y).op
    session.run(w.initializer)
    with tw.debugging.Debugger(session) as debugger:
        with pytest.raises(RuntimeError, match="no step stands"):
            debugger.abort()
        with pytest.raises(RuntimeError, match="no step has been started"):
            debugger.result()
        debugger.break_at("log")
        debugger.start(train, {x: 2.0})
        debugger.abort()
        with pytest.raises(tw.errors.CancelledError, match="aborted by its debugger"):
            debugger.result()
        assert session.run(w) == 0
        stop = debugger.start(train, {x: -1.0})
        assert np.isnan(stop.values["log:0"]) and debugger.resume() is None
        with pytest.raises(tw.errors.InvalidArgumentError, match="bad"):
            debugger.result()
        assert debugger.start(train, {x: 1.0}).op.name == "log"
        assert debugger.resume() is None and debugger.result() is None
        with pytest.raises(ValueError, match="no breakpoint 7; there are \\[1\\]"):
            debugger.clear(7)
        assert [b.name for b in debugger.breakpoints.values()] == ["log"]


def test_a_closed_session_ends_the_step():
    y = tw.negative(tw.placeholder(tw.float32, [], name="x"), name="y")
    session = tw.Session()
    debugger = tw.debugging.Debugger(session)
    debugger.break_at("y")
    debugger.start(y * 2.0, {"x:0": 1.0})
    session.close()
    with pytest.raises(tw.errors.CancelledError):
        debugger.result()


def test_some_nodes_only():
    x = tw.placeholder(tw.float32, [], name="x")
    y = tw.add_n([tw.square(x, name=f"part/{i}") for i in range(5)], name="sum")
    with tw.Session() as session, tw.debugging.Debugger(session, nodes="sum") as debugger:
        debugger.break_at()
        assert debugger.start(y * 2.0, {x: 1.0}).op.name == "sum"
        with pytest.raises(ValueError, match="'part/1:0' is not looked at"):
            debugger.value("part/1:0")
        assert debugger.next_node() is None and debugger.result() == 10


def test_tasks_of_a_cluster():
    """Each has queues of its own."""
    workers, _ = create_local_cluster(1, 1)
    with tw.device("/job:ps/task:0"):
        w = tw.get_variable("w", initializer=3.0, use_resource=True)
        read = tw.identity(w, name="read")
    with tw.device("/job:worker/task:0"):
        y = tw.square(read, name="y")
    with tw.Session(workers[0].target) as session, tw.debugging.Debugger(session) as debugger:
        session.run(w.initializer)
        debugger.break_at("read")
        debugger.break_at("y")
        stop = debugger.start(y)
        assert stop.op.name == "read" and stop.values["read:0"] == 3
        stop = debugger.resume()
        assert stop.op.name == "y" and stop.values["y:0"] == 9
        assert debugger.resume() is None and debugger.result() == 9


def test_a_finalized_graph_stays_so():
    y = tw.negative(tw.placeholder(tw.float32, [], name="x"), name="y")
    tw.get_default_graph().finalize()
    with tw.Session() as session, tw.debugging.Debugger(session) as debugger:
        debugger.break_at("y")
        assert debugger.start(y, {"x:0": 1.0}) is not None
        assert debugger.resume() is None and debugger.result() == -1
    assert tw.get_default_graph().finalized

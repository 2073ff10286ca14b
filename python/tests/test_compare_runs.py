# SPDX-License-Identifier: Apache-2.0
"""One step in two ways (papers A6): the first node whose inputs agree and whose value does not."""
import numpy as np
import pytest
import thalweg as tw
from thalweg.cluster.local_cluster import create_local_cluster
from thalweg.debugger.array_differences import difference

ONE_THREAD = tw.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default():
        yield


def compare(b, fetches, feeds=None, config=None, **more):
    with tw.Session(config=config) as session:
        session.run(tw.global_variables_initializer())
        return tw.debugging.compare_runs(session, b, fetches, feeds, **more)


def trained():
    """(step, loss) of a small network with dropout."""
    x = tw.random_normal([16, 8], name="x")
    h = tw.nn.dropout(tw.nn.relu(tw.layers.dense(x, 32, name="dense1")), 0.5)
    loss = tw.reduce_mean(tw.square(tw.layers.dense(h, 4, name="dense2")))
    return tw.train.AdamOptimizer(0.01).minimize(loss), loss


@pytest.mark.parametrize("b", [ONE_THREAD, "/device:CPU:1", tw.ConfigProto(
    graph_options=tw.GraphOptions(optimizer_options=tw.OptimizerOptions(opt_level=tw.OptimizerOptions.L0)))], ids=["threads", "device", "passes"])
def test_a_training_step_is_the_same(b):
    config = tw.ConfigProto(device_count={"CPU": 2})
    if not isinstance(b, str):
        b = tw.ConfigProto.FromString(b.SerializeToString())
        b.device_count["CPU"] = 2
    found = compare(b, trained(), config=config)
    assert found.ok and found.first is None, str(found)
    assert found.compared == 1 + 14 and found.runs == 1  # the loss, four weights with two moments each, two powers
    assert "15 fetches and variables compared: the same" in str(found)


def test_one_machine_equals_a_cluster():
    step, loss = trained()
    server = tw.train.Server.create_local_server()
    with tw.Session() as here, tw.Session(server.target) as there:
        here.run(tw.global_variables_initializer())
        before = here.run(tw.trainable_variables())
        found = tw.debugging.compare_runs(here, there, [step, loss])
        assert found.ok, str(found)
        for a, b in zip(before, here.run(tw.trainable_variables())):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(before, there.run(tw.trainable_variables())):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("resource", [False, True])
def test_both_begin_from_the_variables_of_the_first(resource):
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    other = w.assign([5.0, 6.0])
    y = tw.reduce_sum(w * 2.0)
    with tw.Session() as a, tw.Session() as b, tw.Session() as empty:
        a.run(w.initializer)
        b.run(w.initializer)
        b.run(other.op)
        same, given = tw.debugging.compare_runs(a, b, y), tw.debugging.compare_runs(a, empty, y)
        assert same.ok and not same.notes and given.ok
        assert b.run(y) == 22 and a.run(y) == empty.run(y) == 6  # a variable that had no value keeps what it was given
        assert str(given).endswith("note: had no value in the other session and have one now: w")


@pytest.mark.parametrize("resource", [False, True])
def test_the_other_session_keeps_its_variables_after_errors(resource):
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    y = tw.check_numerics(tw.log(w), "negative")
    with tw.Session() as a, tw.Session() as b:
        a.run(w.initializer)
        b.run(w.initializer)
        b.run(w.assign([5.0, 6.0]).op)
        a.run(w.assign([-1.0, 1.0]).op)
        with pytest.raises(tw.errors.InvalidArgumentError, match="negative"):
            tw.debugging.compare_runs(a, b, y)
        assert b.run(w).tolist() == [5, 6] and a.run(w).tolist() == [-1, 1]
        # Also where random operations fail, before anything is compared.
        with tw.control_dependencies([y]):
            noise = tw.random_normal([2])
        with pytest.raises(tw.errors.InvalidArgumentError, match="negative"):
            tw.debugging.compare_runs(a, b, w + noise)
        assert b.run(w).tolist() == [5, 6]


@pytest.mark.parametrize("has_value", [False, True])
def test_a_variable_of_another_shape_is_refused(has_value):
    with tw.Graph().as_default() as other:
        w = tw.Variable([1.0, 2.0, 3.0], name="w", validate_shape=not has_value)
        begin = w.initializer
        tw.identity(w, name="y")
    w = tw.Variable([1.0, 2.0], name="w")
    y = tw.identity(w, name="y")
    with tw.Session() as a, tw.Session(graph=other) as b:
        a.run(w.initializer)
        if has_value:
            b.run(begin)
        with pytest.raises(ValueError, match=r"the variable 'w' is float32 \[2\] in the first session and float32 [(\[]3,?[)\]] in the other"):
            tw.debugging.compare_runs(a, b, y)
        assert not has_value or b.run("w:0").tolist() == [1, 2, 3]


def test_a_variable_that_the_step_gives_a_value():
    w = tw.get_variable("w", initializer=[1.0])
    with tw.Session() as a, tw.Session() as b:
        found = tw.debugging.compare_runs(a, b, w.initializer)
    assert found.notes == [f"had no value in {which} session and have one now: w" for which in ("the first", "the other")]


def test_tasks_of_a_cluster():
    workers, _ = create_local_cluster(1, 1)
    with tw.device("/job:ps/task:0"):
        w = tw.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(2, 3), use_resource=True)
    y = tw.matmul(w, tw.ones([3, 2]), name="y")
    with tw.Session(workers[0].target) as session:
        session.run(w.initializer)
        assert tw.debugging.compare_runs(session, tw.ConfigProto(), y).ok


def net(slope, depth=40):
    """A chain of nodes; one of them has an attribute that the two ways do not share."""
    x = tw.placeholder(tw.float32, [None, 4], name="x")
    h = x
    for i in range(depth):
        h = tw.nn.leaky_relu(tw.sin(h * 1.5, name=f"sin{i}"), slope if i == 23 else 0.1, name=f"leaky{i}")
    return tw.reduce_sum(h, name="sum")


@pytest.mark.parametrize("most_bytes", [64 << 20, 200])
def test_a_node_of_another_graph(most_bytes):
    with tw.Graph().as_default() as other:
        net(0.11)
    y = net(0.1)
    feeds = {"x:0": -np.ones((3, 4), np.float32)}
    with tw.Session() as a, tw.Session(graph=other) as b:
        found = tw.debugging.compare_runs(a, b, y, feeds, most_bytes=most_bytes)
        assert not found.ok and list(found.differences) == ["sum:0"]
        assert found.first.op.name == "leaky23" and found.first.op.graph is a.graph, str(found)
        assert found.first.difference.differing > 0 and found.first.difference.ulps > 1
        assert found.runs < (8 if most_bytes > 200 else 20)
        assert "first difference: LeakyRelu 'leaky23:0' (created at test_compare_runs.py:" in str(found).replace(str(__file__), "test_compare_runs.py")


def test_a_difference_that_vanishes_on_the_way():
    """What differs is hidden by a later node and comes back through a second path."""
    def build(slope):
        x = tw.placeholder(tw.float32, [4], name="x")
        bad = tw.nn.leaky_relu(x, slope, name="bad")
        h = tw.sign(bad, name="sign")  # the same in both
        for i in range(600):
            h = tw.negative(h, name=f"n{i}")
        return tw.add(h, bad, name="end")
    with tw.Graph().as_default() as other:
        build(0.2)
    y = build(0.1)
    with tw.Session() as a, tw.Session(graph=other) as b:
        assert tw.debugging.compare_runs(a, b, y, {"x:0": [-1.0, 1, 2, 3]}).first.op.name == "bad"


@pytest.mark.parametrize(("other_type", "said"), [(None, "the graph of the other way has no such node"),
                                                  (tw.float64, "float32 in the first graph, float64 in the other")])
def test_a_node_that_the_other_graph_lacks(other_type, said):
    with tw.Graph().as_default() as other:
        if other_type is not None:
            tw.tanh(tw.constant([1.0, 2.0], other_type), name="tanh")
        tw.identity(tw.constant([1.0, 2.0]), name="y")
    y = tw.identity(tw.tanh(tw.constant([1.0, 2.0]), name="tanh"), name="y")
    with tw.Session() as a, tw.Session(graph=other) as b:
        found = tw.debugging.compare_runs(a, b, y)
    assert found.first.op.name == "tanh" and said in str(found) and "Identity 'y:0', which reads it: 2 of 2 elements" in str(found), str(found)


@pytest.mark.parametrize("resource", [False, True])
def test_variables_after_the_step(resource):
    """Nothing is fetched: what the step leaves behind differs, and the update is to blame."""
    def build(nesterov):
        w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
        return tw.train.MomentumOptimizer(0.1, 0.9, use_nesterov=nesterov).minimize(tw.reduce_sum(w * w), name="step")
    with tw.Graph().as_default() as other:
        build(True)
    step, begin = build(False), tw.global_variables_initializer()
    with tw.Session() as a, tw.Session(graph=other) as b:
        a.run(begin)
        found = tw.debugging.compare_runs(a, b, step)
        assert list(found.differences) == ["w"], str(found)
        assert "ApplyMomentum" in found.first.op.type and found.first.tensor == "w"
        assert a.run("w:0" if not resource else "w/Read/ReadVariableOp:0").tolist() == [1, 2]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("where", ["branch", "loop", "before"])
def test_a_variable_that_is_written_in_a_loop_or_branch(where, resource):
    def build(factor):
        w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
        add = [1.0, 1.0] if where == "loop" else tw.constant([1.0, 1.0]) * (factor if where == "before" else 1.0)

        def update():
            return tw.assign_add(w, add if where == "before" else tw.multiply(add, factor, name="added"), name="update").op
        if where == "loop":
            return tw.while_loop(lambda i: i < 2, lambda i: tw.tuple([i + 1], control_inputs=[update()]), [0], name="while").op
        return tw.cond(tw.constant(True), update, tw.no_op, name="cond")
    with tw.Graph().as_default() as other:
        build(2.0)
    step, begin = build(1.0), tw.global_variables_initializer()
    with tw.Session() as a, tw.Session(graph=other) as b:
        a.run(begin)
        found = tw.debugging.compare_runs(a, b, step)
        assert list(found.differences) == ["w"] and a.run("w:0" if not resource else "w/Read/ReadVariableOp:0").tolist() == [1, 2], str(found)
    assert found.first.op.name.startswith({"branch": "cond/added", "loop": "while/added", "before": "mul"}[where]), str(found)
    assert found.first.branch == ("cond" if where == "branch" else "") and bool(found.first.loop) == (where == "loop"), str(found)


@pytest.mark.parametrize("resource", [False, True])
def test_what_an_optimizer_keeps_differs_alone(resource):
    def build(factor):
        w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
        return tw.train.MomentumOptimizer(0.0, 0.9).minimize(tw.reduce_sum(w * tw.constant(factor, name="factor")), name="step")
    with tw.Graph().as_default() as other:
        build(2.0)
    step, begin = build(1.0), tw.global_variables_initializer()
    with tw.Session() as a, tw.Session(graph=other) as b:
        a.run(begin)
        found = tw.debugging.compare_runs(a, b, step)
    assert list(found.differences) == ["w/Momentum"] and found.first.op.name == "factor", str(found)


def test_random_operations_of_variables_are_shared():
    rates = tw.get_variable("rates", initializer=[1.0, 20.0])
    assert compare(ONE_THREAD, tw.random_poisson(rates, [8])).ok


def test_random_operations():
    y = tw.reduce_sum(tw.square(tw.random_normal([5], name="noise"), name="square"))
    assert compare(ONE_THREAD, y).ok
    found = compare(ONE_THREAD, y, share_random=False)
    assert not found.ok and found.first.op.type == "RandomStandardNormal" and found.first.op.name.startswith("noise")
    seeded = tw.reduce_sum(tw.random_normal([5], seed=3))
    assert compare(ONE_THREAD, seeded, share_random=False).ok


def test_random_operations_in_a_branch_cannot_be_shared():
    y = tw.cond(tw.constant(True), lambda: tw.random_normal([3], name="noise"), lambda: tw.zeros([3]), name="cond")
    found = compare(ONE_THREAD, [y, y])
    if found.ok:  # two generators, each asked once
        with tw.Session() as session:
            session.run(y)
            found = tw.debugging.compare_runs(session, ONE_THREAD, y)
    assert not found.ok and len(found.notes) == 1, str(found)
    assert found.notes[0].startswith("random operation 'cond/noise") and "in a branch gives another value in each run, and cannot be shared" in found.notes[0]


@pytest.mark.parametrize("where", ["loop", "branch", "overtaking"])
def test_control_flow(where):
    def build(slope):
        x = tw.placeholder(tw.float32, [3], name="x")
        if where != "branch":
            # Only what is below 0 is changed, as from the third iteration on.
            h = tw.while_loop(lambda i, h: i < 6, lambda i, h: (i + 1, tw.nn.leaky_relu(tw.subtract(h, 1.0, name="less"), slope, name="bad")),
                              [0, x], name="while", parallel_iterations=1 if where == "loop" else 10)[1]
        else:
            h = tw.cond(x[0] > 0, lambda: tw.nn.leaky_relu(-x, slope, name="bad"), lambda: x, name="cond")
        return tw.identity(h, name="out")
    with tw.Graph().as_default() as other:
        build(0.2)
    y = build(0.1)
    with tw.Session() as a, tw.Session(graph=other) as b:
        assert tw.debugging.compare_runs(a, a, y, {"x:0": [2.5, 1, 2]}).ok
        found = tw.debugging.compare_runs(a, b, y, {"x:0": [2.5, 2.5, 2.5]})
        assert not found.ok and found.first.op.name.endswith("/bad"), str(found)
        said = {"loop": "in iteration 2 of the loop 'while", "overtaking": "in some iteration of the loop 'while", "branch": "in the branch 'cond'"}
        assert found.first.iteration == (2 if where == "loop" else None) and said[where] in str(found), str(found)
        assert bool(found.first.loop) == (where != "branch") and found.first.branch == ("cond" if where == "branch" else "")


def test_iterations_that_may_run_at_once_are_compared_in_any_order():
    """Values that are told in another order, and that are only nearly the same, are no difference."""
    def build(factor, slope):
        def body(i, h):
            x = tw.multiply(tw.cast(i, tw.float32), factor, name="times")
            return i + 1, h + tw.nn.leaky_relu(x - 5.5, slope, name="bad")
        return tw.identity(tw.while_loop(lambda i, h: i < 8, body, [0, 0.0], name="while")[1], name="out")
    with tw.Graph().as_default() as other:
        build(1.000001, 0.2)
    y = build(1.0, 0.1)
    with tw.Session() as a, tw.Session(graph=other) as b:
        for _ in range(5):
            found = tw.debugging.compare_runs(a, b, y)
            assert found.first.op.name == "while/bad" and found.first.iteration is None, str(found)


@pytest.mark.parametrize("side", [1, 10])
def test_a_node_of_a_loop_in_a_loop_is_named(side):
    """Values fall by 1 in each of 3 * 4 inner iterations, and what is below 0 differs: from the inner iteration 2 of the outer iteration 1 on."""
    def build(slope):
        x = tw.placeholder(tw.float32, [], name="x")

        def inner(h):
            def body(j, h, unused):
                return j + 1, tw.nn.leaky_relu(tw.subtract(h, 1.0, name="less"), slope, name="bad"), unused
            h = tw.while_loop(lambda j, h, unused: j < 4, body, [0, tw.identity(h, name="before"), 0.0], name="inner", parallel_iterations=side)[1]
            return tw.identity(h, name="behind")
        return tw.identity(tw.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, inner(h)), [0, x], name="outer", parallel_iterations=side)[1],
                           name="out")
    with tw.Graph().as_default() as other:
        build(0.2)
    y = build(0.1)
    with tw.Session() as a, tw.Session(graph=other) as b:
        assert tw.debugging.compare_runs(a, a, y, {"x:0": 6.5}).ok
        first = tw.debugging.compare_runs(a, b, y, {"x:0": 6.5}).first
        assert first.op.name == "outer/inner/bad" and "inner" in first.loop and not first.branch, str(first)
        (outer, iteration), = first.outer
        assert "outer" in outer and (first.iteration, iteration) == ((2, 1) if side == 1 else (None, None)), str(first)
        if side == 1:
            assert f"in iteration 2 of the loop '{first.loop}' in iteration 1 of the loop '{outer}'" in str(first)


@pytest.mark.parametrize("where", ["before", "behind", "condition"])
def test_nodes_around_a_loop_in_a_loop_are_named(where):
    """In the outer iteration 1 something differs before the inner loop, behind it, or in how often it runs."""
    def build(add):
        def outer(i, h):
            late = tw.cast(tw.equal(i, 1), tw.float32) * add
            h = tw.add(h, late if where == "before" else 0.0, name="before")
            end = tw.add(3.0, late if where == "condition" else 0.0, name="end")
            h = tw.while_loop(lambda j, h: tw.less(j, end, name="goes_on"), lambda j, h: (j + 1.0, h * 2.0), [0.0, h], name="inner",
                              parallel_iterations=1)[1]
            return i + 1, tw.add(h, late if where == "behind" else 0.0, name="behind")
        return tw.identity(tw.while_loop(lambda i, h: i < 3, outer, [0, 1.0], name="outer", parallel_iterations=1)[1], name="out")
    with tw.Graph().as_default() as other:
        build(2.0)
    y = build(0.0)
    with tw.Session() as a, tw.Session(graph=other) as b:
        first = tw.debugging.compare_runs(a, b, y).first
        assert first.op.name.startswith("outer/") and first.op.type == "Mul" and not first.outer and first.iteration == 1, str(first)

@pytest.mark.parametrize("at", [(1, 0), (1, 2), (3, 1)])
@pytest.mark.parametrize("where", ["before", "inner", "deep", "behind"])
def test_iterations_of_branches_are_those_of_their_loops(where, at):
    """A loop in a branch of a loop, with branches in branches: a node in one runs in some iterations, and the one that differs is told."""
    def build(add):
        def late(i, j, name):
            is_it = tw.logical_and(tw.equal(i, at[0]), tw.equal(j, at[1]))
            return tw.cast(is_it, tw.float32) * (add if name == where else 0.0)

        def inner(i, j, h):
            odd = tw.equal(tw.math.mod(j, 2), 1)
            h = tw.add(h, late(i, j, "inner"), name="inner_sum")

            def in_branch():
                return tw.cond(tw.greater(i, 1), lambda: tw.add(h, late(i, j, "deep"), name="deep_sum"), lambda: h * 1.5)
            return j + 1, tw.cond(odd, in_branch, lambda: h + 0.25)

        def outer(i, h):
            h = tw.add(h, late(i, at[1], "before"), name="before_sum")

            def with_loop():
                end = tw.while_loop(lambda j, h: j < 4, lambda j, h: inner(i, j, h), [0, h], name="inner", parallel_iterations=1)[1]
                return tw.add(end, late(i, at[1], "behind"), name="behind_sum")
            return i + 1, tw.cond(tw.equal(tw.math.mod(i, 2), 1), with_loop, lambda: h + 0.125)
        return tw.identity(tw.while_loop(lambda i, h: i < 5, outer, [0, 1.0], name="outer", parallel_iterations=1)[1], name="out")
    with tw.Graph().as_default() as other:
        build(2.0)
    y = build(0.0)
    with tw.Session() as a, tw.Session(graph=other) as b:
        first = tw.debugging.compare_runs(a, b, y).first
    if where == "deep" and at != (3, 1):
        assert first is None  # what differs is in a branch that is not taken
    elif where in ("before", "behind"):
        assert (first.iteration, first.outer) == (at[0], ()), str(first)
    else:
        (outer, iteration), = first.outer
        assert "outer" in outer and (iteration, first.iteration) == at, str(first)


def test_tolerances():
    with tw.Graph().as_default() as other:
        tw.multiply(tw.placeholder(tw.float32, [2], name="x"), 1.000001, name="y")
    y = tw.multiply(tw.placeholder(tw.float32, [2], name="x"), 1.0, name="y")
    with tw.Session() as a, tw.Session(graph=other) as b:
        def run(**more):
            return tw.debugging.compare_runs(a, b, y, {"x:0": [1.0, 2.0]}, **more)
        assert run().ok
        exact = run(rtol=0, atol=0)
        assert not exact.ok and exact.first.op.name == "y/y", str(exact)  # the constant
        assert run(rtol=1e-5, atol=0).ok


def test_what_is_refused():
    y = tw.constant(1.0) + 1.0
    with tw.Session() as a, tw.Session(graph=tw.Graph()) as empty:
        with pytest.raises(ValueError, match="there is no device '/device:GPU:7'; the session has /job:localhost"):
            tw.debugging.compare_runs(a, "/device:GPU:7", y)
        with pytest.raises(ValueError, match="the graph of the other way lacks 'add:0'"):
            tw.debugging.compare_runs(a, empty, y)
        with pytest.raises(TypeError, match="must be a Session, a ConfigProto or the name of a device, got 3"):
            tw.debugging.compare_runs(a, 3, y)
        for more, said in [({"rtol": -1}, "rtol must be a finite number, at least 0, got -1"), ({"atol": np.nan}, "atol must be .*, got nan"),
                           ({"rtol": "a"}, "rtol must be .*, got 'a'"), ({"most_bytes": -5}, "most_bytes must be a whole number, at least 0, got -5"),
                           ({"most_bytes": 1.5}, "most_bytes must be .*, got 1.5"),
                           ({"options": (None,)}, "options must be RunOptions, or a pair of them, one for each way, got a tuple of 1")]:
            with pytest.raises(ValueError, match=said):
                tw.debugging.compare_runs(a, ONE_THREAD, y, **more)
        for options in ("x", (None, 3)):
            with pytest.raises(TypeError, match="options must be RunOptions, or a pair of them, one for each way, got"):
                tw.debugging.compare_runs(a, ONE_THREAD, y, options=options)
        with pytest.raises(TypeError, match="expected a Session, got a str"):
            tw.debugging.compare_runs("a", a, y)
        with pytest.raises(ValueError, match="there is nothing to compare: name tensors or operations as fetches"):
            tw.debugging.compare_runs(a, ONE_THREAD, [])


@pytest.mark.parametrize(("a", "b", "words"), [
    (np.float32([1, 2]), np.float32([1, 2.5]), "1 of 2 elements, by at most 0.5 (relative 0.2, 2097152 ulp); the largest at [1]: 2.0 and 2.5"),
    (np.float32(1), np.float64(1), "float32 [] and float64 []"), (np.zeros(2), np.zeros((2, 1)), "float64 [2] and float64 [2, 1]"),
    (np.float32([np.nan, 1]), np.float32([1, 1]), "the largest at [0]: nan and 1.0"), (np.int64(3), np.int64(4), "by at most 1"),
    (np.array([b"a"], object), np.array([b"b"], object), "b'a' and b'b'"), (np.float32([np.inf]), np.float32([-np.inf]), "inf and -inf"),
    (np.complex64([1j]), np.complex64([2j]), "by at most 1"), (np.float16([-1]), np.float16([1]), "30720 ulp")])
def test_differences(a, b, words):
    found = difference(a, b)
    assert words in str(found)
    assert difference(a, a) is None and difference(b, b) is None


def test_ulps_of_neighbors():
    for kind in (np.float16, np.float32, np.float64):
        for x in (kind(1), kind(-1), kind(0), kind(1e-4)):
            assert difference(x, np.nextafter(x, kind(9)), 0, 0).ulps == 1

# SPDX-License-Identifier: Apache-2.0
"""Gradients of whole graphs against differences (papers A6): right ones pass, a wrong one is named."""
import numpy as np
import pytest
import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default():
        tw.set_random_seed(7)
        yield


def normal(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def check(loss, xs=None, feeds=None, **more):
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        return tw.debugging.check_gradients(loss, xs, session, feeds, **more)


@tw.custom_gradient
def wrong_tanh(x):
    """The square of the value is missing."""
    return tw.tanh(x), lambda dy: dy * (1.0 - tw.tanh(x))


def network(x, activation):
    """A convolution, a normalization, two dense layers."""
    h = tw.nn.conv2d(x, tw.get_variable("kernel", initializer=normal(3, 3, 2, 4) * 0.3), [1, 1, 1, 1], "SAME")
    h = tw.nn.fused_batch_norm(h, tw.get_variable("gamma", initializer=np.ones(4, np.float32)),
                               tw.get_variable("beta", initializer=np.zeros(4, np.float32)))[0]
    h = tw.reshape(tw.tanh(h), [-1, 4 * 36])
    h = activation(tw.matmul(h, tw.get_variable("w1", initializer=normal(144, 8, seed=1) * 0.1, use_resource=True), name="dense1"))
    return tw.matmul(h, tw.get_variable("w2", initializer=normal(8, 3, seed=2)), name="dense2")


@pytest.mark.parametrize("wrong", [False, True])
def test_a_network(wrong):
    x = tw.placeholder(tw.float32, [None, 6, 6, 2])
    logits = network(x, wrong_tanh if wrong else tw.tanh)
    loss = tw.reduce_mean(tw.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2, 1], logits=logits))
    found = check(loss, feeds={x: normal(3, 6, 6, 2, seed=5)})
    assert [one.name for one in found.gradients] == ["kernel", "gamma", "beta", "w1", "w2"]
    by_name = {one.name: one.ok for one in found.gradients}
    if not wrong:
        assert found.ok and found.path == [] and found.operations == [], str(found)
        return
    assert by_name == {"kernel": False, "gamma": False, "beta": False, "w1": False, "w2": True}, str(found)
    # What gives out the custom gradient's value has the gradient that it should, what that reads has not.
    assert [op.type for op in found.operations] == ["Identity"] and [op.type for op in found.path[-2:]] == ["Identity", "Tanh"], str(found)
    assert "dense1" in [op.name for op in found.path] and "dense2" not in [op.name for op in found.path]
    assert "the gradient goes wrong in" in str(found) and "test_check_gradients.py:" in str(found)
    assert str(found).splitlines()[0].startswith("WRONG")


def test_an_overridden_gradient_is_named():
    @tw.RegisterGradient("TwiceAsMuch")
    def _twice(op, grad):
        return 2.0 * grad * tw.cos(op.inputs[0])
    w = tw.get_variable("w", initializer=[0.3, 0.6])
    with tw.get_default_graph().gradient_override_map({"Sin": "TwiceAsMuch"}):
        bad = tw.sin(w * 2.0, name="bad")
    good = tw.sin(w * 3.0, name="good")
    found = check(tw.reduce_sum(bad * good))
    assert not found.ok
    assert [op.name for op in found.operations] == ["bad"], str(found)
    assert found.worst.name == "w" and "WRONG" in str(found)


def test_one_of_several_readers_is_blamed():
    @tw.RegisterGradient("HalfAsMuch")
    def _half(op, grad):
        return 0.5 * grad / op.inputs[0]
    x = tw.placeholder(tw.float64, [3], name="x")
    h = tw.square(x, name="h")
    with tw.get_default_graph().gradient_override_map({"Log": "HalfAsMuch"}):
        bad = tw.log(h, name="bad")
    found = check(tw.reduce_sum(bad + tw.sqrt(h, name="root") + h * 2.0), [x], {x: [1.0, 2.0, 3.0]})
    assert not found.ok and [op.name for op in found.path] == ["h"] and [op.name for op in found.operations] == ["bad"], str(found)


def test_a_custom_gradient_beside_a_right_one():
    @tw.custom_gradient
    def wrong(x):
        return tw.square(x, name="wrong"), lambda dy: dy * x
    x = tw.placeholder(tw.float64, [3], name="x")
    loss = tw.reduce_sum(wrong(x)) + tw.reduce_sum(tw.exp(x, name="right"))
    found = check(loss, [x], {x: [1.0, 2.0, 3.0]})
    assert not found.ok and "right" not in [op.name for op in found.operations], str(found)
    assert len(found.operations) == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_tolerances_of_types(dtype):
    w = tw.Variable(tw.cast(tw.constant([0.5, -1.5, 2.0]), dtype), dtype=dtype)
    good = check(tw.reduce_sum(tw.square(w)))
    assert good.ok and good.gradients[0].is_known, str(good)

    @tw.custom_gradient
    def wrong(x):
        return tw.square(x), lambda dy: dy * x
    assert not check(tw.reduce_sum(wrong(w))).ok


def test_a_small_mistake_in_float64():
    w = tw.Variable(np.linspace(0.1, 1, 1000))

    @tw.custom_gradient
    def nearly(x):
        return tw.exp(x), lambda dy: dy * tw.exp(x) * (1 + 1e-5)
    assert check(tw.reduce_sum(tw.exp(w)), [w]).ok
    assert not check(tw.reduce_sum(nearly(w)), [w]).ok


def test_rows_of_an_embedding():
    table = tw.get_variable("table", initializer=normal(50, 4))
    loss = tw.reduce_sum(tw.square(tw.nn.embedding_lookup(table, [3, 7, 3])))
    assert check(loss).ok
    # A row that the gradient forgets.
    rows = tw.gather(table, [3, 7])
    forgets = tw.reduce_sum(tw.square(tw.concat([rows[:1], tw.stop_gradient(rows[1:])], 0)))
    found = check(forgets, [table])
    assert not found.ok and "StopGradient" in {op.type for op in found.operations}, str(found)


def test_dropout_is_drawn_once_and_loops_have_gradients():
    w = tw.get_variable("w", initializer=normal(8))
    dropped = tw.nn.dropout(tw.tanh(tw.reshape(w, tw.placeholder_with_default([8], [None]))), 0.5)  # of a shape that is computed from w
    looped = tw.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, tw.sin(h) + w), [0, dropped])[1]
    branched = tw.cond(tw.reduce_sum(w) > -100.0, lambda: looped * 2.0, lambda: looped)
    found = check(tw.reduce_sum(branched))
    assert found.ok and found.gradients[0].is_known, str(found)


def test_random_operations_in_loops_and_branches_are_refused():
    w = tw.get_variable("w", initializer=np.linspace(1, 2, 50, dtype=np.float32))
    refused = " another value in each run: check_gradients needs a loss 'loss.*:0' that is the same for the same variables$"
    looped = tw.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tw.nn.dropout(h * w, 0.5)), [0, w], name="while")[1]
    with pytest.raises(ValueError, match=f"^random operation 'while/dropout/.*' in a loop gives{refused}"):
        check(tw.reduce_sum(looped, name="loss"))
    branched = tw.cond(w[0] > 0, lambda: tw.nn.dropout(w, 0.5), lambda: w, name="cond")
    with pytest.raises(ValueError, match=f"^random operation 'cond/dropout/.*' in a branch gives{refused}"):
        check(tw.reduce_sum(branched, name="loss"))
    assert check(tw.reduce_sum(tw.cond(w[0] < 0, lambda: tw.nn.dropout(w, 0.5), lambda: w))).ok  # what is not taken is not random


def test_a_recurrent_network_with_dropout_is_refused():
    x = tw.constant(normal(4, 5, 3))
    cell = tw.nn.rnn_cell.BasicLSTMCell(4)
    plain = tw.nn.dynamic_rnn(cell, x, dtype=tw.float32)[0]
    assert check(tw.reduce_sum(plain)).ok
    dropped = tw.nn.dynamic_rnn(tw.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.5), x, dtype=tw.float32)[0]
    with pytest.raises(ValueError, match="random operation '.*rnn.*' in a loop gives another value in each run"):
        check(tw.reduce_sum(dropped))


def test_a_wrong_gradient_in_a_loop_names_what_enters_it():
    w = tw.get_variable("w", initializer=normal(8))
    h = tw.identity(tw.exp(w, name="before"), name="entering")

    @tw.custom_gradient
    def wrong(x):
        return tw.sin(x), lambda dy: dy * tw.cos(x) * 1.5
    looped = tw.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, wrong(h)), [0, h])[1]
    found = check(tw.reduce_sum(tw.identity(looped, name="after")))
    assert not found.ok and found.path[-1].name == "entering", str(found)
    assert "Enter" in {op.type for op in found.operations}


def test_a_loss_that_is_no_number_says_where():
    w = tw.get_variable("w", initializer=[-1.0, 2.0])
    found = check(tw.reduce_sum(tw.tanh(tw.log(w, name="log"))), [w])
    assert not found.ok and found.path == [] and found.operations == []
    assert "the loss is NaN at Log 'log' (created at " in str(found) and "goes wrong" not in str(found), str(found)
    looped = tw.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tw.sqrt(h)), [0, w], name="while")[1]
    assert "the loss is NaN at Exit 'while/Exit" in str(check(tw.reduce_sum(looped), [w]))
    assert "the loss is infinite at Mul 'large'" in str(check(tw.reduce_sum(tw.multiply(w, 3e38, name="large")), [w]))
    x = tw.placeholder(tw.float32, [2], name="x")
    assert "the loss is NaN at Mul 'product'" in str(check(tw.reduce_sum(tw.multiply(w, x, name="product")), [w], {x: [np.nan, 1]}))


@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_what_is_not_known_is_not_ok(factor):
    @tw.custom_gradient
    def squared(x):
        return x * x, lambda dy: factor * dy * 2.0 * x
    w = tw.get_variable("w", initializer=[0.5, 1.0, 1.5])
    found = check(tw.reduce_sum(squared(w)) + 1e5, [w])
    assert not found.ok and not found.gradients[0].ok and not found.gradients[0].is_wrong and found.path == [], str(found)
    assert "not known: rounding of the loss" in str(found) and "a graph of float64" in str(found)
    assert check(tw.reduce_sum(squared(w)), [w]).ok is (factor == 1.0)


def test_parts_of_a_partitioned_variable():
    w = tw.get_variable("w", [6, 2], partitioner=tw.fixed_size_partitioner(2), initializer=tw.ones_initializer())
    loss = tw.reduce_sum(tw.square(tw.convert_to_tensor(w)))
    for xs in (w, [w]):
        found = check(loss, xs)
        assert found.ok and [one.name for one in found.gradients] == ["w/part_0", "w/part_1"], str(found)


def test_no_path_is_a_gradient_of_zero():
    w = tw.get_variable("w", initializer=[1.0, 2.0])
    v = tw.get_variable("v", initializer=[1.0])
    assert check(tw.reduce_sum(w * w), [w, v]).ok
    rounded = tw.reduce_sum(tw.cast(tw.cast(w * 1000.0, tw.int32), tw.float32))
    found = check(rounded, [w])
    assert not found.ok and "no path to the loss" in str(found)


@pytest.mark.parametrize("resource", [False, True])
def test_variables_are_as_before(resource):
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    count = tw.get_variable("count", initializer=0.0, trainable=False, use_resource=resource)
    with tw.control_dependencies([count.assign_add(1.0)]):
        loss = tw.reduce_sum(tw.square(w)) + 0.0 * count.read_value()
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        assert tw.debugging.check_gradients(loss, session=session).ok
        assert session.run(w).tolist() == [1, 2] and session.run(count) == 0


def test_what_is_refused():
    w = tw.get_variable("w", initializer=[1.0])
    with tw.Session() as session:
        with pytest.raises(tw.errors.FailedPreconditionError, match="variable 'w' has no value"):
            tw.debugging.check_gradients(tw.reduce_sum(w), session=session)
        session.run(w.initializer)
        with pytest.raises(ValueError, match="loss of a floating-point type, got int32"):
            tw.debugging.check_gradients(tw.constant(1), [w], session)
        with pytest.raises(ValueError, match="there is nothing to check"):
            tw.debugging.check_gradients(tw.constant(1.0), session=session)
        with pytest.raises(ValueError, match="takes variables and tensors, got 'w'"):
            tw.debugging.check_gradients(tw.reduce_sum(w), ["w"], session)
        with pytest.raises(ValueError, match="'.*:0' is int32"):
            tw.debugging.check_gradients(tw.reduce_sum(w), [tw.constant(1)], session)
        for more, said in [({"rtol": -1}, "rtol must be a finite number, at least 0, got -1"), ({"rtol": np.nan}, "rtol must be .*, got nan"),
                           ({"rtol": "a"}, "rtol must be .*, got 'a'"), ({"directions": 2.5}, "directions must be a whole number, at least 1, got 2.5"),
                           ({"directions": 0}, "directions must be .*, got 0"), ({"seed": -1}, "seed must be a whole number, at least 0, got -1")]:
            with pytest.raises(ValueError, match=said):
                tw.debugging.check_gradients(tw.reduce_sum(w), [w], session, **more)
    with pytest.raises(ValueError, match="needs a session"):
        tw.debugging.check_gradients(tw.reduce_sum(w))
    with pytest.raises(TypeError, match="expected a Session"):
        tw.debugging.check_gradients(tw.reduce_sum(w), [w], tw.train.MonitoredSession())

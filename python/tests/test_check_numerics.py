# SPDX-License-Identifier: Apache-2.0
"""RunOptions that stop a step at its first value that is not finite."""
import numpy as np
import pytest
import thalweg as tw

CHECKED = tw.train.check_numerics_options()


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default():
        yield


def fails(session, fetches, feeds=None):
    with pytest.raises(tw.errors.InvalidArgumentError, match="the first value that is not finite") as error:
        session.run(fetches, feeds, options=CHECKED)
    return error.value.message


def test_node_inputs_and_line():
    x = tw.placeholder(tw.float32, [3], name="x")
    y = tw.reduce_sum(tw.exp(tw.log(x, name="log")) + 1.0)
    with tw.Session() as session:
        assert session.run(y, {x: [1, 2, 3]}, options=CHECKED) == pytest.approx(9)
        message = fails(session, y, {x: [1, -2, 3]})
        assert "output 0 has NaN (1 of 3 elements, the first at [1]); given: 'x', float32[3] from -2 to 3" in message
        assert "Log 'log'" in message and "test_check_numerics.py:" in message
        # Other runs are as ever, and the session goes on.
        assert np.isnan(session.run(y, {x: [1, -2, 3]}))
        assert session.run(y, {x: [1, 2, 3]}, options=CHECKED) == pytest.approx(9)


def test_feeds_are_looked_at():
    x = tw.placeholder(tw.float32, [2], name="x")
    with tw.Session() as session:
        assert "Placeholder 'x'" in fails(session, x * 2, {x: [1, np.nan]})
        assert session.run(x * 2, {x: [1, np.inf]}, options=CHECKED).tolist() == [2, np.inf]


def test_infinite_constants_are_the_programs():
    x = tw.placeholder(tw.float32, [2])
    y = tw.reduce_max(tw.where(x > 0, x, tw.fill([2], -np.inf)))
    with tw.Session() as session:
        assert session.run(y, {x: [1, -1]}, options=CHECKED) == 1
        masked = tw.nn.softmax(tw.constant([1.0, -np.inf]))
        assert session.run(masked, options=CHECKED).tolist() == [1, 0]


@pytest.mark.parametrize("resource", [False, True])
def test_variables_that_a_step_spoils(resource):
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    factor = tw.placeholder(tw.float32, [])
    step = tw.train.GradientDescentOptimizer(factor).minimize(tw.reduce_sum(w * w))
    with tw.Session() as session:
        session.run(tw.global_variables_initializer(), options=CHECKED)
        session.run(step, {factor: 0.1}, options=CHECKED)
        with tw.control_dependencies([step]):
            after = w.read_value() * 2.0
        for fetched in (step, [step, after], after):
            session.run(tw.global_variables_initializer())
            message = fails(session, fetched, {factor: 3e38})
            assert "ApplyGradientDescent" in message and "variable 'w" in message and "from" in message
        session.run(w.assign([1.0, np.nan]).op)
        assert "has NaN" in fails(session, w * 2.0)


@pytest.mark.parametrize("resource", [False, True])
def test_what_an_optimizer_keeps(resource):
    w = tw.get_variable("w", initializer=[1.0], use_resource=resource)
    step = tw.train.AdagradOptimizer(0.1).minimize(tw.reduce_sum(w * 1e20))
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        assert "variable 'w/Adagrad" in fails(session, step)


def test_a_read_before_an_update_is_not_blamed():
    w = tw.Variable([1.0], use_resource=False)
    read = w.read_value()
    with tw.control_dependencies([read]):
        assign = w.assign([np.inf])
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        assert session.run([read, assign.op], options=CHECKED)[0] == 1


def test_constants_that_are_no_numbers():
    with tw.Session() as session:
        assert "Const 'data'" in fails(session, tw.constant([np.nan], name="data") * 2.0)


def test_what_nobody_reads():
    loss = tw.log(tw.constant(-1.0), name="loss")
    with tw.Session() as session:
        assert "Log 'loss'" in fails(session, tw.group(loss))


@pytest.mark.parametrize("v2", [False, True])
def test_iterations(v2):
    if v2:
        tw.enable_control_flow_v2()
    try:
        x = tw.placeholder(tw.float32, [])
        y = tw.while_loop(lambda i, _: i < 10, lambda i, v: (i + 1, tw.sqrt(v - 1, name="root") * v), [0, x])[1]
    finally:
        tw.disable_control_flow_v2()
    gradient = tw.gradients(y, x)[0]
    with tw.Session() as session:
        message = fails(session, [y, gradient], {x: 1.5})
        assert "Sqrt 'while/root'" in message and "in iteration 2 of loop" in message


def test_gradients():
    x = tw.placeholder(tw.float32, [])
    gradient = tw.gradients(tw.sqrt(x, name="root"), x)
    with tw.Session() as session:
        assert "root" in fails(session, gradient, {x: 0.0})


def test_pass_of_a_session():
    config = tw.ConfigProto()
    config.graph_options.rewrite_options.optimizers.append("+check_numerics")
    x = tw.placeholder(tw.float32, [])
    y = tw.log(x, name="log")
    with tw.Session(config=config) as session:
        assert session.run(y, {x: 1.0}) == 0
        with pytest.raises(tw.errors.InvalidArgumentError, match="Log 'log'"):
            session.run(y, {x: 0.0})


def test_in_a_cluster():
    server = tw.train.Server.create_local_server()
    x = tw.placeholder(tw.float32, [])
    w = tw.get_variable("w", initializer=1.0, use_resource=True)
    y = w.assign_add(tw.log(x, name="log"))
    with tw.Session(server.target) as session:
        session.run(w.initializer)
        session.run(y, {x: 1.0})
        session.run(y, {x: 1.0}, options=CHECKED)
        assert "Log 'log'" in fails(session, y, {x: 0.0})
        assert session.run(w) == 1
        session.run(w.assign(3e38).op)
        assert "AssignAddVariableOp" in fails(session, w.assign_add(3e38).op)


def test_hook():
    x = tw.placeholder(tw.float32, [])
    y = tw.log(x, name="log")
    with tw.train.MonitoredSession(hooks=[tw.train.CheckNumericsHook()]) as session:
        assert session.run(y, {x: 1.0}) == 0
        with pytest.raises(tw.errors.InvalidArgumentError, match="Log 'log'"):
            session.run(y, {x: 0.0})

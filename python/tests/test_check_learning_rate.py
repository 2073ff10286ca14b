# SPDX-License-Identifier: Apache-2.0
"""A step with learning rate 0 changes nothing that is trained (papers A6)."""
import numpy as np
import pytest
import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default():
        yield


def check(step, feeds=None, **more):
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        before = session.run(tw.global_variables())
        found = tw.debugging.check_learning_rate_zero(step, session, feeds, **more)
        for a, b in zip(before, session.run(tw.global_variables())):
            np.testing.assert_array_equal(a, b)  # as before the check
        return found


OPTIMIZERS = {
    "GradientDescent": tw.train.GradientDescentOptimizer, "Momentum": lambda r: tw.train.MomentumOptimizer(r, 0.9), "Adam": tw.train.AdamOptimizer,
    "RMSProp": tw.train.RMSPropOptimizer, "Adagrad": tw.train.AdagradOptimizer, "Adadelta": tw.train.AdadeltaOptimizer,
    "ProximalGradientDescent": tw.train.ProximalGradientDescentOptimizer}


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, resource):
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    counted = tw.train.get_or_create_global_step()
    loss = tw.reduce_sum(w * w)
    found = check(OPTIMIZERS[name](0.1).minimize(loss, global_step=counted), loss=loss)
    assert found.ok and found.changed == [], str(found)
    assert {one.kind for one in found.set_apart} <= {"optimizer", "counter"}
    assert "global_step" in {one.name for one in found.set_apart}


@pytest.mark.parametrize("resource", [False, True])
def test_an_optimizer_that_ignores_the_rate(resource):
    class Stubborn(tw.train.GradientDescentOptimizer):
        def _apply_dense(self, grad, var):
            return tw.group(super()._apply_dense(grad, var), tw.assign_sub(var, 0.01 * grad, name="stubborn"))

        def _resource_apply_dense(self, grad, handle):
            return tw.group(super()._resource_apply_dense(grad, handle), handle.assign_sub(0.01 * grad, name="stubborn"))
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    v = tw.get_variable("v", initializer=[1.0, 2.0], use_resource=resource)
    stubborn = Stubborn(0.1).minimize(tw.reduce_sum(w * w), var_list=[w])
    good = tw.train.GradientDescentOptimizer(0.1).minimize(tw.reduce_sum(v * v), var_list=[v])
    found = check([stubborn, good])
    assert not found.ok and [one.name for one in found.changed] == ["w"], str(found)
    assert found.changed[0].largest == pytest.approx(0.04)
    assert any("stubborn" in op.name for op in found.changed[0].operations), str(found)
    assert "CHANGED: 'w' by at most 0.04" in str(found) and "test_check_learning_rate.py:" in str(found)


def test_statistics_are_set_apart():
    x = tw.placeholder(tw.float32, [None, 4])
    y = tw.layers.batch_normalization(tw.layers.dense(x, 3, name="dense"), training=True, name="bn")
    loss = tw.reduce_mean(tw.square(y - 1.0))
    rate = tw.placeholder(tw.float32, [])
    with tw.control_dependencies(tw.get_collection(tw.GraphKeys.UPDATE_OPS)):
        step = tw.train.AdamOptimizer(rate).minimize(loss)
    found = check(step, {x: np.random.RandomState(0).randn(5, 4), rate: 0.5}, learning_rate=rate, loss=loss)
    assert found.ok, str(found)
    kinds = {one.name: one.kind for one in found.set_apart}
    assert kinds["bn/moving_mean"] == kinds["bn/moving_variance"] == "statistics"
    assert kinds["dense/kernel/Adam"] == "optimizer" and kinds["beta1_power"] == "optimizer"
    assert "set apart (statistics): 'bn/moving_mean'" in str(found)


def test_weight_decay_beside_the_rate_is_found():
    w = tw.get_variable("w", initializer=[1.0, 2.0])
    rate = tw.get_variable("rate", initializer=0.5, trainable=False)
    step = tw.train.GradientDescentOptimizer(rate).minimize(tw.reduce_sum(w))
    with tw.control_dependencies([step]):
        decayed = w.assign(w.read_value() * 0.5, name="decay")
    assert check(step, learning_rate=rate).ok
    assert check(step).ok
    found = check(decayed, learning_rate=rate)
    assert [one.name for one in found.changed] == ["w"] and "decay" in [op.name for op in found.changed[0].operations]


def test_the_loss_must_stay():
    w = tw.get_variable("w", initializer=1.0)
    drift = tw.get_variable("drift", initializer=1.0, trainable=False)
    loss = tw.square(w) * drift
    step = tw.group(tw.train.GradientDescentOptimizer(0.1).minimize(loss), drift.assign_add(1.0))
    found = check(step, loss=loss)
    assert not found.ok and not found.changed and found.losses == (1, 2), str(found)
    assert "CHANGED: the loss, from 1.0 to 2.0" in str(found)


def test_dropout_is_drawn_once():
    w = tw.get_variable("w", initializer=np.ones(100, np.float32))
    loss = tw.reduce_sum(tw.nn.dropout(w, 0.5))
    assert check(tw.train.GradientDescentOptimizer(0.1).minimize(loss), loss=loss).ok


def test_a_loss_that_is_random_in_a_loop_is_refused():
    w = tw.get_variable("w", initializer=np.ones(50, np.float32))
    looped = tw.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tw.nn.dropout(h * w, 0.5)), [0, w], name="while")[1]
    loss = tw.reduce_sum(looped, name="loss")
    step = tw.train.GradientDescentOptimizer(0.1).minimize(loss)
    with pytest.raises(ValueError, match="random operation 'while/dropout/.*' in a loop gives another value in each run: check_learning_rate_zero needs"):
        check(step, loss=loss)
    assert check(step).ok  # the variables stay, whatever is drawn


def test_what_is_refused():
    w = tw.get_variable("w", initializer=[1.0])
    with tw.Session() as session:
        session.run(w.initializer)
        with pytest.raises(ValueError, match="no operation of the step takes a learning rate"):
            tw.debugging.check_learning_rate_zero(w.assign_add([1.0]), session)
        with pytest.raises(ValueError, match="must be a tensor or a variable of the graph, got 0.1"):
            tw.debugging.check_learning_rate_zero(w.assign_add([1.0]), session, learning_rate=0.1)

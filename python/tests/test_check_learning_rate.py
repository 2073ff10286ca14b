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
    class Unheeding(tw.train.GradientDescentOptimizer):
        def _apply_dense(self, grad, var):
            return tw.group(super()._apply_dense(grad, var), tw.assign_sub(var, 0.01 * grad, name="unheeded"))

        def _resource_apply_dense(self, grad, handle):
            return tw.group(super()._resource_apply_dense(grad, handle), handle.assign_sub(0.01 * grad, name="unheeded"))
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    v = tw.get_variable("v", initializer=[1.0, 2.0], use_resource=resource)
    unheeding = Unheeding(0.1).minimize(tw.reduce_sum(w * w), var_list=[w])
    good = tw.train.GradientDescentOptimizer(0.1).minimize(tw.reduce_sum(v * v), var_list=[v])
    found = check([unheeding, good])
    assert not found.ok and [one.name for one in found.changed] == ["w"], str(found)
    assert found.changed[0].largest == pytest.approx(0.04)
    assert any("unheeded" in op.name for op in found.changed[0].operations), str(found)
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
    w = tw.get_variable("w", initializer=np.linspace(1, 2, 50, dtype=np.float32))
    looped = tw.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tw.nn.dropout(h * w, 0.5)), [0, w], name="while")[1]
    loss = tw.reduce_sum(looped, name="loss")
    step = tw.train.GradientDescentOptimizer(0.1).minimize(loss)
    with pytest.raises(ValueError, match="random operation 'while/dropout/.*' in a loop gives another value in each run: check_learning_rate_zero needs"):
        check(step, loss=loss)
    assert check(step).ok  # the variables stay, whatever is drawn


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("scope", ["", "scope/"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_of_an_embedding_alone(name, scope, resource):
    w = tw.get_variable("layer/w", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=resource)
    loss = tw.reduce_sum(tw.square(tw.gather(w, [0])))
    with tw.name_scope(scope or None):
        step = OPTIMIZERS[name](0.1).minimize(loss)
    found = check(step, loss=loss)
    assert found.ok and {one.kind for one in found.set_apart} <= {"optimizer"}, str(found)
    assert [x.op.type for x in found.learning_rates] == ["Const"] and ("learning_rate" in str(found) or "/lr:0" in str(found)), str(found)
    decayed = tw.group(step, tw.scatter_sub(w, [1], tw.gather(w, [1]) * 0.5))
    assert [one.name for one in check(decayed).changed] == ["layer/w"]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("rate_is", ["number", "outside", "placeholder"])
def test_a_step_in_a_branch(rate_is, resource):
    w = tw.get_variable("w", initializer=[1.0, 2.0], use_resource=resource)
    rate = {"number": 0.1, "outside": tw.multiply(0.5, 0.5, name="rate"), "placeholder": tw.placeholder(tw.float32, [])}[rate_is]
    loss = tw.reduce_sum(w * w)
    step = tw.cond(w[0] > 0, lambda: tw.train.GradientDescentOptimizer(rate).minimize(loss), lambda: tw.no_op())
    found = check(step, {rate: 0.5} if rate_is == "placeholder" else None, loss=loss)
    assert found.ok and found.unchanged == 1 and len(found.learning_rates) == 1, str(found)
    drift = tw.cond(w[0] > 0, lambda: tw.assign_sub(w, w * 0.5, name="drift").op, lambda: tw.no_op())
    found = check([step, drift], {rate: 0.5} if rate_is == "placeholder" else None)
    assert [one.name for one in found.changed] == ["w"] and any("drift" in op.name for op in found.changed[0].operations), str(found)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_ftrl_has_no_rate_of_zero(sparse, given):
    w = tw.get_variable("w", initializer=[[1.0, 2.0]])
    rate = tw.constant(0.5, name="rate")
    step = tw.train.FtrlOptimizer(rate).minimize(tw.reduce_sum(tw.square(tw.gather(w, [0]) if sparse else w)))
    with pytest.raises(ValueError, match="ApplyFtrl.* 'Ftrl/update_w.*' divides by its learning rate '.*', so that 0 is no rate there"):
        check(step, learning_rate=rate if given else None)


def test_a_tensor_that_is_no_learning_rate_is_refused():
    w = tw.get_variable("w", initializer=[1.0])
    step = tw.train.GradientDescentOptimizer(0.1).minimize(w * w)
    for rate in (tw.constant(3.0, name="other"), tw.constant(3, name="other")):
        with pytest.raises(ValueError, match="'other.*:0' is no learning rate of the step: no operation that changes a variable is computed from it"):
            check(step, learning_rate=rate)


def test_a_rate_in_a_loop_is_refused():
    w = tw.get_variable("w", initializer=[1.0], use_resource=True)
    rates = []

    def body(i):
        rates.append(tw.constant(0.5, name="rate"))
        with tw.control_dependencies([w.assign_sub([1.0] * rates[-1], read_value=False)]):
            return i + 1
    looped = tw.while_loop(lambda i: i < 2, body, [0], name="while")
    with pytest.raises(ValueError, match="the learning rate 'while/rate:0' lies in a loop, where nothing can be fed: make it outside of the loop"):
        check(looped, learning_rate=rates[-1])


def test_what_is_refused():
    w = tw.get_variable("w", initializer=[1.0])
    with tw.Session() as session:
        session.run(w.initializer)
        rate = tw.constant(0.5)
        for loss in (w.initializer, [w, w], []):
            with pytest.raises(ValueError, match="the loss must be a tensor of the graph, got .*"):
                tw.debugging.check_learning_rate_zero(w.assign_add([1.0] * rate), session, learning_rate=rate, loss=loss)
        assert tw.debugging.check_learning_rate_zero(w.assign_add([1.0] * rate), session, learning_rate=rate, loss=w).ok
        with pytest.raises(ValueError, match="no operation of the step takes a learning rate"):
            tw.debugging.check_learning_rate_zero(w.assign_add([1.0]), session)
        with pytest.raises(ValueError, match="must be a tensor or a variable of the graph, got 0.1"):
            tw.debugging.check_learning_rate_zero(w.assign_add([1.0]), session, learning_rate=0.1)

# SPDX-License-Identifier: Apache-2.0
"""Optimizers written in Python: subclasses of tf.train.Optimizer and of the usual ones. Values and names: TensorFlow 1.15."""
import inspect

import numpy as np
import pytest
import thalweg as tw
from thalweg import _core


class _Heavy(tw.train.Optimizer):
    """Momentum for dense gradients, plain descent for sparse ones."""

    def __init__(self, rate, use_locking=False, name="Heavy"):
        super().__init__(use_locking, name)
        self._lr = rate

    def _prepare(self):
        self._lr_t = tw.convert_to_tensor(self._lr, name="lr")

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "acc", self._name)

    def _moved(self, grad, var):
        sums = self.get_slot(var, "acc")
        return sums.assign(sums * 0.9 + grad)

    def _apply_dense(self, grad, var):
        moved = self._moved(grad, var)
        return tw.assign_sub(var, self._lr_t * moved)

    def _resource_apply_dense(self, grad, var):
        return var.assign_sub(self._lr_t * self._moved(grad, var))

    def _apply_sparse(self, grad, var):
        return tw.scatter_sub(var, grad.indices, grad.values * self._lr_t)

    def _resource_apply_sparse(self, grad, var, indices):
        return var.scatter_sub(tw.IndexedSlices(grad * self._lr_t, indices))


@pytest.mark.parametrize("use_resource", [False, True])
def test_every_step_is_the_subclass_own(use_resource):
    with tw.variable_scope("net"):
        w = tw.get_variable("w", initializer=np.float32([1, 2]), use_resource=use_resource)
        e = tw.get_variable("e", initializer=np.ones((4, 2), np.float32), use_resource=use_resource)
        loss = tw.reduce_sum(tw.square(w)) + tw.reduce_sum(tw.square(tw.nn.embedding_lookup(e, [1, 1, 3])))
        optimizer, steps = _Heavy(0.1), tw.train.get_or_create_global_step()
        train = optimizer.minimize(loss, global_step=steps)
    assert train.name == "net/Heavy" and [v.name for v in tw.global_variables()] == [
        "net/w:0", "net/e:0", "net/global_step:0", "net/net/w/Heavy:0", "net/net/e/Heavy:0"]
    assert optimizer.get_slot_names() == ["acc"] and optimizer.get_slot(w, "acc").name == "net/net/w/Heavy:0"
    assert tw.get_collection(tw.GraphKeys.TRAIN_OP) == [train]
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        for _ in range(3):
            sess.run(train)
        got = sess.run([w, e, steps])
    np.testing.assert_allclose(got[0], [0.062, 0.124], rtol=1e-5)
    np.testing.assert_allclose(got[1], np.array([1, 0.216, 1, 0.512])[:, None] * np.ones(2), rtol=1e-5)
    assert got[2] == 3


def test_names_under_scopes():
    w = tw.Variable([1.0, 2.0], name="w")
    with tw.variable_scope("net"):
        u = tw.get_variable("u", [2], initializer=tw.ones_initializer())
    loss = tw.reduce_sum(tw.square(w) + tw.square(u))
    with tw.variable_scope("opt"):
        assert tw.train.AdamOptimizer().minimize(loss).name == "opt/Adam"
    with tw.name_scope("train"):
        tw.train.AdamOptimizer(name="Second").minimize(loss)
    for want in ("Momentum", "Momentum_1"):
        assert tw.train.MomentumOptimizer(0.1, 0.9).minimize(loss).name == want
    assert [v.name[:-2] for v in tw.global_variables()[2:]] == [
        "opt/beta1_power", "opt/beta2_power", "opt/w/Adam", "opt/w/Adam_1", "opt/net/u/Adam", "opt/net/u/Adam_1",
        "train/beta1_power", "train/beta2_power", "w/Second", "w/Second_1", "net/u/Second", "net/u/Second_1", "w/Momentum",
        "net/u/Momentum", "w/Momentum_1", "net/u/Momentum_1"]


_KINDS = {
    "GradientDescent": lambda: tw.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tw.train.MomentumOptimizer(0.05, 0.8, use_nesterov=True),
    "Adagrad": lambda: tw.train.AdagradOptimizer(0.5), "Adadelta": lambda: tw.train.AdadeltaOptimizer(1.0, epsilon=1e-4),
    "RMSProp": lambda: tw.train.RMSPropOptimizer(0.02, momentum=0.3),
    "CenteredRMSProp": lambda: tw.train.RMSPropOptimizer(0.02, centered=True), "Adam": lambda: tw.train.AdamOptimizer(0.1),
    "Ftrl": lambda: tw.train.FtrlOptimizer(1.0, l1_regularization_strength=0.01),
    "FtrlV2": lambda: tw.train.FtrlOptimizer(1.0, l2_shrinkage_regularization_strength=0.1),
    "ProximalGradientDescent": lambda: tw.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02),
    "ProximalAdagrad": lambda: tw.train.ProximalAdagradOptimizer(0.5, l1_regularization_strength=0.01)}


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kind", _KINDS)
def test_the_rules_in_python_are_those_of_the_core(kind, use_resource):
    """Under a scope the steps are made in Python, elsewhere by the core. Names are the same too, so that checkpoints carry over."""
    found, names = [], []
    for scope in (None, "scoped"):
        with tw.Graph().as_default(), tw.name_scope(scope):
            w = tw.Variable([2.0, -3.0], use_resource=use_resource)
            e = tw.Variable(np.ones((4, 2), np.float32), use_resource=use_resource)
            rows = tw.nn.embedding_lookup(e, [1, 3, 1])
            loss = tw.reduce_sum(tw.square(w - [1.0, 1.0])) + tw.reduce_sum(tw.square(rows) * [[1.0], [2.0], [3.0]])
            optimizer = _KINDS[kind]()
            train = optimizer.minimize(loss)
            with tw.Session() as sess:
                sess.run(tw.global_variables_initializer())
                for _ in range(4):
                    sess.run(train)
                slots = [optimizer.get_slot(v, s) for v in (w, e) for s in optimizer.get_slot_names()]
                names.append([s.name.removeprefix("scoped/") for s in slots])
                found.append(sess.run([w, e] + slots))
    assert names[0] == names[1]
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


_NAMES = {"Adadelta": ["_lr", "_lr_t", "_rho_t", "_epsilon_t"], "Adam": ["_lr_t", "_beta1_t", "_beta2_t", "_epsilon_t"],
          "RMSProp": ["_decay_tensor", "_momentum_tensor", "_epsilon_tensor"], "Momentum": ["_momentum_tensor", "_use_nesterov"],
          "Ftrl": ["_learning_rate_power_tensor", "_l1_regularization_strength_tensor", "_initial_accumulator_value"]}


@pytest.mark.parametrize("kind", _NAMES)
def test_subclasses_find_parameters_under_the_names_of_tensorflow(kind):
    optimizer = _KINDS[kind]()
    with tw.name_scope("scoped"):
        optimizer.minimize(tw.square(tw.Variable(2.0)))
    assert all(hasattr(optimizer, name) for name in _NAMES[kind])


@pytest.mark.parametrize("kind", _KINDS)
def test_defaults_are_those_of_the_core(kind):
    optimizer = _KINDS[kind]()
    arguments = inspect.signature(type(optimizer).__init__).parameters
    for name, default in _core.optimizer_kinds()[kind][4].items():
        assert arguments[name].default in (inspect.Parameter.empty, default), name


def test_a_subclass_of_adam():
    class Decayed(tw.train.AdamOptimizer):
        def _apply_dense(self, grad, var):
            with tw.control_dependencies([tw.assign_sub(var, 0.1 * var)]):
                return super()._apply_dense(grad, var)

    w = tw.Variable([1.0, -2.0])
    train = Decayed(0.5).minimize(tw.reduce_sum(w * [1.0, 2.0]))
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        for _ in range(2):
            sess.run(train)
        np.testing.assert_allclose(sess.run(w), [(0.9 - 0.5) * 0.9 - 0.5, (-1.8 - 0.5) * 0.9 - 0.5], rtol=1e-4)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("make", [_Heavy, tw.train.GradientDescentOptimizer])
def test_constraints_hold(make, use_resource):
    w = tw.Variable([1.0, 2.0], constraint=lambda v: tw.clip_by_value(v, 0.5, 10.0), use_resource=use_resource)
    train = make(1.0).minimize(tw.reduce_sum(w))
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(w), [0.5, 1.0])


def test_what_is_missing_is_said():
    w = tw.Variable(1.0)
    with pytest.raises(NotImplementedError, match="_apply_dense"):
        tw.train.Optimizer(False, "Bare").minimize(w * w)
    with pytest.raises(ValueError, match="gate_gradients"):
        _Heavy(0.1).minimize(w * w, gate_gradients=7)
    with pytest.raises(ValueError, match="Invalid type"):
        _Heavy(0.1).compute_gradients(tw.constant(3), [w])

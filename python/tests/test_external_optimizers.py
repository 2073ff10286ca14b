# SPDX-License-Identifier: Apache-2.0
"""Optimizers that choose their steps outside of the graph: L-BFGS, and scipy's."""
import subprocess
import sys

import numpy as np
import pytest
import thalweg as tf
from thalweg.training import lbfgs


def rosenbrock(x):
    value = np.sum(100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)
    gradient = np.zeros_like(x)
    gradient[:-1] += -400 * x[:-1] * (x[1:] - x[:-1]**2) - 2 * (1 - x[:-1])
    gradient[1:] += 200 * (x[1:] - x[:-1]**2)
    return value, gradient


@pytest.mark.parametrize("size", [2, 10, 200])
@pytest.mark.parametrize("memory", [1, 5, 20])
def test_lbfgs_finds_the_bottom_of_a_curved_valley(size, memory):
    result = lbfgs.minimize(rosenbrock, np.tile([-1.2, 1.0], size // 2), memory=memory, value_tolerance=0)
    assert result.converged and np.abs(result.gradient).max() <= 1e-5, result.message
    assert result.value < 5 and result.evaluations < 40 * result.iterations + 10
    if size == 2:
        np.testing.assert_allclose(result.x, 1, atol=1e-4)


def test_lbfgs_needs_few_steps_where_a_function_is_quadratic():
    scale = np.logspace(0, 2, 30)
    result = lbfgs.minimize(lambda x: (0.5 * np.sum(scale * (x - 3)**2), scale * (x - 3)), np.zeros(30), memory=30, value_tolerance=0)
    np.testing.assert_allclose(result.x, 3, atol=1e-4)
    assert result.iterations < 80


def test_lbfgs_ends_for_a_reason():
    assert lbfgs.minimize(lambda x: (np.sum(x * x), 2 * x), [0.0]).message == "the gradient is small"
    assert lbfgs.minimize(rosenbrock, [-1.2, 1.0], max_iterations=3).message == "stopped after 3 iterations"
    assert "nan" in lbfgs.minimize(lambda x: (np.nan, x), [1.0]).message
    wrong = lbfgs.minimize(lambda x: (np.sum(x * x), -2 * x), [1.0])  # a gradient of another function
    assert not wrong.converged and "no step" in wrong.message
    # A barrier that a first step would jump over: the function is not finite there.
    barrier = lbfgs.minimize(lambda x: (x[0] - np.log(x[0]) if x[0] > 0 else np.inf, np.array([1 - 1 / x[0]])), [1e-3])
    np.testing.assert_allclose(barrier.x, 1, atol=1e-3)


@pytest.mark.parametrize("resource", [False, True])
def test_an_optimizer_of_a_graph_leaves_the_best_values_in_the_variables(resource):
    random = np.random.RandomState(0)
    x, w = random.randn(50, 3), np.array([[1.0], [-2.0], [0.5]])
    data, labels = tf.placeholder(tf.float64), tf.placeholder(tf.float64)
    weights = tf.Variable(np.zeros([3, 1]), use_resource=resource)
    bias = tf.Variable(np.float64(0), use_resource=resource)
    other = tf.Variable(5.0, use_resource=resource)
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.reshape(data, [50, 3]), weights) + bias - labels))
    optimizer = tf.train.LBFGSOptimizer(loss, max_iterations=100, value_tolerance=0)
    steps, losses = [], []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        optimizer.minimize(sess, {data: x, labels: x @ w + 4}, fetches=[loss], step_callback=steps.append, loss_callback=losses.append)
        np.testing.assert_allclose(sess.run(weights), w, atol=1e-4)
        np.testing.assert_allclose(sess.run(bias), 4, atol=1e-4)
        assert sess.run(other) == 5
    assert len(steps) == optimizer.result.iterations and len(losses) == optimizer.result.evaluations and losses[-1] < 1e-8
    assert steps[0].shape == (5,)  # the variable that the loss does not depend on is one of them


def test_float32_variables_and_the_default_session():
    v = tf.Variable([3.0, -4.0])
    optimizer = tf.train.LBFGSOptimizer(tf.reduce_sum(tf.square(v - [1.0, 2.0])), var_list=[v])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        optimizer.minimize()
        np.testing.assert_allclose(sess.run(v), [1, 2], atol=1e-4)


def test_what_lbfgs_does_not_do_is_refused():
    v = tf.Variable([3.0, -4.0])
    loss = tf.reduce_sum(tf.square(v))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for given in (dict(var_to_bounds={v: (0, 1)}), dict(equalities=[v[0]]), dict(inequalities=[v[0]])):
            with pytest.raises(ValueError, match="no bounds and no constraints"):
                tf.train.LBFGSOptimizer(loss, **given).minimize(sess)
        with pytest.raises(NotImplementedError, match="_minimize"):
            tf.contrib.opt.ExternalOptimizerInterface(loss).minimize(sess)
    with pytest.raises(ValueError, match="needs a session"):
        tf.train.LBFGSOptimizer(loss).minimize()
    with pytest.raises(ValueError, match="no variables"):
        tf.train.LBFGSOptimizer(loss, var_list=[])


def test_an_optimizer_of_ones_own():
    v = tf.Variable([3.0, -4.0])

    class Halves(tf.contrib.opt.ExternalOptimizerInterface):
        def _minimize(self, initial_val, loss_grad_func, packed_bounds, optimizer_kwargs, **rest):
            assert packed_bounds == [(-1.0, np.inf), (-1.0, 2.0)] and optimizer_kwargs == {"times": 2}
            value, gradient = loss_grad_func(initial_val)
            assert value == 25 and gradient.tolist() == [6, -8] and rest["inequality_funcs"][0](initial_val) == 3
            assert rest["inequality_grad_funcs"][0](initial_val).tolist() == [1, 0]
            return initial_val / 2
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        Halves(tf.reduce_sum(tf.square(v)), inequalities=[v[0]], var_to_bounds={v: (-1, [np.inf, 2])}, times=2).minimize(sess)
        assert sess.run(v).tolist() == [1.5, -2]


def test_scipys_optimizers_with_bounds_and_constraints():
    pytest.importorskip("scipy")
    v = tf.Variable([7.0, 7.0], dtype=tf.float64)
    loss = tf.reduce_sum(tf.square(v))
    with tf.Session() as sess:
        for given, best in ((dict(options={"maxiter": 100}), [0, 0]), (dict(var_to_bounds={v: ([1, 2], np.inf)}), [1, 2]),
                            (dict(equalities=[v[0] - 1], inequalities=[v[1] - 3], method="SLSQP"), [1, 3])):
            sess.run(tf.global_variables_initializer())
            tf.contrib.opt.ScipyOptimizerInterface(loss, **given).minimize(sess)
            np.testing.assert_allclose(sess.run(v), best, atol=1e-4)


def test_without_scipy_it_says_so():
    program = ("import sys\nsys.modules['scipy'] = None\nimport thalweg as tf\nv = tf.Variable(1.0)\no = tf.contrib.opt.ScipyOptimizerInterface(v * v)\n"
               "with tf.Session() as s:\n    s.run(tf.global_variables_initializer())\n    o.minimize(s)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "needs scipy" in done.stderr and "tf.train.LBFGSOptimizer" in done.stderr

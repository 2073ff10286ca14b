# SPDX-License-Identifier: Apache-2.0
"""The gradient of what a loop reads rows of: rows, in TensorFlow's order, whatever holds them; and what an optimizer makes of them."""
import numpy as np
import pytest
from both import tf

import thalweg as tw

START = np.arange(10, dtype=np.float32).reshape(5, 2)


def table(module, kind):
    if kind == "tensor":
        return module.constant(START)
    return module.get_variable("w", initializer=START, use_resource=kind == "resource")


def simple(module, w, n):
    return module.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a + module.reduce_sum(module.gather(w, [i, i + 1])) * module.to_float(i + 1)), (0, 0.0))[1]


def twice(module, w, n):
    """Rows of two reads in an iteration; which of them come first is not said."""
    def body(i, a):
        return i + 1, a + module.reduce_sum(module.gather(w, i) * module.gather(w, [[i], [0]]))
    return module.while_loop(lambda i, a: i < n, body, (0, 0.0))[1]


def nested(module, w, n):
    def outer(i, a):
        inner = module.while_loop(lambda j, b: j <= i, lambda j, b: (j + 1, b + module.reduce_sum(module.gather(w, [i, j])) * a), (0, a))[1]
        return i + 1, inner * 0.1 + 1.0
    return module.while_loop(lambda i, a: i < n, outer, (0, 1.0))[1]


def dense_too(module, w, n):
    def body(i, a):
        return i + 1, a + module.reduce_sum(module.gather(w, i)) + module.reduce_sum(w * 2.0)
    return module.while_loop(lambda i, a: i < n, body, (0, 0.0))[1]


def of_a_product(module, w, n):
    return simple(module, w * 2.0, n)


PROGRAMS = {p.__name__: p for p in (simple, twice, nested, dense_too, of_a_product)}


def gradients(module, kind, program, first):
    """For each n up to 3: rows, or an array."""
    with module.Graph().as_default():
        n = module.placeholder(module.int32, [])
        w = table(module, kind)
        made = module.gradients(PROGRAMS[program](module, w, n), w)[0]
        with module.Session() as session:
            session.run(module.global_variables_initializer())
            return [session.run(made, {n: k}) for k in range(first, 4)]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["tensor", "reference", "resource"])
def test_rows(kind, program):
    tf.disable_control_flow_v2()
    first = 1 if program in ("nested", "of_a_product") else 0  # of no iterations TensorFlow knows no dense shape
    their_kind = "reference" if program == "nested" else kind  # TensorFlow's own gradient of a nested one with a handle fails
    for theirs, ours in zip(gradients(tf, their_kind, program, first), gradients(tw, kind, program, first)):
        assert hasattr(theirs, "indices") == hasattr(ours, "indices")
        if not hasattr(theirs, "indices"):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
            continue
        x, y = (sorted(zip(s.indices, s.values.tolist())) if program == "twice" else list(zip(s.indices, s.values.tolist())) for s in (theirs, ours))
        assert [i for i, _ in x] == [i for i, _ in y]
        np.testing.assert_allclose([v for _, v in y], [v for _, v in x], rtol=1e-5)
        assert ours.dense_shape.tolist() == [5, 2]


OPTIMIZERS = {"momentum": lambda module: module.train.MomentumOptimizer(0.1, 0.9), "adam": lambda module: module.train.AdamOptimizer(0.1),
              "adagrad": lambda module: module.train.AdagradOptimizer(0.1), "sgd": lambda module: module.train.GradientDescentOptimizer(0.1)}


def trained(module, kind, optimizer):
    with module.Graph().as_default():
        n = module.placeholder(module.int32, [])
        w = table(module, kind)
        def body(i, a):
            return i + 1, a + module.reduce_sum(module.square(module.gather(w, [i + 1, i + 2])))
        loss = module.while_loop(lambda i, a: i < n, body, (0, 0.0))[1]
        step = OPTIMIZERS[optimizer](module).minimize(loss)
        with module.Session() as session:
            session.run(module.global_variables_initializer())
            for k in (1, 2, 1, 3):
                session.run(step, {n: k})
            return session.run(w)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", ["reference", "resource"])
def test_training(kind, optimizer):
    tf.disable_control_flow_v2()
    np.testing.assert_allclose(trained(tw, kind, optimizer), trained(tf, kind, optimizer), rtol=1e-5)

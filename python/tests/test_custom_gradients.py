# SPDX-License-Identifier: Apache-2.0
"""Gradients written in Python."""
import pytest
import thalweg as tw
from thalweg.operations import custom_gradients


@pytest.fixture(autouse=True)
def registry():
    before = dict(custom_gradients._registered)
    yield
    custom_gradients._registered.clear()
    custom_gradients._registered.update(before)


def test_custom_gradient_is_asked(run):
    @tw.custom_gradient
    def softplus(x):
        e = tw.exp(x)
        return tw.log1p(e), lambda dy: dy * (1 - 1 / (1 + e))
    x = tw.constant(100.0)
    assert run(tw.gradients(3 * softplus(2 * x), x)[0]) == 6.0  # NaN without


def test_several_in_a_row_and_beside(run):
    @tw.custom_gradient
    def doubled(x, y):
        return (x + y, x * y), lambda da, db: (2 * da, 10 * db)
    x, y = tw.constant(3.0), tw.constant(4.0)
    a, b = doubled(x, tw.square(y))
    c, _ = doubled(a, b)
    found = tw.gradients(c + x, [x, y])
    # c: 2 for a, and what b gets is 10 * 0; a: 2 * 2 for x, 10 * 0 for y.
    assert run(found) == [5.0, 0.0]


def test_override(run):
    @tw.RegisterGradient("Flipped")
    def flipped(op, grad):
        assert op.type == "Identity"
        return -grad
    x = tw.constant(3.0)
    with tw.get_default_graph().gradient_override_map({"Identity": "Flipped"}):
        y = tw.identity(x * x)
    assert run(tw.gradients(y + tw.identity(x), x)[0]) == -5.0


def test_registered_for_a_type(run):
    @tw.RegisterGradient("Floor")
    def straight_through(op, grad):
        return grad
    v = tw.Variable(2.5)
    assert run(tw.gradients(tw.floor(v) * 3, v)[0]) == 3.0


def test_none(run):
    tw.NotDifferentiable("Square")
    x = tw.constant(3.0)
    assert tw.gradients(tw.square(x), x) == [None]
    assert run(tw.gradients(tw.square(x) + x, x)[0]) == 1.0


def test_bad_input():
    x = tw.constant(1.0)
    with tw.get_default_graph().gradient_override_map({"Identity": "NobodyKnows"}):
        y = tw.identity(x)
    with pytest.raises(LookupError, match="NobodyKnows"):
        tw.gradients(y, x)

    @tw.custom_gradient
    def wrong(x):
        return x, lambda dy: (dy, dy)
    with pytest.raises(ValueError, match="2 gradients for 1 inputs"):
        tw.gradients(wrong(x), x)
    with pytest.raises(TypeError):
        tw.RegisterGradient(3)


def looped(body, x):
    return tw.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, body(a)), [0, x])[1]


def test_second_derivatives_of_loops_ask_the_function():
    f = tw.custom_gradient(lambda v: (v * 0.9, lambda d: d * 1.7))
    x = tw.constant(0.7)
    k = x * 0.25
    once = f(x) * tw.cos(k)
    in_loop = tw.while_loop(lambda i, v, r: i < 1, lambda i, v, r: (i + 1, f(v) * tw.cos(r), r), [0, x, k])[1]
    with tw.Session() as session:
        plain, looped_twice = session.run([tw.gradients(tw.gradients(y, x), x)[0] for y in (once, in_loop)])
    assert looped_twice == pytest.approx(plain)


@tw.custom_gradient
def square(z):
    return z * z, lambda d: d * z * 2.5


def test_in_loops(run):
    x = tw.constant(1.1)
    loops = [looped(square, x), looped(lambda a: tw.cond(a > 0, lambda: square(a), lambda: a), x),
             looped(lambda a: square(looped(lambda c: c * 0.5, a)), x), looped(lambda a: looped(square, a), x),
             tw.cond(x > 0, lambda: looped(square, x), lambda: x), tw.map_fn(square, tw.stack([x, 2 * x])),
             tw.foldl(lambda a, e: square(a) + e, tw.stack([x, x])), tw.scan(lambda a, e: square(a) + e, tw.stack([x, x]))]
    found = run([tw.gradients(y, x)[0] for y in loops])
    # TensorFlow 2.21's and 1.15's, those of the conditional (2.21 refuses it) and the four squares by hand.
    assert found == pytest.approx([8.31875, 8.31875, 0.002030945, 2.5**4 * 1.1**15, 8.31875, 13.75, 3.75, 4.75], rel=1e-5)


def test_again_in_a_loop(run):
    x = tw.constant(1.1)
    first = tw.gradients(looped(square, x), x)[0]  # 6.25 x^3
    # What the first one reads of the second iteration is square(x): its gradient asks once more.
    assert run(tw.gradients(first, x)[0]) == pytest.approx(6.25 * 1.1**2 + 6.25 * 1.1 * 2.5 * 1.1, rel=1e-5)


def test_gradients_with_loops_of_their_own_in_a_loop(run):
    @tw.custom_gradient
    def f(z):
        return z * z, lambda d: looped(lambda a: a * z, d) + tw.cond(z > 1, lambda: d * z, lambda: d)
    x = tw.constant(1.1)
    assert run(tw.gradients(looped(f, x), x)[0]) == pytest.approx((1.21**2 + 1.21) * (1.1**2 + 1.1), rel=1e-5)


def test_rows_and_none_and_integers_in_a_loop(run):
    table, n = tw.constant([[1.0], [2.0], [3.0]]), tw.constant(1)

    @tw.custom_gradient
    def row(t, i):
        return tw.gather(t, i), lambda d: (tw.IndexedSlices(3.0 * tw.reshape(d, [1, 1]), tw.reshape(i, [1]), tw.shape(t)), None)
    y = tw.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + row(table, i + n)), [0, tw.zeros([1])])[1]
    found = tw.gradients(y, table)[0]
    assert run(tw.convert_to_tensor(found)).ravel().tolist() == [0, 3, 3]


def test_integers_between_in_a_loop(run):
    @tw.custom_gradient
    def rounded(z):
        return tw.cast(tw.cast(z, tw.int32), tw.float32), lambda d: d * 2
    x = tw.constant(2.7)
    assert run(tw.gradients(looped(lambda a: rounded(a) * 3, x), x)[0]) == 36.0


def test_override_in_a_loop(run):
    @tw.RegisterGradient("Sevenfold")
    def sevenfold(op, grad):
        return grad * 7

    def body(a):
        with tw.get_default_graph().gradient_override_map({"Identity": "Sevenfold"}):
            return tw.identity(a) * 2
    x = tw.constant(1.1)
    assert run(tw.gradients(looped(body, x), x)[0]) == 196.0


def test_assignments_in_a_loop(run):
    @tw.RegisterGradient("AssignAdd")
    def assign_add(op, grad):
        return None, 5 * grad
    v = tw.Variable(0.0, use_resource=False, trainable=False)
    x = tw.constant(1.5)
    y = looped(lambda a: tw.assign_add(v._ref(), a * 2), x)
    assert run(tw.gradients(y, x)[0]) == 100.0


@pytest.mark.parametrize("ask", [
    lambda z, y, d: tw.gradients(y, z, d)[0] * 1.25,
    lambda z, y, d: tw.gradients(tw.gradients(z * z * z, z)[0], z, d)[0] * (2.5 / 6),
    lambda z, y, d: tw.gradients(looped(lambda a: a * z, d), z)[0] * 1.25,
    lambda z, y, d: looped(lambda a: tw.gradients(a * a * 0.5, a)[0], d) * z * 2.5,
    lambda z, y, d: tw.cond(z > 0, lambda: tw.gradients(y, z, d)[0], lambda: d) * 1.25,
    lambda z, y, d: tw.gradients(square(z), z, d)[0]])
def test_gradients_asked_for_in_a_gradient_in_a_loop(run, ask):
    @tw.custom_gradient
    def f(z):
        y = z * z
        return y, lambda d: ask(z, y, d)
    x = tw.constant(1.1)
    found = run([tw.gradients(y, x)[0] for y in (f(x), looped(f, x), looped(lambda a: looped(f, a), x))])
    assert found == pytest.approx([2.75, 8.31875, 2.5**4 * 1.1**15], rel=1e-5)


def test_in_a_function(run):
    v = tw.Variable(0.0, use_resource=True)

    @tw.function
    def inner(a, times):
        v.assign_add(1.0)
        made = looped(square, a) * times + v
        v.assign_add(10.0)
        return made

    @tw.function
    def outer(a):
        return {"made": inner(a, 2.0) + inner(a, 0.0), "now": v.read_value()}
    x = tw.constant(1.1)
    found = outer(x)
    values = [found["made"], found["now"], tw.gradients(found["made"], x)[0]]
    with tw.Session() as session:
        session.run(v.initializer)
        assert session.run(values) == pytest.approx([2 * 1.1**4 + 1 + 12, 22.0, 2 * 8.31875], rel=1e-5)
        assert session.run(v) == 22.0


def test_an_error_in_a_loop():
    @tw.custom_gradient
    def wrong(z):
        def gradient(d):
            raise RuntimeError("from the function")
        return z * z, gradient
    x = tw.constant(1.1)
    with pytest.raises(RuntimeError, match="from the function"):
        tw.gradients(looped(wrong, x), x)


@pytest.mark.parametrize("use_resource", [True, False])
def test_variables_behind(use_resource):
    w, u = (tw.Variable(value, use_resource=use_resource) for value in (2.0, 3.0))
    fixed = tw.Variable(1.0, use_resource=use_resource, trainable=False)
    x = tw.constant(1.5)

    @tw.custom_gradient
    def f(a):
        def gradient(d, variables=None):
            return d * 5, [d * {w: 7, u: 11}[v] for v in variables]
        return a * w * u * fixed, gradient
    found = tw.gradients([f(x), looped(f, x)], [x, w, u]) + tw.gradients(f(w), [w])
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        assert session.run(found) == [30.0, 49.0, 77.0, 12.0 if use_resource else 5.0]  # one read of a reference is for all


def test_variables_that_a_gradient_does_not_take():
    read = tw.Variable(2.0) * 1.0
    with pytest.raises(TypeError, match="that uses variables, then grad_fn must accept a keyword argument 'variables'"):
        tw.custom_gradient(lambda a: (a * read, lambda d: d))(tw.constant(1.0))

    @tw.custom_gradient
    def f(a):
        return a * read, lambda d, **kwargs: (d, [])
    x = tw.constant(1.0)
    with pytest.raises(ValueError, match="Must return gradient for each variable"):
        tw.gradients(f(x), x)


def variables_asked_for(f, x):
    """The names of the variables that the gradient of f is asked with."""
    asked = []

    @tw.custom_gradient
    def function(u):
        def gradient(d, variables=None):
            asked.extend(v.name for v in variables or [])
            return (d, [None] * len(variables)) if variables else d
        return f(u), gradient
    tw.gradients(function(x), x)
    return asked


def test_variables_without_a_derivative():
    w, r = tw.Variable(2.0, use_resource=True, name="w"), tw.Variable(2.0, use_resource=False, name="r")
    x = tw.constant(1.5)
    assert variables_asked_for(lambda u: u * tw.stop_gradient(r), x) == []
    assert variables_asked_for(lambda u: tw.where(r < 3.0, u, u * 2), x) == []
    assert variables_asked_for(lambda u: u * tw.stop_gradient(w), x) == ["w:0"]  # a resource that is read is one that is used
    assert variables_asked_for(lambda u: (w * 2, u)[1], x) == ["w:0"]
    assert variables_asked_for(lambda u: tw.cond(u > 1, lambda: (tw.gather(tw.stack([w]), 0), u)[1], lambda: u), x) == ["w:0"]


def test_variables_behind_the_derivative_of_a_loop():
    w = tw.Variable(2.0, use_resource=True)
    x = tw.constant(1.5)
    one = looped(lambda v: tw.tanh(v * w), x)
    derivative = tw.gradients(one, x)[0]
    assert variables_asked_for(lambda u: u * derivative, x) == []
    assert variables_asked_for(lambda u: u * one, x) == [w.name]


def test_variables_in_control_flow_of_the_second_kind():
    w = tw.Variable(2.0, use_resource=True, name="w")
    x, read = tw.constant(1.5), w * 1.0
    asked = []

    def body(v):
        asked.append(variables_asked_for(lambda u: u * read, v))
        asked.append(variables_asked_for(lambda u: u * w, v))
        return v
    looped(body, x)
    tw.enable_control_flow_v2()
    try:
        looped(body, x)
        assert variables_asked_for(lambda u: u * read, x) == ["w:0"]
    finally:
        tw.disable_control_flow_v2()
    assert asked == [["w:0"], ["w:0"], [], ["w:0"]]


def test_variables_that_a_function_read_before():
    w = tw.Variable(2.0, use_resource=True)
    asked = []

    @tw.function
    def f(a):
        read = w * 1.0

        @tw.custom_gradient
        def outside(z):
            return z * read, lambda d: d * 5

        @tw.custom_gradient
        def inside(z):
            def gradient(d, variables):
                asked.append(variables)
                return d * 7, [d * 11]
            return z * w, gradient
        return outside(a) + inside(a)
    x = tw.constant(1.5)
    found = tw.gradients(f(x), [x, w])
    with tw.Session() as session:
        session.run(w.initializer)
        assert session.run(found) == [12.0, 11.0]
    assert asked == [[w]]


def test_what_is_read_may_be_the_argument():
    read = tw.Variable(2.0) * 1.0
    made = tw.custom_gradient(lambda a: (a * read, lambda d: d * 5))(read)
    with tw.Session() as session:
        assert session.run(tw.gradients(made, read)[0]) == 5.0


@pytest.mark.parametrize("use_resource", [True, False])
def test_gradients_in_a_function_by_a_variable_outside(use_resource):
    w = tw.Variable(2.0, use_resource=use_resource)

    @tw.function
    def f(a):
        return tw.gradients(a * w * w, w)[0]
    found = f(tw.constant(1.5))
    with tw.Session() as session:
        session.run(w.initializer)
        assert session.run(found) == 6.0

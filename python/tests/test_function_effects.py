# SPDX-License-Identifier: Apache-2.0
"""Functions with effects and with variables: in loops, in branches, and under gradients. What happens is what TensorFlow does for the same
program: effects run once, where the call does, and a gradient is that of the values which were computed."""
import numpy as np
import pytest
import thalweg as tw
from thalweg.control import function_calls as calls
from thalweg.control.functions import Defun


@pytest.fixture(autouse=True)
def fresh_graph():
    with tw.Graph().as_default():
        yield


def variable(value, name="v"):
    return tw.get_variable(name, initializer=value, use_resource=True)


def run(session, fetches, feeds=None):
    session.run(tw.global_variables_initializer())
    return session.run(fetches, feeds)


@Defun(tw.int32, tw.float32)
def below_three(i, x):
    return i < 3


def test_a_loop_that_waits_for_an_effect_reads_the_variable():
    v = variable(1.0)

    @Defun(tw.int32, tw.float32)
    def step(i, x):
        return i + 1, x + v.read_value()
    with tw.control_dependencies([v.assign_add(1.0)]):
        y = calls.While([0, tw.constant(0.0)], below_three, step)[1]
    with tw.Session() as session:
        assert run(session, y) == 6.0


def test_a_map_that_waits_for_an_effect_reads_the_variable():
    v = variable(1.0)

    @Defun(tw.float32)
    def row(x):
        return x + v.read_value()
    with tw.control_dependencies([v.assign_add(1.0)]):
        y = tw.raw_ops.MapDefun(arguments=[tw.constant([1.0, 2.0])], captured_inputs=row.captured_inputs if row.name else [],
                                output_types=[tw.float32], output_shapes=[[]], f=row)
    with tw.Session() as session:
        np.testing.assert_array_equal(run(session, y[0]), [3.0, 4.0])


def test_a_frame_in_a_function_that_waits_for_an_effect():
    v = variable(1.0)

    @Defun(tw.float32)
    def double(x):
        return x * 1.0 + v.read_value()

    @Defun(tw.float32)
    def three_steps(x):
        return tw.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, double(a) + v.read_value()), [0, x])[1]
    with tw.control_dependencies([v.assign_add(1.0)]):
        y = three_steps(tw.constant(0.0))
    with tw.Session() as session:
        assert run(session, y) == 12.0


def test_an_effect_of_a_call_that_is_not_reached_does_not_run():
    ran = []

    @Defun()
    def note():
        return tw.py_func(lambda: ran.append(1) or np.float32(1), [], tw.float32)

    @Defun(tw.bool)
    def perhaps(p):
        return tw.cond(p, lambda: note() + 1.0, lambda: tw.constant(7.0))
    p = tw.placeholder(tw.bool, [])
    y = perhaps(p)
    with tw.Session() as session:
        assert session.run(y, {p: False}) == 7.0 and not ran
        assert session.run(y, {p: True}) == 2.0 and ran == [1]


def test_an_effect_of_a_call_in_a_loop_runs_in_every_iteration():
    v = variable(0.0)

    @Defun(tw.float32)
    def step(x):
        v.assign_add(1.0)
        return x * 2.0
    _, y = tw.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, step(a)), [0, tw.constant(1.0)])
    with tw.Session() as session:
        assert run(session, y) == 8.0
        assert session.run(v.read_value()) == 3.0


def counted(v):
    """x times the variable, which is one more after each call."""
    @Defun(tw.float32)
    def f(x):
        with tw.control_dependencies([v.assign_add(1.0)]):
            return x * v.read_value()
    return f


def test_a_gradient_does_not_run_the_effects_again():
    v = variable(1.0)
    x = tw.constant(3.0)
    y = counted(v)(x)
    gradients = [tw.convert_to_tensor(g) for g in tw.gradients(y, [x, v])]
    with tw.Session() as session:
        assert run(session, [y, *gradients]) == [6.0, 2.0, 3.0]
        assert session.run(v.read_value()) == 2.0
        assert session.run(gradients) == [3.0, 3.0]  # the call runs for its gradient too
        assert session.run(v.read_value()) == 3.0


@pytest.mark.parametrize("kind", ["call", "frame", "While", "If", "nested", "frames"])
def test_a_gradient_is_that_of_the_numbers_that_were_drawn(kind):
    x = tw.placeholder(tw.float32, [], name="x")

    @Defun(tw.float32)
    def scaled(a):
        return a * tw.random_uniform([], 0.5, 2.0)

    @Defun(tw.int32, tw.float32)
    def step(i, a):
        return i + 1, scaled(a)

    @Defun(tw.float32)
    def looping(a):
        return calls.While([0, a], below_three, step)[1]
    three = lambda body: lambda a: tw.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, body(v)), [0, a])[1]  # noqa: E731
    y = {"call": lambda: scaled(x), "frame": lambda: three(scaled)(x), "While": lambda: calls.While([0, x], below_three, step)[1],
         "If": lambda: calls.If(x > 0.0, [x], scaled, looping)[0], "nested": lambda: three(looping)(x), "frames": lambda: three(three(scaled))(x)}[kind]()
    gradient = tw.gradients(y, x)[0]
    with tw.Session() as session:
        for fed in (2.0, -3.0):
            value, slope = session.run([y, gradient], {x: fed})
            np.testing.assert_allclose(slope, value / fed, rtol=1e-5)


def test_second_derivatives_of_what_was_drawn():
    x = tw.constant(3.0)

    @Defun(tw.float32)
    def f(a):
        return a * a * a * tw.random_uniform([], 0.5, 2.0)
    y = f(x)
    first = tw.gradients(y, x)[0]
    second = tw.gradients(first, x)[0]
    third = tw.gradients(second, x)[0]
    with tw.Session() as session:
        value, *slopes = session.run([y, first, second, third])
    np.testing.assert_allclose(slopes, [value, value * 2 / 3, value * 2 / 9], rtol=1e-5)


def test_gradient_by_a_variable_that_a_branch_reads():
    v = variable([1.0, 2.0, 3.0])
    p = tw.placeholder(tw.bool, [])

    @Defun(tw.resource)
    def rows(handle):
        return tw.reduce_sum(tw.raw_ops.ResourceGather(resource=handle, indices=[0, 2], dtype=tw.float32))
    y = tw.cond(p, lambda: rows(v.handle), lambda: tw.constant(4.0))
    _, z = tw.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + tw.cond(p, lambda: rows(v.handle) * a, lambda: a)), [0, tw.constant(1.0)])
    gradients = [tw.convert_to_tensor(tw.gradients(f, v)[0]) for f in (y, z)]
    with tw.Session() as session:
        found = run(session, gradients, {p: True})
        np.testing.assert_array_equal(found[0], [1, 0, 1])
        np.testing.assert_array_equal(found[1], [10, 0, 10])  # of (1 + v0 + v2) squared
        np.testing.assert_array_equal(session.run(gradients, {p: False}), np.zeros([2, 3]))


def list_of(x):
    return tw.raw_ops.TensorListFromTensor(tensor=x, element_shape=tw.constant([], tw.int32))


def stacked(handle):
    return tw.raw_ops.TensorListStack(input_handle=handle, element_shape=tw.constant([], tw.int32), element_dtype=tw.float32)


def item(handle, i):
    return tw.raw_ops.TensorListGetItem(input_handle=handle, index=i, element_shape=tw.constant([], tw.int32), element_dtype=tw.float32)


def test_gradients_through_lists_that_go_into_calls_and_come_out():
    x = tw.constant([1.0, 2.0, 3.0])

    @Defun(tw.variant)
    def squares(handle):
        return list_of(tw.square(stacked(handle)))

    @Defun(tw.int32, tw.variant)
    def below(i, handle):
        return i < 3

    @Defun(tw.int32, tw.variant)
    def step(i, handle):
        return i + 1, tw.raw_ops.TensorListSetItem(input_handle=handle, index=i, item=item(handle, i) * 5.0)
    y = stacked(squares(list_of(x)))
    z = stacked(calls.While([0, list_of(x)], below, step)[1])
    with tw.Session() as session:
        np.testing.assert_array_equal(session.run(tw.gradients(y, x)[0]), [2, 4, 6])
        np.testing.assert_array_equal(session.run(tw.gradients(z, x)[0]), [5, 5, 5])


def test_gradient_by_a_list_that_a_loop_captures():
    x = tw.constant([1.0, 2.0, 3.0])
    handle = list_of(x)
    _, y = tw.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a + tw.square(item(handle, i % 3))), [0, tw.constant(0.0)])
    with tw.Session() as session:
        np.testing.assert_array_equal(session.run(tw.gradients(y, x)[0]), [4, 8, 6])


def test_gradient_through_a_list_that_grows():
    x = tw.constant([1.0, 2.0])

    def body(i, handle):
        return i + 1, tw.raw_ops.TensorListSetItem(input_handle=handle, index=i, item=item(handle, i - 1) * 3.0, resize_if_index_out_of_bounds=True)
    _, last = tw.while_loop(lambda i, _: i < 4, body, [2, list_of(x)])
    with tw.Session() as session:
        np.testing.assert_array_equal(session.run([stacked(last), tw.gradients(stacked(last), x)[0]][0]), [1, 2, 6, 18])
        np.testing.assert_array_equal(session.run(tw.gradients(stacked(last), x)[0]), [1, 13])


def test_gradient_of_rows_that_a_call_takes_as_a_list():
    x = tw.constant([[1.0, 2.0], [3.0, 4.0]])
    shape = tw.constant([2])
    handle = tw.raw_ops.TensorListFromTensor(tensor=x, element_shape=shape)

    @Defun(tw.variant)
    def total(a):
        return tw.reduce_sum(tw.square(tw.raw_ops.TensorListGetItem(input_handle=a, index=1, element_shape=tw.constant([2]), element_dtype=tw.float32)))
    with tw.Session() as session:
        np.testing.assert_array_equal(session.run(tw.gradients(total(handle), x)[0]), [[0, 0], [6, 8]])


def test_a_loop_variable_that_becomes_another_is_the_iterations_own_value_to_a_gradient():
    w = variable(0.3, "w")
    start = tw.placeholder(tw.float32, [])

    @Defun(tw.int32, tw.float32, tw.float32)
    def below(i, x, before):
        return i < 3

    @Defun(tw.int32, tw.float32, tw.float32)
    def step(i, x, before):
        return i + 1, x * w.read_value() + before, x
    last = calls.While([0, start, start], below, step)
    of_w = tw.convert_to_tensor(tw.gradients(last[1] + 10.0 * last[2], w.handle)[0])
    with tw.Session() as session:
        # 1, w + 1, w^2 + w + 1, w^3 + w^2 + 2w + 1
        np.testing.assert_allclose(run(session, of_w, {start: 1.0}), 3 * 0.09 + 2 * 0.3 + 2 + 10 * (2 * 0.3 + 1), rtol=1e-6)

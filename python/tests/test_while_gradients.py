# SPDX-License-Identifier: Apache-2.0
"""Gradients of while loops. The values are TensorFlow 1.15's; second derivatives, which it refuses, are 2.21's."""
import numpy as np
import pytest
import thalweg as tw


def _check(y, xs, feeds, expected):
    """The value and the gradients of y at each feed."""
    gradients = [tw.convert_to_tensor(g) for g in tw.gradients(y, xs)]
    with tw.Session() as sess:
        sess.run(tw.global_variables_initializer())
        for value, numbers in zip(feeds, expected):
            for got, want in zip(sess.run([y] + gradients, {xs[0]: value}), numbers):
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def _x():
    return tw.placeholder(tw.float32, [], name="x")


def test_powers_of_a_matrix():
    x = _x()
    w = tw.constant([[1.0, 2.0], [3.0, 4.0]]) * x
    y = tw.while_loop(lambda i, m: i < 4, lambda i, m: (i + 1, tw.matmul(m, w)), [0, tw.constant([[1.0, 0.0], [0.0, 1.0]])])[1]
    _check(y, [x, w], [2.0, -1.5],
           [([[3184.0, 4640.0], [6960.0, 10144.0]], 49856.0, [[2744.0, 4952.0], [3688.0, 6536.0]]), ([[1007.4375,
           1468.125], [2202.1875, 3209.625]], -21033.0, [[-1157.625, -2089.125], [-1555.875, -2757.375]])])


def test_a_conditional_in_a_loop():
    x = _x()
    y = tw.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tw.cond(tw.equal(i % 2, 0), lambda: y * x,
                                                                       lambda: tw.sin(y) + x)), [0, tw.constant(1.0)])[1]
    _check(y, [x], [2.0, -1.5], [(3.10389, 10.84167), (3.10271, -8.63253)])


def test_loops_in_a_loop_as_often_as_it_says():
    x = _x()

    def body(i, y):
        _, z = tw.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x + tw.sin(z)), [0, y])
        return i + 1, z * 0.5 + x
    y = tw.while_loop(lambda i, y: i < 4, body, [0, tw.constant(1.0)])[1]
    _check(y, [x], [2.0, -1.5], [(44.27204, 108.76626), (-0.88872, -6.43483)])


def test_a_loop_in_a_branch():
    x = _x()
    y = tw.cond(x > 0, lambda: tw.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1],
                lambda: x * x * 3.0)
    _check(y, [x], [2.0, -1.5], [(16, 32), (6.75, -9)])


def test_no_iteration():
    x = _x()
    n = tw.cast(x, tw.int32)
    y = tw.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, x * 3.0])[1]
    _check(y, [x], [2.0, -1.5], [(24, 36), (-4.5, 3)])


def test_variables_of_both_kinds():
    x = _x()
    start = tw.constant([[0.5, 0.1], [0.2, 0.3]])
    w = tw.get_variable("w", initializer=start, use_resource=False)
    v = tw.get_variable("v", initializer=start, use_resource=True)
    h = tw.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tw.tanh(tw.matmul(h, w) + tw.matmul(h, v) + x)),
                      [0, tw.ones([1, 2])])[1]
    _check(tw.reduce_sum(h), [x, w, v], [2.0, -1.5],
           [(1.99031, 0.01951, [[0.00452, 0.01495], [0.00449, 0.01487]], [[0.00452, 0.01495], [0.00449, 0.01487]]),
           (-1.97168, 0.06523, [[-0.01064, -0.03898], [-0.01177, -0.04052]], [[-0.01064, -0.03898], [-0.01177,
           -0.04052]])])


def test_several_variables_of_which_few_are_used():
    x = _x()
    loop = tw.while_loop(lambda i, a, b, c: i < 4, lambda i, a, b, c: (i + 1, a * b, b + x, c * a),
                         [0, x, x + 1.0, tw.constant(2.0)])
    _check(loop[1], [x], [2.0, -1.5], [(1890.0, 3981.0), (-26.25, 139.75)])
    _check(loop[2] + loop[3], [x], [2.0, -1.5], [(151211, 639365), (11.21875, -199.1875)])


def test_rows_of_variables():
    x = _x()
    table = tw.reshape(tw.range(12.0), [4, 3])
    t = tw.get_variable("t", initializer=table, use_resource=False)
    u = tw.get_variable("u", initializer=table, use_resource=True)
    y = tw.while_loop(lambda i, a: i < 6, lambda i, a: (i + 1, a + tw.reduce_sum(
        tw.gather(t, [i % 4, 1]) * tw.gather(u, [i % 4, 1])) * a * 0.01), [0, x])[1]
    _check(y, [x, t, u], [2.0, -1.5],
           [(259.75439, 129.87721, [[0.0, 3.35167, 6.70334], [29.97054, 39.96072, 49.95089], [5.21246, 6.08121, 6.94995],
           [5.1721, 5.74678, 6.32146]], [[0.0, 3.35167, 6.70334], [29.97054, 39.96072, 49.95089], [5.21246, 6.08121,
           6.94995], [5.1721, 5.74678, 6.32146]]), (-194.81583, 129.87721, [[0.0, -2.51375, -5.0275], [-22.47791,
           -29.97054, -37.46318], [-3.90935, -4.56091, -5.21246], [-3.87908, -4.31008, -4.74109]], [[0.0, -2.51375,
           -5.0275], [-22.47791, -29.97054, -37.46318], [-3.90935, -4.56091, -5.21246], [-3.87908, -4.31008,
           -4.74109]])])


def test_a_shape_that_grows():
    x = _x()
    y = tw.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tw.concat([a, a[-1:] * x], 0)), [0, tw.reshape(x, [1])],
                      shape_invariants=[tw.TensorShape([]), tw.TensorShape([None])])[1]
    _check(y, [x], [2.0, -1.5], [([2.0, 4.0, 8.0, 16.0, 32.0], 129.0), ([-1.5, 2.25, -3.375, 5.0625, -7.59375], 16.5625)])


def test_branches_in_branches_and_loops_in_branches():
    x = _x()

    def body(i, y):
        return i + 1, tw.cond(i < 2, lambda: tw.cond(y > 0.0, lambda: y * x, lambda: tw.exp(y) * 2.0),
                              lambda: tw.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * y * 0.5 + x), [0, y])[1])
    y = tw.while_loop(lambda i, y: i < 4, body, [0, tw.constant(1.0)])[1]
    _check(y, [x], [2.0, -1.5], [(29548.0, 294218.0), (-0.02358, -1.34634)])


def test_a_gradient_in_a_loop():
    x = _x()

    def body(i, a):
        z = x * x * tw.cast(i, tw.float32) + tw.sin(x)
        return i + 1, a + tw.gradients(z, [x])[0]
    y = tw.while_loop(lambda i, a: i < 4, body, [0, tw.constant(0.0)])[1]
    with tw.Session() as sess:
        np.testing.assert_allclose(sess.run(y, {x: 2.0}), 22.33541, rtol=1e-5)
        np.testing.assert_allclose(sess.run(y, {x: -1.5}), -17.71705, rtol=1e-5)


def test_vectors_of_any_length():
    x = tw.placeholder(tw.float32, [None])
    y = tw.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x + x * tw.reduce_sum(a)), [0, tw.ones_like(x)])[1]
    _check(y, [x], [[1.0, 2.0, -1.0], []], [([52.0, 144.0, -36.0], [140.0, 208.0, 76.0]), ([], [])])


def test_what_does_not_come_from_the_iteration_before():
    x = _x()
    y = tw.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b * 2.0, x * tw.cast(i, tw.float32)), [0, x, x])[1]
    _check(y, [x], [2.0, -1.5], [(4, 2), (-3, 2)])


def test_second_and_third_derivatives(run):
    x = _x()
    y = tw.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x + tw.sin(y)), [0, x])[1]
    [g] = tw.gradients(y, [x])
    [h] = tw.gradients(g, [x])
    np.testing.assert_allclose(run([g, h], {x: 2.0}), [85.071, 265.61987], rtol=1e-5)
    np.testing.assert_allclose(run([g, h], {x: -1.5}), [4.07344, -54.4084], rtol=1e-5)
    z = tw.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x), [0, x])[1]
    for expected in (80, 160, 240):
        [z] = tw.gradients(z, [x])
        assert run(z, {x: 2.0}) == expected


def test_second_derivative_of_loops_and_branches_in_a_loop(run):
    x = _x()

    def body(i, y):
        _, z = tw.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x + tw.sin(z)), [0, y])
        return i + 1, tw.cond(tw.equal(i % 2, 0), lambda: z * 0.5 + x * x, lambda: tw.cos(z) * x)
    y = tw.while_loop(lambda i, y: i < 4, body, [0, tw.constant(1.0)])[1]
    [g] = tw.gradients(y, [x])
    [h] = tw.gradients(g, [x])
    np.testing.assert_allclose(run([g, h], {x: 2.0}), [901.37152, -22078.18555], rtol=1e-4)
    np.testing.assert_allclose(run([g, h], {x: -1.5}), [-22.37417, -663.12616], rtol=1e-4)


def test_what_is_no_gradient():
    x = _x()
    inner = []

    def body(i, y):
        inner.append(y * x)
        return i + 1, inner[0]
    y = tw.while_loop(lambda i, y: i < 4, body, [0, x])[1]
    with pytest.raises(tw.errors.InvalidArgumentError, match="inside the while loop 'while"):
        tw.gradients(y, inner)


def test_without_back_prop_a_loop_is_a_constant(run):
    x = _x()
    y = tw.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x], back_prop=False)[1]
    assert tw.gradients(y, [x]) == [None]
    assert run(tw.gradients(y * x, [x]), {x: 2.0}) == [16]
    z = tw.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x], swap_memory=True, maximum_iterations=2)[1]
    assert run(tw.gradients(z, [x]), {x: 2.0}) == [12]


def test_arrays_in_loops_and_their_second_derivatives(run):
    x = tw.placeholder(tw.float64, [4])
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    value = np.array([0.3, -0.2, 0.7, 0.1])

    def read_and_written(i, array):
        return i + 1, array.write(i, tw.sin(read.read(i)) * read.read(3 - i))
    read = tw.TensorArray(tw.float64, 4, clear_after_read=False).unstack(x)
    written = tw.while_loop(lambda i, _: i < 4, read_and_written, [0, tw.TensorArray(tw.float64, 4)])[1].stack()
    [g] = tw.gradients(tw.reduce_sum(written), [x])
    [h] = tw.gradients(tw.reduce_sum(g * weights), [x])
    opposite, sin, cos = value[::-1], np.sin, np.cos
    np.testing.assert_allclose(run(g, {x: value}), cos(value) * opposite + sin(opposite), rtol=1e-12)
    np.testing.assert_allclose(run(h, {x: value}), -sin(value) * opposite * weights + (cos(value) + cos(opposite)) *
                               weights[::-1], rtol=1e-12)


def test_case_checks_its_conditions(run):
    x = _x()

    def value(**options):
        return tw.case([(x > 0, lambda: x * 2), (x > 5, lambda: x * 3)], **options)
    assert [run(value(default=lambda: x), {x: v}) for v in (1, 6, -1)] == [2, 12, -1]
    assert run(value(), {x: 1}) == 2
    with pytest.raises(tw.errors.InvalidArgumentError, match="None of conditions evaluated as True"):
        run(value(), {x: -1})
    with pytest.raises(tw.errors.InvalidArgumentError, match="more than 1 conditions .* evaluated as True"):
        run(value(default=lambda: x, exclusive=True), {x: 6})
    with pytest.raises(TypeError):
        tw.case([(True, lambda: x)])

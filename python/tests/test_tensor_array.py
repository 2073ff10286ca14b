# SPDX-License-Identifier: Apache-2.0
"""TensorArray, and map_fn, foldl, foldr and scan over it. What numpy does not tell is as TensorFlow 1.15 has it."""
import numpy as np
import pytest
import thalweg as tw

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_elements_come_back(run):
    x = tw.constant(ROWS)
    array = tw.TensorArray(tw.float32, size=3).unstack(x)
    reads = [array.read(i) for i in (2, 0)]
    np.testing.assert_array_equal(run(reads), ROWS[[2, 0]])
    assert reads[0].shape.as_list() == [2] and array.element_shape.as_list() == [2]
    array = tw.TensorArray(tw.float32, size=0, dynamic_size=True)
    for i in range(3):
        array = array.write(i, x[i] * i)
    stacked = array.stack()
    assert stacked.shape.as_list() == [None, 2] and array.dtype is tw.float32
    np.testing.assert_array_equal(run(stacked), ROWS * [[0], [1], [2]])
    assert run([array.size(), array.identity().size()]) == [3, 3]
    np.testing.assert_array_equal(run(array.gather([2, 1])), (ROWS * [[0], [1], [2]])[[2, 1]])


def test_pieces_of_different_length(run):
    x = tw.constant(ROWS)
    array = tw.TensorArray(tw.float32, size=2, infer_shape=False).split(x, [1, 2])
    np.testing.assert_array_equal(run(array.read(1)), ROWS[1:])
    y = array.concat()
    np.testing.assert_array_equal(run([y, *tw.gradients(y * y, x)]), [ROWS, 2 * ROWS])
    even = tw.TensorArray(tw.float32, size=3).split(x, [1, 1, 1])
    assert even.read(0).shape.as_list() == [1, 2] and even.concat().shape.as_list() == [None, 2]


def test_gradients_add_up_and_what_nobody_read_is_zero(run):
    x = tw.constant(ROWS)
    array = tw.TensorArray(tw.float32, size=3, clear_after_read=False).unstack(x)
    y = array.read(0) * 2 + array.read(2) * 3 + array.read(0) * array.read(0)
    np.testing.assert_array_equal(run(tw.gradients(y, x))[0], [2 + 2 * ROWS[0], [0, 0], [3, 3]])
    z = tw.TensorArray(tw.float32, 3).scatter([2, 0, 1], x).stack()
    np.testing.assert_array_equal(run(tw.gradients(z * z * z, x))[0], 3 * ROWS * ROWS)


def test_second_derivatives(run):
    x = tw.constant(ROWS)
    array = tw.TensorArray(tw.float32, size=3, clear_after_read=False).unstack(x)
    y = array.read(0) ** 3 + array.read(2) ** 2
    first, = tw.gradients(y, x)
    second, = tw.gradients(first * [[1.0], [5.0], [7.0]], x)
    np.testing.assert_allclose(run([first, second]), [[3 * ROWS[0] ** 2, [0, 0], 2 * ROWS[2]],
                                                      [6 * ROWS[0], [0, 0], [14, 14]]])


def test_two_calls_of_gradients_do_not_mix(run):
    x = tw.constant(ROWS)
    y = tw.TensorArray(tw.float32, size=3).unstack(x).stack()
    a, b = tw.gradients(y, x)[0], tw.gradients(y * 3, x)[0]
    np.testing.assert_array_equal(run([a, b]), [np.ones_like(ROWS), 3 * np.ones_like(ROWS)])


def test_arguments_are_checked(run):
    with pytest.raises(ValueError, match="Size must be provided"):
        tw.TensorArray(tw.float32)
    array = tw.TensorArray(tw.float32, 2).write(0, [1.0, 2.0])
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        array.write(1, [1.0])
    with pytest.raises(tw.errors.InvalidArgumentError, match="already been written"):
        run(array.write(0, [3.0, 4.0]).flow)
    with pytest.raises(tw.errors.InvalidArgumentError, match="not resizeable"):
        run(array.write(2, [3.0, 4.0]).flow)
    with pytest.raises(tw.errors.InvalidArgumentError, match="dtype"):
        run(array.write(1, tw.constant([3, 4])).flow)


def test_arrays_go_through_loops_and_conditionals(run):
    def body(i, a):
        return i + 1, a.write(i, tw.cast(i * i, tw.float32))
    _, array = tw.while_loop(lambda i, a: i < 4, body, (0, tw.TensorArray(tw.float32, 4)))
    stacked = array.stack()
    assert stacked.shape.as_list() == [None]  # what the body has learned
    assert run(stacked).tolist() == [0, 1, 4, 9]
    p = tw.placeholder(tw.bool, [])
    array = tw.TensorArray(tw.float32, 1)
    array = tw.cond(p, lambda: array.write(0, 1.0), lambda: array.write(0, 2.0))
    value = array.read(0)
    assert [run(value, {p: v}) for v in (True, False)] == [1, 2]


def test_a_long_loop_of_writes(run):
    n = 3000
    _, array = tw.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, i)),
                             (0, tw.TensorArray(tw.int32, 0, dynamic_size=True)))
    assert run(array.stack()).tolist() == list(range(n))


def test_map_fn(run):
    x = tw.placeholder(tw.float32, [None, 2])
    y = tw.map_fn(lambda r: r * r, x)
    assert y.shape.as_list() == [None, 2]
    np.testing.assert_array_equal(run(y, {x: ROWS}), ROWS * ROWS)
    np.testing.assert_array_equal(run(y, {x: np.zeros([0, 2])}), np.zeros([0, 2]))
    a, b = tw.map_fn(lambda v: (v[0] + v[1], tw.cast(v[1], tw.int32)), (x, x * 10), dtype=(tw.float32, tw.int32))
    got = run([a, b], {x: ROWS})
    np.testing.assert_array_equal(got[0], ROWS * 11)
    np.testing.assert_array_equal(got[1], ROWS * 10)
    ragged = tw.map_fn(lambda n: tw.reduce_sum(tw.range(n)), tw.constant([3, 1, 5]), parallel_iterations=2)
    assert run(ragged).tolist() == [3, 0, 10] and ragged.shape.as_list() == [3]
    with pytest.raises(TypeError):
        tw.map_fn(3, x)
    with pytest.raises(ValueError):
        tw.map_fn(lambda r: (r, r), x)


def test_folds(run):
    x = tw.constant(ROWS)
    got = run([tw.foldl(lambda a, r: a * 2 + r, x), tw.foldr(lambda a, r: a * 2 + r, x),
               tw.foldl(lambda a, r: a + tw.reduce_sum(r), x, initializer=10.0),
               tw.foldl(lambda a, r: a + r["p"] * r["q"], {"p": x, "q": x}, initializer=tw.zeros([2]))])
    np.testing.assert_array_equal(got[0], (ROWS[0] * 2 + ROWS[1]) * 2 + ROWS[2])
    np.testing.assert_array_equal(got[1], (ROWS[2] * 2 + ROWS[1]) * 2 + ROWS[0])
    assert got[2] == 25
    np.testing.assert_array_equal(got[3], (ROWS * ROWS).sum(0))


def test_scan(run):
    x = tw.constant(ROWS)
    forwards, backwards = tw.scan(lambda a, r: a + r, x), tw.scan(lambda a, r: a + r, x, reverse=True)
    assert forwards.shape.as_list() == [3, 2]
    np.testing.assert_array_equal(run([forwards, backwards]), [np.cumsum(ROWS, 0), np.cumsum(ROWS[::-1], 0)[::-1]])
    a, b = tw.scan(lambda a, r: (a[0] + r, a[1] + 1), x, initializer=(tw.constant([1.0, 1.0]), 0))
    got = run([a, b])
    np.testing.assert_array_equal(got[0], np.cumsum(ROWS, 0) + 1)
    assert got[1].tolist() == [1, 2, 3]
    fibonacci = tw.scan(lambda a, _: (a[1], a[0] + a[1]), tw.range(6), initializer=(0, 1))
    assert run(fibonacci[0]).tolist() == [1, 1, 2, 3, 5, 8]

# SPDX-License-Identifier: Apache-2.0
"""Assertions and printing as TF1 programs use them. Words and values recorded with TensorFlow 1.15."""
import sys

import numpy as np
import pytest

import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as made:
        yield made


def run(fetches, feeds=None):
    with tw.Session() as session:
        return session.run(fetches, feeds)


GOOD = [("equal", 1, 1), ("none_equal", 1, 2), ("less", 1, 2), ("less_equal", 2, 2), ("greater", 3, 2), ("greater_equal", 2, 2)]
BAD = [("equal", 1, 2), ("none_equal", 1, 1), ("less", 2, 2), ("less_equal", 3, 2), ("greater", 2, 2), ("greater_equal", 1, 2)]


def check(name):
    return getattr(tw, "assert_" + name)


@pytest.mark.parametrize("name, x, y", GOOD)
def test_holds(name, x, y):
    fed = tw.placeholder(tw.int32)
    run(check(name)(fed, y), {fed: [x, x]})
    run(check(name)(x, y))


@pytest.mark.parametrize("name, x, y", BAD)
def test_does_not_hold(name, x, y):
    fed = tw.placeholder(tw.int32)
    with pytest.raises(tw.errors.InvalidArgumentError, match="did not hold element-wise"):
        run(check(name)(fed, y), {fed: [x, x]})
    with pytest.raises(tw.errors.InvalidArgumentError, match="did not hold element-wise"):
        check(name)(x, y)


def test_what_is_said_begins_as_in_1_15():
    x, y, fed = tw.constant([1, 5], name="a"), tw.constant([1, 3], name="b"), tw.placeholder(tw.int32, name="fed")
    failed, shown = "Condition x < y did not hold element-wise:", "x (a:0) = \n[1 5]\ny (b:0) = \n[1 3]"
    for check_it, words in [
            (lambda: tw.assert_less(x, y), f"{failed}\n{shown}"),
            (lambda: tw.assert_less(x, y, message="M"), f"M\n{failed}\n{shown}"),
            (lambda: tw.assert_negative(x), "\nCondition x < 0 did not hold element-wise:\nx (a:0) = \n[1 5]"),
            (lambda: run(tw.assert_less(fed, y), {fed: [1, 5]}), f"assertion failed: [{failed}] [x (fed:0) = ] [1 5] [y (b:0) = ] [1 3]"),
            (lambda: run(tw.assert_less(fed, y, message="M"), {fed: [1, 5]}), f"assertion failed: [M] [{failed}] [x (fed:0) = ] [1 5]")]:
        with pytest.raises(tw.errors.InvalidArgumentError) as error:
            check_it()
        assert error.value.message.partition(" 'assert_less")[2].partition(": ")[2].startswith(words) or error.value.message.startswith(words)
    for check_it, error, words in [
            (lambda: tw.assert_equal(x, [1, 2, 3]), ValueError, "Dimensions must be equal, but are 2 and 3"),
            (lambda: tw.assert_rank(x, 2), ValueError, ".  Tensor a:0 must have rank 2.  Received rank 1, shape (2,)"),
            (lambda: tw.assert_rank_at_least(x, 2), ValueError, ".  Tensor a:0 must have rank at least 2.  Received rank 1"),
            (lambda: tw.assert_rank_in(x, (2, 3)), ValueError, ".  Tensor a:0 must have rank in (2, 3).  Received rank 1"),
            (lambda: tw.assert_integer(tw.constant(1.0, name="c")), TypeError, "  Expected \"x\" to be integer type.  Found: c:0 of dtype <dtype: 'float32'>"),
            (lambda: tw.assert_type(x, tw.float32), TypeError, "  a:0 must be of type tf.float32; got tf.int32"),
            (lambda: tw.debugging.assert_proper_iterable(3), TypeError, 'Expected argument "values" to be iterable.  Found: <class \'int\'>')]:
        with pytest.raises(error) as raised:
            check_it()
        assert str(raised.value).startswith(words)


def test_signs_and_nearness():
    run([tw.assert_positive([1.0]), tw.assert_non_negative([0]), tw.assert_negative([-1]), tw.assert_non_positive([0.0]),
         tw.debugging.assert_near([1.0], [1.0000001])])
    with pytest.raises(tw.errors.InvalidArgumentError):
        tw.assert_positive([0.0])
    with pytest.raises(tw.errors.InvalidArgumentError):
        run(tw.assert_near([1.0], [1.1]))


def test_ranks_and_types():
    run([tw.assert_rank([1], 1), tw.assert_rank_at_least([[1]], 1), tw.assert_rank_in([1], (0, 1))])
    for bad in (lambda: tw.assert_rank([1], 2), lambda: tw.assert_rank_at_least([1], 2), lambda: tw.assert_rank_in([1], (0, 2)),
                lambda: tw.assert_scalar([1])):
        with pytest.raises(ValueError):
            bad()
    fed = tw.placeholder(tw.float32)
    with pytest.raises(tw.errors.InvalidArgumentError):
        run(tw.assert_rank(fed, 2), {fed: [1.0]})
    with pytest.raises(TypeError):
        tw.assert_integer([1.0])
    with pytest.raises(TypeError):
        tw.debugging.assert_type([1.0], tw.int32)
    assert tw.debugging.is_numeric_tensor(tw.constant(1)) and not tw.is_numeric_tensor(tw.constant("a"))
    assert run([tw.is_non_decreasing([1, 1, 2]), tw.is_strictly_increasing([1, 1, 2])]) == [True, False]


def test_numbers_that_are_none():
    fed = tw.placeholder(tw.float32)
    checked = tw.verify_tensor_all_finite(fed, "words")
    assert run(checked, {fed: [1.0]}).tolist() == [1]
    with pytest.raises(tw.errors.InvalidArgumentError, match="words"):
        run(checked, {fed: [np.nan]})
    tw.log(fed)
    everything = tw.add_check_numerics_ops()
    run(everything, {fed: [1.0]})
    with pytest.raises(tw.errors.InvalidArgumentError, match="Log"):
        run(everything, {fed: [0.0]})


def test_print_in_passing(capfd):
    x = tw.constant([1.0, 2.0])
    shown = tw.Print(x, [x, "text"], "message: ", first_n=1)
    gradient = tw.gradients(shown, x)[0]
    with tw.Session() as session:
        assert session.run(shown).tolist() == [1, 2]
        session.run(shown)
        assert session.run(gradient).tolist() == [1, 1]
    assert capfd.readouterr().err == "message: [1 2][text]\n"


def test_print(capfd, tmp_path):
    sparse = tw.SparseTensor([[0, 1], [1, 0], [1, 2]], [1, 2, 3], [2, 3])
    run(tw.print("a", tw.constant([1, 2]), {"k": tw.constant(3)}, (1, "s"), sparse, output_stream=sys.stdout))
    expected = "a [1 2] {'k': 3} (1, 's') 'SparseTensor(indices=[[0 1]\n [1 0]\n [1 2]], values=[1 2 3], shape=[2 3])'\n"
    assert capfd.readouterr().out == expected
    path = tmp_path / "printed"
    run(tw.print(tw.range(10), end="!", summarize=2, output_stream=f"file://{path}"))
    assert path.read_text() == "[0 1 ... 8 9]!"
    with pytest.raises(ValueError):
        tw.print("a", output_stream="nowhere")


def test_timestamp():
    assert run(tw.timestamp()) > 1.6e9

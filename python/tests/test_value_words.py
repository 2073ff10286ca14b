# SPDX-License-Identifier: Apache-2.0
"""Values that are none of the type wanted: TensorFlow 1.15's errors and words, and nothing that is cut or guessed."""
import numpy as np
import pytest

import thalweg as tw


@pytest.fixture(autouse=True)
def _graph():
    with tw.Graph().as_default():
        yield


CONSTANTS = [
    ("a", tw.int32, "Expected int32, got 'a' of type 'str' instead."),
    ([1, "a"], tw.int32, "Expected int32, got 'a' of type 'str' instead."),
    (1.5, tw.int32, "Expected int32, got 1.5 of type 'float' instead."),
    ([[1, 2.5]], tw.int64, "Expected int64, got 2.5 of type 'float' instead."),
    ([1, 2.0], tw.int32, "Expected int32, got 2.0 of type 'float' instead."),
    (1, tw.bool, "Expected bool, got 1 of type 'int' instead."),
    ([1.0, None], tw.float32, "Expected float32, got None of type 'NoneType' instead."),
    (1j, tw.float32, "Expected float32, got 1j of type 'complex' instead."),
    (1, tw.string, "Expected string, got 1 of type 'int' instead."),
    (["a", 1], tw.string, "Expected string, got 1 of type 'int' instead."),
    ([1, "a"], None, "Failed to convert object of type <class 'list'> to Tensor. Contents: [1, 'a']. Consider casting"),
    ([2.5, None], None, "Failed to convert object of type <class 'list'> to Tensor. Contents: [2.5, None]. Consider casting"),
    ({"a": 1}, None, "Failed to convert object of type <class 'dict'> to Tensor. Contents: {'a': 1}. Consider casting"),
]


@pytest.mark.parametrize("value, dtype, words", CONSTANTS)
def test_constants(value, dtype, words):
    with pytest.raises(TypeError) as caught:
        tw.constant(value, dtype)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("value, dtype", [
    (np.float32(2.0), tw.int32), (True, tw.int32), (np.array([1, 0]), tw.bool), ([], tw.bool), (True, tw.float32), ([1, True], tw.float32), (2**70, tw.float64), ([2**70], tw.float32),
    ([tw.Dimension(2), 3], tw.int32), (np.array([1.0, 2.0]), tw.int32), ([np.int8(1), 2], tw.float32), (["a", b"b"], tw.string),
    (1, tw.complex64), ([np.zeros(2), [1.0, 2.0]], tw.float32), ([], tw.float32), ([], tw.string), (np.str_("a"), tw.string)])
def test_constants_that_are_meant(value, dtype):
    assert tw.constant(value, dtype).dtype is dtype


OPERATIONS = {
    "of a type": (lambda x, i: tw.add(x, "a"), "Expected float32 passed to parameter 'y' of op 'Add', got 'a' of type 'str' instead. Error: Expected"),
    "of another": (lambda x, i: tw.assign(tw.Variable(1.0), i), "Input 'value' of 'Assign' Op has type int32 that does not match type float32 of argument 'ref'."),
    "of a list": (lambda x, i: tw.stack([x, x, i]), "Tensors in list passed to 'values' of 'Pack' Op have types [float32, float32, int32] that don't all match."),
    "not among the choices": (lambda x, i: tw.sqrt(i), "Value passed to parameter 'x' has DataType int32 not in list of allowed values: bfloat16, float16"),
    "of an axis": (lambda x, i: tw.reduce_sum(x, axis=1.5), "Value passed to parameter 'reduction_indices' has DataType float32 not in list of allowed values: int32, int64"),
    "of a whole axis": (lambda x, i: tw.argmax(x, 1.0), "Value passed to parameter 'dimension' has DataType float32 not in list of allowed values: "),
    "of indices": (lambda x, i: tw.one_hot([1.0], 2), "Value passed to parameter 'indices' has DataType float32 not in list of allowed values: uint8, "),
    "of conditions": (lambda x, i: tw.where([1, 0], x, x), "Expected bool passed to parameter 'condition' of op 'Select', got [1, 0] of type 'list' instead. Error: "),
    "of a shape": (lambda x, i: tw.reshape(x, [2.5]), "Value passed to parameter 'shape' has DataType float32 not in list of allowed values: int32, int64"),
    "of sizes": (lambda x, i: tw.fill(["a"], 1.0), "Value passed to parameter 'dims' has DataType string not in list of allowed values: int32, int64"),
    "of one size": (lambda x, i: tw.zeros("a"), "Expected int32, got 'a' of type 'str' instead."),
    "of a condition": (lambda x, i: tw.cond(i, lambda: x, lambda: x), "Input 'pred' of 'Switch' Op has type int32 that does not match expected type of bool."),
    "a type": (lambda x, i: tw.placeholder("nonsense"), "Expected DataType for argument 'dtype' not 'nonsense'."),
    "a static shape": (lambda x, i: tw.placeholder(tw.float32, "a"), "Error converting shape to a TensorShape: A string has ambiguous TensorShape"),
}


@pytest.mark.parametrize("case", OPERATIONS)
def test_operations(case):
    make, words = OPERATIONS[case]
    with pytest.raises(TypeError) as caught:
        make(tw.placeholder(tw.float32, [2]), tw.placeholder(tw.int32, [2]))
    assert str(caught.value).startswith(words)


def test_shapes_are_not_cut():
    with pytest.raises(ValueError, match="Error converting shape to a TensorShape: Ambiguous dimension: 1.5"):
        tw.placeholder(tw.float32, [1.5])
    assert tw.placeholder(tw.float32, [2.0]).shape == [2]
    with pytest.raises(ValueError, match=r"Shape mismatch: The shape of labels \(received \(3,\)\) should equal the shape of logits"):
        tw.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2, 3], logits=[[1.0, 2.0]])


def test_without_a_session():
    with pytest.raises(ValueError, match=r"Cannot execute operation using `run\(\)`: No default session is registered. Use `with sess.as_default\(\):` or"):
        tw.no_op().run()
    with pytest.raises(ValueError, match=r"Cannot evaluate tensor using `eval\(\)`: No default session is registered. Use `with sess.as_default\(\)` or"):
        tw.constant(1).eval()


def test_a_partial_run_of_a_closed_session():
    x = tw.placeholder(tw.float32, [])
    session = tw.Session()
    handle = session.partial_run_setup([x + 1.0], [x])
    session.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session."):
        session.partial_run(handle, x + 1.0, {x: 1.0})


def test_masks_may_be_numbers():
    with tw.Session() as session:
        assert session.run(tw.boolean_mask([1, 2, 3], [0, 7, 1])).tolist() == [2, 3]


LOSSES = ("mean_squared_error", "absolute_difference", "log_loss", "hinge_loss", "huber_loss", "sigmoid_cross_entropy",
          "softmax_cross_entropy", "mean_pairwise_squared_error")


@pytest.mark.parametrize("name", LOSSES)
def test_losses_take_two_of_one_shape(name):
    """[n] and [n, 1] would be broadcast to the differences of all pairs."""
    with pytest.raises(ValueError, match=r"Shapes \(3, 1\) and \(3,\) are incompatible"):
        getattr(tw.losses, name)(tw.zeros([3]), tw.ones([3, 1]))


@pytest.mark.parametrize("loss, words", [
    (tw.nn.sigmoid_cross_entropy_with_logits, "logits and labels must have the same shape"),
    (lambda labels, logits: tw.nn.weighted_cross_entropy_with_logits(labels, logits, 2.0), "logits and labels must have the same shape"),
    (lambda labels, logits: tw.nn.log_poisson_loss(labels, logits), "log_input and targets must have the same shape")])
def test_losses_of_elements_take_two_of_one_shape(loss, words):
    with pytest.raises(ValueError, match=words + r" \(\(3, 1\) vs \(3,\)\)"):
        loss(labels=tw.zeros([3]), logits=tw.ones([3, 1]))


def test_weights_of_losses_are_of_their_rank():
    losses = tw.ones([2, 3])
    for weights in ([1.0, 2.0, 3.0], [[1.0, 2.0]], [[[1.0]]]):
        with pytest.raises(ValueError, match="weights can not be broadcast to values"):
            tw.losses.compute_weighted_loss(losses, weights)
    unknown = tw.placeholder_with_default([1.0, 2.0, 3.0], None)
    with tw.Session() as session:
        assert session.run(tw.losses.compute_weighted_loss(losses, [[1.0], [3.0]])) == 2
        with pytest.raises(tw.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
            session.run(tw.losses.compute_weighted_loss(losses, unknown))


@pytest.mark.parametrize("dtype", [tw.bool, tw.string, tw.int32, tw.float32])
def test_zeros_of_all_types_are_found(dtype):
    """Where a function itself needs a zero, it is one of the type."""
    x = tw.zeros([3], dtype)
    sparse = tw.SparseTensor([[1]], tw.zeros([1], dtype), [3])
    with tw.Session() as session:
        assert session.run(tw.count_nonzero(x)) == 0
        assert session.run(tw.nn.zero_fraction(x)) == 1
        assert session.run(tw.sparse.to_dense(sparse)).tolist() == session.run(x).tolist()

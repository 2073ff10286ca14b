# SPDX-License-Identifier: Apache-2.0
"""Operations that run at once: tensors with values, variables, tapes, training. Each test makes it so for itself, in a block."""
import numpy as np
import pytest

import thalweg as tf
from thalweg.eager.context import EagerGraph


@pytest.fixture(autouse=True)
def eager():
    with EagerGraph().as_default():
        yield


def test_operations_have_values_at_once():
    x = tf.constant(1.0) + 2
    assert tf.executing_eagerly() and x.numpy() == 3.0 and isinstance(x, tf.Tensor)
    assert repr(x) == f"<tf.Tensor: id={x._id}, shape=(), dtype=float32, numpy=3.0>"
    y = tf.constant([[1, 2], [3, 4]])
    assert str(y) == "tf.Tensor(\n[[1 2]\n [3 4]], shape=(2, 2), dtype=int32)"
    np.testing.assert_array_equal(tf.matmul(y, y), [[7, 10], [15, 22]])
    assert [row.numpy().tolist() for row in y] == [[1, 2], [3, 4]] and len(y) == 2


def test_a_tensor_is_a_number_of_python():
    assert int(tf.constant(3)) == 3 and float(tf.constant(1.5)) == 1.5 and bool(tf.constant(0)) is False
    assert [10, 20, 30][tf.constant(1)] == 20 and f"{tf.constant(1.25):.1f}" == "1.2"
    with pytest.raises(ValueError, match="truth value of an array"):
        bool(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="Scalar tensor has no `len\\(\\)`"):
        len(tf.constant(1))


def test_a_value_is_the_users_own():
    x = tf.constant(np.arange(1000.0))
    value = x.numpy()
    value[0] = 7
    assert x[0].numpy() == 0
    view = memoryview(x)
    assert view.readonly and view.shape == (1000,) and view[3] == 3.0
    assert np.from_dlpack(x)[2] == 2.0
    assert np.asarray(tf.constant(b"a\0")).item() == b"a\0"


@pytest.mark.parametrize("name", ["op", "graph", "name"])
def test_what_graphs_have_is_meaningless(name):
    with pytest.raises(AttributeError, match=f"Tensor.{name} is meaningless when eager execution is enabled."):
        getattr(tf.constant(1), name)


def test_graphs_are_built_inside_of_one():
    with tf.Graph().as_default():
        assert not tf.executing_eagerly()
        x = tf.placeholder(tf.float32)
        with tf.Session() as sess:
            assert sess.run(x * 2, {x: 3.0}) == 6.0
    with pytest.raises(RuntimeError, match="tf.placeholder\\(\\) is not compatible with eager execution."):
        tf.placeholder(tf.float32)


def test_variables():
    v = tf.Variable([1.0, 2.0])
    assert repr(v) == "<tf.Variable 'Variable:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>"
    v.assign_add([1.0, 1.0])
    before = v.value()
    v.assign([5.0, 6.0])
    assert before.numpy().tolist() == [2.0, 3.0] and v.numpy().tolist() == [5.0, 6.0] and (v + 1)[0].numpy() == 6.0
    assert tf.global_variables() == []


def test_gradients_of_tensors_and_variables():
    y, v = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(y)
        z = tf.reduce_sum(y * y * v)
    of_y, of_v = tape.gradient(z, [y, v])
    np.testing.assert_allclose(of_y, [[2, 8], [6, 16]])
    np.testing.assert_allclose(of_v, [10, 20])
    with pytest.raises(RuntimeError, match="GradientTape.gradient can only be called once on non-persistent tapes."):
        tape.gradient(z, y)


def test_gradients_of_gradients():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            z = tf.reduce_sum(v * v * v)
        first = inner.gradient(z, v)
    np.testing.assert_allclose(first, [3, 12])
    np.testing.assert_allclose(outer.gradient(first, v), [6, 12])


def test_a_net_learns():
    generator = np.random.RandomState(0)
    inputs = generator.randn(64, 3).astype(np.float32)
    wanted = inputs @ np.float32([[1.0], [-2.0], [0.5]]) + 0.25
    w1, b1 = tf.Variable(generator.randn(3, 8).astype(np.float32) * 0.5), tf.Variable(np.zeros(8, np.float32))
    w2, b2 = tf.Variable(generator.randn(8, 1).astype(np.float32) * 0.5), tf.Variable(np.zeros(1, np.float32))

    def loss():
        hidden = tf.tanh(tf.matmul(inputs, w1) + b1)
        return tf.reduce_mean(tf.square(tf.matmul(hidden, w2) + b2 - wanted))
    first = loss().numpy()
    for _ in range(200):
        with tf.GradientTape() as tape:
            error = loss()
        for variable, gradient in zip((w1, b1, w2, b2), tape.gradient(error, (w1, b1, w2, b2))):
            variable.assign_sub(0.1 * gradient)
    assert loss().numpy() < first / 50


def test_errors_are_raised_at_once_with_operation_and_line():
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
    assert "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]" in str(error.value) and "[Op:MatMul]" in str(error.value)
    assert __file__ in str(error.value)


def test_errors_of_datasets_name_stage_function_and_lines():
    pipeline = tf.data.Dataset.range(2).map(lambda x: tf.check_numerics(tf.cast(x, tf.float32) / 0.0, "bad")).batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        next(iter(pipeline))
    inner, stage = str(error.value).split("\n\t [[")[1:]
    assert inner.startswith("CheckNumerics") and f"(created at {__file__}:" in inner
    assert stage.startswith("MapDataset") and "thalweg/eager" not in stage
    assert "[Op:IteratorGetNext]" in stage and f"(at {__file__}:" in stage

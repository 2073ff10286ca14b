# SPDX-License-Identifier: Apache-2.0
"""What programs do where operations run at once: functions, datasets, control flow, optimizers, gradients of their own."""
import numpy as np
import pytest

import thalweg as tf
from thalweg.eager.context import EagerGraph


@pytest.fixture(autouse=True)
def eager():
    with EagerGraph().as_default():
        yield


def test_control_flow_is_pythons():
    x = tf.constant(3.0)
    assert tf.cond(x > 2, lambda: x * 2, lambda: x).numpy() == 6.0
    assert tf.cond(True, lambda: [x], lambda: [x])._id == x._id
    i, total = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t + x), [tf.constant(0), tf.constant(0.0)])
    assert i.numpy() == 5 and total.numpy() == 15.0
    assert tf.case([(x < 2, lambda: tf.constant(1)), (x < 4, lambda: tf.constant(2))], default=lambda: tf.constant(3)).numpy() == 2
    np.testing.assert_array_equal(tf.map_fn(lambda row: row * 2, tf.constant([1, 2, 3])), [2, 4, 6])
    np.testing.assert_array_equal(tf.scan(lambda a, b: a + b, tf.constant([1, 2, 3])), [1, 3, 6])


def test_gradients_through_control_flow_of_python():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        y = x
        while y < 100.0:
            y = y * y
            array = array.write(array.size(), y)
        total = tf.reduce_sum(array.stack())
    np.testing.assert_allclose(tape.gradient(total, x), 4 + 32 + 8 * 2.0 ** 7 if False else 2 * 2 + 4 * 2 ** 3 + 8 * 2 ** 7)


def test_tensor_arrays():
    array = tf.TensorArray(tf.int32, 3).write(0, 5).write(1, 6)
    with pytest.raises(tf.errors.OutOfRangeError, match="Tried to write to index 3 but array is not resizeable and size is: 3"):
        array.write(3, 1)
    assert array.read(0).numpy() == 5
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read index 0 twice"):
        array.read(0)
    np.testing.assert_array_equal(tf.TensorArray(tf.float32, 2).unstack([[1.0, 2.0], [3.0, 4.0]]).concat(), [1, 2, 3, 4])


def test_functions_and_gradients_through_them():
    v = tf.Variable(3.0)
    traces = []

    @tf.function
    def f(x):
        traces.append(x)
        return x * x * v

    with tf.GradientTape() as tape:
        x = tf.constant(2.0)
        tape.watch(x)
        y = f(x) + f(x)
    assert y.numpy() == 24.0 and len(traces) == 1
    of_x, of_v = tape.gradient(y, [x, v])
    assert of_x.numpy() == 24.0 and of_v.numpy() == 8.0


def test_functions_train():
    w = tf.Variable([1.0, 2.0])
    optimizer = tf.train.AdamOptimizer(0.1)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(w * x - 3.0))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    losses = [step(tf.constant([1.0, 1.0])).numpy() for _ in range(100)]
    assert losses[0] == 5.0 and losses[-1] < 1e-2


def test_functions_make_variables_once():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(lambda: tf.ones([2]) * 3.0)
            return x * self.w
    net = Net()
    np.testing.assert_array_equal(net(tf.constant([1.0, 2.0])), [3, 6])
    net.w.assign([1.0, 1.0])
    np.testing.assert_array_equal(net(tf.constant([1.0, 2.0])), [1, 2])


def test_datasets_are_iterated():
    dataset = tf.data.Dataset.range(5).map(lambda x: x * 2).batch(2)
    assert [batch.numpy().tolist() for batch in dataset] == [[0, 2], [4, 6], [8]]
    offset = tf.constant(10, tf.int64)
    assert [x.numpy() for x in tf.data.Dataset.range(2).map(lambda x: x + offset)] == [10, 11]
    iterator = tf.compat.v1.data.make_one_shot_iterator(dataset)
    assert iterator.get_next().numpy().tolist() == [0, 2]
    with pytest.raises(tf.errors.OutOfRangeError):
        for _ in range(5):
            iterator.get_next()
    with pytest.raises(RuntimeError, match="make_initializable_iterator is not supported when eager execution is enabled"):
        dataset.make_initializable_iterator()
    pairs = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [3.0, 4.0]})
    assert [(p["a"].numpy(), p["b"].numpy()) for p in pairs] == [(1, 3.0), (2, 4.0)]


@pytest.mark.parametrize("make", [
    lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.MomentumOptimizer(0.05, 0.9), lambda: tf.train.AdamOptimizer(0.1),
    lambda: tf.train.AdagradOptimizer(0.5), lambda: tf.train.RMSPropOptimizer(0.05), lambda: tf.train.FtrlOptimizer(0.5),
    lambda: tf.train.AdadeltaOptimizer(20.0)])
def test_optimizers(make):
    """The same values as in a graph."""
    start, optimizer = [1.0, -2.0], make()
    w, rows = tf.Variable(start), tf.Variable([[1.0], [2.0], [3.0]])
    step = tf.Variable(0, dtype=tf.int64, trainable=False)
    loss = lambda: tf.reduce_sum(tf.square(w - 3.0)) + tf.reduce_sum(tf.square(tf.gather(rows, [0, 2, 0])))
    for _ in range(5):
        optimizer.minimize(loss, global_step=step)
    assert step.numpy() == 5
    with tf.Graph().as_default(), tf.Session() as sess:
        w2, rows2 = tf.Variable(start, use_resource=True), tf.Variable([[1.0], [2.0], [3.0]], use_resource=True)
        train = make().minimize(tf.reduce_sum(tf.square(w2 - 3.0)) + tf.reduce_sum(tf.square(tf.gather(rows2, [0, 2, 0]))))
        sess.run(tf.global_variables_initializer())
        for _ in range(5):
            sess.run(train)
        wanted = sess.run([w2, rows2])
    np.testing.assert_allclose(w.numpy(), wanted[0], rtol=1e-5)
    np.testing.assert_allclose(rows.numpy(), wanted[1], rtol=1e-5)


def test_a_loss_is_a_function():
    with pytest.raises(RuntimeError, match="`loss` passed to Optimizer.compute_gradients should be a function when eager execution"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))
    with pytest.raises(RuntimeError, match="tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


def test_gradients_of_ones_own():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def clipped(x):
        return x * 10.0, lambda dy: dy * 0.5

    @tf.custom_gradient
    def with_variable(x):
        def back(dy, variables=None):
            assert [w is v for w in variables] == [True]
            return dy * 7.0, [dy * 8.0]
        return x * v, back
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = clipped(x), with_variable(x)
    assert y.numpy() == 30.0 and tape.gradient(y, x).numpy() == 0.5
    assert [g.numpy() for g in tape.gradient(z, [x, v])] == [7.0, 8.0]


def test_jacobians():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_allclose(tape.jacobian(y, x), [[2, 0], [0, 4]])
    rows = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(rows)
        y = rows * rows
    np.testing.assert_allclose(tape.batch_jacobian(y, rows), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


def test_seeds():
    """What 1.15 and 2.21 gave."""
    tf.set_random_seed(1)
    np.testing.assert_allclose(tf.random_normal([2]), [-1.1012203, 1.5457517], rtol=1e-6)
    np.testing.assert_allclose(tf.random_uniform([2]), [0.51010704, 0.44353175], rtol=1e-6)
    np.testing.assert_allclose(tf.random.uniform([2], seed=5), [0.195606, 0.02986085], rtol=1e-6)
    np.testing.assert_allclose(tf.random.uniform([2], seed=5), [0.28997242, 0.18651283], rtol=1e-6)


def test_tensors_and_graphs_do_not_mix():
    x = tf.constant(1.0)
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="Attempting to capture an EagerTensor without building a function."):
            tf.constant(1.0) + x
        y = tf.constant(1.0)
    with pytest.raises(TypeError, match="An op outside of the function building code is being passed a \"Graph\" tensor"):
        x + y

# SPDX-License-Identifier: Apache-2.0
"""What `fit` of tf.keras does at each step: which rows it takes, whom it calls with what, how values are fed."""
import pytest

ROWS = """
    import numpy as np
    import tensorflow as tf
    y = np.arange(10, dtype="float32").reshape(10, 1)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="zeros")])
    model.compile(tf.keras.optimizers.SGD(0.0), "mse")
    class Losses(tf.keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.seen = []
        def on_batch_end(self, batch, logs=None):
            self.seen.append((batch, logs["size"], float(logs["loss"])))
    def wanted(orders):
        return [(n, len(rows), float(np.mean(np.square(y[rows])))) for order in orders
                for n, rows in enumerate(order[at:at + 4] for at in range(0, 10, 4))]
    def seen(shuffle, x=np.ones((10, 2)), y=y):
        losses = Losses()
        history = model.fit(x, y, batch_size=4, epochs=2, verbose=0, shuffle=shuffle, callbacks=[losses]).history["loss"]
        assert np.allclose(history, np.mean(np.square(y)), rtol=1e-6), history
        return losses.seen
    np.random.seed(3)
    found = seen(True)
    np.random.seed(3)
    order = np.arange(10)
    orders = []
    for _ in range(2):
        np.random.shuffle(order)
        orders.append(order.copy())
    assert np.allclose(found, wanted(orders)), (found, wanted(orders))
    assert np.allclose(seen(False), wanted([np.arange(10)] * 2))
    class Kept(np.ndarray):  # has its own way of giving rows
        def __getitem__(self, rows):
            return np.asarray(self).view(np.ndarray)[rows] * 0
    assert np.allclose([loss for _, _, loss in seen(False, np.ones((10, 2)).view(Kept))], [loss for _, _, loss in wanted([np.arange(10)] * 2)])
    import sys
    import tracemalloc
    arrays, = (module for name, module in sys.modules.items() if name.endswith("engine.training_arrays"))
    turned = np.arange(3e6).reshape(3, 10 ** 6).T
    tracemalloc.start()
    assert np.array_equal(arrays.slice_arrays([turned], np.array([5, 2]))[0], turned[[5, 2]])
    assert tracemalloc.get_traced_memory()[1] < 10 ** 6  # no copy of all rows
    print(len(found))
"""

CALLED = """
    import numpy as np
    import tensorflow as tf
    Callback = tf.keras.callbacks.Callback
    seen = []
    def note(who):
        return lambda batch, logs=None: seen.append((who, batch, tuple(sorted(logs))))
    class Old(Callback):
        def on_batch_begin(self, batch, logs=None):
            note("old begin")(batch, logs)
        def on_batch_end(self, batch, logs=None):
            note("old end")(batch, logs)
    class New(Callback):
        def on_train_batch_begin(self, batch, logs=None):
            note("new begin")(batch, logs)
        def on_train_batch_end(self, batch, logs=None):
            note("new end")(batch, logs)
            logs["more"] = 1  # later ones see it
        def on_test_batch_end(self, batch, logs=None):
            note("test end")(batch, logs)
    class Later(Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 1:
                self.on_batch_end = note("later end")
    class Idle(Callback):
        pass
    one = Idle()
    one.on_train_batch_end = note("one's end")
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    x, y = np.ones((2, 2)), np.ones((2, 1))
    model.fit(x, y, epochs=2, verbose=0, validation_data=(x, y), callbacks=[
        Old(), New(), Later(), Idle(), one, tf.keras.callbacks.LambdaCallback(on_batch_end=note("lambda end"))])
    begun, ended = ("batch", "size"), ("batch", "loss", "size")
    epoch = [("old begin", begun), ("new begin", begun), ("old end", ended), ("new end", ended)]
    after = [("one's end", ended[:2] + ("more",) + ended[2:]), ("lambda end", ended[:2] + ("more",) + ended[2:])]
    later = [("later end", ended[:2] + ("more",) + ended[2:])]
    test = [("test end", ended)]
    assert [(who, keys) for who, batch, keys in seen] == epoch + after + test + epoch + later + after + test, seen
    assert {batch for _, batch, _ in seen} == {0}
    print(len(seen))
"""

ASKED = """
    import numpy as np
    import tensorflow as tf
    K = tf.keras.backend
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    fetched = []
    class Outputs(tf.keras.callbacks.Callback):  # asks for more when the function was already looked at
        def on_train_begin(self, logs=None):
            function = self.model.train_function
            function.fetches = [model.targets[0] * 2.0]
            function.fetch_callbacks = {function.fetches[0]: lambda value: fetched.append(value.tolist())}
        def on_epoch_end(self, epoch, logs=None):
            self.model.train_function.fetches = []
    model.fit(np.ones((1, 2)), np.array([[3.0]]), epochs=3, verbose=0, callbacks=[Outputs()])
    assert fetched == [[[6.0]]], fetched
    number = K.placeholder((None,), dtype="int32")
    same = K.function([number], [number])
    for array in (np.array([2 ** 33 + 5, 3]), np.array([1.0, 2.0]), np.array([5, 3], "int16")):  # as NumPy makes int32 of them
        assert same.repeated([array])([array])[0].tolist() == array.astype("int32").tolist()
    print(len(fetched))
"""

FED = """
    import numpy as np
    import tensorflow as tf
    K = tf.keras.backend
    a, n = K.placeholder((None,)), K.placeholder((), dtype="int32")
    double = K.function([a, n, K.learning_phase()], [a * 2.0, n, K.learning_phase()])
    def given(*values):
        first, *others = double(list(values))
        assert first.dtype == np.float32
        return [first.tolist(), *map(int, others)]
    array = np.array([1.5, 2.0], "float32")
    assert given(array, np.int32(3), 1) == [[3.0, 4.0], 3, 1]
    assert given(array, np.array(3, "int32"), 0) == [[3.0, 4.0], 3, 0]
    assert given(array.astype("float64"), 4, True) == [[3.0, 4.0], 4, 1]
    assert given([1, 2], 5.7, 1) == [[2.0, 4.0], 5, 1]
    assert given(array, np.array(3, "int64"), None) == [[3.0, 4.0], 3, 0]
    assert given(array, np.array(3, "int32")) == [[3.0, 4.0], 3, 0]
    assert given(array, np.array(3, "int32"), 1) == [[3.0, 4.0], 3, 1]
    try:
        double([tf.ones((2,)), np.array(3, "int32"), 1])
    except NotImplementedError as error:
        assert "given a tensor" in str(error)
    with tf.Session().as_default():  # another session, whose variables are its own
        v = K.variable(3.0)
        assert K.function([a], [a * v])([array])[0].tolist() == [4.5, 6.0]
        assert given(array, np.array(3, "int32"), 1) == [[3.0, 4.0], 3, 1]
    fetched = []
    double.fetches, double.fetch_callbacks = [a + 1.0], {}
    double.fetch_callbacks[double.fetches[0]] = lambda value: fetched.append(value.tolist())
    assert given(array, np.array(3, "int32"), 1) == [[3.0, 4.0], 3, 1] and fetched == [[2.5, 3.0]]
    print(len(fetched))
"""


@pytest.mark.parametrize(("program", "number"), [
    pytest.param(ROWS, 6, id="rows_are_shuffled_as_numpy_does"),
    pytest.param(CALLED, 15, id="every_callback_is_called"),
    pytest.param(ASKED, 1, id="a_callback_asks_for_more"),
    pytest.param(FED, 1, id="values_of_any_kind_are_fed"),
])
def test_program(last_number, program, number):
    assert last_number(program) == number

# SPDX-License-Identifier: Apache-2.0
"""Programs of tf.keras under distribution strategies whose results TensorFlow 1.15 has recorded in keras_strategy_recorded.json:

    PYTHON_OF_1_15 keras_strategy_programs.py > keras_strategy_recorded.json

Each is a function of tensorflow that gives numbers, texts and lists of them. First weights are drawn by numpy.
"""
import json
import os
import tempfile

import numpy as np
from keras_programs import _plain, _rows, _seeded

TWO = ["/cpu:0", "/cpu:1"]


def _mirrored(tf):
    return tf.distribute.MirroredStrategy(TWO)


def _dense(tf, **kwargs):
    L = tf.keras.layers
    return tf.keras.Sequential([L.Dense(4, activation="tanh", input_shape=(3,), **kwargs), L.Dense(1)])


def _made(tf, optimizer, make=_dense, strategy=None, loss="mse", metrics=("mae",), **kwargs):
    """A compiled model of a strategy, in a session of two devices."""
    tf.keras.backend.set_session(tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)))
    with (strategy or _mirrored(tf)).scope():
        model = make(tf)
        model.compile(optimizer(tf) if callable(optimizer) else optimizer, loss, metrics=list(metrics), **kwargs)
    return _seeded(model)


def _data(rows=24):
    x = _rows(rows, 3)
    return x, (x.sum(1, keepdims=True) - 0.5 * x[:, :1] * x[:, 1:2]).astype("f")


def _fit(model, x, y, batch_size=8, epochs=2, **kwargs):
    return model.fit(x, y, batch_size=batch_size, epochs=epochs, shuffle=False, verbose=0, **kwargs).history


def _said(model, history, x, y, batch_size=8):
    """What all programs tell of a model that was trained."""
    return [history, model.metrics_names, model.evaluate(x, y, verbose=0, batch_size=batch_size), model.predict(x, batch_size=batch_size)[:3],
            model.get_weights()]


def arrays(tf):
    model, (x, y) = _made(tf, "sgd"), _data()
    return _said(model, _fit(model, x, y, epochs=3), x, y)


def _optimizers(tf):
    O = tf.keras.optimizers
    return [("sgd", lambda tf: O.SGD(0.1, decay=0.1)), ("momentum", lambda tf: O.SGD(0.1, 0.9)),
            ("nesterov", lambda tf: O.SGD(0.1, 0.9, True)), ("adam", lambda tf: O.Adam(0.05)), ("amsgrad", lambda tf: O.Adam(0.05, amsgrad=True)),
            ("rmsprop", lambda tf: O.RMSprop(0.05)), ("centered", lambda tf: O.RMSprop(0.05, momentum=0.5, centered=True)),
            ("adagrad", lambda tf: O.Adagrad(0.1)), ("adadelta", lambda tf: O.Adadelta(1.0)), ("adamax", lambda tf: O.Adamax(0.05)),
            ("ftrl", lambda tf: O.Ftrl(0.1)), ("clipvalue", lambda tf: O.SGD(0.5, clipvalue=0.05)),
            ("clipnorm", lambda tf: O.SGD(0.5, clipnorm=0.1)),
            ("schedule", lambda tf: O.SGD(O.schedules.ExponentialDecay(0.2, 2, 0.5)))]


def optimizers(tf):
    found, (x, y) = {}, _data()
    for name, make in _optimizers(tf):
        tf.keras.backend.clear_session()
        model = _made(tf, make, metrics=())
        found[name] = [_fit(model, x, y), model.get_weights(), sorted(map(list, (w.shape for w in model.optimizer.get_weights())))]
    return found


def optimizer_of_train(tf):
    model, (x, y) = _made(tf, lambda tf: tf.train.MomentumOptimizer(0.1, 0.9)), _data()
    return _said(model, _fit(model, x, y), x, y)


def regularized(tf):
    def make(tf):
        L, R = tf.keras.layers, tf.keras.regularizers
        x = L.Input((3,))
        h = L.Dense(4, activation="relu", kernel_regularizer=R.l2(0.1), bias_regularizer=R.l1(0.1))(x)
        h = L.Dense(3, activity_regularizer=R.l2(0.2), kernel_constraint=tf.keras.constraints.MaxNorm(0.5))(h)
        return tf.keras.Model(x, L.Dense(1)(h))
    model, (x, y) = _made(tf, "sgd", make), _data()
    return _said(model, _fit(model, x, y, epochs=3), x, y)


def normalized(tf):
    """Each replica normalizes by its own rows; what is kept is the mean of both."""
    def make(tf):
        L = tf.keras.layers
        return tf.keras.Sequential([L.Dense(4, input_shape=(3,)), L.BatchNormalization(momentum=0.7), L.Activation("relu"), L.Dense(1)])
    model, (x, y) = _made(tf, lambda tf: tf.keras.optimizers.SGD(0.1), make), _data(32)
    return _said(model, _fit(model, x, y, epochs=3), x, y)


def datasets(tf):
    model, (x, y) = _made(tf, "rmsprop"), _data()
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    first = model.fit(batches, epochs=2, verbose=0, shuffle=False, validation_data=batches, validation_steps=2).history
    second = model.fit(batches.repeat(), epochs=2, steps_per_epoch=4, verbose=0, shuffle=False).history
    return [first, second, model.evaluate(batches, verbose=0), model.predict(batches)[:3], model.get_weights()]


def validated(tf):
    model, (x, y) = _made(tf, "sgd"), _data()
    history = _fit(model, x, y, epochs=3, validation_data=(x[:16] * 2, y[:16]), validation_freq=2)
    return _said(model, history, x, y)


def steps_per_epoch(tf):
    model, (x, y) = _made(tf, "sgd"), _data()
    return _said(model, model.fit(x, y, epochs=2, steps_per_epoch=3, shuffle=False, verbose=0).history, x, y)


def partial_batches(tf):
    """Last batches that are less than the others."""
    found = {}
    for rows in (22, 21, 19, 18):
        tf.keras.backend.clear_session()
        model, (x, y) = _made(tf, "sgd"), _data(rows)
        batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
        history = model.fit(batches, epochs=2, verbose=0, shuffle=False).history
        found["dataset %d" % rows] = [history, model.get_weights(), model.evaluate(batches, verbose=0), model.predict(batches).shape[0]]
    return found


def weighted(tf):
    model, (x, y) = _made(tf, "sgd"), _data()
    return _said(model, _fit(model, x, y, sample_weight=np.linspace(0.1, 2, 24).astype("f")), x, y)


def words(tf):
    """Gradients of rows of a table, masks, recurrent layers."""
    def make(tf):
        L = tf.keras.layers
        words = L.Input((5,), dtype="int32")
        h = L.LSTM(4)(L.Embedding(7, 3, mask_zero=True)(words))
        return tf.keras.Model(words, L.Dense(2, activation="softmax")(h))
    model = _made(tf, "adagrad", make, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    rows = np.random.RandomState(3).randint(0, 7, (16, 5))
    rows[:, 0] = 1 + rows[:, 0] % 6
    labels = (rows.sum(1, keepdims=True) % 2).astype("f")
    return _said(model, _fit(model, rows, labels), rows, labels)


def two_outputs(tf):
    def make(tf):
        L = tf.keras.layers
        a, b = L.Input((3,), name="a"), L.Input((2,), name="b")
        h = L.Dense(4, activation="relu")(L.concatenate([a, b]))
        return tf.keras.Model([a, b], [L.Dense(1, name="first")(h), L.Dense(2, name="second", activation="softmax")(h)])
    (x, y), more = _data(), _rows(24, 2, seed=5)
    classes = np.eye(2, dtype="f")[(more[:, 0] > 0).astype(int)]
    model = _made(tf, "sgd", make, loss=["mse", "categorical_crossentropy"], metrics=["accuracy"], loss_weights=[1.0, 0.3])
    history = _fit(model, [x, more], [y, classes])
    return [history, model.metrics_names, model.evaluate([x, more], [y, classes], verbose=0, batch_size=8), model.predict([x, more], batch_size=8)[1][:3],
            model.get_weights()]


def metrics(tf):
    def make(tf):
        return tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid", input_shape=(3,))])
    strategy = _mirrored(tf)
    with strategy.scope():
        M = tf.keras.metrics
        measured = ["accuracy", M.AUC(num_thresholds=20, name="auc"), M.Precision(name="precision"), M.Recall(name="recall"),
                    M.MeanSquaredError(name="mse"), M.RootMeanSquaredError(name="rmse"), M.TruePositives(name="positives")]
    x, y = _data()
    model = _made(tf, "sgd", make, strategy=strategy, loss="binary_crossentropy", metrics=measured)
    return _said(model, _fit(model, x, (y > 0).astype("f")), x, (y > 0).astype("f"))


def losses(tf):
    """A loss that is a sum is the sum over both replicas, one that is a mean is the mean."""
    found, (x, y) = {}, _data()
    for name in ("sum", "sum_over_batch_size"):
        tf.keras.backend.clear_session()
        strategy = _mirrored(tf)
        with strategy.scope():
            loss = tf.keras.losses.Huber(reduction=name)
        model = _made(tf, lambda tf: tf.keras.optimizers.SGD(0.01), strategy=strategy, loss=loss)
        found[name] = _said(model, _fit(model, x, y), x, y)
    return found


def callbacks(tf):
    C, (x, y) = tf.keras.callbacks, _data()
    folder = tempfile.mkdtemp()
    model = _made(tf, lambda tf: tf.keras.optimizers.SGD(0.1))
    rates = []

    class Looks(C.Callback):
        def on_epoch_end(self, epoch, logs=None):
            rates.append(float(tf.keras.backend.get_value(self.model.optimizer.lr)))
    history = _fit(model, x, y, epochs=6, validation_data=(x, y), callbacks=[
        C.LearningRateScheduler(lambda epoch: 0.1 / (1 + epoch)), C.ModelCheckpoint(os.path.join(folder, "at-{epoch}.h5"), save_weights_only=True),
        C.EarlyStopping(monitor="val_loss", min_delta=0.02, patience=1, restore_best_weights=True), Looks(),
        C.TensorBoard(os.path.join(folder, "board"), profile_batch=0)])
    history.pop("lr", None)
    return [history, rates, sorted(name for name in os.listdir(folder) if name != "board"), model.get_weights()]


def plateau(tf):
    C, (x, y) = tf.keras.callbacks, _data()
    model = _made(tf, lambda tf: tf.keras.optimizers.SGD(0.1))
    history = _fit(model, x, y, epochs=5, callbacks=[C.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1, min_delta=0.3, min_lr=0.01)])
    return [history, model.get_weights()]


def files(tf):
    """Weights and whole models, saved and loaded under a strategy."""
    found, folder, (x, y) = [], tempfile.mkdtemp(), _data()

    def make(tf):
        L = tf.keras.layers
        return tf.keras.Sequential([L.Dense(3, input_shape=(3,)), L.BatchNormalization(), L.Dense(1)])
    strategy = _mirrored(tf)
    momentum = lambda tf: tf.keras.optimizers.SGD(0.1, 0.9)  # noqa: E731
    model = _made(tf, momentum, make, strategy)
    _fit(model, x, y)
    with strategy.scope():  # outside of it files of 1.15 have the averages of the first replica
        for name in ("weights.h5", "weights"):
            model.save_weights(os.path.join(folder, name))
        model.save(os.path.join(folder, "model.h5"))
    found.append([[name, list(shape)] for name, shape in tf.train.list_variables(os.path.join(folder, "weights"))])
    found.append(_said(model, None, x, y))
    for name in ("weights.h5", "weights"):
        tf.keras.backend.clear_session()
        again = _made(tf, momentum, make)
        again.load_weights(os.path.join(folder, name))
        found.append(again.predict(x, batch_size=8)[:4])
    tf.keras.backend.clear_session()
    with _mirrored(tf).scope():
        again = tf.keras.models.load_model(os.path.join(folder, "model.h5"), compile=False)
        weights = again.get_weights()
        again.compile("sgd", "mse")
    again.set_weights(weights)  # compile of 1.15 begins a session
    found.append([_fit(again, x, y), again.get_weights()])
    tf.keras.backend.clear_session()
    again = tf.keras.models.load_model(os.path.join(folder, "model.h5"))  # without a strategy
    found.append(again.predict(x)[:4])
    return found


def trained_twice(tf):
    """fit goes on where it was; set_weights sets all replicas."""
    model, (x, y) = _made(tf, "adam"), _data()
    found = [_fit(model, x, y), _fit(model, x, y)]
    model.set_weights([w * 0.5 for w in model.get_weights()])
    return found + [_fit(model, x, y), model.get_weights()]


def frozen(tf):
    def make(tf):
        model = _dense(tf)
        model.layers[0].trainable = False
        return model
    model, (x, y) = _made(tf, "sgd", make), _data()
    return _said(model, _fit(model, x, y), x, y)


def shared_and_nested(tf):
    def make(tf):
        L = tf.keras.layers
        inner = tf.keras.Sequential([L.Dense(3, activation="relu", input_shape=(3,)), L.BatchNormalization()])
        a, shared = L.Input((3,)), L.Dense(3, activation="tanh")
        return tf.keras.Model(a, L.Dense(1)(inner(L.add([shared(a), shared(L.Lambda(lambda v: v * 2)(a))]))))
    model, (x, y) = _made(tf, "sgd", make), _data()
    return _said(model, _fit(model, x, y), x, y)


def layers_of_a_program(tf):
    class Scaled(tf.keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight("scale", shape=[int(shape[-1])], initializer="ones")
            super(Scaled, self).build(shape)

        def call(self, x):
            self.add_loss(0.1 * tf.reduce_mean(tf.square(x)), inputs=True)
            return x * self.scale

    def make(tf):
        L = tf.keras.layers
        return tf.keras.Sequential([L.Dense(4, input_shape=(3,)), Scaled(), L.Dense(1)])
    model, (x, y) = _made(tf, "sgd", make), _data()
    return _said(model, _fit(model, x, y), x, y)


def other_strategies(tf):
    found, (x, y) = {}, _data()
    for name, make in (("one device", lambda: tf.distribute.OneDeviceStrategy("/cpu:0")), ("one replica", lambda: tf.distribute.MirroredStrategy(["/cpu:0"])),
                       ("central", lambda: tf.distribute.experimental.CentralStorageStrategy())):
        tf.keras.backend.clear_session()
        model = _made(tf, "adam", strategy=make())
        found[name] = _said(model, _fit(model, x, y), x, y)
    return found


PROGRAMS = [arrays, optimizers, optimizer_of_train, regularized, normalized, datasets, validated, steps_per_epoch, partial_batches, weighted, words,
            two_outputs, metrics, losses, callbacks, plateau, files, trained_twice, frozen, shared_and_nested, layers_of_a_program,
            other_strategies]


def result(program, tf):
    tf.keras.backend.clear_session()
    return _plain(program(tf))


if __name__ == "__main__":
    import sys
    import tensorflow

    if hasattr(tensorflow, "python"):  # TensorFlow's own sessions of strategies have one device
        from tensorflow.python.keras import backend
        backend.get_default_session_config = lambda: tensorflow.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    chosen = [program for program in PROGRAMS if not sys.argv[1:] or program.__name__ in sys.argv[1:]]
    print("{")
    for program in chosen:
        row = json.dumps(result(program, tensorflow), separators=(",", ":"))
        print(f'"{program.__name__}": {row}{"" if program is chosen[-1] else ","}', flush=True)
    print("}")

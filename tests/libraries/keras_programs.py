# SPDX-License-Identifier: Apache-2.0
"""Programs of tf.keras whose results TensorFlow 1.15 has recorded in keras_recorded.json:

    PYTHON_OF_1_15 keras_programs.py > keras_recorded.json

Each is a function of tensorflow that gives numbers, texts and lists of them. First weights are drawn by numpy.
"""
import json
import os
import tempfile

import numpy as np


def _seeded(model, seed=0):
    draw = np.random.RandomState(seed)
    model.set_weights([np.asarray(draw.uniform(-0.4, 0.4, w.shape), w.dtype) + (1 if "moving_variance" in v.name else 0)
                       for w, v in zip(model.get_weights(), model.weights)])
    return model


def _plain(value):
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if isinstance(value, (str, int, type(None))) else np.asarray(value, np.float64).tolist()


def _trained(model, x, y, **kwargs):
    """Losses and metrics of three epochs, then what evaluate and predict give."""
    history = model.fit(x, y, epochs=3, batch_size=8, verbose=0, shuffle=False, **kwargs).history
    return [history, model.metrics_names, model.evaluate(x, y, verbose=0, batch_size=8), model.predict(x, batch_size=8)[:3],
            [w.name for w in model.weights], model.name, [layer.name for layer in model.layers]]


def _rows(*shape, **kwargs):
    return np.random.RandomState(kwargs.get("seed", 1)).uniform(-1, 1, shape).astype(np.float32)


def dense(tf):
    L = tf.keras.layers
    model = tf.keras.Sequential([L.Dense(8, activation="relu", input_shape=(5,)), L.Dense(4, activation="tanh"), L.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae", "mean_squared_error"])
    return _trained(_seeded(model), _rows(40, 5), _rows(40, 1, seed=2), validation_split=0.2)


def _classifier(tf, optimizer, loss="sparse_categorical_crossentropy", **kwargs):
    L = tf.keras.layers
    model = tf.keras.Sequential([L.Dense(8, activation="relu", input_shape=(5,), **kwargs), L.Dense(3, activation="softmax")])
    model.compile(optimizer, loss, metrics=["accuracy"])
    return _trained(_seeded(model), _rows(40, 5), np.random.RandomState(3).randint(0, 3, (40, 1)))


def sgd(tf):
    return _classifier(tf, tf.keras.optimizers.SGD(lr=0.1, momentum=0.9, nesterov=True, decay=0.01))


def momentum(tf):
    return _classifier(tf, tf.keras.optimizers.SGD(learning_rate=0.1, momentum=0.9))


def adam(tf):
    return _classifier(tf, "adam")


def amsgrad(tf):
    return _classifier(tf, tf.keras.optimizers.Adam(0.01, amsgrad=True))


def rmsprop(tf):
    return _classifier(tf, "rmsprop")


def adagrad(tf):
    return _classifier(tf, "adagrad")


def adadelta(tf):
    return _classifier(tf, "adadelta")


def adamax(tf):
    return _classifier(tf, "adamax")


def nadam(tf):
    return _classifier(tf, "nadam")


def clipped(tf):
    return _classifier(tf, tf.keras.optimizers.SGD(0.5, clipvalue=0.01)) + _classifier(tf, tf.keras.optimizers.Adam(0.5, clipnorm=0.01))


def optimizer_of_train(tf):
    return _classifier(tf, tf.train.AdamOptimizer(0.01))


def regularized(tf):
    R = tf.keras.regularizers
    return _classifier(tf, "sgd", kernel_regularizer=R.l2(0.1), bias_regularizer="l2", activity_regularizer=R.l1(0.01),
                       kernel_constraint=tf.keras.constraints.max_norm(0.5))


def convolutional(tf):
    L = tf.keras.layers
    model = tf.keras.Sequential([
        L.Conv2D(4, (3, 3), padding="same", activation="relu", input_shape=(8, 8, 1)), L.BatchNormalization(), L.MaxPooling2D(),
        L.SeparableConv2D(4, 3), L.DepthwiseConv2D(2), L.Activation("elu"), L.GlobalAveragePooling2D(), L.Dense(2, activation="softmax")])
    model.compile("adam", "categorical_crossentropy", metrics=["acc", "categorical_crossentropy"])
    return _trained(_seeded(model), _rows(24, 8, 8, 1), np.eye(2)[np.random.RandomState(3).randint(0, 2, 24)])


def recurrent(tf):
    L = tf.keras.layers
    x = L.Input((6,), dtype="int32")
    e = L.Embedding(20, 5, mask_zero=True)(x)
    both = L.concatenate([L.LSTM(4)(e), L.Bidirectional(L.GRU(3))(e), L.SimpleRNN(3, go_backwards=True)(e)])
    model = tf.keras.Model(x, L.Dense(1, activation="sigmoid")(both))
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
    rows = np.random.RandomState(3).randint(0, 20, (24, 6))
    return _trained(_seeded(model), rows, (rows[:, :1] > 9).astype(np.float32))


def stacked(tf):
    L = tf.keras.layers
    model = tf.keras.Sequential([L.LSTM(4, return_sequences=True, input_shape=(5, 3)), L.GRU(4, return_sequences=True, unroll=True),
                                 L.TimeDistributed(L.Dense(2)), L.Lambda(lambda x: x * 2), L.Reshape((10,)), L.RepeatVector(2)])
    model.compile("adam", "mae")
    return _trained(_seeded(model), _rows(16, 5, 3), _rows(16, 2, 10, seed=2))


def embedding(tf):
    L = tf.keras.layers
    model = tf.keras.Sequential([L.Embedding(30, 6, input_length=4), L.Flatten(), L.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(0.01), "mse")
    return _trained(_seeded(model), np.random.RandomState(3).randint(0, 20, (24, 4)), _rows(24, 1))


def sparse_gradients(tf):
    """A table of which each step looks rows up: some twice, some that had a gradient before and have none now."""
    found = []
    for name, kwargs in (("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True}), ("Adam", {}),
                         ("Adam", {"amsgrad": True}), ("Adamax", {}), ("Nadam", {}), ("RMSprop", {}), ("RMSprop", {"momentum": 0.5}),
                         ("RMSprop", {"centered": True}), ("RMSprop", {"momentum": 0.5, "centered": True}), ("Adagrad", {}),
                         ("Adadelta", {}), ("Ftrl", {})):
        with tf.Graph().as_default():
            table, rows = tf.Variable(_rows(4, 2), use_resource=True), tf.placeholder(tf.int32, [None])
            loss = tf.reduce_sum(tf.square(tf.gather(table, rows)) * [1.0, 2.0])
            optimizer = getattr(tf.keras.optimizers, name)(0.1, **kwargs)
            step = optimizer.apply_gradients([(tf.gradients(loss, [table])[0], table)])
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for looked_up in ([0, 1, 0], [1, 2], [2, 2, 3]):
                    session.run(step, {rows: looked_up})
                found.append([name, session.run(table)])
    return found


def two_outputs(tf):
    L = tf.keras.layers
    a, b = L.Input((3,), name="a"), L.Input((2,), name="b")
    h = L.Dense(4, activation="relu")(L.concatenate([a, b]))
    model = tf.keras.Model([a, b], [L.Dense(1, name="p")(h), L.Dense(2, activation="sigmoid", name="q")(h)])
    model.compile("adam", {"p": "mse", "q": tf.keras.losses.BinaryCrossentropy()}, loss_weights={"p": 0.5, "q": 2.0},
                  metrics={"p": "mae", "q": ["acc", tf.keras.metrics.AUC(name="auc")]})
    x, y = {"a": _rows(24, 3), "b": _rows(24, 2, seed=5)}, {"p": _rows(24, 1, seed=6), "q": (_rows(24, 2, seed=7) > 0).astype(np.float32)}
    history = _seeded(model).fit(x, y, epochs=3, batch_size=8, verbose=0, shuffle=False, sample_weight={"p": np.arange(24.0)}).history
    return [history, model.metrics_names, [p[:2] for p in model.predict(x)]]


def losses(tf):
    y, p = (_rows(6, 3) > 0).astype(np.float32), np.abs(_rows(6, 3, seed=2)) * 0.9 + 0.05
    K, found = tf.keras.losses, []
    for name in ("MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredLogarithmicError BinaryCrossentropy "
                 "CategoricalCrossentropy Hinge SquaredHinge CategoricalHinge Poisson LogCosh KLDivergence CosineSimilarity Huber").split():
        found.append(tf.keras.backend.eval(getattr(K, name)()(y, p)))
    for name in "mse mae mape msle binary_crossentropy hinge squared_hinge poisson logcosh kld".split():
        found.append(tf.keras.backend.eval(K.get(name)(tf.constant(y), tf.constant(p))))
    return found


def metrics(tf):
    y, p = (_rows(6, 3) > 0).astype(np.float32), np.abs(_rows(6, 3, seed=2))
    found = []
    for name in ("BinaryAccuracy CategoricalAccuracy AUC Precision Recall TruePositives FalseNegatives MeanSquaredError Mean "
                 "RootMeanSquaredError").split():
        metric = getattr(tf.keras.metrics, name)()
        update = metric.update_state(y) if name == "Mean" else metric.update_state(y, p)
        with tf.Session() as session:
            session.run([v.initializer for v in metric.variables])
            session.run(update)
            session.run(update)
            found.append([metric.name, session.run(metric.result())])
    return found


def saved(tf):
    L = tf.keras.layers
    model = _seeded(tf.keras.Sequential([L.Dense(4, activation="relu", input_shape=(3,)), L.BatchNormalization(), L.Dense(1)]))
    model.compile("adam", "mse")
    model.fit(_rows(16, 3), _rows(16, 1, seed=2), verbose=0, shuffle=False)
    path = os.path.join(tempfile.mkdtemp(), "model.h5")
    model.save(path)
    again = tf.keras.models.load_model(path)
    return [again.predict(_rows(4, 3)), again.fit(_rows(16, 3), _rows(16, 1, seed=2), epochs=2, verbose=0, shuffle=False).history]


def in_a_session(tf):
    K = tf.keras.backend
    x = tf.placeholder(tf.float32, [None, 3])
    layer = tf.keras.layers.Dense(2, kernel_initializer="ones", name="mine")
    hidden = tf.keras.layers.Dropout(0.5)(layer(x))
    loss = tf.reduce_mean(tf.square(hidden))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    names = [v.name for v in tf.trainable_variables()]
    with tf.Session() as session:
        K.set_session(session)
        session.run(tf.global_variables_initializer())
        values = [session.run([loss, step], {x: _rows(4, 3), K.learning_phase(): 0})[0] for _ in range(3)]
        return [names, values, layer.get_weights(), K.get_session() is session]


def on_datasets(tf):
    L = tf.keras.layers
    model = tf.keras.Sequential([L.Dense(4, activation="relu", input_shape=(3,)), L.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    _seeded(model)
    rows = tf.data.Dataset.from_tensor_slices((_rows(24, 3), _rows(24, 1, seed=2)))
    whole = rows.batch(9)
    first = model.fit(whole, epochs=2, verbose=0).history
    second = model.fit(rows.repeat().batch(8), epochs=2, steps_per_epoch=2, verbose=0, validation_data=whole, validation_steps=2).history
    return [first, second, model.evaluate(whole, verbose=0), model.evaluate(whole, steps=2, verbose=0), model.predict(whole)[:3]]


def layers_of_a_program(tf):
    class Scaled(tf.keras.layers.Layer):
        def __init__(self, units, **kwargs):
            super(Scaled, self).__init__(**kwargs)
            self.units, self.inner = units, tf.keras.layers.Dense(3)

        def build(self, input_shape):
            self.scale = self.add_weight("scale", shape=[input_shape[-1].value, self.units], initializer="ones")
            super(Scaled, self).build(input_shape)

        def call(self, x, training=None):
            x = tf.keras.backend.in_train_phase(2 * x, x, training=training)
            return self.inner(tf.matmul(x, self.scale))

    x = tf.keras.Input((4,))
    model = tf.keras.Model(x, tf.keras.layers.Dense(1)(Scaled(5)(x)))
    model.compile("sgd", "mse")
    return _trained(_seeded(model), _rows(16, 4), _rows(16, 1, seed=2))


def subclassed(tf):
    class Net(tf.keras.Model):
        def __init__(self):
            super(Net, self).__init__()
            self.a, self.b = tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)

        def call(self, x, training=None):
            return self.b(self.a(x))

    model = Net()
    model.compile("sgd", "mse")
    model.train_on_batch(_rows(2, 3), _rows(2, 1))
    _seeded(model)
    return model.fit(_rows(16, 3), _rows(16, 1, seed=2), epochs=2, verbose=0, shuffle=False).history


def callbacks(tf):
    seen = []
    C = tf.keras.callbacks
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.SGD(lr=0.2), "mse")
    _seeded(model).fit(_rows(16, 3), _rows(16, 1, seed=2), epochs=8, verbose=0, shuffle=False, validation_split=0.25, callbacks=[
        C.LearningRateScheduler(lambda epoch: 0.2 / (epoch + 1)), C.EarlyStopping(patience=2, min_delta=0.01),
        C.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append([epoch, sorted(logs), logs["loss"]]))])
    return [seen, tf.keras.backend.get_value(model.optimizer.lr)]


def _columns(tf):
    fc = tf.feature_column
    age, town = fc.numeric_column("age"), fc.categorical_column_with_hash_bucket("town", 5)
    kind = fc.categorical_column_with_vocabulary_list("kind", ["a", "b", "c"])
    return [fc.embedding_column(town, 3), age, fc.bucketized_column(age, [0.2, 0.6]), fc.indicator_column(kind),
            fc.numeric_column("pair", shape=(2,), normalizer_fn=lambda x: x * 2),
            fc.indicator_column(fc.crossed_column(["town", "kind"], 4)), fc.embedding_column(fc.categorical_column_with_identity("id", 4), 2)]


def _features(count):
    draw = np.random.RandomState(8)
    return {"age": draw.rand(count).astype(np.float32), "town": draw.choice(["x", "y", "z"], count), "pair": _rows(count, 2),
            "kind": draw.choice(["a", "b", "c", "d"], (count, 1)), "id": draw.randint(0, 4, (count, 1))}


def _said(model, history, rows):
    return [history.history, model.predict(rows), [w.name for w in model.weights], [layer.name for layer in model.layers]]


def columns_of_arrays(tf):
    """A model that comes to know its inputs by a dictionary of arrays."""
    model = tf.keras.Sequential([tf.keras.layers.DenseFeatures(_columns(tf)), tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    rows, wanted = _features(24), _rows(24, 1)
    try:
        model.predict(rows)
    except tf.errors.FailedPreconditionError:  # the model is made, its table of words not filled yet
        pass
    tf.keras.backend.get_session().run(tf.tables_initializer())
    _seeded(model)
    return _said(model, model.fit(rows, wanted, epochs=2, batch_size=8, verbose=0, shuffle=False), rows)


def columns_of_datasets(tf):
    """The same of a dataset of dictionaries, whose features are one number a row."""
    columns = [c for c in _columns(tf) if "kind" not in str(c)]
    model = tf.keras.Sequential([tf.keras.layers.DenseFeatures(columns), tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    rows, wanted = _features(24), (_rows(24) > 0).astype(np.float32)
    rows = {name: values.reshape(-1) if name == "id" else values for name, values in rows.items() if name != "kind"}
    batches = tf.data.Dataset.from_tensor_slices((rows, wanted)).batch(8)
    model.predict(batches)
    _seeded(model)
    history = model.fit(batches, epochs=2, verbose=0, validation_data=batches)
    return _said(model, history, batches) + [model.evaluate(batches, verbose=0)]


def columns_in_a_functional_model(tf):
    L, columns = tf.keras.layers, [c for c in _columns(tf) if "kind" not in str(c)]
    inputs = {"age": L.Input((1,), name="age"), "town": L.Input((1,), name="town", dtype="string"), "pair": L.Input((2,), name="pair"),
              "id": L.Input((1,), name="id", dtype="int64")}
    model = tf.keras.Model(list(inputs.values()), L.Dense(1)(L.DenseFeatures(columns, name="columns")(inputs)))
    model.compile("sgd", "mse")
    rows, wanted = _features(24), _rows(24, 1)
    rows.pop("kind")
    history = _seeded(model).fit(rows, wanted, epochs=2, batch_size=8, verbose=0, shuffle=False)
    return _said(model, history, rows)


def built_of_data(tf):
    """Models that come to know their inputs by arrays, and by datasets of them."""
    L, found = tf.keras.layers, []
    for of_datasets in (False, True):
        model = tf.keras.Sequential([L.Dense(3, activation="relu"), L.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
        rows, wanted = _rows(16, 2), _rows(16, 1, seed=2)
        batches = tf.data.Dataset.from_tensor_slices((rows, wanted)).batch(8)
        model.predict(batches if of_datasets else rows)
        _seeded(model)
        history = model.fit(batches, epochs=2, verbose=0) if of_datasets else model.fit(rows, wanted, 8, 2, verbose=0, shuffle=False)
        found.append(_said(model, history, rows))
    return found


def columns_of_a_class(tf):
    class Net(tf.keras.Model):
        def __init__(self):
            super(Net, self).__init__()
            self.columns, self.out = tf.keras.layers.DenseFeatures([tf.feature_column.numeric_column("pair", 2)]), tf.keras.layers.Dense(1)

        def call(self, features):
            return self.out(self.columns(features))

    model = Net()
    model.compile("sgd", "mse")
    rows, wanted = {"pair": _rows(16, 2)}, _rows(16, 1, seed=2)
    model.predict(rows)
    return _said(_seeded(model), model.fit(rows, wanted, epochs=2, batch_size=8, verbose=0, shuffle=False), rows)


def functions_between_layers(tf):
    L = tf.keras.layers
    a, b = L.Input((4,), name="a"), L.Input((4,), name="b")
    h = tf.nn.relu(L.Dense(4)(a)) * 2.0 + tf.concat([b[:, :2], 1.0 - b[:, 2:]], 1)
    h = tf.reshape(h, [-1, 2, 2])
    model = tf.keras.Model([a, b], tf.reduce_sum(L.Dense(2)(h), axis=2, name="total"))
    model.compile("sgd", "mse")
    rows, wanted = [_rows(16, 4), _rows(16, 4, seed=3)], _rows(16, 2, seed=2)
    history = _seeded(model).fit(rows, wanted, epochs=2, batch_size=8, verbose=0, shuffle=False).history
    again = tf.keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    other = model([tf.constant(r) for r in rows])
    return [history, model.predict(rows), again.predict(rows), tf.keras.backend.get_session().run(other), [layer.name for layer in model.layers],
            [layer.name for layer in again.layers]]


PROGRAMS = [dense, sgd, momentum, adam, amsgrad, rmsprop, adagrad, adadelta, adamax, nadam, clipped, optimizer_of_train, regularized,
            convolutional, recurrent, stacked, embedding, sparse_gradients, two_outputs, losses, metrics, saved, in_a_session, on_datasets,
            layers_of_a_program, subclassed, callbacks, columns_of_arrays, columns_of_datasets, columns_in_a_functional_model,
            columns_of_a_class, built_of_data, functions_between_layers]


def result(program, tf):
    tf.keras.backend.clear_session()
    return _plain(program(tf))


if __name__ == "__main__":
    import tensorflow

    lines = [f'"{program.__name__}": {json.dumps(result(program, tensorflow), separators=(",", ":"))}' for program in PROGRAMS]
    print("{", ",\n".join(lines), "}", sep="\n")

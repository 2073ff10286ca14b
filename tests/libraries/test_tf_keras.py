# SPDX-License-Identifier: Apache-2.0
"""tf.keras, which is the package `keras` adapted: programs whose losses, metrics, names and predictions TensorFlow 1.15 has recorded."""
import json
import os
import subprocess
import sys

import keras_programs
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "keras_recorded.json")) as recorded_file:
    RECORDED = json.load(recorded_file)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the programs give here; they run one behind the other in one process."""
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", os.path.join(HERE, "keras_programs.py")], capture_output=True,
                          text=True, check=False, cwd=tmp_path_factory.mktemp("keras"), timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def differences(wanted, value, where=""):
    """Where two results differ: numbers by more than a hundred thousandth."""
    if isinstance(wanted, dict) and isinstance(value, dict) and sorted(wanted) == sorted(value):
        return [d for k in wanted for d in differences(wanted[k], value[k], f"{where}.{k}")]
    if isinstance(wanted, list) and isinstance(value, list) and len(wanted) == len(value):
        return [d for n, (w, v) in enumerate(zip(wanted, value)) for d in differences(w, v, f"{where}[{n}]")]
    numbers = all(isinstance(x, (int, float)) for x in (wanted, value))
    same = abs(wanted - value) <= 1e-5 * max(1, abs(wanted)) if numbers else wanted == value
    return [] if same else [f"{where}: {wanted} there, {value} here"]


@pytest.mark.parametrize("name", [program.__name__ for program in keras_programs.PROGRAMS])
def test_as_recorded(found, name):
    assert differences(RECORDED[name], found[name]) == []


IMPORTS = """
    import tensorflow as tf
    from tensorflow import keras
    from tensorflow.keras import backend as K, layers
    from tensorflow.keras.layers import Dense
    from tensorflow.keras.preprocessing.sequence import pad_sequences
    from tensorflow.python.keras import backend as private
    from tensorflow.python.keras.engine import base_layer, training
    from tensorflow.python.keras.layers import recurrent
    from tensorflow.python.keras.optimizer_v2 import adam
    from tensorflow.python.keras.mixed_precision.experimental.policy import Policy
    from tensorflow.python.keras.saving.saved_model import load
    from tensorflow.python.keras.utils import tf_utils
    import tensorflow.keras.models as models
    assert keras is tf.keras and layers.Dense is Dense is tf.keras.layers.Dense and models.Model is training.Model is tf.keras.Model
    assert issubclass(Dense, base_layer.Layer) and recurrent.LSTM is layers.LSTM and adam.Adam is keras.optimizers.Adam
    assert private.get_session is K.get_session or private.get_session() is K.get_session()
    assert tf.compat.v1.keras.Sequential is tf.keras.Sequential and tf.keras.__version__ == "2.2.4-tf"
    print(pad_sequences([[1], [2, 3]]).sum())
"""

CALLBACKS = """
    import numpy as np
    import tensorflow as tf
    from tensorflow.keras import callbacks, layers
    x = layers.Input((3,))
    model = tf.keras.Model(x, layers.Dense(1)(x))
    model.add_metric(tf.reduce_sum(model.output), name="total", aggregation="mean")
    model.compile("sgd", "mse")
    history = model.fit(np.ones((4, 3)), np.ones((4, 1)), epochs=2, callbacks=[
        callbacks.TensorBoard("board"), callbacks.CSVLogger("log.csv"), callbacks.ReduceLROnPlateau(monitor="loss")]).history
    assert open("log.csv").readline().strip() == "epoch,loss,total" and len(history["lr"]) == 2
    events = [e for f in tf.gfile.ListDirectory("board") for e in tf.train.summary_iterator("board/" + f)]
    print(len([v for e in events for v in e.summary.value if v.tag == "loss"]))
"""

BESIDE_KERAS = """
    import tensorflow as tf
    import keras
    assert keras.layers.Dense is not tf.keras.layers.Dense
    ours, theirs = (k.models.Sequential([k.layers.Dense(2, input_shape=(3,)), k.layers.LeakyReLU()]) for k in (tf.keras, keras))
    assert [l.name for l in ours.layers] == ["dense", "leaky_re_lu"] and theirs.layers[0].name == "dense_1"
    print(theirs.count_params() + ours.count_params())
"""

REFUSED = """
    import numpy as np
    import tensorflow as tf
    def refusal(call, kind=NotImplementedError):
        try:
            call()
        except kind as error:
            return str(error)
    L = tf.keras.layers
    model = tf.keras.Sequential([L.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    assert "one signature" in refusal(lambda: model.save("m", save_format="tf", signatures={}))
    assert "runs graphs" in refusal(lambda: L.Layer(dynamic=True))
    x = tf.keras.Input((4,))
    assert "Lambda" in refusal(lambda: tf.keras.Model(x, tf.while_loop(lambda v: tf.reduce_sum(v) < 9, lambda v: v + 1, [L.Dense(4)(x)])))
    columns = tf.feature_column
    words = columns.categorical_column_with_identity("word", 3)
    assert "indicator_column" in refusal(lambda: L.DenseFeatures([words]), ValueError)
    assert "indicator_column" in refusal(lambda: L.DenseFeatures(columns.shared_embedding_columns([words], 2)), ValueError)
    assert "dictionary" in refusal(lambda: L.DenseFeatures([columns.numeric_column("age")])(tf.ones((2, 1))), ValueError)
    assert "age" in refusal(lambda: L.DenseFeatures([columns.numeric_column("age")])({"height": tf.ones((2, 1))}), ValueError)
    assert "Unknown feature column: Mine" in refusal(lambda: L.DenseFeatures.from_config({"feature_columns": [{"class_name": "Mine"}]}), ValueError)
    assert "run_eagerly" in refusal(lambda: model.compile("sgd", "mse", run_eagerly=True))
    assert "given a tensor" in refusal(lambda: model.fit(tf.ones((4, 3)), tf.ones((4, 1)), steps_per_epoch=2, verbose=0))
    class Mine(tf.keras.Model):
        def call(self, x):
            return x
    assert "save_weights" in refusal(lambda: Mine().save("mine.h5"))
    assert "tf.keras.experimental.PeepholeLSTMCell of TensorFlow 1.15 is not implemented" in refusal(
        lambda: tf.keras.experimental.PeepholeLSTMCell(3))
    rows = tf.data.Dataset.from_tensor_slices((np.ones((4, 3), "f"), np.ones((4, 1), "f"))).batch(2)
    assert "infinitely" in refusal(lambda: model.fit(rows.repeat()), ValueError)
    assert "not known" in refusal(lambda: model.fit(rows.filter(lambda x, y: True)), ValueError)
    history = model.fit(rows, epochs=3, steps_per_epoch=2, verbose=0)  # ends with a warning, as there is no repeat()
    print(len(history.history["loss"]))
"""

WHOLE_EPOCHS = """
    import numpy as np
    import tensorflow as tf
    K, L = tf.keras.backend, tf.keras.layers
    seen = []
    class Looks(tf.keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            seen.append((batch, logs["size"]))
    class Stops(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = epoch == 2
    x, y = np.random.rand(2, 709).astype("f").T, np.random.rand(709, 1)  # columns first, 45 batches, the last of 5 rows
    weights = np.random.rand(709)
    def trained(callbacks, **more):
        np.random.seed(3)
        model = tf.keras.Sequential([L.Dense(4, input_shape=(2,), kernel_initializer="ones"), L.Dropout(0.0), L.Dense(1, kernel_initializer="ones")])
        model.compile("adam", "mse", metrics=["mae"])
        history = model.fit(x, y, batch_size=16, epochs=4, verbose=0, callbacks=[*callbacks, Stops()], **more).history
        return model.get_weights(), history
    for more in ({}, {"shuffle": False, "sample_weight": weights}, {"validation_data": (x[:50], y[:50])}, {"validation_split": 0.1, "validation_freq": 2}):
        seen.clear()
        (w, h), (w_looked_at, h_looked_at) = trained([], **more), trained([Looks()], **more)
        assert all((a == b).all() for a, b in zip(w, w_looked_at)) and h == h_looked_at and len(h["loss"]) == 3, (more, h, h_looked_at)
        assert ("val_loss" in h) == any(key.startswith("validation") for key in more)
        if "validation_split" not in more:
            assert seen == [*[(i, 16) for i in range(44)], (44, 5)] * 3
    print(len(seen))
"""

HEARD_WITHIN_EPOCHS = """
    import numpy as np
    import tensorflow as tf
    K, L = tf.keras.backend, tf.keras.layers
    class Looks(tf.keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            pass
    class Stops(tf.keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.model.stop_training = epoch == 1
    class Late(tf.keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.seen = []
            self.on_batch_end = lambda batch, logs=None: self.seen.append(batch)
    x, y = np.random.rand(50, 4), np.random.rand(50, 1)
    def trained(*callbacks, **more):
        model = tf.keras.Sequential([L.Dense(1, input_shape=(4,), kernel_initializer="ones")])
        model.compile("sgd", "mse")
        history = model.fit(x, y, batch_size=16, epochs=4, shuffle=False, verbose=0, callbacks=[*callbacks], **more).history
        return model.get_weights(), history
    for more in ({}, {"validation_data": (x, y)}):
        (w, h), (w_looked_at, h_looked_at) = trained(Stops(), **more), trained(Stops(), Looks(), **more)
        assert all((a == b).all() for a, b in zip(w, w_looked_at)) and h == h_looked_at and len(h["loss"]) == 2, (more, h, h_looked_at)
    late = Late()
    trained(late)
    assert late.seen == [0, 1, 2, 3] * 4, late.seen
    print(len(late.seen))
"""

NO_ROWS = """
    import numpy as np
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    x, y = np.ones((0, 3)), np.ones((0, 1))
    said = []
    for call in (lambda: model.fit(x, y, verbose=0), lambda: model.fit(x, y), lambda: model.evaluate(x, y)):
        try:
            call()
        except ValueError as error:
            said.append(str(error))
    assert said == [f"there is nothing to {doing}: the arrays have no rows, the first one has the shape (0, 3)" for doing in (
        "train on", "train on", "evaluate")], said
    print(len(said))
"""

RUNS_OUT = """
    import numpy as np
    import tensorflow as tf
    L = tf.keras.layers
    x = np.random.RandomState(0).uniform(-1, 1, (24, 3)).astype("f")
    y = x.sum(1, keepdims=True)
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    class Hears(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            heard.append((epoch, sorted(logs)))
        def on_train_end(self, logs=None):
            heard.append("end")
    def fit(steps, **more):
        heard.clear()
        model = tf.keras.Sequential([L.Dense(1, input_shape=(3,), kernel_initializer="ones")])
        model.compile(tf.keras.optimizers.SGD(0.0), loss=lambda true, got: tf.abs(true) + 0.0 * got, metrics=["mae"])
        history = model.fit(batches, steps_per_epoch=steps, verbose=0, callbacks=[Hears()], **more)
        return history.epoch, history.history["loss"]
    heard, each = [], [np.abs(y[i:i + 8]).mean() for i in (0, 8, 16)]
    both = ["loss", "mean_absolute_error"]
    epochs, losses = fit(2, epochs=4)
    assert epochs == [0, 1] and np.allclose(losses, [(each[0] + each[1]) / 2, each[2]]), (epochs, losses)
    assert heard == [(0, both), (1, both), "end"], heard
    epochs, losses = fit(5, epochs=4, initial_epoch=2)
    assert epochs == [2] and np.allclose(losses, [np.mean(each)]) and heard == [(2, both), "end"], (epochs, losses, heard)
    try:
        fit(2, validation_data=batches, validation_steps=4)
    except ValueError as error:
        assert "after 3 batches, fewer than the 4 of `validation_steps`" in str(error), error
    model = tf.keras.Sequential([L.Dense(1, input_shape=(3,), kernel_initializer="ones")])
    model.compile("sgd", "mse")
    none, unknown, said = batches.take(0), batches.filter(lambda x, y: True), []
    assert np.isclose(model.evaluate(batches, steps=9, verbose=0), model.evaluate(x, y, verbose=0)) and len(model.predict(batches, steps=9)) == 24
    for call in (lambda: model.evaluate(unknown, steps=5, verbose=0), lambda: model.predict(unknown, steps=5), lambda: model.fit(none, verbose=0),
                 lambda: model.evaluate(none, verbose=0), lambda: model.predict(none, steps=1)):
        try:
            call()
        except ValueError as error:
            said.append(str(error))
    assert said == 2 * ["Your dataset ran out of data after 3 batches, fewer than the 5 of `steps`"] + 3 * ["The dataset has no batches."], said
    print(len(heard))
"""

ARRAYS_MEASURED_ON_A_DATASET = """
    import numpy as np
    import tensorflow as tf
    L = tf.keras.layers
    x = np.random.RandomState(0).uniform(-1, 1, (24, 3)).astype("f")
    y = x.sum(1, keepdims=True)
    batches = tf.data.Dataset.from_tensor_slices((x[:16], y[:16])).batch(8)
    class Hears(tf.keras.callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            heard.append(batch)
        def on_batch_end(self, batch, logs=None):
            pass
    def fit(data, callbacks=(), x=x, **more):
        heard.clear()
        model = tf.keras.Sequential([L.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse", metrics=["mae"])
        model.set_weights([np.ones((3, 1)), np.ones(1)])
        history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, validation_data=data, callbacks=[*callbacks], **more)
        assert "_validated_on" not in model.__dict__ and "_trained_with" not in model.__dict__
        return history.history
    heard = []
    for more in ({"verbose": 0}, {"verbose": 1}, {"verbose": 0, "callbacks": [Hears()]}, {"verbose": 0, "validation_split": 0.5}):
        wanted, found = fit((x[:16], y[:16]), **more), fit(batches, **more)
        assert sorted(wanted) == sorted(found) and all(np.allclose(wanted[name], found[name]) for name in wanted), (more, wanted, found)
    fit(batches, [Hears()], verbose=0, validation_steps=1)
    assert heard == [0, 0], heard
    said = []
    for more in ({"validation_steps": 4}, {"callbacks": [tf.keras.callbacks.TensorBoard("logs", histogram_freq=1)]}):
        try:
            fit(batches, verbose=0, **more)
        except ValueError as error:
            said.append(str(error))
    assert said == ["Your dataset ran out of data after 2 batches, fewer than the 4 of `validation_steps`",
                    "histograms of TensorBoard need arrays as validation_data, got a dataset"], said
    print(len(found))
"""

SAME_DATASET = """
    import numpy as np
    import tensorflow as tf
    from tensorflow.keras import layers
    x, y = np.arange(12, dtype="f").reshape(6, 2) / 12, np.arange(6, dtype="f").reshape(6, 1)
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(2)
    model = tf.keras.Sequential([layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    seen = []
    class Predicts(tf.keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            seen.append(model.predict(batches).shape)
    def fit():
        return model.fit(batches, epochs=3, verbose=0, validation_data=batches, callbacks=[Predicts()]).history
    history = fit()
    assert sorted(history) == ["loss", "val_loss"] and seen == [(6, 1)] * 9
    assert abs(history["val_loss"][-1] - model.evaluate(batches, verbose=0)) < 1e-5
    nodes = len(tf.get_default_graph().get_operations())
    fit(), model.evaluate(batches, verbose=0)
    assert len(tf.get_default_graph().get_operations()) == nodes  # iterators are used again
    print(len(history["loss"]))
"""

BESIDE_A_DATASET = """
    import numpy as np
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    batches = tf.data.Dataset.from_tensor_slices((np.ones((4, 2)), np.ones((4, 1)))).batch(2)
    for function, name in ((model.fit, "y"), (model.fit, "sample_weight"), (model.evaluate, "y"), (model.evaluate, "sample_weight")):
        for value in (np.ones((4, 1)), np.zeros(1), [1.0]):
            try:
                function(batches, **{name: value})
            except ValueError as error:
                assert str(error) == f"`{name}` argument is not supported when input `x` is a dataset or a dataset iterator", error
            else:
                raise AssertionError(name)
    for function in (model.fit, model.evaluate, model.predict):
        try:
            function(batches, epoch=2)
        except TypeError as error:
            assert str(error) == "Unrecognized keyword arguments: epoch", error
        else:
            raise AssertionError(function)
    print(len(model.fit(batches, batch_size=None, validation_split=0, verbose=0, workers=1).history["loss"]))
"""

LATER_NUMPY = """
    import h5py
    import numpy as np
    import scipy.sparse
    for name in ("Inf", "string_"):
        vars(np).pop(name)  # as NumPy 2, where the launcher does not put them back
    import tensorflow as tf
    from tensorflow.keras import callbacks
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    history = model.fit(np.ones((4, 3)), np.ones((4, 1)), epochs=2, verbose=0, callbacks=[
        callbacks.EarlyStopping("loss"), callbacks.ModelCheckpoint("best.h5", "loss", save_best_only=True),
        callbacks.ReduceLROnPlateau("loss")]).history
    assert tf.keras.models.load_model("best.h5").count_params() == 4 and not hasattr(np, "Inf")
    print(len(history["loss"]))
"""

BY_POSITION = """
    import tensorflow as tf
    class Scaled(tf.keras.layers.Layer):
        def call(self, x, scale=1.0, training=None):
            return x * scale
    x = tf.ones((1, 1000))
    dropout, scaled = tf.keras.layers.Dropout(0.5), Scaled()
    dropped = [tf.equal(layer, 0) for layer in (dropout(x, True), dropout(x, training=True), dropout(x, False), dropout(x))]
    with tf.Session() as session:
        assert [0.3 < session.run(tf.reduce_mean(tf.cast(d, "float32"))) < 0.7 for d in dropped] == [True, True, False, False]
        print(session.run(scaled(x, 3.0))[0, 0])
"""

CONVERTED = """
    import numpy as np
    import tensorflow as tf
    class Signed(tf.keras.layers.Layer):
        def call(self, x, training=None):
            if tf.reduce_sum(x) > 0:
                return x
            return -x
    class Twice(tf.keras.layers.Layer):
        def call(self, x):
            for _ in tf.range(2):
                x = x * 2.0
            return x
    with tf.Session() as session:
        print(session.run(Twice()(Signed()(tf.constant([[-5.0]]))))[0, 0])
"""

COLUMNS = """
    import numpy as np
    import tensorflow as tf
    from tensorflow.keras import layers
    fc = tf.feature_column
    def doubled(x):
        return x * 2
    columns = [fc.embedding_column(fc.categorical_column_with_hash_bucket(name, 4), 2) for name in ("town", "street")]
    columns += [fc.bucketized_column(fc.numeric_column("age"), [0.3, 0.6]), fc.numeric_column("pair", (2,), normalizer_fn=doubled)]
    rows = {"age": np.random.rand(8, 1), "pair": np.random.rand(8, 2), "town": np.array(list("abcdabcd")), "street": np.array(list("xxyyzzxx"))}
    known = {"doubled": doubled}
    stack = tf.keras.Sequential([layers.DenseFeatures(columns), layers.Dense(1)])
    inputs = {"age": layers.Input((1,), name="years"), "pair": layers.Input((2,), name="pair"),
              **{name: layers.Input((1,), name=name, dtype="string") for name in ("town", "street")}}
    whole = tf.keras.Model(inputs, layers.Dense(1)(layers.DenseFeatures(columns)(inputs)))
    assert whole.input_names == ["years", "pair", "street", "town"], whole.input_names  # by the keys of the dictionary
    for model, given in ((stack, rows), (whole, {**{k: v for k, v in rows.items() if k != "age"}, "years": rows["age"]})):
        model.compile("adam", "mse")
        model.fit(given, np.ones((8, 1)), verbose=0)
        predicted = model.predict(given)
        for path in ("model.h5", "model"):
            model.save(path, save_format="tf" if path == "model" else "h5")
            again = tf.keras.models.load_model(path, custom_objects=known)
            assert np.allclose(again.predict(given), predicted) and again.layers[-2].trainable_weights, path
            assert np.allclose(again.train_on_batch(given, np.ones((8, 1))), model.evaluate(given, np.ones((8, 1)), verbose=0)), path
        model.save_weights("weights", save_format="tf")
        model.set_weights([w * 0 for w in model.get_weights()])
        model.load_weights("weights").assert_consumed()
        assert np.allclose(model.predict(given), predicted)
    print(len(stack.weights))
"""

LAYERS_IN_LISTS = """
    import numpy as np
    import tensorflow as tf
    L = tf.keras.layers
    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks, self.by_name, self.out = [], {"first": L.Dense(3)}, L.Dense(1)
            for _ in range(2):
                self.blocks.append(L.Dense(4))
        def call(self, x):
            x = self.by_name["first"](x)
            for block in self.blocks:
                x = block(x)
            return self.out(x)
    net = Net()
    net.compile("sgd", "mse")
    net.train_on_batch(np.ones((2, 2)), np.ones((2, 1)))
    assert [layer.name for layer in net.layers] == ["dense_2", "dense_3", "dense", "dense_1"], [layer.name for layer in net.layers]
    print(len(net.trainable_weights))
"""

NO_PARTS = """
    import numpy as np
    import tensorflow as tf
    from tensorflow.core.protobuf import trackable_object_graph_pb2
    from tensorflow.python.training.tracking.base import no_automatic_dependency_tracking_scope
    L = tf.keras.layers
    class Block(L.Layer):
        def __init__(self):
            super().__init__()
            self.norm, self.hidden = L.BatchNormalization(), [L.Dense(2)]
        def call(self, x):
            return self.norm(self.hidden[0](x))
    class Net(tf.keras.Model):
        def __init__(self, other):
            super().__init__()
            with no_automatic_dependency_tracking_scope(self):
                self.other, self.others = other, [other]
                self.block = Block()
            self.block, self.out = self.block, L.Dense(1)
        def call(self, x):
            return self.out(self.block(x)) + self.other(x)
    net = Net(L.Dense(1, name="other"))
    net.compile("sgd", "mse")
    net.train_on_batch(np.ones((2, 2)), np.ones((2, 1)))
    assert [layer.name for layer in net.layers] == ["block", "dense_1"], [layer.name for layer in net.layers]
    net.save_weights("weights", save_format="tf")
    objects = trackable_object_graph_pb2.TrackableObjectGraph.FromString(tf.train.load_checkpoint("weights").get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"))
    names = {child.local_name for node in objects.nodes for child in node.children}
    expected = {"block", "out", "optimizer", "norm", "hidden", "0", "kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance", "axis", "_updates"}
    assert names - {"iter", "decay", "learning_rate", "momentum"} == expected, names
    print(len(net.trainable_weights))
"""

OWN_SCHEDULE = """
    import numpy as np
    import tensorflow as tf
    class Halved(tf.keras.optimizers.schedules.LearningRateSchedule):
        def __init__(self, first):
            self.first = first
        def __call__(self, step):
            return self.first * 0.5 ** tf.cast(step, tf.float32)
        def get_config(self):
            return {"first": self.first}
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.SGD(Halved(0.25)), "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
    model.save("model.h5")
    first = tf.keras.models.load_model("model.h5", custom_objects={"Halved": Halved})
    with tf.keras.utils.custom_object_scope({"Halved": Halved}):
        second = tf.keras.models.load_model("model.h5")
    assert type(second.optimizer.get_config()["learning_rate"]) is dict
    print(sum(m.optimizer.learning_rate.first for m in (first, second)))
"""


SAVED_MODELS = """
    import os
    import numpy as np
    import tensorflow as tf
    from tensorflow.keras import layers
    rows, wanted = np.random.RandomState(0).rand(8, 3).astype("f"), np.ones((8, 2), "f")
    def made(inputs=3):
        model = tf.keras.Sequential([layers.Dense(4, activation="relu", input_shape=(inputs,)), layers.BatchNormalization(), layers.Dense(2, name="out")])
        model.compile("adam", tf.keras.losses.Huber(), metrics=["mae", tf.keras.metrics.MeanSquaredError(name="mse")])
        return model
    model = made()
    model.fit(rows, wanted, verbose=0)
    nodes = len(tf.get_default_graph().get_operations())
    model.save("saved", save_format="tf")
    assert len(tf.get_default_graph().get_operations()) == nodes  # saving leaves the program's graph as it is
    model.save("plain", save_format="tf", include_optimizer=False)
    tf.keras.experimental.export_saved_model(model, "exported")
    again, plain = tf.keras.models.load_model("saved"), tf.keras.models.load_model("plain")
    assert again.metrics_names == model.metrics_names == ["loss", "mean_absolute_error", "mse"] and plain.optimizer is None
    assert tf.keras.experimental.load_from_saved_model("exported").optimizer is None
    assert not [name for name, _ in tf.train.list_variables("plain/variables/variables") if "optimizer" in name.lower()]
    predicted = model.predict(rows)
    assert np.allclose(predicted, again.predict(rows)) and np.allclose(predicted, plain.predict(rows))
    losses = [[m.train_on_batch(rows, wanted)[0] for _ in range(3)] for m in (model, again)]
    assert np.allclose(*losses, rtol=1e-5), losses  # slots and steps were kept
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.load(session, ["serve"], "saved").signature_def["serving_default"]
        given, out = signature.inputs["dense_input"].name, signature.outputs["out"].name
        assert np.allclose(session.run(out, {given: rows}), predicted)
        assert not [op for op in session.graph.get_operations() if "Adam" in op.name]  # no operations of training
    def refusal(call, kind):
        try:
            call()
        except kind as error:
            return str(error)
    load = tf.keras.models.load_model
    assert "does not exist at: nowhere" in refusal(lambda: load("nowhere"), OSError)
    assert "saved_model.pbtxt|saved_model.pb" in refusal(lambda: load("saved/variables"), OSError)
    assert "is a file" in refusal(lambda: model.save("saved/saved_model.pb", save_format="tf"), NotADirectoryError)
    assert "HDF5" in refusal(lambda: model.save("m.h5", save_format="tf"), ValueError)
    assert "isn't empty" in refusal(lambda: tf.keras.experimental.export_saved_model(model, "exported"), AssertionError)
    for name in os.listdir("plain/variables"):
        os.remove("plain/variables/" + name)
    assert "no variables" in refusal(lambda: load("plain"), OSError)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0)
        session.run(v.initializer)
        tf.saved_model.simple_save(session, "simple", {"x": tf.placeholder("float")}, {"y": v + 1})
    assert "no tf.keras model" in refusal(lambda: load("simple"), ValueError)
    class Mine(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self._hidden, self.rest = layers.Dense(2), [layers.Dense(2)]
        def call(self, x):
            return self.rest[0](self._hidden(x))
    mine = Mine()
    assert "until it is given" in refusal(lambda: mine.save_weights("mine"), ValueError)
    mine.compile("sgd", "mse")
    mine.fit(rows, wanted, verbose=0)
    mine.save("class", save_format="tf")
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.load(session, ["serve"], "class").signature_def["serving_default"]
    assert "class of the program" in refusal(lambda: load("class"), NotImplementedError)
    print(len(found.inputs) + len(found.outputs))
"""

CHECKPOINTS = """
    import numpy as np
    import tensorflow as tf
    from tensorflow.keras import layers
    rows, wanted = np.random.RandomState(0).rand(8, 3).astype("f"), np.ones((8, 2), "f")
    class Mine(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self._hidden, self.rest = layers.Dense(2), [layers.Dense(2)]
        def call(self, x):
            return self.rest[0](self._hidden(x))
    class Scaled(layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight("scale", shape=[3])
        def call(self, x):
            return x * self.factor
    def made(units=4):
        model = tf.keras.Sequential([Scaled(input_shape=(3,)), layers.Dense(units), layers.Dense(2)])
        model.compile("adam", "mse")
        return model
    def refusal(call, kind):
        try:
            call()
        except kind as error:
            return str(error)
    model, other = made(), made()
    model.fit(rows, wanted, epochs=2, verbose=0, callbacks=[tf.keras.callbacks.ModelCheckpoint("kept/w-{epoch}", save_weights_only=True)])
    assert tf.train.latest_checkpoint("kept") == "kept/w-2"
    names = [name for name, _ in tf.train.list_variables("kept/w-2")]
    assert "layer_with_weights-0/scale/.ATTRIBUTES/VARIABLE_VALUE" in names
    assert "layer_with_weights-1/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE" in names
    other.load_weights("kept/w-2").assert_consumed()
    assert np.allclose(model.predict(rows), other.predict(rows))
    assert np.allclose([model.train_on_batch(rows, wanted) for _ in range(2)], [other.train_on_batch(rows, wanted) for _ in range(2)])
    said = refusal(lambda: made(5).load_weights("kept/w-2"), ValueError)
    assert "layer_with_weights-1/kernel" in said and "[3, 4]" in said and "[3, 5]" in said and "dense" in said, said
    missing = tf.errors.NotFoundError
    assert "no checkpoint but a folder" in refusal(lambda: model.load_weights("kept"), missing)
    assert "nowhere.index" in refusal(lambda: model.load_weights("nowhere"), missing)
    assert "topology" in refusal(lambda: model.load_weights("kept/w-2", by_name=True), NotImplementedError)
    assert "looks like" in refusal(lambda: model.save_weights("w.h5", save_format="tf"), ValueError)
    assert "Unknown format" in refusal(lambda: model.save_weights("w", save_format="pb"), ValueError)
    with tf.Session(graph=tf.Graph()) as session, session.graph.as_default():
        v = tf.Variable(1.0)
        session.run(v.initializer)
        tf.train.Saver([v]).save(session, "by_name")
    assert "variables by their names" in refusal(lambda: model.load_weights("by_name"), ValueError)
    one, two = Mine(), Mine()
    for mine in (one, two):
        mine.compile("sgd", "mse")
        mine.train_on_batch(rows, wanted)
    one.save_weights("mine")
    assert "_hidden/kernel/.ATTRIBUTES/VARIABLE_VALUE" in [name for name, _ in tf.train.list_variables("mine")]
    two.load_weights("mine")
    assert np.allclose(one.predict(rows), two.predict(rows))
    session = tf.keras.backend.get_session()
    step = tf.Variable(7, name="step")
    checkpoint = tf.train.Checkpoint(model=model, step=step)
    assert "needs a session" in refusal(lambda: checkpoint.save("objects/c"), ValueError)
    session.run(step.initializer)
    predicted = model.predict(rows)
    assert checkpoint.save("objects/c", session) == "objects/c-1" and checkpoint.save("objects/c", session=session) == "objects/c-2"
    model.set_weights([w * 0 for w in model.get_weights()])
    step.load(0, session)
    status = tf.train.Checkpoint(model=model, step=step).restore("objects/c-2")
    assert not model.predict(rows).any()  # until it is asked for
    status.assert_consumed().run_restore_ops(session)
    assert np.allclose(model.predict(rows), predicted)
    fresh, more = tf.Variable(0), tf.Variable(3)
    tf.train.Checkpoint(step=fresh, more=more).restore("objects/c-2").initialize_or_restore(session)
    print(*session.run([fresh, more]), sum(session.run([fresh, more])))
"""


@pytest.mark.parametrize(("program", "number"), [
    pytest.param(IMPORTS, 6, id="names_can_be_imported_from_where_tensorflow_has_them"),
    pytest.param(CALLBACKS, 2, id="callbacks_write_files"),
    pytest.param(BESIDE_KERAS, 16, id="it_stands_beside_the_package_it_is_made_of"),
    pytest.param(REFUSED, 1, id="what_is_not_there_says_so"),
    pytest.param(WHOLE_EPOCHS, 120, id="epochs_whose_batches_nobody_looks_at_give_the_same"),
    pytest.param(HEARD_WITHIN_EPOCHS, 16, id="what_is_asked_for_within_an_epoch_is_heard"),
    pytest.param(NO_ROWS, 3, id="arrays_without_rows_are_refused"),
    pytest.param(RUNS_OUT, 0, id="a_dataset_that_runs_out_ends_its_epoch"),
    pytest.param(ARRAYS_MEASURED_ON_A_DATASET, 4, id="arrays_are_trained_on_and_a_dataset_measured_on"),
    pytest.param(SAME_DATASET, 3, id="a_dataset_is_trained_on_and_measured_on_at_once"),
    pytest.param(BY_POSITION, 3, id="arguments_of_a_layer_are_given_by_position"),
    pytest.param(BESIDE_A_DATASET, 1, id="arrays_beside_a_dataset_are_refused"),
    pytest.param(LATER_NUMPY, 2, id="callbacks_and_files_need_no_old_numpy"),
    pytest.param(CONVERTED, 20, id="the_call_of_a_layer_is_converted"),
    pytest.param(SAVED_MODELS, 2, id="models_are_saved_for_serving_and_made_again"),
    pytest.param(CHECKPOINTS, 10, id="weights_are_checkpoints_of_objects"),
    pytest.param(COLUMNS, 4, id="models_of_feature_columns_are_saved_and_made_again"),
    pytest.param(LAYERS_IN_LISTS, 8, id="layers_in_lists_of_a_class_are_its_own"),
    pytest.param(NO_PARTS, 6, id="what_is_kept_aside_is_no_part"),
    pytest.param(OWN_SCHEDULE, 0.5, id="models_with_a_schedule_of_the_program_are_loaded"),
])
def test_program(last_number, program, number):
    assert last_number(program) == number

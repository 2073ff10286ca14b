# SPDX-License-Identifier: Apache-2.0
"""tf.keras under distribution strategies: programs as TensorFlow 1.15 has recorded them, and what it leaves open or refuses."""
import json
import os
import subprocess
import sys

import keras_strategy_programs
import keras_worker_programs as workers
import pytest
from test_tf_keras import differences

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = [sys.executable, "-m", "thalweg.as_tensorflow"]
TASK = "/job:worker/replica:0/task:%d"


def recorded(name):
    with open(os.path.join(HERE, name)) as recorded_file:
        return json.load(recorded_file)


RECORDED, OF_WORKERS = recorded("keras_strategy_recorded.json"), recorded("keras_worker_recorded.json")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the programs give here; they run one behind the other in one process."""
    done = subprocess.run([*OURS, os.path.join(HERE, "keras_strategy_programs.py")], capture_output=True, text=True, check=False,
                          cwd=tmp_path_factory.mktemp("keras"), timeout=600)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [program.__name__ for program in keras_strategy_programs.PROGRAMS])
def test_as_recorded(found, name):
    assert differences(RECORDED[name], found[name]) == []


TWO_DEVICES = """
    import json, os
    import numpy as np
    import tensorflow as tf
    L, K = tf.keras.layers, tf.keras.backend
    x = np.random.RandomState(0).uniform(-1, 1, (24, 3)).astype("f")
    y = x.sum(1, keepdims=True)

    def made(strategy, optimizer="sgd", loss="mse", layers=None, **kwargs):
        K.clear_session()
        K.set_session(tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)))
        with strategy.scope():
            model = tf.keras.Sequential(layers() if layers else [L.Dense(4, activation="tanh", input_shape=(3,), kernel_initializer="ones"), L.Dense(
                1, kernel_initializer="ones")])
            model.compile(optimizer, loss, **kwargs)
        return model

    def mirrored():
        return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def plain():
        return tf.distribute.get_strategy()

    def refusal(call, kind=NotImplementedError):
        try:
            call()
        except kind as error:
            return str(error)
        raise AssertionError("nothing was refused")
"""

PARTS_STAY_EQUAL = TWO_DEVICES + """
    strategy = mirrored()
    model = made(strategy, tf.keras.optimizers.Nadam(0.05))
    model.fit(x, y, batch_size=8, epochs=3, verbose=0)
    model.set_weights([w * 2 for w in model.get_weights()])
    model.fit(x, y, batch_size=8, epochs=1, verbose=0)
    parts = [K.get_session().run(list(strategy.experimental_local_results(v))) for v in [*model.weights, *model.optimizer.weights]]
    assert len(parts) == 4 + 10 and all(len(each) == 2 and (each[0] == each[1]).all() for each in parts)  # iterations, product, slots
    assert {p.device for p in strategy.experimental_local_results(model.weights[0])} == {"/device:CPU:0", "/device:CPU:1"}
    print(len(parts))
"""

AS_WITHOUT = TWO_DEVICES + """
    def trained(strategy, **more):
        model = made(strategy, "adam", metrics=["mae"])
        history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False, **more).history
        on_batches = [model.train_on_batch(x[:8], y[:8]), model.test_on_batch(x[:8], y[:8]), model.predict_on_batch(x[:3]).tolist()]
        return history, on_batches, model.evaluate(x[:21], y[:21], batch_size=8, verbose=0), model.predict(x[:21], batch_size=8).tolist()

    def near(a, b):
        return near(sorted(a.items()), sorted(b.items())) if isinstance(a, dict) else a == b if isinstance(a, str) else all(
            map(near, a, b)) if isinstance(a, (list, tuple)) else abs(a - b) <= 1e-5
    for more in ({}, {"validation_split": 0.33333}, {"sample_weight": np.linspace(0, 1, 24)}):
        alone, over = trained(plain(), **more), trained(mirrored(), **more)
        assert near(alone[:2], over[:2]) and near(alone[3], over[3]), (more, alone, over)
    print(len(alone))
"""

VALIDATED_IN_PART = TWO_DEVICES + """
    def fit(rows, of_all, **more):
        model, given = made(mirrored()), x if of_all else [x]
        return model.fit(given, y, validation_data=(x[:rows], y[:rows]), batch_size=8, verbose=0, shuffle=False, **more).history
    for rows, steps in ((8, 1), (16, 2)):
        wanted, found = fit(rows, True), fit(21, False, validation_steps=steps)
        assert sorted(found) == ["loss", "val_loss"] and np.allclose(wanted["val_loss"], found["val_loss"]), (wanted, found)
    assert np.allclose(wanted["val_loss"], fit(21, True, validation_steps=2, steps_per_epoch=3)["val_loss"])
    said = refusal(lambda: fit(21, True, validation_steps=3), ValueError)
    assert said == "validation_steps=3 of 8 samples are 24, but validation_data has 21", said
    print(len(found))
"""

NOT_REDUCED = TWO_DEVICES + """
    class Squares(tf.keras.losses.Loss):
        def call(self, true, got):
            return tf.reduce_sum(tf.square(true - got), -1)
    def fit(strategy, reduction, rows, rate):
        model = made(strategy, tf.keras.optimizers.SGD(rate), Squares(reduction=reduction))
        losses = model.fit(x[:rows], y[:rows], batch_size=8, epochs=2, verbose=0, shuffle=False).history["loss"]
        return losses, model.get_weights(), model.evaluate(x[:8], y[:8], verbose=0)
    for rows, sized in ((24, True), (17, False)):  # a last batch of one row leaves a replica without
        summed, alone, over = fit(plain(), "sum", rows, 0.01), fit(plain(), "none", rows, 0.01), fit(mirrored(), "none", rows, 0.01)
        mean = fit(plain(), "sum_over_batch_size", rows, 0.08)
        assert all(map(np.allclose, summed[1], alone[1])) and all(map(np.allclose, summed[1], over[1])), (summed, alone, over)
        assert all(np.isfinite(over[0])) and np.isclose(alone[2], summed[2] / 8) and np.isclose(over[2], alone[2], rtol=1e-5), (summed, alone, over)
        assert not sized or np.allclose(mean[0], alone[0]) and np.allclose(mean[0], over[0]), (mean, alone, over)
    print(len(over[0]))
"""

CALLED_TWICE = TWO_DEVICES + """
    def fits(strategy):
        K.clear_session()
        K.set_session(tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)))
        with strategy.scope():
            inner = tf.keras.Sequential([L.Dense(4, activation="relu", input_shape=(3,)), L.BatchNormalization()])
            a, b = L.Input((3,)), L.Input((3,))
            model = tf.keras.Model([a, b], L.Dense(1)(L.add([inner(a), inner(b)])))
            model.compile("sgd", "mse")
        first, found = model.get_weights(), set()
        for _ in range(60):
            model.set_weights(first)
            model.fit([x, x * 2], y, batch_size=4, verbose=0, shuffle=False)
            found.add(tuple(w.tobytes() for w in model.get_weights()))
        return len(found)
    print(fits(plain()), fits(mirrored()), fits(plain()) + fits(mirrored()))
"""

FEW_ROWS = TWO_DEVICES + """
    layers = lambda: [L.Dense(4, input_shape=(3,)), L.BatchNormalization(), L.Dense(1)]
    model = made(mirrored(), tf.keras.optimizers.Adam(0.01), metrics=["mae"], layers=layers)
    history = model.fit(x[:9], y[:9], batch_size=8, epochs=2, verbose=0).history  # one row is left for two replicas
    assert np.isfinite(history["loss"]).all() and all(np.isfinite(w).all() for w in model.get_weights()), history
    assert model.predict(x[:1]).shape == (1, 1) and np.isfinite(model.evaluate(x[:9], y[:9], batch_size=8, verbose=0)).all()
    print(len(history["loss"]))
"""

LAST_BATCHES = TWO_DEVICES + """
    def fit(of_dataset):
        model = made(mirrored())
        rows = tf.data.Dataset.from_tensor_slices((x[:21], y[:21])).batch(8)
        history = model.fit(rows, epochs=2, verbose=0) if of_dataset else model.fit(x[:21], y[:21], 8, 2, verbose=0, shuffle=False)
        return history.history["loss"], model.get_weights()
    (losses, weights), (of_arrays, others) = fit(True), fit(False)
    assert np.allclose(losses, of_arrays) and all(map(np.allclose, weights, others)), (losses, of_arrays)
    print(len(losses))
"""

LATE = TWO_DEVICES + """
    def fit(model, **more):
        return model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False, **more).history["loss"]
    known = fit(made(mirrored()))
    late = fit(made(mirrored(), layers=lambda: [L.Dense(4, activation="tanh", kernel_initializer="ones"), L.Dense(1, kernel_initializer="ones")]))

    class Net(tf.keras.Model):
        def __init__(self):
            super(Net, self).__init__()
            self.first, self.last = L.Dense(4, activation="tanh", kernel_initializer="ones"), L.Dense(1, kernel_initializer="ones")

        def call(self, x):
            return self.last(self.first(x))
    K.clear_session()
    with mirrored().scope():
        model = Net()
        model.compile("sgd", "mse")
    of_class = fit(model)
    assert np.allclose(known, late) and np.allclose(known, of_class), (known, late, of_class)
    print(len(known))
"""

LAYERS = TWO_DEVICES + """
    class Own(L.Layer):
        def call(self, x):
            self.add_metric(tf.reduce_mean(x), name="mean", aggregation="mean")
            return x
    model = made(mirrored(), layers=lambda: [Own(input_shape=(3,)), L.Dense(1)])
    history = model.fit(x, y, batch_size=8, verbose=0).history
    assert abs(history["mean"][0] - x.mean()) < 1e-5, history

    K.clear_session()
    columns, rows = tf.feature_column, {"a": x[:, 0], "t": np.array(["p", "q"] * 12)}
    features = [columns.numeric_column("a"), columns.embedding_column(columns.categorical_column_with_hash_bucket("t", 5), 2)]
    with mirrored().scope():
        model = tf.keras.Sequential([L.DenseFeatures(features), L.Dense(1)])
        model.compile("adam", "mse")
    model.fit(tf.data.Dataset.from_tensor_slices((rows, y)).batch(8), verbose=0)
    assert model.predict(rows).shape == (24, 1)

    K.clear_session()
    with mirrored().scope():
        a, b = L.Input((4, 4, 1)), L.Input((5,))
        h = L.Flatten()(tf.nn.relu(L.BatchNormalization()(L.Conv2D(2, 2)(a))) * 2.0)
        g = L.Bidirectional(L.GRU(3))(L.Masking()(L.Reshape((5, 1))(b)))
        model = tf.keras.Model([a, b], L.Dense(1)(L.concatenate([L.Dropout(0.3)(h), g])))
        model.compile("rmsprop", "mse", metrics=["mae"])
    given = [np.random.rand(20, 4, 4, 1), np.random.rand(20, 5)]
    def all_calls():
        model.fit(given, y[:20], batch_size=8, verbose=0), model.get_weights(), model.evaluate(given, y[:20], verbose=0), model.predict(given)
        return len(tf.get_default_graph().get_operations())
    assert all_calls() == all_calls()  # the graph does not grow
    print(model.count_params())
"""

COMPILED_ANEW = TWO_DEVICES + """
    strategy = mirrored()
    model = made(strategy, "adam")
    model.fit(x, y, epochs=1, verbose=0)
    before = model.layers[0].output  # a layer still has one output
    model.compile("sgd", "mae", metrics=["mse"])  # of the strategy of its variables, outside of a scope too
    history = model.fit(x, y, epochs=3, verbose=0).history
    assert model._distribution_strategy is strategy and sorted(history) == ["loss", "mean_squared_error"]
    parts = K.get_session().run(list(strategy.experimental_local_results(model.weights[0])))
    assert (parts[0] == parts[1]).all()
    model.save("model.h5")
    with strategy.scope():
        again = tf.keras.models.load_model("model.h5")
    assert np.allclose(again.predict(x), model.predict(x)) and K.get_value(again.optimizer.iterations) == 3
    again.fit(x, y, epochs=1, verbose=0)
    alone = tf.keras.models.load_model("model.h5")
    assert alone._distribution_strategy is None and np.allclose(alone.predict(x), model.predict(x))
    print(len(history["loss"]))
"""

REFUSED = TWO_DEVICES + """
    strategy = mirrored()
    outside = tf.keras.Sequential([L.Dense(1, input_shape=(3,))])
    with strategy.scope():
        assert "dense/kernel:0 was not created in the scope" in refusal(lambda: outside.compile("sgd", "mse"), ValueError)
        model = tf.keras.Sequential([L.Dense(1, input_shape=(3,))])
        assert "target_tensors" in refusal(lambda: model.compile("sgd", "mse", target_tensors=[tf.ones((2, 1))]), ValueError)
        stateful = tf.keras.Sequential([L.LSTM(2, stateful=True, batch_input_shape=(2, 3, 1))])
        assert "stateful" in refusal(lambda: stateful.compile("sgd", "mse"))
        a = L.Input((3,))
        added = tf.keras.Model(a, L.Dense(1)(a))
        added.add_loss(tf.reduce_mean(added.output))
        assert "add_loss" in refusal(lambda: added.compile("sgd"))
        fixed = tf.keras.Model(*[(b, L.Dense(1)(b)) for b in [L.Input(tensor=tf.ones((2, 3)))]][0])
        assert "Input(tensor=...)" in refusal(lambda: fixed.compile("sgd", "mse"), ValueError)
        thin = L.Input((3,), sparse=True)
        assert "sparse=True" in refusal(lambda: tf.keras.Model(thin, L.Dense(1)(thin)).compile("sgd", "mse"))
    several = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"])
    assert "on one compute device" in refusal(lambda: made(several))
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"]}, "task": {"type": "chief", "index": 0}})
    assert "parameter servers" in refusal(lambda: made(tf.distribute.experimental.ParameterServerStrategy()))
    model = made(mirrored())
    assert "divisible" in refusal(lambda: model.fit(x, y, steps_per_epoch=5), ValueError)
    assert "in part" in refusal(lambda: model.evaluate(x, y, batch_size=8, steps=2), ValueError)
    with tf.distribute.get_strategy().scope():
        assert "run_eagerly" in refusal(lambda: model.compile("sgd", "mse", run_eagerly=True))
    assert "distribute" in refusal(lambda: outside.compile("sgd", "mse", distribute=mirrored()))
    print(1)
"""


@pytest.mark.parametrize(("program", "last"), [(PARTS_STAY_EQUAL, 14), (AS_WITHOUT, 4), (FEW_ROWS, 2), (VALIDATED_IN_PART, 2), (NOT_REDUCED, 2), (CALLED_TWICE, 2), (LAST_BATCHES, 2), (LATE, 2), (LAYERS, 133), (COMPILED_ANEW, 3)])
def test_what_1_15_leaves_open(last_number, program, last):
    assert last_number(program) == last


def test_what_is_not_there_says_so(last_number):
    assert last_number(REFUSED) == 1


# ---- workers ----
@pytest.mark.parametrize("name", sorted(workers.PROGRAMS))
def test_workers_in_step_as_recorded(name):
    told, folder = workers.found(OURS, name, 2)
    here = [told, json.loads(subprocess.run([*OURS, os.path.join(HERE, "keras_worker_programs.py"), "weights_in", folder, name],
                                            capture_output=True, text=True, check=True, timeout=240).stdout)]
    assert differences(OF_WORKERS[name], here) == []


def test_who_is_killed_is_named_to_the_others(tmp_path):
    (status, _, errors), (killed, _, _) = workers.ended(workers.started(OURS, [workers.__file__, "killed", str(tmp_path)], 2))
    assert killed == -9 and status == 1, errors
    message = errors[errors.rindex("\nthalweg.errors."):]
    assert "Unavailable" in message and TASK % 1 in message, errors


def test_workers_whose_steps_differ_say_so_before_the_first():
    told, _ = workers.found(OURS, "unequal", 2)
    differ = [("batches to train on", 3, 2), ("samples in a batch", 8, 9), ("epochs", 24, 16), ("batches to train on", 3, 2),
              ("batches to evaluate", 3, 2), ("batches to evaluate", 3, 2), *[("batches to validate on", 3, 2)] * 3, ("batches in all epochs", 3, 2)]
    assert told[0] == told[1] and told[0] == [*(
        f"workers that train in step have as many {what} each, but worker 0 has {first}, worker 1 has {second} (the chief is worker 0)"
        for what, first, second in differ), 2]


def test_one_worker_predicts_without_the_others():
    told, _ = workers.found(OURS, "alone", 2)
    assert told == [[24, 1], None]

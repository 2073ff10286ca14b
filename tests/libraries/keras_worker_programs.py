# SPDX-License-Identifier: Apache-2.0
"""Programs of tf.keras in workers that train in step, one process each, whose results TensorFlow 1.15 has recorded in
keras_worker_recorded.json:

    With the real one: PYTHON_OF_1_15 keras_worker_programs.py > keras_worker_recorded.json
    As a worker:       TF_CONFIG=... python keras_worker_programs.py PROGRAM FOLDER
    What is left:      python keras_worker_programs.py weights_in FOLDER PROGRAM
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

from keras_programs import _plain, _seeded
from keras_strategy_programs import _data


def _model(tf, normalizes):
    L = tf.keras.layers
    return tf.keras.Sequential([L.Dense(4, activation="tanh", input_shape=(3,)), *([L.BatchNormalization(momentum=0.7)] if normalizes else []),
                                L.Dense(1)])


def _made(tf, optimizer, normalizes=False):
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = _model(tf, normalizes)
        model.compile(optimizer, "mse", metrics=["mae"])
    return model


class _Begins(object):
    """First weights, which are set within the first session of a training."""

    def __new__(cls, tf):
        class Begins(tf.keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                _seeded(self.model)
        return Begins()


def arrays(tf, folder):
    model, (x, y) = _made(tf, "adam"), _data()
    keep = tf.keras.callbacks.ModelCheckpoint(os.path.join(folder, "{epoch}.h5"), save_weights_only=True)
    return model.fit(x, y, 8, 3, shuffle=False, verbose=0, validation_data=(x[:16], y[:16]), callbacks=[_Begins(tf), keep]).history


def datasets(tf, folder):
    model, (x, y) = _made(tf, tf.keras.optimizers.SGD(0.1, 0.9), True), _data()
    keep = tf.keras.callbacks.ModelCheckpoint(os.path.join(folder, "{epoch}.h5"), save_weights_only=True)
    data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(8)
    return model.fit(data, epochs=2, steps_per_epoch=3, shuffle=False, verbose=0, callbacks=[_Begins(tf), keep]).history


def killed(tf, folder):
    """The second worker ends in its third step."""
    model, (x, y) = _made(tf, "sgd"), _data()

    class Ends(tf.keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            if batch == 2 and json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
                os.kill(os.getpid(), signal.SIGKILL)
    return model.fit(x, y, 4, 3, verbose=0, callbacks=[Ends()]).history


def alone(tf, folder):
    """What a worker does without the others: it predicts."""
    model, (x, y) = _made(tf, "sgd", True), _data()
    model.fit(x, y, 8, verbose=0)
    if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0:
        return list(model.predict(x).shape)


def unequal(tf, folder):
    """Why workers do not begin whose steps differ; where they do not, they begin."""
    model, (x, y) = _made(tf, "sgd"), _data()
    rows = 16 if json.loads(os.environ["TF_CONFIG"])["task"]["index"] else 24
    data = tf.data.Dataset.from_tensor_slices((x[:rows], y[:rows])).batch(8)
    said = []
    for call in (lambda: model.fit(x[:rows], y[:rows], 8, verbose=0), lambda: model.fit(x, y, 8 if rows == 24 else 9, verbose=0),
                 lambda: model.fit(x, y, 8, rows, verbose=0), lambda: model.fit(data, verbose=0), lambda: model.evaluate(data, verbose=0),
                 lambda: model.evaluate(x[:rows], y[:rows], 8, verbose=0), lambda: model.fit(x, y, 8, verbose=0, validation_data=(x[:rows], y[:rows])),
                 lambda: model.fit(data.repeat(), steps_per_epoch=3, verbose=0, validation_data=data),
                 lambda: model.fit(x, y, 8, verbose=0, validation_data=data), lambda: model.fit(data, steps_per_epoch=1, epochs=3, verbose=0)):
        try:
            call()
        except tf.errors.FailedPreconditionError as error:
            said.append(error.message)
    return said + [len(model.fit(data.repeat(), steps_per_epoch=3, epochs=2, verbose=0, validation_data=data, validation_steps=2).history["val_loss"])]


PROGRAMS = {"arrays": arrays, "datasets": datasets}
OTHERS = {"killed": killed, "alone": alone, "unequal": unequal}


def weights_in(tf, folder, normalizes):
    """The names of files, and the weights in the last one."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".h5"))
    tf.keras.backend.clear_session()
    model = _model(tf, normalizes)
    model.load_weights(os.path.join(folder, names[-1]))
    return [names, model.get_weights()]


def started(command, arguments, count, cwd=None):
    """The workers as processes."""
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    cluster = {"worker": ["127.0.0.1:%d" % each.getsockname()[1] for each in held]}
    for each in held:
        each.close()
    return [subprocess.Popen(command + arguments, universal_newlines=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=dict(
        os.environ, TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}))) for index in range(count)]


def ended(workers, seconds=240):
    """[(exit status, what it has printed, what it said to stderr)]; no worker is left."""
    try:
        said = [worker.communicate(timeout=seconds) for worker in workers]
        return [(worker.returncode, out, errors) for worker, (out, errors) in zip(workers, said)]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def found(command, name, count):
    """What the workers of a program give, and what is left in their folder."""
    folder = tempfile.mkdtemp()
    rows = ended(started(command, [os.path.abspath(__file__), name, folder], count))
    for status, _, errors in rows:
        assert status == 0, errors[-4000:]
    return [json.loads(out.splitlines()[-1]) for _, out, _ in rows], folder


if __name__ == "__main__":
    import tensorflow
    if sys.argv[1:2] == ["weights_in"]:
        print(json.dumps(_plain(weights_in(tensorflow, sys.argv[2], sys.argv[3] == "datasets"))))
        sys.exit()
    if len(sys.argv) > 1:
        print(json.dumps(_plain({**PROGRAMS, **OTHERS}[sys.argv[1]](tensorflow, sys.argv[2]))), flush=True)
        sys.stderr.flush()
        os._exit(0)  # servers of 1.15 do not end
    record = {}
    for program in PROGRAMS:
        told, where = found([sys.executable], program, 2)
        record[program] = [told, _plain(weights_in(tensorflow, where, program == "datasets"))]
    print("{\n" + ",\n".join(json.dumps(name) + ": " + json.dumps(record[name], separators=(",", ":")) for name in sorted(record)) + "\n}")

# SPDX-License-Identifier: Apache-2.0
"""Programs that import tensorflow, run by thalweg.as_tensorflow."""
import os
import subprocess
import sys
import textwrap

import thalweg

ROOT = os.path.dirname(os.path.dirname(thalweg.__file__))


def launch(tmp_path, program, *arguments):
    """(exit status, output, errors) of a program."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", str(path), *arguments], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": ROOT}, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_program_trains_unchanged(tmp_path):
    status, out, errors = launch(tmp_path, """
        import sys
        import numpy as np
        import tensorflow as tf
        flags = tf.app.flags
        flags.DEFINE_integer("steps", 1, "steps")
        x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
        out = tf.layers.dense(tf.layers.dense(x, 8, tf.nn.tanh), 1)
        loss = tf.losses.mean_squared_error(y, out)
        train = tf.train.AdamOptimizer(0.05).minimize(loss)

        def main(argv):
            tf.set_random_seed(1)
            rows = np.random.RandomState(0).rand(64, 2).astype(np.float32)
            feed = {x: rows, y: rows.sum(1, keepdims=True)}
            with tf.Session() as sess:
                sess.run(tf.global_variables_initializer())
                for _ in range(flags.FLAGS.steps):
                    last = sess.run([loss, train], feed)[0]
            print(argv[1:], tf.__version__, "small" if last < 1e-3 else last)
            return 5

        if __name__ == "__main__":
            tf.app.run()
        """, "--steps=300", "more")
    assert (status, out) == (5, "['more'] 1.15.0 small\n"), errors


def test_imports_of_every_form(tmp_path):
    status, out, errors = launch(tmp_path, """
        import tensorflow as tf
        import tensorflow.compat.v1 as tf1
        import tensorflow.python.util.compat as compat
        from tensorflow.core.framework import graph_pb2, summary_pb2
        from tensorflow.python.client import device_lib
        from tensorflow.python.framework import dtypes, ops
        from tensorflow.python.ops import array_ops, custom_gradient, math_ops, nn, variable_scope
        from tensorflow.python.platform import gfile, tf_logging as logging
        from tensorflow.python.training import moving_averages, saver
        from tensorflow.python.util import nest
        from tensorflow.python.util.deprecation import deprecated
        import tensorflow.compat.v1.losses as losses
        assert tf1 is tf and tf.compat.v1 is tf and losses is tf.losses
        assert ops.Tensor is tf.Tensor and array_ops.reshape is tf.reshape and math_ops.add is tf.add
        assert custom_gradient.custom_gradient is tf.custom_gradient
        assert summary_pb2.Summary is tf.Summary and saver.Saver is tf.train.Saver
        assert variable_scope.get_variable is tf.get_variable and compat.as_bytes("a") == b"a"
        assert device_lib.list_local_devices()[0].device_type == "CPU"
        assert tf.__spec__.name == tf.__name__ == "tensorflow" and repr(tf).startswith("<module 'tensorflow'")
        tf.added = 3
        import thalweg
        assert thalweg.added == 3 and "tensorflow" not in dir(tf)
        del tf.added
        assert not hasattr(thalweg, "added")
        print("fine")
        """)
    assert (status, out) == (0, "fine\n"), errors


def test_what_is_missing_says_so(tmp_path):
    status, out, errors = launch(tmp_path, """
        import tensorflow as tf
        from tensorflow.python.ops.ragged import ragged_dispatch
        for attempt in ("import tensorflow.python.no_such_module", "import tensorflow.saver",
                        "from tensorflow.python.ops import no_such_name", "ragged_dispatch.RaggedDispatcher()", "tf.tpu.rewrite()",
                        "from tensorflow.contrib import tensor_forest", "tf.contrib.tensor_forest.no_such_name"):
            try:
                exec(attempt)
            except (ImportError, AttributeError, NotImplementedError) as error:
                print(str(error).partition(" (")[0])
        """)
    assert status == 0, errors
    assert out.splitlines() == [
        "No module named 'tensorflow.python.no_such_module' in TensorFlow 1.15, for which Thalweg stands in",
        "No module named 'tensorflow.saver' in TensorFlow 1.15, for which Thalweg stands in",
        "cannot import name 'no_such_name' from 'tensorflow.python.ops'",
        "tensorflow.python.ops.ragged.ragged_dispatch.RaggedDispatcher of TensorFlow 1.15 is not implemented in Thalweg",
        "tf.tpu.rewrite of TensorFlow 1.15 is not implemented in Thalweg",
        "tf.contrib.tensor_forest of TensorFlow 1.15 is not implemented in Thalweg",
        "tf.contrib.tensor_forest has no 'no_such_name'"]


def test_errors_and_exit_statuses(tmp_path):
    status, _, errors = launch(tmp_path, "import tensorflow as tf\ntf.constant(1) + 'a'\n")
    assert status == 1 and "Traceback" in errors
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": ROOT})
    assert done.returncode == 2 and "usage" in done.stderr


def test_as_a_module(tmp_path):
    (tmp_path / "mine.py").write_text("import sys, tensorflow as tf\nprint(sys.argv[1:], tf.add.__name__, __name__)\n")
    done = subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", "-m", "mine", "a"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": ROOT}, cwd=tmp_path, check=False)
    assert done.stdout == "['a'] add __main__\n", done.stderr


def test_names_of_that_time(tmp_path):
    status, out, errors = launch(tmp_path, """
        from collections import Iterable, Mapping
        import inspect
        import numpy as np
        import tensorflow as tf
        from tensorflow.python.framework import ops
        spec = inspect.getargspec(lambda a, b=2: a)
        v = tf.Variable(1.0)
        kinds = [isinstance(t, ops._TensorLike) for t in (v, v + 1, tf.SparseTensor([[0]], [1], [1]), 1)]
        with tf.device("/device:CPU:0"):
            class Taken:
                def _set_device(self, device):
                    self.device = device
            taken = Taken()
            tf.get_default_graph()._apply_device_functions(taken)
        print(isinstance([], Iterable), Mapping is not None, spec.args, spec.defaults, np.float(2), kinds,
              ops.is_dense_tensor_like(v), taken.device.device_type)
        """)
    assert (status, out) == (0, "True True ['a', 'b'] (2,) 2.0 [True, True, True, False] True CPU\n"), errors


def test_staging_areas_by_their_import_paths(tmp_path):
    status, out, errors = launch(tmp_path, """
        import tensorflow as tf
        from tensorflow.contrib.framework import CriticalSection
        from tensorflow.contrib.staging import StagingArea
        from tensorflow.python.ops import data_flow_ops
        area = StagingArea([tf.float32], shapes=[[]])
        put, got = area.put([tf.constant(3.0)]), area.get()
        by_key = data_flow_ops.MapStagingArea([tf.float32], ordered=True)
        barrier = data_flow_ops.Barrier((tf.float32,), shapes=((),))
        with tf.Session() as sess:
            sess.run([put, by_key.put(7, [tf.constant(4.0)], [0]), barrier.insert_many(0, ["k"], [5.0])])
            print(sess.run([got, by_key.get(), barrier.take_many(1).values[0]]))
            print(sess.run(tf.CriticalSection().execute(lambda: tf.constant(1.0) + 1)), CriticalSection is tf.CriticalSection)
    """)
    assert status == 0, errors
    assert "3.0" in out and "4.0" in out and "5." in out and "2.0 True" in out, out


def test_star_imports_of_private_modules_bring_what_they_define_and_what_is_public_of_them(tmp_path):
    status, out, errors = launch(tmp_path, """
        wanted = {"core.framework.graph_pb2": "GraphDef", "core.framework.types_pb2": "DT_FLOAT DataType", "python": "Session placeholder",
                  "core.protobuf.config_pb2": "ConfigProto RunOptions", "python.ops.nn": "relu conv2d", "python.ops.rnn_cell": "LSTMCell",
                  "python.framework.errors": "NotFoundError", "python.training.training": "Saver AdamOptimizer",
                  "python.platform.flags": "DEFINE_string", "python.framework.dtypes": "float32 as_dtype",
                  "python.ops.array_ops": "reshape boolean_mask"}
        for path, names in wanted.items():
            brought = {}
            exec(f"from tensorflow.{path} import *", brought)
            print(path, sorted(set(names.split()) - set(brought)))
        """)
    assert status == 0, errors
    assert {line.partition(" ")[2] for line in out.splitlines()} == {"[]"}, out


def test_names_that_private_modules_pass_on_can_be_taken(tmp_path):
    status, out, errors = launch(tmp_path, """
        from tensorflow.python.keras.backend import set_floatx
        print("taken")
        """)
    assert (status, out) == (0, "taken\n"), errors


def test_private_modules_of_estimators(tmp_path):
    status, out, errors = launch(tmp_path, """
        import tensorflow as tf
        import tensorflow_estimator
        from tensorflow.python.estimator.canned import head as head_lib, metric_keys, optimizers
        from tensorflow.python.estimator.export import export
        from tensorflow.python.estimator.inputs.numpy_io import numpy_input_fn
        from tensorflow.python.feature_column import feature_column as v1, feature_column_v2 as v2
        from tensorflow_estimator.python.estimator import estimator, model_fn
        from tensorflow_estimator.python.estimator.canned.prediction_keys import PredictionKeys
        from tensorflow_estimator.python.estimator.head import binary_class_head
        print(tensorflow_estimator.estimator.LinearClassifier is tf.estimator.LinearClassifier)
        print(estimator.Estimator is tf.estimator.Estimator, model_fn.ModeKeys.TRAIN, PredictionKeys.CLASS_IDS)
        print(binary_class_head.BinaryClassHead is tf.estimator.BinaryClassHead, metric_keys.MetricKeys.AUC)
        print(export.ServingInputReceiver is tf.estimator.export.ServingInputReceiver, numpy_input_fn is tf.estimator.inputs.numpy_input_fn)
        print(head_lib._regression_head(label_dimension=3).logits_dimension, optimizers.get_optimizer_instance("Adam", 0.1).get_name())

        class Mine(v1._DenseColumn, v2.DenseColumn):
            name, _variable_shape, variable_shape, _parse_example_spec, parse_example_spec = "mine", tf.TensorShape([1]), None, {}, {}

            def _transform_feature(self, inputs):
                return inputs.get("x") * 2.0

            def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
                return inputs.get(self)
            transform_feature = get_dense_tensor = None
        layer = tf.feature_column.input_layer({"x": tf.constant([1.0, 2.0])}, [Mine()])
        with tf.Session() as sess:
            print(sess.run(layer).tolist())
        """)
    assert (status, out.splitlines()) == (0, ["True", "True train class_ids", "True auc", "True True", "3 Adam", "[[2.0], [4.0]]"]), errors

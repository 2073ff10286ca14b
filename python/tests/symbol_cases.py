# SPDX-License-Identifier: Apache-2.0
"""One case and more for public symbols, whose values TensorFlow 1.15 has recorded beside its cases.

With the real one: python symbol_cases.py AREA > symbol_AREA.json for the cases in symbol_AREA.py; without an area those here and in
symbol_values.py, which are in symbols_recorded.json; python symbol_cases.py --eager > eager_symbols_recorded.json for what all of them
give where operations run at once.
A case is a function of `tf` that builds a graph and gives a list of tensors, arrays and plain values. Its name is the symbol's with
two underscores for dots, and after three underscores what it shows.
"""
import glob
import importlib
import json
import os
import sys

import numpy as np

CASES = {}
SHOWN = {}  # name of a case -> symbols that it shows beside its own, "train.Saver train.latest_checkpoint"


def case(function):
    CASES[function.__name__] = function
    return function


def shows(symbols):
    """A case under its function's name that also shows `symbols`."""
    def keep(function):
        SHOWN[function.__name__] = symbols
        return case(function)
    return keep


def numbers(*shape, start=0.0):
    """The same numbers in every run."""
    count = int(np.prod(shape, dtype=int))
    return (np.sin(np.arange(count) * 0.7 + start) * 0.8).astype(np.float32).reshape(shape)


def initializer(tf, start=0.3):
    """Weights of any shape that do not depend on random numbers."""
    return lambda shape, dtype=None, partition_info=None: tf.constant(numbers(*[int(d) for d in shape], start=start))


# ---- layers ----
def layer(name, make, shape, **arguments):
    def build(tf):
        x = tf.constant(numbers(*shape, start=1))
        with tf.variable_scope("outer", initializer=initializer(tf)):
            y = make(tf)(x, **{k: v(tf) if callable(v) else v for k, v in arguments.items()})
        return [y, *sorted(v.name for v in tf.global_variables()), *sorted(v.name for v in tf.trainable_variables()),
                *[t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)],
                *tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]
    build.__name__ = name
    return case(build)


IMAGES = [2, 5, 4, 3]
layer("layers__dense", lambda tf: tf.layers.dense, [3, 4], units=2, activation=lambda tf: tf.nn.relu)
layer("layers__dense___of_three_dimensions", lambda tf: tf.layers.dense, [3, 2, 4], units=2, use_bias=False)
layer("layers__dense___regularized", lambda tf: tf.layers.dense, [3, 4], units=2,
      kernel_regularizer=lambda tf: tf.contrib.layers.l2_regularizer(0.1))
layer("layers__conv1d", lambda tf: tf.layers.conv1d, [2, 6, 3], filters=2, kernel_size=3, strides=2)
layer("layers__conv2d", lambda tf: tf.layers.conv2d, IMAGES, filters=2, kernel_size=[3, 2], strides=(2, 1), padding="same")
layer("layers__conv2d___dilated", lambda tf: tf.layers.conv2d, IMAGES, filters=2, kernel_size=2, dilation_rate=2)
layer("layers__conv3d", lambda tf: tf.layers.conv3d, [1, 3, 4, 3, 2], filters=2, kernel_size=2)
layer("layers__conv2d_transpose", lambda tf: tf.layers.conv2d_transpose, IMAGES, filters=2, kernel_size=3, strides=2)
layer("layers__conv2d_transpose___same", lambda tf: tf.layers.conv2d_transpose, IMAGES, filters=2, kernel_size=3, strides=2,
      padding="same")
layer("layers__separable_conv2d", lambda tf: tf.layers.separable_conv2d, IMAGES, filters=4, kernel_size=2, depth_multiplier=2)
layer("layers__separable_conv1d", lambda tf: tf.layers.separable_conv1d, [2, 6, 3], filters=4, kernel_size=2)
layer("layers__max_pooling1d", lambda tf: tf.layers.max_pooling1d, [2, 6, 3], pool_size=2, strides=2)
layer("layers__max_pooling2d", lambda tf: tf.layers.max_pooling2d, IMAGES, pool_size=2, strides=2, padding="same")
layer("layers__average_pooling2d", lambda tf: tf.layers.average_pooling2d, IMAGES, pool_size=[2, 3], strides=1)
layer("layers__average_pooling3d", lambda tf: tf.layers.average_pooling3d, [1, 3, 4, 3, 2], pool_size=2, strides=1)
layer("layers__flatten", lambda tf: tf.layers.flatten, IMAGES)
layer("layers__dropout", lambda tf: tf.layers.dropout, [3, 4])
layer("layers__batch_normalization", lambda tf: tf.layers.batch_normalization, [3, 4])
layer("layers__batch_normalization___training", lambda tf: tf.layers.batch_normalization, IMAGES, training=True)
layer("contrib__layers__fully_connected", lambda tf: tf.contrib.layers.fully_connected, [3, 4], num_outputs=2,
      weights_initializer=initializer, biases_initializer=initializer)
layer("contrib__layers__fully_connected___normalized", lambda tf: tf.contrib.layers.fully_connected, [3, 4], num_outputs=2,
      weights_initializer=initializer, normalizer_fn=lambda tf: tf.contrib.layers.batch_norm, scope="mine")
layer("contrib__layers__conv2d", lambda tf: tf.contrib.layers.conv2d, IMAGES, num_outputs=2, kernel_size=3,
      weights_initializer=initializer, weights_regularizer=lambda tf: tf.contrib.layers.l1_regularizer(0.5))
layer("contrib__layers__conv2d_transpose", lambda tf: tf.contrib.layers.conv2d_transpose, IMAGES, num_outputs=2, kernel_size=2,
      stride=2, weights_initializer=initializer)
layer("contrib__layers__separable_conv2d", lambda tf: tf.contrib.layers.separable_conv2d, IMAGES, num_outputs=2, kernel_size=2,
      depth_multiplier=2, weights_initializer=initializer)
layer("contrib__layers__separable_conv2d___depthwise", lambda tf: tf.contrib.layers.separable_conv2d, IMAGES, num_outputs=None,
      kernel_size=2, depth_multiplier=2, weights_initializer=initializer)
layer("contrib__layers__max_pool2d", lambda tf: tf.contrib.layers.max_pool2d, IMAGES, kernel_size=2)
layer("contrib__layers__avg_pool2d", lambda tf: tf.contrib.layers.avg_pool2d, IMAGES, kernel_size=2, stride=1, padding="SAME")
layer("contrib__layers__flatten", lambda tf: tf.contrib.layers.flatten, IMAGES)
layer("contrib__layers__dropout", lambda tf: tf.contrib.layers.dropout, [3, 4], is_training=False)
layer("contrib__layers__batch_norm", lambda tf: tf.contrib.layers.batch_norm, [4, 3], updates_collections=None, scale=True)
layer("contrib__layers__layer_norm", lambda tf: tf.contrib.layers.layer_norm, IMAGES)
layer("contrib__layers__layer_norm___last_axis", lambda tf: tf.contrib.layers.layer_norm, IMAGES, begin_norm_axis=-1)
layer("contrib__layers__instance_norm", lambda tf: tf.contrib.layers.instance_norm, IMAGES)
layer("contrib__layers__group_norm", lambda tf: tf.contrib.layers.group_norm, [2, 4, 3, 6], groups=3)
layer("contrib__layers__unit_norm", lambda tf: tf.contrib.layers.unit_norm, [3, 4], dim=1)
layer("contrib__layers__maxout", lambda tf: tf.contrib.layers.maxout, [3, 6], num_units=2)
layer("contrib__layers__spatial_softmax", lambda tf: tf.contrib.layers.spatial_softmax, IMAGES)
layer("contrib__layers__bias_add", lambda tf: tf.contrib.layers.bias_add, [3, 4], initializer=initializer)
layer("contrib__layers__stack", lambda tf: tf.contrib.layers.stack, [3, 4], layer=lambda tf: tf.contrib.layers.fully_connected,
      stack_args=[3, 2], weights_initializer=initializer)
layer("contrib__layers__repeat", lambda tf: tf.contrib.layers.repeat, [3, 4], repetitions=2,
      layer=lambda tf: tf.contrib.layers.linear, num_outputs=3, weights_initializer=initializer)


def results(tf, build):
    """What a case gives, run in a session: plain values as they are, tensors as [shape, numbers]."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        found = build(tf)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            return [value if isinstance(value, (str, int)) else shown(session.run(value)) for value in found]


def results_at_once(tf, build):
    """What a case gives where operations run at once, or the class of the error that it ends with."""
    try:
        tf.set_random_seed(1)
        return [value if isinstance(value, (str, int)) else shown(value) for value in build(tf)]
    except Exception as error:
        return type(error).__name__


def shown(value):
    value = np.asarray(value)
    if value.dtype.kind in "SO":
        return [list(value.shape), [v.decode("latin-1") for v in value.ravel().tolist()]]
    if value.dtype.kind == "c":
        return [list(value.shape), [[v.real, v.imag] for v in value.ravel().tolist()]]
    return [list(value.shape), [round(v, 6) if isinstance(v, float) else v for v in value.ravel().tolist()]]


def fails(tf, build):
    """The class of what is raised when a graph is built or run."""
    try:
        if tf.executing_eagerly():
            build()
            return "fine"
        with tf.Session() as session:
            found = build()
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            if not (found is None or isinstance(found, (str, int, float))):
                session.run(found)
    except Exception as error:
        return type(error).__name__
    return "fine"


def area(name):
    """The cases of symbol_NAME.py alone."""
    module = importlib.import_module("symbol_" + name)
    before = dict(CASES)
    CASES.clear()
    importlib.reload(module)
    found = dict(CASES)
    CASES.clear()
    CASES.update(before)
    return found


def record(cases, tensorflow, give=results):
    """What TensorFlow gives, as JSON with a case a line."""
    recorded = {}
    for name in sorted(cases):
        try:
            recorded[name] = give(tensorflow, cases[name])
        except Exception as error:
            sys.stderr.write("%s: %r\n" % (name, error))
    return "{\n" + ",\n".join(json.dumps(k) + ": " + json.dumps(recorded[k], separators=(",", ":")) for k in sorted(recorded)) + "\n}"


def every_case():
    """The cases of all areas."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in sorted(glob.glob(os.path.join(here, "symbol_*.py"))):
        importlib.import_module(os.path.basename(path)[:-3])
    return CASES


if __name__ == "__main__":
    sys.modules["symbol_cases"] = sys.modules["__main__"]
    import tensorflow
    if sys.argv[1:] == ["--eager"]:
        tensorflow.enable_eager_execution()
        print(record(every_case(), tensorflow, results_at_once))
    elif len(sys.argv) > 1:
        print(record(area(sys.argv[1]), tensorflow))
    else:
        import symbol_values  # noqa: F401
        print(record(CASES, tensorflow))

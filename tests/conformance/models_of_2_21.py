# SPDX-License-Identifier: Apache-2.0
"""A tf.Module of TensorFlow 2.21 with many signatures, and what it answers: models_of_2_21.py DIRECTORY. Cases as models_of_1_15.py's;
`out.` alone, for one that fails, is the error's class."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

OUT = sys.argv[1]


def spec(name, dtype, *shape):
    return tf.TensorSpec(shape, dtype, name)


class Module(tf.Module):
    def __init__(self):
        self.w = tf.Variable(np.random.RandomState(0).randn(3, 3).astype(np.float32))
        self.calls = tf.Variable(0, trainable=False)
        self.static = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [10, 20]), -1)
        self.mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.)
        self.mutable.insert(tf.constant(["k"]), tf.constant([3.5]))

    @tf.function(input_signature=[spec("x", tf.float32, None, 3), spec("n", tf.int32)])
    def loop(self, x, n):
        i = 0
        while i < n:
            x = tf.tanh(x @ self.w)
            i += 1
            if tf.reduce_sum(x) > 1.:
                x = x * 0.5
            elif i > 10:
                break
        return {"y": x, "i": i}

    @tf.function(input_signature=[spec("s", tf.string, None)])
    def words(self, s):
        rows = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[])
        for j in tf.range(tf.shape(s)[0]):
            word = s[j]
            rows = rows.write(j, tf.switch_case(j % 3, [lambda word=word: self.static.lookup(word),
                                                        lambda word=word: tf.strings.length(word), lambda: tf.constant(7)]))
        return {"ids": rows.stack(), "weights": self.mutable.lookup(s), "upper": tf.strings.upper(s)}

    @tf.function(input_signature=[spec("d", tf.int32)])
    def count(self, d):
        return {"c": self.calls.assign_add(d)}

    @tf.function(input_signature=[spec("x", tf.float32, None, 4)])
    def mapped(self, x):
        return {"map": tf.map_fn(lambda r: tf.reduce_max(r) + tf.cast(tf.size(tf.where(r > 0)), tf.float32), x),
                "einsum": tf.einsum("ij,kj->ik", x, x), "scan": tf.scan(lambda a, r: a + r, x),
                "sorted": tf.vectorized_map(tf.sort, x)}

    @tf.function(input_signature=[spec("x", tf.float32, None, None)])
    def same(self, x):
        return {"x": x, "again": x}

    @tf.function(input_signature=[])
    def nothing(self):
        return {"w": self.w + 0.}

    @tf.function(input_signature=[spec("n", tf.int32)])
    def factorial(self, n):
        tf.debugging.assert_less(n, 10, message="too big")
        r = tf.constant(1)
        for k in tf.range(1, n + 1):
            r *= k
        return {"r": r}

    @tf.function(input_signature=[spec("h", tf.float16, None), spec("o", tf.bool, None), spec("u", tf.uint8, None),
                                  spec("c", tf.complex64, None)])
    def types(self, h, o, u, c):
        return {"h": h + 1, "o": ~o, "u": u * 3, "c": tf.math.conj(c)}


def record(signature, n, inputs):
    given = {k: tf.constant(v.tolist(), tf.string, v.shape) if v.dtype == object else tf.constant(v) for k, v in inputs.items()}
    try:
        found = {"out." + k: v.numpy() for k, v in loaded.signatures[signature](**given).items()}
    except tf.errors.OpError as error:
        found = {"out.": np.array(type(error).__name__)}
    np.savez(os.path.join(OUT, f"module,{signature},{n}.npz"), **{"in." + k: v for k, v in inputs.items()}, **found)


module = Module()
NAMES = ("loop", "words", "count", "mapped", "same", "nothing", "factorial", "types")
tf.saved_model.save(module, OUT + "/module", signatures={name: getattr(module, name).get_concrete_function() for name in NAMES})
loaded = tf.saved_model.load(OUT + "/module")
random = np.random.RandomState(3)
for number, turns in enumerate((0, 1, 20)):
    record("loop", number, {"x": random.randn(4, 3).astype(np.float32), "n": np.int32(turns)})
record("words", 0, {"s": np.array(["a", "xyz", "b", "b", "k", "\u00e9"], object)})
record("words", 1, {"s": np.array([], object)})
for number, step in enumerate((2, 5)):
    record("count", number, {"d": np.int32(step)})
record("mapped", 0, {"x": random.randn(5, 4).astype(np.float32)})
record("same", 0, {"x": random.randn(2, 2).astype(np.float32)})
record("nothing", 0, {})
for number, factor in enumerate((5, 12)):
    record("factorial", number, {"n": np.int32(factor)})
record("types", 0, {"h": np.array([1, 2], np.float16), "o": np.array([True, False]), "u": np.array([200, 3], np.uint8),
                    "c": np.array([1 + 2j], np.complex64)})

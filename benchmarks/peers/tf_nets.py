"""TensorFlow's side of nets.py, in graph mode; thalweg_.py runs the same file with our package in TensorFlow's place."""
import math

import common
import nets
import numpy as np
import tensorflow.compat.v1 as tf
from tf1 import a, report, session, sgd, stepper, training, xent


class Engine:
    add, relu, sigmoid, tanh, zeros, stack = tf.add, tf.nn.relu, tf.sigmoid, tf.tanh, tf.zeros, tf.stack
    gather, unstack = tf.nn.embedding_lookup, tf.unstack

    def dense(x, w, b):
        return tf.nn.bias_add(tf.matmul(x, w), b)

    def norm(x, gamma, beta):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.rsqrt(variance + 1e-5) * gamma + beta

    def gelu(x):
        return .5 * x * (1. + tf.math.erf(x / math.sqrt(2)))

    def gelu_tanh(x):
        return .5 * x * (1. + tf.tanh(math.sqrt(2 / math.pi) * (x + .044715 * x * x * x)))

    def add_places(x, places, batch):
        return tf.reshape(tf.reshape(x, [batch, *places.shape]) + places, [-1, places.shape[1]])

    def attention(qkv, b, t, heads):
        d = int(qkv.shape[1]) // 3
        q, k, v = tf.unstack(tf.transpose(tf.reshape(qkv, [b, t, 3, heads, d // heads]), [2, 0, 3, 1, 4]))
        p = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / math.sqrt(d // heads))
        return tf.reshape(tf.transpose(tf.matmul(p, v), [0, 2, 1, 3]), [b * t, d])

    def attend_cached(qkv, cache, position):
        """Row `position` of the cache is replaced; what lies behind it is not looked at."""
        heads, length, d = common.size.heads, nets.POSITIONS, common.size.head
        q, *rows = (tf.reshape(z, [heads, d]) for z in tf.split(qkv, 3, 1))
        where = tf.stack([tf.range(heads), tf.fill([heads], position[0])], 1)
        k, v = (tf.tensor_scatter_nd_update(c, where, row) for c, row in zip(cache, rows))
        score = tf.matmul(tf.expand_dims(q, 1), k, transpose_b=True) / math.sqrt(d)
        hidden = tf.cast(tf.range(length) > position, tf.float32) * -1e9
        return tf.reshape(tf.matmul(tf.nn.softmax(score + hidden), v), [1, nets.width()]), [k, v]

    def scores(x, table):
        return tf.matmul(x, table, transpose_b=True)

    def tokens(x):
        return tf.reshape(x, [-1, int(x.shape[-1])])

    def prepend(one, x):
        return tf.concat([one, x], 0)

    def first(x):
        return x[:1]

    def conv(x, w, b, stride=1, pad=1):
        y = tf.nn.conv2d(x, w, [1, stride, stride, 1], "SAME" if pad else "VALID")
        return y if b is None else tf.nn.bias_add(y, b)

    def batch_norm(x, gamma, beta, mean, variance):
        return tf.nn.fused_batch_norm(x, gamma, beta, mean, variance, epsilon=1e-5, is_training=False)[0]

    def pool(x):
        return tf.nn.max_pool2d(x, 2, 2, "VALID")

    def concat(x, y):
        return tf.concat([x, y], -1)

    def up(x, w, b):
        n, h, width, _ = x.shape.as_list()
        return tf.nn.bias_add(tf.nn.conv2d_transpose(x, w, [n, 2 * h, 2 * width, int(w.shape[2])], [1, 2, 2, 1]), b)

    def conv3d(x, w, b):
        return tf.nn.bias_add(tf.nn.conv3d(x, w, [1] * 5, "SAME"), b)

    def pool3d(x, size):
        return tf.nn.max_pool3d(x, [1, *size, 1], [1, *size, 1], "VALID")

    def flat(x):
        return tf.reshape(x, [-1, int(np.prod(x.shape[1:]))])

    def gru(x, w, b, v, c):
        """A loop; what does not wait for it, the products with x, is made before it."""
        batch, steps, k = x.shape.as_list()
        units = int(v.shape[0])
        y = tf.reshape(Engine.dense(tf.reshape(tf.transpose(x, [1, 0, 2]), [steps * batch, k]), w, b), [steps, batch, 3 * units])
        ys = tf.TensorArray(tf.float32, steps, element_shape=[batch, 3 * units]).unstack(y)

        def body(i, h, out):
            of_x, of_h = (tf.split(y, [2 * units, units], 1) for y in (ys.read(i), Engine.dense(h, v, c)))
            r, z = tf.split(tf.sigmoid(of_x[0] + of_h[0]), 2, 1)
            n = tf.tanh(of_x[1] + r * of_h[1])
            h = (1. - z) * n + z * h
            return i + 1, h, out.write(i, h)
        out = tf.while_loop(lambda i, *_: i < steps, body, [tf.constant(0), tf.zeros([batch, units]),
                                                           tf.TensorArray(tf.float32, steps, element_shape=[batch, units])])[2]
        return tf.transpose(tf.reshape(out.stack(), [steps, batch, units]), [1, 0, 2])

    def last(x):
        return x[:, -1]

    def split(x, n):
        return tf.split(x, n, 1)

    def join(values):
        return tf.concat(values, 1)

    def dense3(x, w, b=None):
        y = tf.matmul(Engine.rows(x), w)
        return tf.reshape(y if b is None else tf.nn.bias_add(y, b), [*x.shape[:2], w.shape[1]])

    def sum0(x):
        return tf.reduce_sum(x, 0)

    def softmax0(x):
        return tf.nn.softmax(x, 0)

    def rows(x):
        return tf.reshape(x, [-1, int(x.shape[-1])])

    def bag(table, ids):
        return tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1)


def placeholders(values):
    return [tf.placeholder(v.dtype, v.shape) for v in values]


def infer():
    """The weights are constants, as in a graph that is served."""
    values = nets.fed(a.workload)
    xs = placeholders(values)
    out = nets.INFERENCE[a.workload](Engine, nets.Weights(lambda kind, array: tf.constant(array)), *xs)
    step = stepper(session(), out, dict(zip(xs, values)))
    report(step, first=common.sample(step()))


def gpt2_decode():
    """A loop in the graph; a step is one call that gives 16 tokens."""
    arrays = []

    def note(kind, array):
        arrays.append(array)
        return tf.placeholder(tf.float32, array.shape)
    pairs = lambda flat: [list(flat[i:i + 2]) for i in range(0, len(flat), 2)]
    caches = [c for pair in nets.gpt2_caches() for c in pair]
    with tf.Graph().as_default():
        nets.gpt2_token(Engine, nets.Weights(note), *placeholders([np.zeros(1, "i")] * 2), pairs(placeholders(caches)))
    values = [tf.constant(array) for array in arrays]
    token = tf.placeholder(tf.int32, [1])

    def body(i, token, scores, made, *flat):
        scores, new = nets.gpt2_token(Engine, nets.Weights(values=values), token, tf.reshape(i + nets.PAST, [1]), pairs(flat))
        token = tf.argmax(scores, 1, output_type=tf.int32)
        return (i + 1, token, scores, made.write(i, token), *(c for pair in new for c in pair))
    found = tf.while_loop(lambda i, *_: i < nets.TOKENS, body, [
        tf.constant(0), token, tf.zeros([1, common.size.words]), tf.TensorArray(tf.int32, nets.TOKENS, element_shape=[1]),
        *map(tf.constant, caches)], back_prop=False)
    step = stepper(session(), [found[3].stack(), found[2]], {token: np.ones(1, "i")})
    report(step, nodes=nets.TOKENS, first=common.sample(*step()))


def train():
    values = nets.fed(a.workload)
    *xs, y = placeholders(values)

    def make(kind, array):
        return tf.get_variable("w%d" % len(tf.global_variables()), initializer=array)
    out = nets.TRAINING[a.workload](Engine, nets.Weights(make), *xs)
    if a.workload == "embedding_1M":
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=tf.squeeze(out, 1), labels=y))
        optimizer = tf.train.AdagradOptimizer(.1)
    else:
        loss, optimizer = xent(out, y), sgd()
    s, update = training(loss, optimizer)
    step = stepper(s, [update, loss], dict(zip([*xs, y], values)))
    report(step, first=common.sample([step()[1] for _ in range(3)]))


if __name__ == "__main__":
    (gpt2_decode if a.workload == "gpt2_decode" else infer if a.workload in nets.INFERENCE else train)()

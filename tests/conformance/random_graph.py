# SPDX-License-Identifier: Apache-2.0
"""Random graphs of the real TensorFlow: small, of known shapes, with values that stay tame.

    made = RandomGraph(seed=7, size=20)
    made.definition          # bytes of the GraphDef
    made.feeds               # {"in0:0": array ...}
    made.fetches             # every tensor that the graph makes, in order
"""
import numpy as np
import tensorflow.compat.v1 as tf

TAME = ("Tanh", "Sigmoid", "Sin", "Cos", "Softsign", "Erf", "Atan")
UNARY = TAME + ("Neg", "Abs", "Square", "Relu", "Relu6", "Elu", "Selu", "Softplus", "Log1p of abs", "Exp of tanh", "Rsqrt of 1 + square",
                "Softmax", "LogSoftmax", "Asinh", "Expm1 of tanh", "Sqrt of 1 + square")
BINARY = ("AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "RealDiv by 1 + square", "Atan2")
REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod of tanh", "EuclideanNorm", "LogSumExp")


class RandomGraph:
    """`kind`: the type of its floating-point tensors."""

    def __init__(self, seed, size, kind="float64"):
        self.random = np.random.RandomState(seed)
        self.kind = kind
        self.feeds, self.pool = {}, []
        with tf.Graph().as_default() as self.graph:
            tf.set_random_seed(seed)
            for i in range(self.random.randint(1, 4)):
                shape = self._shape()
                self.pool.append(tf.placeholder(kind, shape, name=f"in{i}"))
                self.feeds[f"in{i}:0"] = np.asarray(self.random.standard_normal(shape)).astype(kind)
            self.sources = list(self.pool)
            makers = [self._unary] * 5 + [self._binary] * 5 + [self._reduction] * 3 + [self._rearranged] * 5 + [
                self._joined] * 2 + [self._product] * 2 + [self._chosen, self._counted, self._conditional, self._loop, self._gathered]
            while len(self.pool) < size + len(self.sources):
                made = makers[self.random.randint(len(makers))]()
                if made is not None and made.shape.num_elements() <= 400:
                    self.pool.append(self._tamed(made))
            self.definition = self.graph.as_graph_def().SerializeToString()
            self.fetches = [t.name for t in self.pool[len(self.sources):]]

    def _pick(self, count):
        return self.random.randint(count)

    def _shape(self):
        return [int(d) for d in self.random.choice([1, 2, 3, 4, 5], self._pick(4))]

    def _any(self):
        return self.pool[self._pick(len(self.pool))]

    def _tamed(self, x):
        """Values that grow are bent back, so that one comparison is fair for all depths."""
        return tf.tanh(x) if self._pick(3) == 0 else x

    def _unary(self):
        x, name = self._any(), UNARY[self._pick(len(UNARY))]
        if name in ("Softmax", "LogSoftmax"):
            return getattr(tf.raw_ops, name)(logits=x) if x.shape.rank else None
        op, _, inner = name.partition(" of ")
        x = {"": lambda: x, "abs": lambda: tf.abs(x), "tanh": lambda: tf.tanh(x), "1 + square": lambda: 1 + tf.square(x)}[inner]()
        return getattr(tf.raw_ops, op)(**{"features" if op in ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign") else "x": x})

    def _binary(self):
        x, name = tf.tanh(self._any()), BINARY[self._pick(len(BINARY))]
        fitting = [t for t in self.pool if self._broadcast(x.shape, t.shape)]
        y = fitting[self._pick(len(fitting))] if fitting else x
        op, _, by = name.partition(" by ")
        return getattr(tf.raw_ops, op)(x=x, y=1 + tf.square(y) if by else y)

    @staticmethod
    def _broadcast(a, b):
        try:
            np.broadcast(np.empty(a.as_list()), np.empty(b.as_list()))
            return True
        except ValueError:
            return False

    def _reduction(self):
        x, name = self._any(), REDUCTIONS[self._pick(len(REDUCTIONS))]
        axes = [int(a) for a in np.flatnonzero(self.random.rand(x.shape.rank) < 0.5)]
        keep = bool(self._pick(2))
        if name == "LogSumExp":
            return tf.reduce_logsumexp(x, axes, keepdims=keep)
        op, _, inner = name.partition(" of ")
        return getattr(tf.raw_ops, op)(input=tf.tanh(x) if inner else x, axis=axes, keep_dims=keep)

    def _rearranged(self):
        x = self._any()
        shape, rank = x.shape.as_list(), x.shape.rank
        if rank == 0:
            return tf.fill([2, 2], x) if self._pick(2) else tf.expand_dims(x, 0)
        way = self._pick(9)
        if way == 0:
            return tf.transpose(x, self.random.permutation(rank))
        if way == 1:
            return tf.reshape(x, [-1] if self._pick(2) else [shape[0], -1])
        if way == 2:
            return tf.tile(x, self.random.randint(1, 3, rank))
        if way == 3:
            return tf.pad(x, self.random.randint(0, 2, [rank, 2]))
        if way == 4:
            return tf.reverse(x, [int(self._pick(rank))])
        if way == 5:
            begin = [int(self._pick(d)) for d in shape]
            return tf.slice(x, begin, [int(self.random.randint(1, d - b + 1)) for b, d in zip(begin, shape)])
        if way == 6:
            return x[::int(self.random.choice([1, 2, -1, -2]))]
        if way == 7:
            return tf.roll(x, int(self._pick(5)) - 2, int(self._pick(rank)))
        return tf.cumsum(x, int(self._pick(rank)), exclusive=bool(self._pick(2)), reverse=bool(self._pick(2)))

    def _joined(self):
        x = self._any()
        same = [t for t in self.pool if t.shape == x.shape]
        parts = [x, same[self._pick(len(same))]]
        return tf.concat(parts, int(self._pick(x.shape.rank))) if x.shape.rank and self._pick(2) else tf.stack(parts)

    def _product(self):
        x = self._any()
        if x.shape.rank < 2:
            return None
        fitting = [t for t in self.pool if t.shape.rank == x.shape.rank and t.shape[:-2] == x.shape[:-2] and
                   t.shape[-2] == x.shape[-1]]
        if fitting and self._pick(2):
            return tf.matmul(x, fitting[self._pick(len(fitting))])
        return tf.matmul(x, x, transpose_a=True) if self._pick(2) else tf.matmul(x, x, transpose_b=True)

    def _chosen(self):
        x = self._any()
        same = [t for t in self.pool if t.shape == x.shape]
        return tf.where(tf.greater(x, 0.123), x, same[self._pick(len(same))])

    def _counted(self):
        x = self._any()
        if not x.shape.rank:
            return None
        return tf.cast(tf.reduce_sum(tf.cast(tf.logical_not(x < 0.321), tf.int32), 0) % 3, self.kind)

    def _gathered(self):
        x = self._any()
        if not x.shape.rank:
            return None
        return tf.gather(x, self.random.randint(0, x.shape[0].value, 3), axis=0)

    def _conditional(self):
        x, above = self._any(), bool(self._pick(2))
        test = tf.reduce_sum(x) > 0.0517
        return tf.cond(test if above else tf.logical_not(test), lambda: tf.tanh(x) * 2, lambda: x - 1)

    def _loop(self):
        x, trips = self._any(), int(self._pick(4))
        return tf.while_loop(lambda i, v: i < trips, lambda i, v: (i + 1, tf.tanh(v) * 0.7 + x), [0, x])[1]

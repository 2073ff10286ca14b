# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks whose variables and values TensorFlow 1.15 has recorded in rnn_recorded.json.

With the real one: python rnn_cases.py > rnn_recorded.json
"""
import json
import sys

import numpy as np

BATCH, TIME, DEPTH, UNITS = 2, 5, 3, 4


def numbers(shape, start):
    """The same numbers in every run: for inputs and for variables."""
    count = int(np.prod(shape, dtype=int))
    return (np.sin(np.arange(count) * 0.7 + start) * 0.8).astype(np.float32).reshape(shape)


def dynamic(make, **arguments):
    def build(tf):
        x = tf.constant(numbers([BATCH, TIME, DEPTH], 1))
        more = {k: v(tf) if callable(v) else v for k, v in arguments.items()}
        return tf.nn.dynamic_rnn(make(tf), x, dtype=tf.float32, **more)
    return build


def static(make, **arguments):
    def build(tf):
        x = tf.unstack(tf.constant(numbers([BATCH, TIME, DEPTH], 1)), axis=1)
        more = {k: v(tf) if callable(v) else v for k, v in arguments.items()}
        return tf.nn.static_rnn(make(tf), x, dtype=tf.float32, **more)
    return build


def cells(tf):
    return tf.nn.rnn_cell


def gru(tf, units=UNITS, **arguments):
    return cells(tf).GRUCell(units, **arguments)


def full_lstm(tf):
    return cells(tf).LSTMCell(UNITS, use_peepholes=True, num_proj=3, cell_clip=0.4, proj_clip=0.3, forget_bias=0.5)


def lengths(tf):
    return tf.constant([3, 5])


def deep(tf):
    c = cells(tf)
    return c.MultiRNNCell([c.BasicLSTMCell(UNITS), c.ResidualWrapper(c.BasicLSTMCell(UNITS))])


def bidirectional(tf):
    x = tf.constant(numbers([BATCH, TIME, DEPTH], 1))
    return tf.nn.bidirectional_dynamic_rnn(gru(tf), gru(tf), x, sequence_length=lengths(tf), dtype=tf.float32)


def static_bidirectional(tf):
    x = tf.unstack(tf.constant(numbers([BATCH, TIME, DEPTH], 1)), axis=1)
    return tf.nn.static_bidirectional_rnn(gru(tf), gru(tf), x, sequence_length=lengths(tf), dtype=tf.float32)


def raw(tf):
    x = tf.transpose(tf.constant(numbers([BATCH, TIME, DEPTH], 1)), [1, 0, 2])
    source = tf.TensorArray(tf.float32, TIME, clear_after_read=False).unstack(x)
    cell, ends = cells(tf).BasicLSTMCell(UNITS), tf.constant([3, 5])

    def loop_fn(time, output, state, loop_state):
        if output is None:
            state, loop_state = cell.zero_state(BATCH, tf.float32), tf.constant(0.0)
        else:
            loop_state = loop_state + tf.reduce_sum(output)
        finished = time >= ends
        row = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([BATCH, DEPTH]), lambda: source.read(time))
        return finished, row, state, output, loop_state
    outputs, state, loop_state = tf.nn.raw_rnn(cell, loop_fn)
    return outputs.stack(), state, loop_state


class Saver:
    """What static_state_saving_rnn takes."""

    def __init__(self, tf):
        self.saved, self.first, self.identity = {}, tf.constant(numbers([BATCH, UNITS], 2)), tf.identity

    def state(self, name):
        return self.first

    def save_state(self, name, state):
        self.saved[name] = self.identity(state)
        return self.saved[name]


def state_saving(tf):
    saver = Saver(tf)
    x = tf.unstack(tf.constant(numbers([BATCH, TIME, DEPTH], 1)), axis=1)
    outputs, state = tf.nn.static_state_saving_rnn(gru(tf), x, saver, "h")
    return outputs, state, saver.saved["h"]


def nested_state(tf):
    """States given from outside, two layers, one step at a time, with the variables shared."""
    cell, x = deep(tf), tf.constant(numbers([BATCH, DEPTH], 1))
    state = cell.zero_state(BATCH, tf.float32)
    for _ in range(2):
        output, state = cell(x, state)
    return output, state


def own_cell(tf):
    class Own(cells(tf).RNNCell):
        state_size = output_size = 4

        def __call__(self, inputs, state, scope=None):
            with tf.variable_scope(scope or "own"):
                w = tf.get_variable("w", [3, 4])
                return tf.tanh(tf.matmul(inputs, w)) + state, state * 0.5

    class OwnCall(cells(tf).RNNCell):
        state_size = output_size = 4

        def call(self, inputs, state):
            w = tf.get_variable("w", [3, 4])
            return tf.tanh(tf.matmul(inputs, w)) + state, state * 0.5
    x = tf.constant(numbers([BATCH, TIME, DEPTH], 1))
    first = tf.constant(numbers([BATCH, UNITS], 2))
    return (tf.nn.dynamic_rnn(Own(), x, initial_state=first), tf.nn.static_rnn(OwnCall(), tf.unstack(x, axis=1), first))


def shared(tf):
    x = tf.constant(numbers([BATCH, TIME, DEPTH], 1))
    with tf.variable_scope("m", reuse=tf.AUTO_REUSE):
        return [tf.nn.dynamic_rnn(gru(tf), x, dtype=tf.float32) for _ in range(2)]


def by_hand(tf):
    x, h = tf.constant(numbers([BATCH, DEPTH], 1)), tf.zeros([BATCH, UNITS])
    a, b = gru(tf), gru(tf)
    with tf.variable_scope("sc"):
        c = gru(tf)
        y = c(x, h)
    return [a(x, h), b(x, h), y, c(x, h), gru(tf, name="mine")(x, h), gru(tf)(x, h, scope="given")]


def dropped(tf):
    cell = cells(tf).DropoutWrapper(gru(tf), 0.6, 0.7, 0.8, seed=42)
    return cell(tf.constant(numbers([BATCH, DEPTH], 1)), tf.constant(numbers([BATCH, UNITS], 2)))


def dropped_alike(tf):
    cell = cells(tf).DropoutWrapper(cells(tf).BasicLSTMCell(UNITS), 0.6, 0.7, 0.8, variational_recurrent=True,
                                    input_size=DEPTH, dtype=tf.float32, seed=42)
    return tf.nn.dynamic_rnn(cell, tf.constant(numbers([BATCH, TIME, DEPTH], 1)), dtype=tf.float32)


def more(tf):
    return tf.contrib.rnn


def fused(tf):
    cell = more(tf).LSTMBlockFusedCell(UNITS, use_peephole=True, cell_clip=0.5)
    return cell(tf.constant(numbers([TIME, BATCH, DEPTH], 1)), dtype=tf.float32, sequence_length=[3, 5])


def stacked_bidirectional(tf):
    x = tf.constant(numbers([BATCH, TIME, DEPTH], 1))
    return more(tf).stack_bidirectional_dynamic_rnn([gru(tf), gru(tf)], [gru(tf), gru(tf)], x, dtype=tf.float32,
                                                    sequence_length=lengths(tf))


CASES = {
    "basic": dynamic(lambda tf: cells(tf).BasicRNNCell(UNITS)),
    "basic_relu": dynamic(lambda tf: cells(tf).BasicRNNCell(UNITS, activation=tf.nn.relu)),
    "basic_lstm": dynamic(lambda tf: cells(tf).BasicLSTMCell(UNITS)),
    "basic_lstm_flat": dynamic(lambda tf: cells(tf).BasicLSTMCell(UNITS, state_is_tuple=False)),
    "bidirectional": bidirectional,
    "by_hand": by_hand,
    "deep": dynamic(deep, sequence_length=lengths),
    "deep_static": static(deep),
    "device": dynamic(lambda tf: cells(tf).DeviceWrapper(gru(tf), "/cpu:0")),
    "dropped": dropped,
    "dropped_alike": dropped_alike,
    "fused": fused,
    "gru": dynamic(gru),
    "gru_block": dynamic(lambda tf: more(tf).GRUBlockCell(UNITS)),
    "gru_block_2": dynamic(lambda tf: more(tf).GRUBlockCellV2(cell_size=UNITS)),
    "gru_lengths": dynamic(gru, sequence_length=lengths),
    "gru_static": static(gru, sequence_length=lengths),
    "gru_time_major": lambda tf: tf.nn.dynamic_rnn(gru(tf), tf.constant(numbers([TIME, BATCH, DEPTH], 1)), dtype=tf.float32,
                                                   time_major=True, sequence_length=tf.constant([3, 4])),
    "lstm": dynamic(full_lstm, sequence_length=lengths),
    "layer_norm": dynamic(lambda tf: more(tf).LayerNormBasicLSTMCell(UNITS)),
    "layer_norm_none": dynamic(lambda tf: more(tf).LayerNormBasicLSTMCell(UNITS, layer_norm=False, forget_bias=0.3)),
    "lstm_block": dynamic(lambda tf: more(tf).LSTMBlockCell(UNITS, use_peephole=True, cell_clip=0.3)),
    "lstm_block_plain": dynamic(lambda tf: more(tf).LSTMBlockCell(UNITS)),
    "lstm_flat": dynamic(lambda tf: cells(tf).LSTMCell(UNITS, num_proj=3, state_is_tuple=False)),
    "lstm_static": static(full_lstm, sequence_length=lengths),
    "nas": dynamic(lambda tf: more(tf).NASCell(UNITS, num_proj=3, use_bias=True)),
    "nas_plain": dynamic(lambda tf: more(tf).NASCell(UNITS)),
    "nested_state": nested_state,
    "own_cell": own_cell,
    "raw": raw,
    "residual": dynamic(lambda tf: cells(tf).ResidualWrapper(gru(tf, 3))),
    "shared": shared,
    "stacked_bidirectional": stacked_bidirectional,
    "state_saving": state_saving,
    "static_bidirectional": static_bidirectional,
}


def flat(tree):
    """Leaves of nested lists and tuples."""
    return [leaf for part in tree for leaf in flat(part)] if isinstance(tree, (list, tuple)) else [tree]


def results(tf, build):
    """The variables (name and shape), and the values with numbers() in them."""
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        tensors = flat(build(tf))
        variables = tf.global_variables()
        with tf.Session() as session:
            for i, v in enumerate(variables):
                session.run(v.assign(numbers(v.shape.as_list(), i + 3)))
            values = session.run(tensors)
        return [[v.op.name, v.shape.as_list()] for v in variables], values


def record():
    import tensorflow as tf
    found = {}
    for name, build in sorted(CASES.items()):
        variables, values = results(tf, build)
        found[name] = {"variables": variables, "values": [[list(v.shape), [float(f"{x:.6g}") for x in v.ravel()]]
                                                          for v in map(np.asarray, values)]}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    sys.stdout.write("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    record()

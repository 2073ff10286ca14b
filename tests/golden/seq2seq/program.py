# SPDX-License-Identifier: Apache-2.0
"""Attention, decoders, beam search and losses with weights that are known; the same in TensorFlow 1.15 and here.

    python3.7 program.py recorded.npz      with TensorFlow 1.15: records
"""
import sys

import numpy as np

BATCH, STEPS, DEPTH, UNITS, SYMBOLS = 3, 5, 4, 6, 7
KINDS = ("luong", "bahdanau", "plain", "luong_parallel", "luong_recursive", "bahdanau_hard")


class Program(object):
    """`values()` gives every result by name, and the names of all variables."""

    def __init__(self, tf):
        self.tf, self.lib = tf, tf.contrib.seq2seq
        self.random = np.random.RandomState(0)
        self.memory = tf.constant(self.floats(BATCH, STEPS, DEPTH))
        self.lengths = tf.constant([5, 3, 4])
        self.embedding = tf.constant(self.floats(SYMBOLS, DEPTH))
        self.inputs, self.input_lengths = tf.constant(self.floats(BATCH, 4, DEPTH)), tf.constant([4, 2, 3])
        self.results = {}
        for kind in KINDS:
            with tf.variable_scope(kind):
                self.attention(kind)
        self.greedy()
        self.beams()
        self.losses()

    def floats(self, *shape):
        return self.random.randn(*shape).astype(np.float32)

    def mechanism(self, kind):
        lib, memory, lengths = self.lib, self.memory, self.lengths
        return {"luong": lambda: lib.LuongAttention(UNITS, memory, lengths, scale=True),
                "bahdanau": lambda: lib.BahdanauAttention(UNITS, memory, lengths, normalize=True),
                "plain": lambda: lib.BahdanauAttention(UNITS, memory),
                "luong_parallel": lambda: lib.LuongMonotonicAttention(UNITS, memory, lengths, mode="parallel"),
                "luong_recursive": lambda: lib.LuongMonotonicAttention(UNITS, memory, lengths, mode="recursive"),
                "bahdanau_hard": lambda: lib.BahdanauMonotonicAttention(UNITS, memory, lengths, mode="hard")}[kind]()

    def attention(self, kind):
        tf, plain = self.tf, kind == "plain"
        cell = tf.nn.rnn_cell.GRUCell(UNITS) if kind == "luong" else tf.nn.rnn_cell.LSTMCell(UNITS)
        cell = self.lib.AttentionWrapper(cell, self.mechanism(kind), attention_layer_size=None if plain else 5,
                                         alignment_history=plain)
        layer = None if plain else tf.layers.Dense(SYMBOLS, use_bias=False, name="projection")
        decoder = self.lib.BasicDecoder(cell, self.lib.TrainingHelper(self.inputs, self.input_lengths),
                                        cell.zero_state(BATCH, tf.float32), output_layer=layer)
        outputs, state, lengths = self.lib.dynamic_decode(decoder, impute_finished=kind == "bahdanau")
        found = dict(rnn=outputs.rnn_output, id=outputs.sample_id, lengths=lengths, attention=state.attention,
                     alignments=state.alignments)
        if plain:
            found["history"] = state.alignment_history.stack()
        kernel = [v for v in tf.trainable_variables(kind) if "memory_layer/kernel" in v.name][0]
        found["gradient"] = tf.gradients(tf.reduce_sum(tf.square(outputs.rnn_output)), kernel)[0]
        self.results.update({kind + "/" + name: value for name, value in found.items() if value is not None})

    def greedy(self):
        tf = self.tf
        with tf.variable_scope("greedy"):
            cell, layer = tf.nn.rnn_cell.GRUCell(UNITS), tf.layers.Dense(SYMBOLS, name="projection")
            helper = self.lib.GreedyEmbeddingHelper(self.embedding, tf.fill([BATCH], 1), 2)
            decoder = self.lib.BasicDecoder(cell, helper, tf.constant(self.floats(BATCH, UNITS)), output_layer=layer)
            outputs, _, lengths = self.lib.dynamic_decode(decoder, maximum_iterations=6)
        self.results.update({"greedy/id": outputs.sample_id, "greedy/lengths": lengths})

    def beams(self):
        tf = self.tf
        with tf.variable_scope("beam"):
            mechanism = self.lib.LuongAttention(UNITS, self.lib.tile_batch(self.memory, 3), self.lib.tile_batch(self.lengths, 3))
            cell = self.lib.AttentionWrapper(tf.nn.rnn_cell.GRUCell(UNITS), mechanism, attention_layer_size=5)
            layer = tf.layers.Dense(SYMBOLS, name="projection")
            for weight in (0.0, 0.7):
                decoder = self.lib.BeamSearchDecoder(cell, self.embedding, tf.fill([BATCH], 1), 2,
                                                     cell.zero_state(BATCH * 3, tf.float32), 3, output_layer=layer,
                                                     length_penalty_weight=weight)
                outputs, state, lengths = self.lib.dynamic_decode(decoder, maximum_iterations=7)
                found = dict(ids=outputs.predicted_ids, scores=outputs.beam_search_decoder_output.scores, lengths=lengths,
                             log_probs=state.log_probs)
                self.results.update({"beam/%g/%s" % (weight, name): value for name, value in found.items()})

    def losses(self):
        tf, lib = self.tf, self.lib
        logits = tf.constant(self.floats(BATCH, STEPS, SYMBOLS))
        targets = tf.constant(self.random.randint(0, SYMBOLS, (BATCH, STEPS)).astype(np.int32))
        weights = tf.sequence_mask(self.lengths, STEPS, tf.float32)
        for name, flags in (("both", (True, True)), ("steps", (True, False)), ("batch", (False, True)), ("none", (False, False)),
                            ("sums", (False, False, True, True))):
            self.results["loss/" + name] = lib.sequence_loss(logits, targets, weights, *flags)
        self.results["tree"] = lib.gather_tree([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 2]]],
                                               [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], [3], 2)
        self.results["hardmax"] = lib.hardmax(logits)

    def values(self):
        variables = sorted(self.tf.global_variables(), key=lambda v: v.name)
        with self.tf.Session() as session:
            session.run(self.tf.global_variables_initializer())
            for i, variable in enumerate(variables):
                shape = variable.shape.as_list()
                count = int(np.prod(shape)) if shape else 1
                variable.load((0.5 * np.sin(np.arange(count) + i)).reshape(shape).astype(np.float32), session)
            found = {name: np.asarray(session.run(value)) for name, value in self.results.items()}
        found["variables"] = np.array([v.name for v in variables])
        return found


if __name__ == "__main__":
    import tensorflow
    np.savez_compressed(sys.argv[1], **Program(tensorflow).values())

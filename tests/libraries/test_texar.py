# SPDX-License-Identifier: Apache-2.0
"""texar 0.2.4: sentences of a file are encoded and decoded again, read by a transformer, and one is decoded word by word."""
import pytest

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore")
    import numpy as np
    import tensorflow as tf
    import texar.tf as tx
    tf.set_random_seed(1)
    with open("words.txt", "w") as f:
        f.write("\\n".join("all work and no play makes jack a dull boy".split()))
    with open("text.txt", "w") as f:
        f.write("\\n".join(["all work and no play", "makes jack a dull boy", "no play no work", "a dull boy makes all work"] * 4))
    dataset = {"files": "text.txt", "vocab_file": "words.txt"}
    data = tx.data.MonoTextData({"num_epochs": 1, "batch_size": 4, "shuffle": False, "dataset": dataset})
    iterator = tx.data.DataIterator(data)
    batch = iterator.get_next()
    ids, lengths = batch["text_ids"], batch["length"]
    embedder = tx.modules.WordEmbedder(vocab_size=data.vocab.size, hparams={"dim": 8})
    cell = {"type": "LSTMCell", "kwargs": {"num_units": 8}}
    encoder = tx.modules.UnidirectionalRNNEncoder(hparams={"rnn_cell": cell})
    _, state = encoder(embedder(ids), sequence_length=lengths)
    decoder = tx.modules.BasicRNNDecoder(vocab_size=data.vocab.size, hparams={"rnn_cell": cell})
    outputs, _, _ = decoder(initial_state=state, decoding_strategy="train_greedy", inputs=ids, embedding=embedder,
                            sequence_length=lengths - 1)
    loss = tx.losses.sequence_sparse_softmax_cross_entropy(labels=ids[:, 1:], logits=outputs.logits,
                                                           sequence_length=lengths - 1)
    step = tx.core.get_train_op(loss, hparams={
        "optimizer": {"type": "GradientDescentOptimizer", "kwargs": {"learning_rate": 0.2}},
        "gradient_clip": {"type": "clip_by_global_norm", "kwargs": {"clip_norm": 5.}}})
    transformer = tx.modules.TransformerEncoder(hparams={
        "dim": 8, "num_blocks": 1, "multihead_attention": {"num_heads": 2, "num_units": 8, "output_dim": 8},
        "poswise_feedforward": tx.modules.default_transformer_poswise_net_hparams(8), "embedding_dropout": 0.,
        "residual_dropout": 0.})
    encoded = transformer(inputs=embedder(ids), sequence_length=lengths)
    greedy, _, _ = decoder(decoding_strategy="infer_greedy", embedding=embedder, start_tokens=tf.fill([2], int(data.vocab.bos_token_id)),
                           end_token=int(data.vocab.eos_token_id), max_decoding_length=6, initial_state=decoder.zero_state(2, tf.float32))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        draw = np.random.RandomState(0)
        for v in tf.trainable_variables():
            v.load(draw.uniform(-0.3, 0.3, v.shape.as_list()), session)
        losses = []
        for epoch in range(4):
            iterator.switch_to_dataset(session)
            while True:
                try:
                    losses.append(session.run([loss, step])[0])
                except tf.errors.OutOfRangeError:
                    break
        iterator.switch_to_dataset(session)
        print(*losses[::3], np.abs(session.run(encoded)).sum(), *session.run(greedy.sample_id).ravel())
"""
RECORDED = [15.477489, 14.92613, 14.578282, 14.326105, 14.102413, 13.8672, 55.308304, 2, 2]  # what TensorFlow 1.15 gives


def test_a_decoder_trains_as_in_tensorflow(last_numbers):
    assert last_numbers(PROGRAM) == pytest.approx(RECORDED, rel=1e-4)

# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.seq2seq against what TensorFlow 1.15 gave for the same weights (tests/golden/seq2seq)."""
import os
import sys

import numpy as np
import pytest

import thalweg as tf

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "seq2seq")
RECORDED = np.load(os.path.join(FOLDER, "recorded.npz"))


@pytest.fixture(scope="module")
def values():
    sys.path.insert(0, FOLDER)
    from program import Program
    with tf.Graph().as_default():
        return Program(tf).values()


def test_every_result_is_recorded(values):
    assert sorted(values) == sorted(RECORDED.files)


@pytest.mark.parametrize("name", sorted(RECORDED.files))
def test_is_what_tensorflow_gave(values, name):
    expected, got = RECORDED[name], values[name]
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_array_equal(got, expected)


def test_arguments_are_checked():
    memory = tf.zeros([2, 3, 4])
    with pytest.raises(ValueError, match="Incompatible or unknown inner dimensions"):
        tf.contrib.seq2seq.LuongAttention(5, memory)(tf.zeros([2, 6]), None)
    with pytest.raises(ValueError, match="mode must be"):
        tf.contrib.seq2seq.monotonic_attention(tf.zeros([2, 3]), tf.zeros([2, 3]), "sideways")
    with pytest.raises(TypeError, match="attention_mechanism must be"):
        tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), memory)
    with pytest.raises(TypeError, match="Expected decoder to be type Decoder"):
        tf.contrib.seq2seq.dynamic_decode(memory)
    with pytest.raises(ValueError, match="cannot be set to True at same time"):
        tf.contrib.seq2seq.sequence_loss(memory, memory[:, :, 0], memory[:, :, 0], True, True, True)
    with pytest.raises(tf.errors.UnimplementedError, match="coverage_penalty_weight"):
        tf.contrib.seq2seq.BeamSearchDecoder(tf.nn.rnn_cell.GRUCell(4), tf.zeros([5, 4]), [1], 2, tf.zeros([2, 4]), 2,
                                             coverage_penalty_weight=0.5)

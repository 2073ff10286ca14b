# SPDX-License-Identifier: Apache-2.0
"""Connectionist temporal classification: tw.nn.ctc_*."""
from thalweg import array_ops
from thalweg.ops import apply, convert_to_tensor
from thalweg.sparse import SparseTensor


def ctc_loss(labels, inputs=None, sequence_length=None, preprocess_collapse_repeated=False, ctc_merge_repeated=True,
             ignore_longer_outputs_than_inputs=False, time_major=True, logits=None):
    """-log of the probability of the labels of each sequence, a SparseTensor; the last class is the blank."""
    if not hasattr(labels, "dense_shape"):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    labels = SparseTensor.from_value(labels)
    inputs = convert_to_tensor(logits if inputs is None else inputs)
    if not time_major:
        inputs = array_ops.transpose(inputs, [1, 0, 2])
    loss, _ = apply("CTCLoss", [inputs, labels.indices, labels.values, sequence_length],
                    {"preprocess_collapse_repeated": preprocess_collapse_repeated, "ctc_merge_repeated": ctc_merge_repeated,
                     "ignore_longer_outputs_than_inputs": ignore_longer_outputs_than_inputs})
    return loss


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True):
    """The labels of the most probable path of each sequence, and the sum of its logits, negative."""
    made = apply("CTCGreedyDecoder", [inputs, sequence_length], {"merge_repeated": merge_repeated})
    return [SparseTensor(*made[:3])], made[3]


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    """The best label sequences that a beam finds, and the logarithms of their probabilities."""
    indices, values, shapes, log_probabilities = apply(
        "CTCBeamSearchDecoder", [inputs, sequence_length],
        {"beam_width": beam_width, "top_paths": top_paths, "merge_repeated": merge_repeated})
    return [SparseTensor(*part) for part in zip(indices, values, shapes)], log_probabilities


def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width=100, top_paths=1):
    """ctc_beam_search_decoder that keeps repeated labels."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)

# SPDX-License-Identifier: Apache-2.0
"""Sequence to sequence: decoders steered by helpers, attention, beam search, losses (tf.contrib.seq2seq of TensorFlow 1.15)."""
from thalweg.base import names
from thalweg.contrib.seq2seq.attention import (AttentionMechanism, AttentionWrapper, AttentionWrapperState, BahdanauAttention,
                                               LuongAttention, hardmax)
from thalweg.contrib.seq2seq.beam_search import (BeamSearchDecoder, BeamSearchDecoderOutput, BeamSearchDecoderState,
                                                 FinalBeamSearchDecoderOutput, gather_tree, tile_batch)
from thalweg.contrib.seq2seq.decoder import BasicDecoder, BasicDecoderOutput, Decoder, dynamic_decode
from thalweg.contrib.seq2seq.helper import (CustomHelper, GreedyEmbeddingHelper, Helper, InferenceHelper, SampleEmbeddingHelper,
                                            ScheduledEmbeddingTrainingHelper, ScheduledOutputTrainingHelper, TrainingHelper)
from thalweg.contrib.seq2seq.loss import sequence_loss
from thalweg.contrib.seq2seq.monotonic import (BahdanauMonotonicAttention, LuongMonotonicAttention, monotonic_attention,
                                               safe_cumprod)


names.complete(globals())

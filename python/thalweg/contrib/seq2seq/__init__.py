# SPDX-License-Identifier: Apache-2.0
"""Sequence to sequence: decoders steered by helpers, attention, beam search, losses (tf.contrib.seq2seq of TensorFlow 1.15)."""
from thalweg.base import names
from thalweg.contrib.seq2seq.attention import (  # noqa: F401
    AttentionMechanism,
    AttentionWrapper,
    AttentionWrapperState,
    BahdanauAttention,
    LuongAttention,
    hardmax,
)
from thalweg.contrib.seq2seq.beam_search import (  # noqa: F401
    BeamSearchDecoder,
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput,
    gather_tree,
    tile_batch,
)
from thalweg.contrib.seq2seq.decoder import BasicDecoder, BasicDecoderOutput, Decoder, dynamic_decode  # noqa: F401
from thalweg.contrib.seq2seq.helper import (  # noqa: F401
    CustomHelper,
    GreedyEmbeddingHelper,
    Helper,
    InferenceHelper,
    SampleEmbeddingHelper,
    ScheduledEmbeddingTrainingHelper,
    ScheduledOutputTrainingHelper,
    TrainingHelper,
)
from thalweg.contrib.seq2seq.loss import sequence_loss  # noqa: F401
from thalweg.contrib.seq2seq.monotonic import BahdanauMonotonicAttention, LuongMonotonicAttention, monotonic_attention, safe_cumprod  # noqa: F401

names.complete(globals())

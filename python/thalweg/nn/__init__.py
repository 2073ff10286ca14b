# SPDX-License-Identifier: Apache-2.0
"""Neural networks: tw.nn."""
import importlib

from thalweg.base import names


def __getattr__(name):
    if name == "rnn_cell":
        return importlib.import_module("thalweg.nn.rnn_cell")
    raise AttributeError(f"module 'thalweg.nn' has no attribute '{name}'")


names.complete(globals(), {
    "nn.activations": "bias_add crelu dropout elu leaky_relu log_softmax relu relu6 relu_layer selu sigmoid softmax softplus softsign swish "
                      "tanh xw_plus_b",
    "nn.any_rank": "avg_pool_v2 convolution pool with_space_to_batch",
    "nn.ctc_ops": "collapse_repeated ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder ctc_loss ctc_loss_v2 "
                  "ctc_unique_labels",
    "nn.embeddings": "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse",
    "nn.loss_functions": "compute_average_loss l2_loss log_poisson_loss scale_regularization_loss sigmoid_cross_entropy_with_logits "
                         "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 "
                         "sparse_softmax_cross_entropy_with_logits weighted_cross_entropy_with_logits",
    "nn.rnn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn static_state_saving_rnn",
    "nn.sampled_losses": "all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler "
                         "learned_unigram_candidate_sampler log_uniform_candidate_sampler nce_loss sampled_softmax_loss "
                         "uniform_candidate_sampler",
    "nn.statistics": "batch_norm_with_global_normalization batch_normalization in_top_k l2_normalize moments normalize_moments "
                     "sufficient_statistics top_k weighted_moments zero_fraction",
    "nn.transposed": "atrous_conv2d_transpose conv1d_transpose conv_transpose",
    "nn.windows": "atrous_conv2d avg_pool avg_pool1d avg_pool2d avg_pool3d conv1d conv2d conv2d_backprop_filter "
                  "conv2d_backprop_input conv2d_transpose conv3d conv3d_transpose depthwise_conv2d depthwise_conv2d_native "
                  "dilation2d erosion2d fused_batch_norm local_response_normalization max_pool max_pool1d max_pool2d max_pool3d "
                  "max_pool_with_argmax separable_conv2d"})

# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.layers: layers with slim's arguments."""
from thalweg.base import names
from thalweg.contrib.layers.composites import (
    OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES,
    elu,
    embed_sequence,
    linear,
    maxout,
    optimize_loss,
    relu,
    relu6,
    repeat,
    softmax,
    spatial_softmax,
    stack,
    summarize_activation,
    summarize_activations,
    summarize_collection,
    summarize_tensor,
    summarize_tensors,
)
from thalweg.contrib.layers.initializers import variance_scaling_initializer, xavier_initializer, xavier_initializer_conv2d
from thalweg.contrib.layers.layers import (
    avg_pool2d,
    avg_pool3d,
    bias_add,
    conv1d,
    conv2d,
    conv2d_transpose,
    conv3d,
    convolution,
    convolution1d,
    convolution2d,
    convolution2d_transpose,
    convolution3d,
    dropout,
    flatten,
    fully_connected,
    max_pool2d,
    max_pool3d,
    one_hot_encoding,
    separable_conv2d,
    separable_convolution2d,
)
from thalweg.contrib.layers.normalization import batch_norm, group_norm, instance_norm, layer_norm, unit_norm
from thalweg.contrib.layers.regularizers import apply_regularization, l1_l2_regularizer, l1_regularizer, l2_regularizer, sum_regularizer

__all__ = ["OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "apply_regularization", "avg_pool2d", "avg_pool3d", "batch_norm",
           "bias_add", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "convolution", "convolution1d", "convolution2d",
           "convolution2d_transpose", "convolution3d", "dropout", "elu", "embed_sequence", "flatten", "fully_connected",
           "group_norm", "instance_norm", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "layer_norm", "linear",
           "max_pool2d", "max_pool3d", "maxout", "one_hot_encoding", "optimize_loss", "relu", "relu6", "repeat",
           "separable_conv2d", "separable_convolution2d", "softmax", "spatial_softmax", "stack", "sum_regularizer",
           "summarize_activation", "summarize_activations", "summarize_collection", "summarize_tensor", "summarize_tensors",
           "unit_norm", "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d"]

names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""Neural networks: tw.nn."""
import contextlib

from thalweg import array_ops, dtypes, math_ops, names, ops, random_ops
from thalweg.graph import colocate_with, name_scope
from thalweg.ops import apply, convert_to_tensor
from thalweg.tensor import Tensor

_SIMPLE = {"relu": "Relu", "relu6": "Relu6", "elu": "Elu", "selu": "Selu", "softplus": "Softplus",
           "softsign": "Softsign", "l2_loss": "L2Loss", "sigmoid": "Sigmoid", "tanh": "Tanh"}

_WINDOWS = frozenset(
    "atrous_conv2d avg_pool1d avg_pool3d conv1d conv2d_backprop_filter conv2d_backprop_input conv3d conv3d_transpose "
    "depthwise_conv2d depthwise_conv2d_native dilation2d erosion2d fused_batch_norm local_response_normalization max_pool1d "
    "max_pool2d max_pool3d max_pool_with_argmax separable_conv2d".split())

_MORE = frozenset("all_candidate_sampler compute_accidental_hits convolution embedding_lookup_sparse fixed_unigram_candidate_sampler learned_unigram_candidate_sampler log_poisson_loss "
                  "log_uniform_candidate_sampler nce_loss normalize_moments pool sampled_softmax_loss sufficient_statistics "
                  "uniform_candidate_sampler weighted_moments".split())

_TRANSPOSED = frozenset("atrous_conv2d_transpose avg_pool_v2 batch_norm_with_global_normalization compute_average_loss conv1d_transpose "
                        "conv_transpose scale_regularization_loss with_space_to_batch".split())

_RECURRENT = frozenset("bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn "
                       "static_state_saving_rnn".split())


def __getattr__(name):
    if name in _SIMPLE:
        from thalweg import raw_ops
        made = globals()[name] = raw_ops.function(_SIMPLE[name], name)
        return made
    if name in ("embedding_lookup_sparse", "safe_embedding_lookup_sparse"):
        from thalweg import sparse_ops
        made = globals()[name] = getattr(sparse_ops, name)
        return made
    if name in ("ctc_beam_search_decoder", "ctc_beam_search_decoder_v2", "ctc_greedy_decoder", "ctc_loss",
                "collapse_repeated", "ctc_loss_v2", "ctc_unique_labels"):
        from thalweg import ctc_ops
        made = globals()[name] = getattr(ctc_ops, name)
        return made
    if name in _WINDOWS:
        from thalweg import nn_windows
        made = globals()[name] = getattr(nn_windows, name)
        return made
    if name in _MORE:
        from thalweg import nn_more
        made = globals()[name] = getattr(nn_more, name)
        return made
    if name in _TRANSPOSED:
        from thalweg import nn_transposed
        made = globals()[name] = getattr(nn_transposed, name)
        return made
    if name == "rnn_cell":
        import importlib
        made = globals()[name] = importlib.import_module("thalweg.rnn_cell")
        return made
    if name in _RECURRENT:
        from thalweg import rnn
        made = globals()[name] = getattr(rnn, name)
        return made
    raise AttributeError(f"module 'thalweg.nn' has no attribute '{name}'")


def _pair(value, data_format):
    """Strides or sizes as the four numbers of the layout."""
    if value is None:
        return None
    values = [value] if isinstance(value, int) else list(value)
    if len(values) == 4:
        return values
    values = values * 2 if len(values) == 1 else values
    return [1, 1, *values] if data_format.startswith("NC") else [1, *values, 1]


def _padding(padding):
    """(name, flat list of explicit paddings)."""
    if isinstance(padding, str):
        return padding.upper(), None
    return "EXPLICIT", [int(p) for pair in padding for p in pair]


def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC",  # noqa: A002
           dilations=(1, 1, 1, 1), name=None, filters=None):
    """2-D convolution; filters are [height, width, in, out]."""
    filters = filter if filters is None else filters
    padding, explicit = _padding(padding)
    return apply("Conv2D", [input, filters],
                 {"strides": _pair(strides, data_format), "padding": padding, "explicit_paddings": explicit,
                  "data_format": data_format, "dilations": _pair(dilations, data_format)}, name=name or "Conv2D")


def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME",  # noqa: A002
                     data_format="NHWC", name=None, input=None, filters=None, dilations=None):  # noqa: A002
    """The gradient of conv2d as an operation of its own."""
    value = input if value is None else value
    filters = filter if filters is None else filters
    return apply("Conv2DBackpropInput", [output_shape, filters, value],
                 {"strides": _pair(strides, data_format), "padding": padding, "data_format": data_format,
                  "dilations": _pair(dilations, data_format)}, name=name or "conv2d_transpose")


def max_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):  # noqa: A002
    """The largest value of each window."""
    return apply("MaxPool", [value if input is None else input],
                 {"ksize": _pair(ksize, data_format), "strides": _pair(strides, data_format), "padding": padding.upper(),
                  "data_format": data_format}, name=name or "MaxPool")


def avg_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):  # noqa: A002
    """The mean of each window."""
    return apply("AvgPool", [value if input is None else input],
                 {"ksize": _pair(ksize, data_format), "strides": _pair(strides, data_format), "padding": padding.upper(),
                  "data_format": data_format}, name=name or "AvgPool")


avg_pool2d = avg_pool


def bias_add(value, bias, data_format=None, name=None):
    """value + bias along the channels."""
    return apply("BiasAdd", [value, bias], {"data_format": data_format}, name=name or "BiasAdd")


def xw_plus_b(x, weights, biases, name=None):
    """x * weights + biases."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return bias_add(math_ops.matmul(x, weights), biases, name=scope)


def leaky_relu(features, alpha=0.2, name=None):
    return apply("LeakyRelu", [features], {"alpha": alpha}, name=name)


def crelu(features, name=None, axis=-1):
    """Both halves of relu: of the features and of their negative."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features)
        return apply("Relu", [array_ops.concat([features, -features], axis)], name=scope)


def swish(features):
    """x * sigmoid(x)."""
    features = convert_to_tensor(features)
    return features * apply("Sigmoid", [features])


def relu_layer(x, weights, biases, name=None):
    """relu(x * weights + biases)."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return apply("Relu", [xw_plus_b(x, weights, biases)], name=scope)


def _last_dimension(op, logits, axis, name):
    """Applies an operation that works on the last dimension of a matrix along any axis of any tensor."""
    logits = convert_to_tensor(logits)
    rank = logits.shape.ndims
    axis = -1 if axis is None else axis
    if rank == 2 and axis in (-1, 1):
        return apply(op, [logits], name=name)
    if rank is None or axis == -1 or axis == rank - 1:
        if rank is not None and rank < 2:
            return array_ops.squeeze(apply(op, [array_ops.expand_dims(logits, 0)]), 0, name=name)
        return apply(op, [logits], name=name)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return array_ops.transpose(apply(op, [array_ops.transpose(logits, order)]), order, name=name or op)


def softmax(logits, axis=None, name=None, dim=None):
    """exp(x) / sum(exp(x)) along `axis`, the last one."""
    return _last_dimension("Softmax", logits, dim if axis is None else axis, name)


def log_softmax(logits, axis=None, name=None, dim=None):
    """log(softmax(x))."""
    return _last_dimension("LogSoftmax", logits, dim if axis is None else axis, name)


def _only_named(_sentinel, labels, logits, function):
    if _sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    """Cross entropy of softmax(logits) with distributions; gradients go to the labels as well."""
    axis = -1 if (dim if axis is None else axis) is None else (dim if axis is None else axis)
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, dtype=logits.dtype.base_dtype, name="labels")
        rank = logits.shape.ndims
        if rank == 2 and axis in (-1, 1):
            return apply("SoftmaxCrossEntropyWithLogits", [logits, labels], name=scope).loss
        if rank is None:
            raise ValueError("logits must have a known rank")
        order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
        logits, labels = array_ops.transpose(logits, order), array_ops.transpose(labels, order)
        classes = logits.shape[-1].value
        flat = [array_ops.reshape(t, [-1, classes]) for t in (logits, labels)]
        loss = apply("SoftmaxCrossEntropyWithLogits", flat).loss
        return array_ops.reshape(loss, array_ops.shape(logits)[:-1], name=scope)


def softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None):
    """As _v2, but the labels are constants to gradients."""
    _only_named(_sentinel, labels, logits, "softmax_cross_entropy_with_logits")
    labels = array_ops.stop_gradient(convert_to_tensor(labels, dtype=getattr(logits, "dtype", None)))
    return softmax_cross_entropy_with_logits_v2(labels, logits, axis=dim if axis is None else axis, name=name)


def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """Cross entropy of softmax(logits) with class numbers."""
    _only_named(_sentinel, labels, logits, "sparse_softmax_cross_entropy_with_logits")
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]) as scope:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        if logits.shape.ndims == 0:
            raise ValueError(f"Logits cannot be scalars - received shape {logits.shape}.")
        if labels.shape.ndims is not None and logits.shape.ndims is not None and \
                labels.shape.ndims != logits.shape.ndims - 1:
            raise ValueError(f"Rank mismatch: Rank of labels (received {labels.shape.ndims}) should equal rank of logits "
                             f"minus 1 (received {logits.shape.ndims}).")
        if logits.shape.ndims in (None, 2):
            return apply("SparseSoftmaxCrossEntropyWithLogits", [logits, labels], name=scope).loss
        classes = array_ops.shape(logits)[-1]
        loss = apply("SparseSoftmaxCrossEntropyWithLogits",
                     [array_ops.reshape(logits, array_ops.stack([-1, classes])), array_ops.reshape(labels, [-1])]).loss
        return array_ops.reshape(loss, array_ops.shape(labels), name=scope)


def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """Cross entropy of sigmoid(logits) with probabilities."""
    _only_named(_sentinel, labels, logits, "sigmoid_cross_entropy_with_logits")
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, dtype=logits.dtype.base_dtype, name="labels")
        logits.shape.assert_is_compatible_with(labels.shape)
        zeros = apply("ZerosLike", [logits])
        positive = apply("GreaterEqual", [logits, zeros])
        capped = apply("Select", [positive, logits, zeros])
        negative = apply("Select", [positive, apply("Neg", [logits]), logits])
        return apply("Add", [capped - logits * labels, apply("Log1p", [apply("Exp", [negative])])], name=scope)


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    """As sigmoid_cross_entropy_with_logits with a weight for positive targets."""
    labels = targets if labels is None else labels
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits = convert_to_tensor(logits)
        weight = 1 + (pos_weight - 1) * labels
        tail = apply("Log1p", [apply("Exp", [-apply("Abs", [logits])])]) + apply("Relu", [-logits])
        return apply("Add", [(1 - labels) * logits, weight * tail], name=scope)


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Sets a share of the elements to zero and scales the others up."""
    if rate is None:
        if keep_prob is None:
            raise ValueError("You must provide a rate to dropout.")
        rate = 1 - keep_prob
    with name_scope(name, "dropout", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(f"x has to be a floating point tensor since it's going to be scaled. Got {x.dtype!r}.")
        if not isinstance(rate, Tensor):
            if not 0 <= rate < 1:
                raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}")
            if rate == 0:
                return x
            rate = ops.constant(rate, x.dtype.base_dtype)
        shape = array_ops.shape(x) if noise_shape is None else noise_shape
        chance = random_ops.random_uniform(shape, dtype=x.dtype.base_dtype, seed=seed)
        kept = math_ops.cast(apply("GreaterEqual", [chance, rate]), x.dtype.base_dtype)
        result = apply("Mul", [x * (1 / (1 - rate)), kept], name=scope)
        result.set_shape(x.shape)
        return result


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """(mean, variance) over `axes`."""
    keep = bool(keep_dims if keepdims is None else keepdims)
    with name_scope(name, "moments", [x]):
        x = convert_to_tensor(x)
        mean = math_ops.reduce_mean(x, axes, keepdims=True, name="mean")
        difference = apply("SquaredDifference", [x, array_ops.stop_gradient(mean)])
        variance = math_ops.reduce_mean(difference, axes, keepdims=True, name="variance")
        if keep:
            return mean, variance
        axes = [axes] if isinstance(axes, int) else list(axes)
        return array_ops.squeeze(mean, axes), array_ops.squeeze(variance, axes)


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """(x - mean) / sqrt(variance) * scale + offset."""
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        inverse = apply("Rsqrt", [variance + variance_epsilon])
        inverse = inverse if scale is None else inverse * scale
        shift = -mean * inverse if offset is None else offset - mean * inverse
        return x * inverse + shift


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """x / its norm along `axis`."""
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x)
        squares = math_ops.reduce_sum(x * x, dim if axis is None else axis, keepdims=True)
        return apply("Mul", [x, apply("Rsqrt", [apply("Maximum", [squares, ops.constant(epsilon, x.dtype.base_dtype)])])],
                     name=scope)


def rows_of(params, ids, name=None):
    """Rows of params, taken where params is: between tasks the rows go, not the table."""
    op = getattr(params, "op", None)
    with contextlib.nullcontext() if op is None else colocate_with(op):
        return array_ops.gather(params, ids, name=name)


def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    """Rows of an embedding."""
    if params is None or isinstance(params, (list, tuple)) and not params:
        raise ValueError("Need at least one param")
    if isinstance(params, (list, tuple)):
        parts = list(params)
    elif hasattr(params, "_get_variable_list"):
        parts = params._get_variable_list()
    else:
        parts = [params]
    if len(parts) == 1:
        found = rows_of(parts[0], ids, name or "embedding_lookup")
    else:
        from thalweg import nn_more
        parts = [p if hasattr(p, "op") else convert_to_tensor(p) for p in parts]
        found = nn_more.lookup_in_parts(parts, ids, partition_strategy, name)
    if max_norm is not None:
        from thalweg.gradient_ops import clip_by_norm
        found = clip_by_norm(found, max_norm, axes=[-1])
    return found


def in_top_k(predictions, targets, k, name=None):
    """Whether the target is among the k best."""
    return apply("InTopKV2", [predictions, targets, k], name=name or "in_top_k")


def top_k(input, k=1, sorted=True, name=None):  # noqa: A002
    """(values, indices) of the k largest."""
    return apply("TopKV2", [input, k], {"sorted": sorted}, name=name or "TopKV2")


def zero_fraction(value, name=None):
    """The share of zeros."""
    value = convert_to_tensor(value)
    return math_ops.reduce_mean(math_ops.cast(apply("Equal", [value, ops.constant(0, value.dtype.base_dtype)]),
                                              dtypes.float32), name=name)


names.complete(globals())

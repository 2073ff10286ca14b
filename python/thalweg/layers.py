# SPDX-License-Identifier: Apache-2.0
"""Layers with their variables: tw.layers."""
from thalweg import array_ops, init_ops, math_ops, names, nn
from thalweg.ops import convert_to_tensor
from thalweg.variable_scopes import get_variable, variable_scope


def _pair(value):
    return [value, value] if isinstance(value, int) else list(value)


def _finish(x, activation, activity_regularizer):
    if activity_regularizer is not None:
        from thalweg import graph
        graph.add_to_collection(graph.GraphKeys.REGULARIZATION_LOSSES, activity_regularizer(x))
    return x if activation is None else activation(x)


def _weights(name, shape, x, initializer, regularizer, constraint, trainable):
    return get_variable(name, shape, x.dtype.base_dtype, initializer, regularizer=regularizer, trainable=trainable,
                        constraint=constraint)


def dense(inputs, units, activation=None, use_bias=True, kernel_initializer=None,
          bias_initializer=init_ops.zeros_initializer(), kernel_regularizer=None, bias_regularizer=None,
          activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    """activation(inputs * kernel + bias)."""
    x = convert_to_tensor(inputs)
    size = x.shape[-1].value
    if size is None:
        raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
    with variable_scope(name, "dense", reuse=reuse):
        kernel = _weights("kernel", [size, units], x, kernel_initializer, kernel_regularizer, kernel_constraint, trainable)
        if x.shape.ndims > 2:
            y = math_ops.tensordot(x, kernel, [[x.shape.ndims - 1], [0]])
        else:
            y = math_ops.matmul(x, kernel)
        if use_bias:
            bias = _weights("bias", [units], x, bias_initializer, bias_regularizer, bias_constraint, trainable)
            y = nn.bias_add(y, bias)
        return _finish(y, activation, activity_regularizer)


def conv2d(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last",
           dilation_rate=(1, 1), activation=None, use_bias=True, kernel_initializer=None,
           bias_initializer=init_ops.zeros_initializer(), kernel_regularizer=None, bias_regularizer=None,
           activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    """activation(convolution of the inputs with `filters` kernels + bias)."""
    x = convert_to_tensor(inputs)
    layout = {"channels_last": "NHWC", "channels_first": "NCHW"}[data_format]
    channels = x.shape[-1 if layout == "NHWC" else 1].value
    if channels is None:
        raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
    with variable_scope(name, "conv2d", reuse=reuse):
        kernel = _weights("kernel", [*_pair(kernel_size), channels, filters], x, kernel_initializer, kernel_regularizer,
                          kernel_constraint, trainable)
        y = nn.conv2d(x, kernel, _pair(strides), padding.upper(), data_format=layout, dilations=_pair(dilation_rate))
        if use_bias:
            bias = _weights("bias", [filters], x, bias_initializer, bias_regularizer, bias_constraint, trainable)
            y = nn.bias_add(y, bias, data_format=layout)
        return _finish(y, activation, activity_regularizer)


def _pooling(pool, inputs, pool_size, strides, padding, data_format, name):
    layout = {"channels_last": "NHWC", "channels_first": "NCHW"}[data_format]
    return pool(inputs, _pair(pool_size), _pair(strides), padding.upper(), data_format=layout, name=name)


def max_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """The largest value of each window."""
    return _pooling(nn.max_pool, inputs, pool_size, strides, padding, data_format, name or "max_pooling2d")


def average_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """The mean of each window."""
    return _pooling(nn.avg_pool, inputs, pool_size, strides, padding, data_format, name or "average_pooling2d")


def flatten(inputs, name=None, data_format="channels_last"):
    """Each example as one row."""
    x = convert_to_tensor(inputs)
    if data_format == "channels_first" and (x.shape.ndims or 0) > 2:
        x = array_ops.transpose(x, [0, *range(2, x.shape.ndims), 1])
    rest = x.shape[1:]
    size = rest.num_elements() if rest.is_fully_defined() else -1
    if size == -1:
        return array_ops.reshape(x, array_ops.stack([array_ops.shape(x)[0], -1]), name=name or "flatten")
    return array_ops.reshape(x, [-1, size], name=name or "flatten")


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """Dropout while training; `training` may be a tensor."""
    from thalweg.control_flow import smart_cond
    x = convert_to_tensor(inputs)
    return smart_cond(training, lambda: nn.dropout(x, rate=rate, noise_shape=noise_shape, seed=seed, name=name),
                      lambda: array_ops.identity(x))


def _known_false(training):
    return isinstance(training, (bool, int)) and not training


def _fused(x, gamma, beta, mean, variance, axis, epsilon, training):
    """(normalised, mean, variance of the batch or as given) by one operation."""
    from thalweg.control_flow import smart_cond
    size, kind = mean.shape, mean.dtype.base_dtype
    gamma = array_ops.ones(size, kind) if gamma is None else gamma
    beta = array_ops.zeros(size, kind) if beta is None else beta
    layout = "NHWC" if axis == 3 else "NCHW"

    def of_batch():
        return list(nn.fused_batch_norm(x, gamma, beta, epsilon=epsilon, data_format=layout))

    def as_given():
        y = nn.fused_batch_norm(x, gamma, beta, mean, variance, epsilon, layout, is_training=False)[0]
        return [y, array_ops.identity(mean), array_ops.identity(variance)]
    return smart_cond(training, of_batch, as_given)


def _unfused(x, gamma, beta, mean, variance, axis, epsilon, training):
    """The same by moments, for any rank and axis."""
    from thalweg.control_flow import smart_cond
    given, x = x.dtype.base_dtype, math_ops.cast(x, mean.dtype.base_dtype)
    batch = nn.moments(x, [i for i in range(x.shape.ndims) if i != axis])
    used = smart_cond(training, lambda: [array_ops.identity(m) for m in batch],
                      lambda: [array_ops.identity(mean), array_ops.identity(variance)])
    across = [-1 if i == axis else 1 for i in range(x.shape.ndims)]
    parts = [p if p is None or axis == x.shape.ndims - 1 else array_ops.reshape(p, across) for p in (*used, beta, gamma)]
    return [math_ops.cast(nn.batch_normalization(x, *parts, epsilon), given), *used]


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True,
                        beta_initializer=init_ops.zeros_initializer(), gamma_initializer=init_ops.ones_initializer(),
                        moving_mean_initializer=init_ops.zeros_initializer(),
                        moving_variance_initializer=init_ops.ones_initializer(), beta_regularizer=None,
                        gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, training=False, trainable=True,
                        name=None, reuse=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99, fused=None,
                        virtual_batch_size=None, adjustment=None):
    """Normalises by the mean and variance of the batch, or when not training by their moving averages, whose updates are
    in the collection UPDATE_OPS. Images of 32 bits or less go through one operation (`fused`), which corrects the moving
    variance for the size of the batch."""
    from thalweg import dtypes, graph
    from thalweg.control_flow import smart_cond
    if renorm or virtual_batch_size is not None or adjustment is not None:
        raise NotImplementedError("batch_normalization has no renorm, virtual_batch_size and adjustment yet")
    x = convert_to_tensor(inputs)
    axis = axis[0] if isinstance(axis, (list, tuple)) else axis
    axis %= x.shape.ndims
    size = [x.shape[axis].value]
    if size[0] is None:
        raise ValueError(f"The dimension that batch_normalization keeps must be known, got shape {x.shape}")
    kind = dtypes.float32 if x.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16) else x.dtype.base_dtype
    fits = x.shape.ndims == 4 and axis in (1, 3) and kind is dtypes.float32
    with variable_scope(name, "batch_normalization", reuse=reuse):
        gamma = get_variable("gamma", size, kind, gamma_initializer, gamma_regularizer, trainable,
                             constraint=gamma_constraint) if scale else None
        beta = get_variable("beta", size, kind, beta_initializer, beta_regularizer, trainable,
                            constraint=beta_constraint) if center else None
        mean = get_variable("moving_mean", size, kind, moving_mean_initializer, trainable=False)
        variance = get_variable("moving_variance", size, kind, moving_variance_initializer, trainable=False)
        normalise = _fused if fits and fused is not False else _unfused
        result, now_mean, now_variance = normalise(x, gamma, beta, mean, variance, axis, epsilon, training)
        if not _known_false(training):
            rate = smart_cond(training, lambda: array_ops.ones([], kind) * (1 - momentum), lambda: array_ops.zeros([], kind))
            for variable, now in ((mean, now_mean), (variance, now_variance)):
                update = variable.assign_sub((variable - now) * rate)
                graph.add_to_collection(graph.GraphKeys.UPDATE_OPS, getattr(update, "op", update))
        return result


names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools of tw.nn beyond conv2d: one and three dimensions, depthwise, dilated, separable, transposed."""
from thalweg import dtypes
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops


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


def along_space(value, spatial, data_format, default=1):
    """Strides or sizes, given for all dimensions, for the spatial ones, or as one number, in the layout's order."""
    if value is None:
        return [default] * (spatial + 2)
    values = [value] if isinstance(value, int) else [int(v) for v in value]
    if len(values) == spatial + 2:
        return values
    values = values * spatial if len(values) == 1 else values
    if len(values) != spatial:
        raise ValueError(f"Expected 1, {spatial} or {spatial + 2} numbers, one for each dimension, but got {values}")
    return [default, default, *values] if data_format.startswith("NC") else [default, *values, default]


def _pool(op, value, ksize, strides, padding, data_format, name, spatial=2):
    return apply(op, [value], {"ksize": along_space(ksize, spatial, data_format),
                               "strides": along_space(strides, spatial, data_format),
                               "padding": padding.upper(), "data_format": data_format}, name=name or op)


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):  # noqa: A002
    """The largest value of each window of a batch of images."""
    return _pool("MaxPool", input, ksize, strides, padding, data_format, name)


def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):  # noqa: A002
    """The largest value of each window of a batch of volumes."""
    return _pool("MaxPool3D", input, ksize, strides, padding, data_format, name, 3)


def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):  # noqa: A002
    """The mean of each window of a batch of volumes."""
    return _pool("AvgPool3D", input, ksize, strides, padding, data_format, name, 3)


def _pool1d(op, input, ksize, strides, padding, data_format, name):  # noqa: A002
    wide = "NCHW" if data_format.startswith("NC") else "NHWC"
    axis = 2 if wide == "NCHW" else 1

    def widen(numbers):
        numbers = [numbers] if isinstance(numbers, int) else list(numbers)
        one = numbers[0] if len(numbers) == 1 else numbers[axis]
        return [1, 1, 1, one] if wide == "NCHW" else [1, 1, one, 1]
    with name_scope(name, op + "1d", [input]) as scope:
        value = array_ops.expand_dims(input, axis)
        return array_ops.squeeze(_pool(op, value, widen(ksize), widen(strides), padding, wide, None), [axis], name=scope)


def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):  # noqa: A002
    """The largest value of each window of a batch of sequences."""
    return _pool1d("MaxPool", input, ksize, strides, padding, data_format, name)


def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):  # noqa: A002
    """The mean of each window of a batch of sequences."""
    return _pool1d("AvgPool", input, ksize, strides, padding, data_format, name)


def max_pool_with_argmax(input, ksize, strides, padding, data_format="NHWC", Targmax=None, name=None,  # noqa: A002
                         output_dtype=None, include_batch_in_index=False):
    """(largest values, their flat places)."""
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    return apply("MaxPoolWithArgmax", [input],
                 {"ksize": along_space(ksize, 2, data_format), "strides": along_space(strides, 2, data_format),
                  "padding": padding.upper(), "Targmax": output_dtype or Targmax or dtypes.int64,
                  "include_batch_in_index": include_batch_in_index}, name=name)


def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, data_format=None, name=None,
           input=None, dilations=None):  # noqa: A002
    """1-D convolution; filters are [width, in, out]."""
    value = input if value is None else value
    channels_first = data_format in ("NCW", "NCHW")
    wide, axis = ("NCHW", 2) if channels_first else ("NHWC", 1)

    def widen(numbers):
        numbers = [1] if numbers is None else [numbers] if isinstance(numbers, int) else list(numbers)
        one = numbers[0] if len(numbers) == 1 else numbers[2 if channels_first else 1]
        return [1, 1, 1, one] if channels_first else [1, 1, one, 1]
    with name_scope(name, "conv1d", [value, filters]) as scope:
        result = apply("Conv2D", [array_ops.expand_dims(value, axis), array_ops.expand_dims(filters, 0)],
                       {"strides": widen(stride), "padding": padding.upper(), "data_format": wide,
                        "dilations": widen(dilations)})
        return array_ops.squeeze(result, [axis], name=scope)


def conv3d(input, filter=None, strides=None, padding=None, data_format="NDHWC",  # noqa: A002
           dilations=(1, 1, 1, 1, 1), name=None, filters=None):
    """3-D convolution; filters are [depth, height, width, in, out]."""
    filters = filter if filters is None else filters
    return apply("Conv3D", [input, filters],
                 {"strides": along_space(strides, 3, data_format), "padding": padding.upper(), "data_format": data_format,
                  "dilations": along_space(dilations, 3, data_format)}, name=name or "Conv3D")


def conv3d_transpose(value, filter=None, output_shape=None, strides=None, padding="SAME",  # noqa: A002
                     data_format="NDHWC", name=None, input=None, filters=None, dilations=None):  # noqa: A002
    """The gradient of conv3d as an operation of its own."""
    value = input if value is None else value
    filters = filter if filters is None else filters
    return apply("Conv3DBackpropInputV2", [output_shape, filters, value],
                 {"strides": along_space(strides, 3, data_format), "padding": padding.upper(), "data_format": data_format,
                  "dilations": along_space(dilations, 3, data_format)}, name=name or "conv3d_transpose")


def atrous_conv2d(value, filters, rate, padding, name=None):
    """conv2d that looks at every `rate`-th place."""
    return apply("Conv2D", [value, filters],
                 {"strides": [1, 1, 1, 1], "padding": padding.upper(), "dilations": [1, rate, rate, 1]},
                 name=name or "atrous_conv2d")


def depthwise_conv2d(input, filter, strides, padding, rate=None, name=None, data_format=None,  # noqa: A002
                     dilations=None):
    """Each channel with its own filters, [height, width, in, multiplier]."""
    data_format = data_format or "NHWC"
    return apply("DepthwiseConv2dNative", [input, filter],
                 {"strides": along_space(strides, 2, data_format), "padding": padding.upper(), "data_format": data_format,
                  "dilations": along_space(dilations if rate is None else rate, 2, data_format)}, name=name or "depthwise")


def depthwise_conv2d_native(input, filter, strides, padding, data_format="NHWC",  # noqa: A002
                            dilations=(1, 1, 1, 1), name=None):
    """depthwise_conv2d in the order of the operation's own attributes."""
    return depthwise_conv2d(input, filter, strides, padding, None, name, data_format, dilations)


def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name=None,  # noqa: A002
                     data_format=None, dilations=None):
    """A depthwise convolution, then one with 1 x 1 filters that mixes the channels."""
    data_format = data_format or "NHWC"
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        depthwise = depthwise_conv2d(input, depthwise_filter, strides, padding, rate, None, data_format, dilations)
        return apply("Conv2D", [depthwise, pointwise_filter],
                     {"strides": [1, 1, 1, 1], "padding": "VALID", "data_format": data_format}, name=scope)


def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None,  # noqa: A002
                          use_cudnn_on_gpu=True, data_format="NHWC", dilations=(1, 1, 1, 1), name=None, filters=None):
    """The gradient of conv2d with respect to its input."""
    filters = filter if filters is None else filters
    return apply("Conv2DBackpropInput", [input_sizes, filters, out_backprop], _conv2d(strides, padding, data_format, dilations),
                 name=name)


def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, use_cudnn_on_gpu=True,  # noqa: A002
                           data_format="NHWC", dilations=(1, 1, 1, 1), name=None):
    """The gradient of conv2d with respect to its filters."""
    return apply("Conv2DBackpropFilter", [input, filter_sizes, out_backprop],
                 _conv2d(strides, padding, data_format, dilations), name=name)


def _conv2d(strides, padding, data_format, dilations):
    explicit = None
    if not isinstance(padding, str):
        padding, explicit = "EXPLICIT", [int(p) for pair in padding for p in pair]
    return {"strides": along_space(strides, 2, data_format), "padding": padding.upper(), "explicit_paddings": explicit,
            "data_format": data_format, "dilations": along_space(dilations, 2, data_format)}


def dilation2d(input, filter=None, strides=None, rates=None, padding=None, name=None, filters=None,  # noqa: A002
               dilations=None):
    """Gray-scale dilation: the largest sum of input and filter in each window."""
    filters = filter if filters is None else filters
    return apply("Dilation2D", [input, filters], {"strides": strides, "rates": dilations if rates is None else rates,
                                                  "padding": padding.upper()}, name=name)


def erosion2d(value, kernel, strides, rates, padding, name=None):
    """Gray-scale erosion: the negative of the dilation of the negative."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        flipped = array_ops.reverse(kernel, [0, 1])
        return apply("Neg", [dilation2d(-convert_to_tensor(value), flipped, strides, rates, padding)], name=scope)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True,
                     name=None):
    """(normalized x, mean, variance): of the batch when training, else of the given mean and variance."""
    x = convert_to_tensor(x, name="x")
    if not is_training and (mean is None or variance is None):
        raise ValueError("Both 'mean' and 'variance' must be a 1D tensor when is_training is False. "
                         f"Got mean {mean!r} and variance {variance!r}")
    empty = ops.constant([], dtypes.float32)
    epsilon = max(epsilon, 1.001e-5)
    result = apply("FusedBatchNormV3",
                   [x, scale, offset, empty if mean is None else mean, empty if variance is None else variance],
                   {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}, name=name)
    return result[0], result[1], result[2]


def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):  # noqa: A002
    """x / (bias + alpha * sum of the squares of near channels) ** beta."""
    return apply("LRN", [input], {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}, name=name)

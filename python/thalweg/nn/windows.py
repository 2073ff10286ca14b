# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools of tw.nn beyond conv2d: one and three dimensions, depthwise, dilated, separable, transposed."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DTypeLike, DynamicShape, TensorLike
    from thalweg.graph.tensor import Tensor


def _pair(value, data_format, what="strides"):
    """Strides or sizes as the four numbers of the layout."""
    if value is None:
        return None
    values = [value] if isinstance(value, int) else list(value)
    if len(values) == 4:
        return values
    if len(values) not in (1, 2):
        raise ValueError(f"{what} should be of length 1, 2 or 4 but was {len(values)}")
    values = values * 2 if len(values) == 1 else values
    return [1, 1, *values] if data_format.startswith("NC") else [1, *values, 1]


def _padding(padding):
    """(name, flat list of explicit paddings)."""
    if isinstance(padding, str):
        return padding.upper(), None
    return "EXPLICIT", [int(p) for pair in padding for p in pair]


def conv2d(input: TensorLike, filter: TensorLike | None = None, strides: int | Sequence[int] | None = None,
           padding: str | Sequence[Sequence[int]] | None = None, use_cudnn_on_gpu: bool = True, data_format: str = "NHWC",
           dilations: int | Sequence[int] = (1, 1, 1, 1), name: str | None = None, filters: TensorLike | None = None) -> Tensor:
    """2-D convolution of a batch of images.

    Parameters
    ----------
    input : tensor_like
        Of shape [batch, height, width, channels] ("NHWC") and a floating type.
    filter : tensor_like
        Of shape [height, width, channels, filters] and the type of `input`.
    strides : int or sequence of int
        One number, two for height and width, or four for the dimensions of the layout.
    padding : str or sequence
        "SAME", "VALID", or pairs of numbers for each dimension of the layout.
    use_cudnn_on_gpu : bool
        Of no effect here.
    data_format : str
        "NHWC", or "NCHW" where the channels come second.
    dilations : int or sequence of int
        Distance of the elements of a window, given as `strides` are.
    name : str, optional
        Name of the operation.
    filters : tensor_like, optional
        Other name of `filter`.

    Returns
    -------
    Tensor
        Of shape [batch, height, width, filters] and the type of `input`.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     y = tw.nn.conv2d(tw.ones([1, 3, 3, 1]), tw.ones([2, 2, 1, 1]), strides=1, padding="VALID")
    ...     sess.run(y).squeeze()
    array([[4., 4.],
           [4., 4.]], dtype=float32)
    """
    filters = filter if filters is None else filters
    padding, explicit = _padding(padding)
    return apply("Conv2D", [input, filters],
                 {"strides": _pair(strides, data_format), "padding": padding, "explicit_paddings": explicit,
                  "data_format": data_format, "dilations": _pair(dilations, data_format, "dilations")}, name=name or "Conv2D")


def conv2d_transpose(value: TensorLike | None = None, filter: TensorLike | None = None, output_shape: DynamicShape | None = None,
                     strides: int | Sequence[int] | None = None, padding: str = "SAME", data_format: str = "NHWC",
                     name: str | None = None, input: TensorLike | None = None, filters: TensorLike | None = None,
                     dilations: int | Sequence[int] | None = None) -> Tensor:
    """The gradient of conv2d as an operation of its own: makes images larger.

    Parameters
    ----------
    value : tensor_like
        Of a floating type and shape [batch, height, width, channels] ("NHWC").
    filter : tensor_like
        Of shape [height, width, outputs, channels] and the type of `value`.
    output_shape : tensor_like
        Shape of the result, [batch, height, width, outputs].
    strides : int or sequence of int
        How much larger: one number, two for height and width, or four for the dimensions of the layout.
    padding : str
        "SAME" or "VALID".
    data_format : str
        "NHWC", or "NCHW" where the channels come second.
    name : str, optional
        Name of the operation.
    input, filters : tensor_like, optional
        Other names of `value` and `filter`.
    dilations : int or sequence of int, optional
        Distance of the elements of a window.

    Returns
    -------
    Tensor
        Of shape `output_shape` and the type of `value`.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     y = tw.nn.conv2d_transpose(tw.ones([1, 1, 2, 1]), tw.ones([1, 2, 1, 1]), [1, 1, 4, 1], [1, 1, 2, 1])
    ...     sess.run(y).squeeze()
    array([1., 1., 1., 1.], dtype=float32)
    """
    value = input if value is None else value
    filters = filter if filters is None else filters
    return apply("Conv2DBackpropInput", [output_shape, filters, value],
                 {"strides": _pair(strides, data_format), "padding": padding, "data_format": data_format,
                  "dilations": _pair(dilations, data_format, "dilations")}, name=name or "conv2d_transpose")


def max_pool(value: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str, data_format: str = "NHWC",
             name: str | None = None, input: TensorLike | None = None) -> Tensor:
    """The largest value of each window of a batch of images.

    Parameters
    ----------
    value : tensor_like
        Of shape [batch, height, width, channels] ("NHWC").
    ksize, strides : int or sequence of int
        Size and distance of the windows: one number, two for height and width, or four for the dimensions of the layout.
    padding : str
        "SAME" or "VALID".
    data_format : str
        "NHWC", or "NCHW" where the channels come second.
    name : str, optional
        Name of the operation.
    input : tensor_like, optional
        Other name of `value`.

    Returns
    -------
    Tensor
        Of shape [batch, height, width, channels] and the type of `value`.

    Raises
    ------
    ValueError
        If the rank of `value` is not 4 or the windows do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     image = tw.reshape(tw.range(16.0), [1, 4, 4, 1])
    ...     sess.run(tw.nn.max_pool(image, ksize=2, strides=2, padding="VALID")).squeeze()
    array([[ 5.,  7.],
           [13., 15.]], dtype=float32)
    """
    return apply("MaxPool", [value if input is None else input],
                 {"ksize": _pair(ksize, data_format, "ksize"), "strides": _pair(strides, data_format), "padding": padding.upper(),
                  "data_format": data_format}, name=name or "MaxPool")


def avg_pool(value: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str, data_format: str = "NHWC",
             name: str | None = None, input: TensorLike | None = None) -> Tensor:
    """The mean of each window of a batch of images.

    Parameters
    ----------
    value : tensor_like
        Of a floating type and shape [batch, height, width, channels] ("NHWC").
    ksize, strides : int or sequence of int
        Size and distance of the windows: one number, two for height and width, or four for the dimensions of the layout.
    padding : str
        "SAME" or "VALID".
    data_format : str
        "NHWC", or "NCHW" where the channels come second.
    name : str, optional
        Name of the operation.
    input : tensor_like, optional
        Other name of `value`.

    Returns
    -------
    Tensor
        Of shape [batch, height, width, channels] and the type of `value`.

    Raises
    ------
    ValueError
        If the rank of `value` is not 4 or the windows do not fit.

    Examples
    --------
    >>> image = tw.reshape(tw.range(16.0), [1, 4, 4, 1])
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.avg_pool(image, ksize=2, strides=2, padding="VALID")).squeeze()
    array([[ 2.5,  4.5],
           [10.5, 12.5]], dtype=float32)
    """
    return apply("AvgPool", [value if input is None else input],
                 {"ksize": _pair(ksize, data_format, "ksize"), "strides": _pair(strides, data_format), "padding": padding.upper(),
                  "data_format": data_format}, name=name or "AvgPool")


avg_pool2d = avg_pool


def along_space(value: int | Sequence[int] | None, spatial: int, data_format: str, default: int = 1) -> list[int]:
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


def max_pool2d(input: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str,
               data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """The largest value of each window of a batch of images.

    Parameters
    ----------
    input : tensor_like
        Of shape [batch, height, width, channels] ("NHWC").
    ksize, strides : int or sequence of int
        Size and distance of the windows: one number, two for height and width, or four for the dimensions of the layout.
    padding : str
        "SAME" or "VALID".
    data_format : str
        "NHWC", or "NCHW" where the channels come second.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of shape [batch, height, width, channels] and the type of `input`.

    Raises
    ------
    ValueError
        If the rank of `input` is not 4 or the windows do not fit.

    Examples
    --------
    >>> image = tw.reshape(tw.range(16.0), [1, 4, 4, 1])
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.max_pool2d(image, ksize=2, strides=2, padding="VALID")).squeeze()
    array([[ 5.,  7.],
           [13., 15.]], dtype=float32)
    """
    return _pool("MaxPool", input, ksize, strides, padding, data_format, name)


def max_pool3d(input: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str,
               data_format: str = "NDHWC", name: str | None = None) -> Tensor:
    """The largest value of each window of a batch of volumes."""
    return _pool("MaxPool3D", input, ksize, strides, padding, data_format, name, 3)


def avg_pool3d(input: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str,
               data_format: str = "NDHWC", name: str | None = None) -> Tensor:
    """The mean of each window of a batch of volumes."""
    return _pool("AvgPool3D", input, ksize, strides, padding, data_format, name, 3)


def _pool1d(op, input, ksize, strides, padding, data_format, name):
    wide = "NCHW" if data_format.startswith("NC") else "NHWC"
    axis = 2 if wide == "NCHW" else 1

    def widen(numbers):
        numbers = [numbers] if isinstance(numbers, int) else list(numbers)
        one = numbers[0] if len(numbers) == 1 else numbers[axis]
        return [1, 1, 1, one] if wide == "NCHW" else [1, 1, one, 1]
    with name_scope(name, op + "1d", [input]) as scope:
        value = array_ops.expand_dims(input, axis)
        return array_ops.squeeze(_pool(op, value, widen(ksize), widen(strides), padding, wide, None), [axis], name=scope)


def max_pool1d(input: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str,
               data_format: str = "NWC", name: str | None = None) -> Tensor:
    """The largest value of each window of a batch of sequences."""
    return _pool1d("MaxPool", input, ksize, strides, padding, data_format, name)


def avg_pool1d(input: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str,
               data_format: str = "NWC", name: str | None = None) -> Tensor:
    """The mean of each window of a batch of sequences."""
    return _pool1d("AvgPool", input, ksize, strides, padding, data_format, name)


def max_pool_with_argmax(input: TensorLike, ksize: int | Sequence[int], strides: int | Sequence[int], padding: str,
                         data_format: str = "NHWC", Targmax: DTypeLike | None = None, name: str | None = None,
                         output_dtype: DTypeLike | None = None, include_batch_in_index: bool = False) -> tuple[Tensor, Tensor]:
    """(largest values, their flat places)."""
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    return apply("MaxPoolWithArgmax", [input],
                 {"ksize": along_space(ksize, 2, data_format), "strides": along_space(strides, 2, data_format),
                  "padding": padding.upper(), "Targmax": output_dtype or Targmax or dtypes.int64,
                  "include_batch_in_index": include_batch_in_index}, name=name)


def conv1d(value: TensorLike | None = None, filters: TensorLike | None = None, stride: int | Sequence[int] | None = None,
           padding: str | None = None, use_cudnn_on_gpu: bool | None = None, data_format: str | None = None,
           name: str | None = None, input: TensorLike | None = None, dilations: int | Sequence[int] | None = None) -> Tensor:
    """1-D convolution of a batch of sequences.

    Parameters
    ----------
    value : tensor_like
        Of a floating type and shape [batch, width, channels] ("NWC").
    filters : tensor_like
        Of shape [width, channels, filters] and the type of `value`.
    stride : int or sequence of int
        Distance of the windows.
    padding : str
        "SAME" or "VALID".
    use_cudnn_on_gpu : bool, optional
        Of no effect here.
    data_format : str, optional
        "NWC", or "NCW" where the channels come second.
    name : str, optional
        Name of the scope.
    input : tensor_like, optional
        Other name of `value`.
    dilations : int or sequence of int, optional
        Distance of the elements of a window.

    Returns
    -------
    Tensor
        Of shape [batch, width, filters] and the type of `value`.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     y = tw.nn.conv1d(tw.ones([1, 4, 1]), tw.ones([2, 1, 1]), stride=1, padding="VALID")
    ...     sess.run(y).squeeze()
    array([2., 2., 2.], dtype=float32)
    """
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


def conv3d(input: TensorLike, filter: TensorLike | None = None, strides: int | Sequence[int] | None = None,
           padding: str | None = None, data_format: str = "NDHWC", dilations: int | Sequence[int] = (1, 1, 1, 1, 1),
           name: str | None = None, filters: TensorLike | None = None) -> Tensor:
    """3-D convolution; filters are [depth, height, width, in, out]."""
    filters = filter if filters is None else filters
    return apply("Conv3D", [input, filters],
                 {"strides": along_space(strides, 3, data_format), "padding": padding.upper(), "data_format": data_format,
                  "dilations": along_space(dilations, 3, data_format)}, name=name or "Conv3D")


def conv3d_transpose(value: TensorLike, filter: TensorLike | None = None, output_shape: DynamicShape | None = None,
                     strides: int | Sequence[int] | None = None, padding: str = "SAME", data_format: str = "NDHWC",
                     name: str | None = None, input: TensorLike | None = None, filters: TensorLike | None = None,
                     dilations: int | Sequence[int] | None = None) -> Tensor:
    """The gradient of conv3d as an operation of its own."""
    value = input if value is None else value
    filters = filter if filters is None else filters
    return apply("Conv3DBackpropInputV2", [output_shape, filters, value],
                 {"strides": along_space(strides, 3, data_format), "padding": padding.upper(), "data_format": data_format,
                  "dilations": along_space(dilations, 3, data_format)}, name=name or "conv3d_transpose")


def atrous_conv2d(value: TensorLike, filters: TensorLike, rate: int, padding: str, name: str | None = None) -> Tensor:
    """conv2d that looks at every `rate`-th place."""
    return apply("Conv2D", [value, filters],
                 {"strides": [1, 1, 1, 1], "padding": padding.upper(), "dilations": [1, rate, rate, 1]},
                 name=name or "atrous_conv2d")


def depthwise_conv2d(input: TensorLike, filter: TensorLike, strides: int | Sequence[int], padding: str,
                     rate: int | Sequence[int] | None = None, name: str | None = None, data_format: str | None = None,
                     dilations: int | Sequence[int] | None = None) -> Tensor:
    """Each channel with its own filters, [height, width, in, multiplier]."""
    data_format = data_format or "NHWC"
    return apply("DepthwiseConv2dNative", [input, filter],
                 {"strides": along_space(strides, 2, data_format), "padding": padding.upper(), "data_format": data_format,
                  "dilations": along_space(dilations if rate is None else rate, 2, data_format)}, name=name or "depthwise")


def depthwise_conv2d_native(input: TensorLike, filter: TensorLike, strides: int | Sequence[int], padding: str,
                            data_format: str = "NHWC", dilations: int | Sequence[int] = (1, 1, 1, 1),
                            name: str | None = None) -> Tensor:
    """depthwise_conv2d in the order of the operation's own attributes."""
    return depthwise_conv2d(input, filter, strides, padding, None, name, data_format, dilations)


def separable_conv2d(input: TensorLike, depthwise_filter: TensorLike, pointwise_filter: TensorLike, strides: int | Sequence[int],
                     padding: str, rate: int | Sequence[int] | None = None, name: str | None = None,
                     data_format: str | None = None, dilations: int | Sequence[int] | None = None) -> Tensor:
    """A depthwise convolution, then one with 1 x 1 filters that mixes the channels."""
    data_format = data_format or "NHWC"
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        depthwise = depthwise_conv2d(input, depthwise_filter, strides, padding, rate, None, data_format, dilations)
        return apply("Conv2D", [depthwise, pointwise_filter],
                     {"strides": [1, 1, 1, 1], "padding": "VALID", "data_format": data_format}, name=scope)


def conv2d_backprop_input(input_sizes: DynamicShape, filter: TensorLike | None = None, out_backprop: TensorLike | None = None,
                          strides: int | Sequence[int] | None = None, padding: str | Sequence[Sequence[int]] | None = None,
                          use_cudnn_on_gpu: bool = True, data_format: str = "NHWC", dilations: int | Sequence[int] = (1, 1, 1, 1),
                          name: str | None = None, filters: TensorLike | None = None) -> Tensor:
    """The gradient of conv2d with respect to its input."""
    filters = filter if filters is None else filters
    return apply("Conv2DBackpropInput", [input_sizes, filters, out_backprop], _conv2d(strides, padding, data_format, dilations),
                 name=name)


def conv2d_backprop_filter(input: TensorLike, filter_sizes: DynamicShape, out_backprop: TensorLike, strides: int | Sequence[int],
                           padding: str | Sequence[Sequence[int]], use_cudnn_on_gpu: bool = True, data_format: str = "NHWC",
                           dilations: int | Sequence[int] = (1, 1, 1, 1), name: str | None = None) -> Tensor:
    """The gradient of conv2d with respect to its filters."""
    return apply("Conv2DBackpropFilter", [input, filter_sizes, out_backprop],
                 _conv2d(strides, padding, data_format, dilations), name=name)


def _conv2d(strides, padding, data_format, dilations):
    explicit = None
    if not isinstance(padding, str):
        padding, explicit = "EXPLICIT", [int(p) for pair in padding for p in pair]
    return {"strides": along_space(strides, 2, data_format), "padding": padding.upper(), "explicit_paddings": explicit,
            "data_format": data_format, "dilations": along_space(dilations, 2, data_format)}


def dilation2d(input: TensorLike, filter: TensorLike | None = None, strides: Sequence[int] | None = None,
               rates: Sequence[int] | None = None, padding: str | None = None, name: str | None = None,
               filters: TensorLike | None = None, dilations: Sequence[int] | None = None) -> Tensor:
    """Gray-scale dilation: the largest sum of input and filter in each window."""
    filters = filter if filters is None else filters
    return apply("Dilation2D", [input, filters], {"strides": strides, "rates": dilations if rates is None else rates,
                                                  "padding": padding.upper()}, name=name)


def erosion2d(value: TensorLike, kernel: TensorLike, strides: Sequence[int], rates: Sequence[int], padding: str,
              name: str | None = None) -> Tensor:
    """Gray-scale erosion: the negative of the dilation of the negative."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        flipped = array_ops.reverse(kernel, [0, 1])
        return apply("Neg", [dilation2d(-convert_to_tensor(value), flipped, strides, rates, padding)], name=scope)


def fused_batch_norm(x: TensorLike, scale: TensorLike, offset: TensorLike, mean: TensorLike | None = None,
                     variance: TensorLike | None = None, epsilon: float = 0.001, data_format: str = "NHWC",
                     is_training: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
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


def local_response_normalization(input: TensorLike, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5,
                                 name: str | None = None) -> Tensor:
    """x / (bias + alpha * sum of the squares of the elements in near channels) ** beta.

    Parameters
    ----------
    input : tensor_like
        Of a floating type and shape [batch, height, width, channels].
    depth_radius : int
        How far near channels are.
    bias, alpha, beta : float
        Of the divisor.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `input`.

    Raises
    ------
    ValueError
        The input has not four dimensions, where its rank is known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.lrn(tw.constant([[[[3.0, 4.0]]]]), depth_radius=1, bias=0.0)).squeeze()
    array([0.6, 0.8], dtype=float32)
    """
    return apply("LRN", [input], {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}, name=name)

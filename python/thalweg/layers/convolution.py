# SPDX-License-Identifier: Apache-2.0
"""Convolutional layers, plain, transposed and separable."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.layers.arguments import meant
from thalweg.operations import array_ops
from thalweg.variables.layer import ZEROS, InputSpec, Layer, channels_of, with_defaults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from thalweg.base.typing import Activation, Constraint, Initializer, Regularizer
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable

_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def spread(value: int | Sequence[int], rank: int, name: str) -> tuple[int, ...]:
    """A size for each of `rank` dimensions."""
    values = (value,) * rank if isinstance(value, int) else tuple(int(v) for v in value)
    if len(values) != rank:
        raise ValueError(f"The `{name}` argument must be a tuple of {rank} integers. Received: {value}")
    return values


def layout_of(data_format: str, rank: int) -> str:
    """"NHWC" and its kin for so many dimensions."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError("The `data_format` argument must be one of \"channels_first\", \"channels_last\". Received: "
                         f"{data_format}")
    return _LAYOUTS[rank][data_format == "channels_first"]


def _full(values, layout):
    """Sizes along space as sizes along all dimensions."""
    return [1, 1, *values] if layout.startswith("NC") and len(layout) > 2 and layout[1] == "C" else [1, *values, 1]


class _Conv(Layer):
    """What convolutions of 1, 2 and 3 dimensions share."""

    rank = 2
    _CONFIG = ("filters kernel_size strides padding data_format dilation_rate activation use_bias kernel_initializer "
               "bias_initializer kernel_regularizer bias_regularizer activity_regularizer kernel_constraint bias_constraint")
    activation: Activation | None
    use_bias: bool
    kernel_initializer: Initializer | None
    bias_initializer: Initializer | None
    kernel_regularizer: Regularizer | None
    bias_regularizer: Regularizer | None
    kernel_constraint: Constraint | None
    bias_constraint: Constraint | None
    kernel: Variable
    bias: Variable | None

    def __init__(self, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = 1,
                 padding: str = "valid", data_format: str = "channels_last", dilation_rate: int | Sequence[int] = 1,
                 activation: Activation | str | None = None, use_bias: bool = True, kernel_initializer: Initializer | str | None = None,
                 bias_initializer: Initializer | str = ZEROS, kernel_regularizer: Regularizer | str | None = None,
                 bias_regularizer: Regularizer | str | None = None, activity_regularizer: Regularizer | str | None = None,
                 kernel_constraint: Constraint | str | None = None, bias_constraint: Constraint | str | None = None, trainable: bool = True,
                 name: str | None = None, **kwargs: object) -> None:
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        rank = self.rank
        self.filters, self.data_format = filters, data_format
        self.kernel_size = spread(kernel_size, rank, "kernel_size")
        self.strides = spread(strides, rank, "strides")
        self.dilation_rate = spread(dilation_rate, rank, "dilation_rate")
        self.padding = padding.lower()
        if self.padding not in ("valid", "same") and not (self.padding == "causal" and rank == 1):
            raise ValueError("The `padding` argument must be a list/tuple or one of \"valid\", \"same\" (or \"causal\", only for `Conv1D). "
                             f"Received: {padding}")
        self.layout = layout_of(data_format, rank)
        self._set_arguments(**meant(activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                   bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
        self.bias = None
        self.input_spec = InputSpec(ndim=rank + 2)

    def _kernel_shape(self, channels):
        return [*self.kernel_size, channels, self.filters]

    def build(self, input_shape: TensorShape) -> None:
        channels = channels_of(self, input_shape, self.data_format)
        self.kernel = self.add_weight("kernel", self._kernel_shape(channels), initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self._build_bias()

    def _build_bias(self):
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.filters], initializer=self.bias_initializer,
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        return self._finish(self._convolve(inputs))

    def _convolve(self, inputs):
        return nn.conv2d(inputs, self.kernel, _full(self.strides, self.layout), self.padding.upper(), data_format=self.layout,
                         dilations=_full(self.dilation_rate, self.layout))

    def _finish(self, y):
        if self.use_bias:
            y = nn.bias_add(y, self.bias, data_format="NCHW" if self.data_format == "channels_first" else "NHWC")
        return y if self.activation is None else self.activation(y)


class Conv1D(_Conv):
    """Convolution along one dimension."""
    rank = 1

    def _convolve(self, inputs):
        padding = self.padding
        if padding == "causal":
            left = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            places = [[0, 0], [left, 0], [0, 0]] if self.data_format == "channels_last" else [[0, 0], [0, 0], [left, 0]]
            inputs, padding = array_ops.pad(inputs, places), "valid"
        return nn.conv1d(inputs, self.kernel, self.strides[0], padding.upper(), data_format=self.layout,
                         dilations=self.dilation_rate[0])


class Conv2D(_Conv):
    """Convolution of images."""
    __init__ = with_defaults(_Conv.__init__, strides=(1, 1), dilation_rate=(1, 1))


class Conv3D(_Conv):
    """Convolution of volumes."""
    rank = 3
    __init__ = with_defaults(_Conv.__init__, strides=(1, 1, 1), dilation_rate=(1, 1, 1))

    def _convolve(self, inputs):
        return nn.conv3d(inputs, self.kernel, _full(self.strides, self.layout), self.padding.upper(), data_format=self.layout,
                         dilations=_full(self.dilation_rate, self.layout))


class _Transposed(_Conv):
    """The gradient of a convolution as a layer: makes images larger."""

    _CONFIG = _Conv._CONFIG + " output_padding"
    output_padding = None

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        return cls(**{k: v for k, v in config.items() if k not in ("dilation_rate", "output_padding")})

    def _kernel_shape(self, channels):
        return [*self.kernel_size, self.filters, channels]

    def _output_shape(self, inputs):
        first = 1 if self.data_format == "channels_last" else 2
        static, dynamic = inputs.shape.as_list(), array_ops.shape(inputs)
        space = []
        for i, (kernel, stride) in enumerate(zip(self.kernel_size, self.strides)):
            size = static[first + i] if static[first + i] is not None else dynamic[first + i]
            space.append(size * stride + (max(kernel - stride, 0) if self.padding == "valid" else 0))
        batch = static[0] if static[0] is not None else dynamic[0]
        sizes = [batch, *space, self.filters] if self.data_format == "channels_last" else [batch, self.filters, *space]
        known = [None if hasattr(s, "graph") else s for s in sizes]
        return (array_ops.stack(sizes) if None in known else sizes), known

    def _convolve(self, inputs):
        sizes, known = self._output_shape(inputs)
        transpose = nn.conv3d_transpose if self.rank == 3 else nn.conv2d_transpose
        y = transpose(inputs, self.kernel, sizes, _full(self.strides, self.layout), self.padding.upper(),
                      data_format=self.layout)
        y.set_shape(known)
        return y


class Conv2DTranspose(_Transposed):
    """Transposed convolution of images."""

    def __init__(self, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1),
                 padding: str = "valid", data_format: str = "channels_last", activation: Activation | str | None = None,
                 use_bias: bool = True, kernel_initializer: Initializer | str | None = None, bias_initializer: Initializer | str = ZEROS,
                 kernel_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
                 activity_regularizer: Regularizer | str | None = None, kernel_constraint: Constraint | str | None = None,
                 bias_constraint: Constraint | str | None = None, trainable: bool = True, name: str | None = None,
                 **kwargs: object) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
                         bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
                         bias_constraint, trainable, name, **kwargs)


class Conv3DTranspose(_Transposed):
    """Transposed convolution of volumes."""
    rank = 3

    def __init__(self, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1, 1),
                 padding: str = "valid", data_format: str = "channels_last", activation: Activation | str | None = None,
                 use_bias: bool = True, kernel_initializer: Initializer | str | None = None, bias_initializer: Initializer | str = ZEROS,
                 kernel_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
                 activity_regularizer: Regularizer | str | None = None, kernel_constraint: Constraint | str | None = None,
                 bias_constraint: Constraint | str | None = None, trainable: bool = True, name: str | None = None,
                 **kwargs: object) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
                         bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
                         bias_constraint, trainable, name, **kwargs)


class _Separable(_Conv):
    """Each channel by itself, then the channels mixed."""

    _CONFIG = _Conv._CONFIG + (" depth_multiplier depthwise_initializer pointwise_initializer depthwise_regularizer "
                               "pointwise_regularizer depthwise_constraint pointwise_constraint")

    def __init__(self, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = 1, padding: str = "valid",
                 data_format: str = "channels_last", dilation_rate: int | Sequence[int] = 1, depth_multiplier: int = 1,
                 activation: Activation | str | None = None, use_bias: bool = True,
                 depthwise_initializer: Initializer | str | None = None, pointwise_initializer: Initializer | str | None = None,
                 bias_initializer: Initializer | str = ZEROS, depthwise_regularizer: Regularizer | str | None = None,
                 pointwise_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
                 activity_regularizer: Regularizer | str | None = None, depthwise_constraint: Constraint | str | None = None,
                 pointwise_constraint: Constraint | str | None = None, bias_constraint: Constraint | str | None = None,
                 trainable: bool = True, name: str | None = None, **kwargs: object) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                         bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
                         activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, trainable=trainable,
                         name=name, **kwargs)
        self.depth_multiplier = depth_multiplier
        self._set_arguments(**meant(depthwise_initializer=depthwise_initializer, pointwise_initializer=pointwise_initializer,
                   depthwise_regularizer=depthwise_regularizer, pointwise_regularizer=pointwise_regularizer,
                   depthwise_constraint=depthwise_constraint, pointwise_constraint=pointwise_constraint))

    def build(self, input_shape: TensorShape) -> None:
        channels = channels_of(self, input_shape, self.data_format)

        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier], initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer, constraint=self.depthwise_constraint)
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel", [1] * self.rank + [channels * self.depth_multiplier, self.filters],
            initializer=self.pointwise_initializer, regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint)
        self._build_bias()

    def _separate(self, inputs, depthwise, pointwise, strides, rates, layout):
        rates = None if tuple(rates) == (1, 1) else rates
        return nn.separable_conv2d(inputs, depthwise, pointwise, _full(strides, layout), self.padding.upper(), rate=rates,
                                   data_format=layout)


class SeparableConv1D(_Separable):
    """Separable convolution along one dimension."""
    rank = 1

    def _convolve(self, inputs):
        axis, layout = (1, "NHWC") if self.data_format == "channels_last" else (2, "NCHW")
        y = self._separate(array_ops.expand_dims(inputs, axis), array_ops.expand_dims(self.depthwise_kernel, 0),
                           array_ops.expand_dims(self.pointwise_kernel, 0), self.strides * 2, (1, *self.dilation_rate), layout)
        return array_ops.squeeze(y, [axis])


class SeparableConv2D(_Separable):
    """Separable convolution of images."""
    __init__ = with_defaults(_Separable.__init__, strides=(1, 1), dilation_rate=(1, 1))

    def _convolve(self, inputs):
        return self._separate(inputs, self.depthwise_kernel, self.pointwise_kernel, self.strides, self.dilation_rate,
                              self.layout)


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose = Deconvolution2D = Deconv2D = Conv2DTranspose
Convolution3DTranspose = Deconvolution3D = Deconv3D = Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D

# SPDX-License-Identifier: Apache-2.0
"""Layers with their variables: tw.layers. The functions make a layer and call it once."""
from thalweg import nn
from thalweg.base import names
from thalweg.control.control_flow import smart_cond
from thalweg.layers.arguments import meant
from thalweg.layers.convolution import (Conv1D, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, SeparableConv1D,
                                        SeparableConv2D)
from thalweg.layers.normalization import BatchNormalization
from thalweg.layers.pooling import (AveragePooling1D, AveragePooling2D, AveragePooling3D, MaxPooling1D, MaxPooling2D,
                                    MaxPooling3D)
from thalweg.operations import array_ops, math_ops
from thalweg.variables.layer import ONES, ZEROS, InputSpec, Layer, channels_of


class Dense(Layer):
    """activation(inputs * kernel + bias)."""

    _CONFIG = ("units activation use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer "
               "activity_regularizer kernel_constraint bias_constraint")

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=ZEROS,
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self._set_arguments(**meant(units=int(units), activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                   bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
        self.bias, self.input_spec = None, InputSpec(min_ndim=2)

    def build(self, input_shape):
        size = input_shape[-1].value if input_shape.ndims else None
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})

        self.kernel = self.add_weight("kernel", [size, self.units], initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.units], initializer=self.bias_initializer,
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)

    def call(self, inputs):
        if inputs.shape.ndims > 2:
            y = math_ops.tensordot(inputs, self.kernel, [[inputs.shape.ndims - 1], [0]])
        else:
            y = math_ops.matmul(inputs, self.kernel)
        if self.use_bias:
            y = nn.bias_add(y, self.bias)
        return y if self.activation is None else self.activation(y)

    def compute_output_shape(self, input_shape):
        channels_of(self, input_shape)
        return input_shape[:-1].concatenate(self.units)


class Dropout(Layer):
    """Sets a share of the elements to zero while training."""

    _CONFIG = "rate noise_shape seed"

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs, training=False):
        return smart_cond(training,
                          lambda: nn.dropout(inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed),
                          lambda: array_ops.identity(inputs))


class Flatten(Layer):
    """Each example as one row."""

    _CONFIG = "data_format"

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format, self.input_spec = data_format or "channels_last", InputSpec(min_ndim=1)

    def call(self, inputs):
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and (rank or 0) > 2:
            inputs = array_ops.transpose(inputs, [0, *range(2, rank), 1])
        rest = inputs.shape[1:]
        if rank is not None and rest.is_fully_defined():
            return array_ops.reshape(inputs, [-1, rest.num_elements() if rank > 1 else 1])
        return array_ops.reshape(inputs, array_ops.stack([array_ops.shape(inputs)[0], -1]))


def dense(inputs, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=ZEROS,
          kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
          bias_constraint=None, trainable=True, name=None, reuse=None):
    """activation(inputs * kernel + bias)."""
    layer = Dense(units=units, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                  bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                  activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                  bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """Dropout while training; `training` may be a tensor."""
    layer = Dropout(rate=rate, noise_shape=noise_shape, seed=seed, name=name)
    return layer.apply(inputs, training=training)


def flatten(inputs, name=None, data_format="channels_last"):
    """Each example as one row."""
    layer = Flatten(name=name, data_format=data_format)
    return layer.apply(inputs)


def conv1d(inputs, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
           activation=None, use_bias=True, kernel_initializer=None, bias_initializer=ZEROS, kernel_regularizer=None,
           bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True,
           name=None, reuse=None):
    """Convolution along one dimension."""
    layer = Conv1D(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                   dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                   kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                   kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def conv2d(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1),
           activation=None, use_bias=True, kernel_initializer=None, bias_initializer=ZEROS, kernel_regularizer=None,
           bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True,
           name=None, reuse=None):
    """activation(convolution of the inputs with `filters` kernels + bias)."""
    layer = Conv2D(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                   dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                   kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                   kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def conv3d(inputs, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format="channels_last",
           dilation_rate=(1, 1, 1), activation=None, use_bias=True, kernel_initializer=None, bias_initializer=ZEROS,
           kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
           bias_constraint=None, trainable=True, name=None, reuse=None):
    """Convolution of volumes."""
    layer = Conv3D(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                   dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                   kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                   kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def conv2d_transpose(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last",
                     activation=None, use_bias=True, kernel_initializer=None, bias_initializer=ZEROS, kernel_regularizer=None,
                     bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None,
                     trainable=True, name=None, reuse=None):
    """Transposed convolution of images."""
    layer = Conv2DTranspose(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding,
                            data_format=data_format, activation=activation, use_bias=use_bias,
                            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                            kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                            activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                            bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def conv3d_transpose(inputs, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format="channels_last",
                     activation=None, use_bias=True, kernel_initializer=None, bias_initializer=ZEROS, kernel_regularizer=None,
                     bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None,
                     trainable=True, name=None, reuse=None):
    """Transposed convolution of volumes."""
    layer = Conv3DTranspose(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding,
                            data_format=data_format, activation=activation, use_bias=use_bias,
                            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                            kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                            activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                            bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def separable_conv1d(inputs, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
                     depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None,
                     pointwise_initializer=None, bias_initializer=ZEROS, depthwise_regularizer=None,
                     pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
                     pointwise_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    """Separable convolution along one dimension."""
    layer = SeparableConv1D(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding,
                            data_format=data_format, dilation_rate=dilation_rate, depth_multiplier=depth_multiplier,
                            activation=activation, use_bias=use_bias, depthwise_initializer=depthwise_initializer,
                            pointwise_initializer=pointwise_initializer, bias_initializer=bias_initializer,
                            depthwise_regularizer=depthwise_regularizer, pointwise_regularizer=pointwise_regularizer,
                            bias_regularizer=bias_regularizer, activity_regularizer=activity_regularizer,
                            depthwise_constraint=depthwise_constraint, pointwise_constraint=pointwise_constraint,
                            bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def separable_conv2d(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last",
                     dilation_rate=(1, 1), depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None,
                     pointwise_initializer=None, bias_initializer=ZEROS, depthwise_regularizer=None,
                     pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
                     pointwise_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    """Separable convolution of images."""
    layer = SeparableConv2D(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding,
                            data_format=data_format, dilation_rate=dilation_rate, depth_multiplier=depth_multiplier,
                            activation=activation, use_bias=use_bias, depthwise_initializer=depthwise_initializer,
                            pointwise_initializer=pointwise_initializer, bias_initializer=bias_initializer,
                            depthwise_regularizer=depthwise_regularizer, pointwise_regularizer=pointwise_regularizer,
                            bias_regularizer=bias_regularizer, activity_regularizer=activity_regularizer,
                            depthwise_constraint=depthwise_constraint, pointwise_constraint=pointwise_constraint,
                            bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def _pooling(layer, what):
    """The function of a pooling layer."""
    def pooling(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
        return layer(pool_size=pool_size, strides=strides, padding=padding, data_format=data_format, name=name).apply(inputs)
    pooling.__doc__ = f"The {what} of each window."
    pooling.__name__ = pooling.__qualname__ = layer.__name__.replace("Pooling", "_pooling").lower()
    return pooling


max_pooling1d, max_pooling2d, max_pooling3d = [_pooling(l, "largest value") for l in (MaxPooling1D, MaxPooling2D, MaxPooling3D)]
average_pooling1d, average_pooling2d, average_pooling3d = [
    _pooling(l, "mean") for l in (AveragePooling1D, AveragePooling2D, AveragePooling3D)]


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=0.001, center=True, scale=True, beta_initializer=ZEROS,
                        gamma_initializer=ONES, moving_mean_initializer=ZEROS, moving_variance_initializer=ONES,
                        beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None,
                        training=False, trainable=True, name=None, reuse=None, renorm=False, renorm_clipping=None,
                        renorm_momentum=0.99, fused=None, virtual_batch_size=None, adjustment=None):
    """See BatchNormalization."""
    layer = BatchNormalization(axis=axis, momentum=momentum, epsilon=epsilon, center=center, scale=scale,
                               beta_initializer=beta_initializer, gamma_initializer=gamma_initializer,
                               moving_mean_initializer=moving_mean_initializer,
                               moving_variance_initializer=moving_variance_initializer, beta_regularizer=beta_regularizer,
                               gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint,
                               gamma_constraint=gamma_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name,
                               renorm=renorm, renorm_clipping=renorm_clipping, renorm_momentum=renorm_momentum, fused=fused,
                               virtual_batch_size=virtual_batch_size, adjustment=adjustment)
    return layer.apply(inputs, training=training)


__all__ = ["AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D", "Conv2D",
           "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Flatten", "InputSpec", "Layer", "MaxPooling1D",
           "MaxPooling2D", "MaxPooling3D", "SeparableConv1D", "SeparableConv2D"]

names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""Layers with their variables: tw.layers. The functions make a layer and call it once."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nn
from thalweg.base import names
from thalweg.control.control_flow import smart_cond
from thalweg.layers.arguments import meant
from thalweg.layers.convolution import Conv1D, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, SeparableConv1D, SeparableConv2D
from thalweg.layers.normalization import BatchNormalization
from thalweg.layers.pooling import AveragePooling1D, AveragePooling2D, AveragePooling3D, MaxPooling1D, MaxPooling2D, MaxPooling3D
from thalweg.operations import array_ops, math_ops
from thalweg.variables.layer import ONES, ZEROS, InputSpec, Layer, channels_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from thalweg.base.typing import Activation, Constraint, DynamicShape, Initializer, Regularizer, TensorLike
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable


class Dense(Layer):
    """A layer that is fully connected: activation(inputs * kernel + bias). See dense().

    Parameters
    ----------
    units : int
        Size of the outputs.
    activation : callable or str, optional
        None by default: linear.
    use_bias : bool
        Whether there is a bias.
    kernel_initializer, bias_initializer : callable, optional
        First values of the variables; the default of their scope, and zeros.
    kernel_regularizer, bias_regularizer, activity_regularizer : callable, optional
        Losses of the variables and of the outputs.
    kernel_constraint, bias_constraint : callable, optional
        Put variables back after each update.
    trainable : bool
        Whether the variables join the collection of those that are trained.
    name : str, optional
        Scope of the variables "kernel" [size, units] and "bias" [units]; "dense", "dense_1" ... by default.
    **kwargs
        What Layer takes.

    Raises
    ------
    ValueError
        When it is called: the last dimension of the inputs is not known.

    Examples
    --------
    >>> layer = tw.layers.Dense(3)
    >>> first, second = layer(tw.zeros([2, 5])), layer(tw.ones([4, 5]))
    >>> second.shape.as_list(), [v.name for v in layer.variables]
    ([4, 3], ['dense/kernel:0', 'dense/bias:0'])
    """

    _CONFIG = ("units activation use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer "
               "activity_regularizer kernel_constraint bias_constraint")
    units: int
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

    def __init__(self, units: int, activation: Activation | str | None = None, use_bias: bool = True,
                 kernel_initializer: Initializer | str | None = None, bias_initializer: Initializer | str = ZEROS,
                 kernel_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
                 activity_regularizer: Regularizer | str | None = None, kernel_constraint: Constraint | str | None = None,
                 bias_constraint: Constraint | str | None = None, trainable: bool = True, name: str | None = None,
                 **kwargs: object) -> None:
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self._set_arguments(**meant(units=int(units), activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                   bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
        self.bias, self.input_spec = None, InputSpec(min_ndim=2)

    def build(self, input_shape: TensorShape) -> None:
        size = input_shape._size(-1) if input_shape.ndims else None
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})

        self.kernel = self.add_weight("kernel", [size, self.units], initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.units], initializer=self.bias_initializer,
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)

    def call(self, inputs: Tensor) -> Tensor:
        if inputs.shape.ndims > 2:
            y = math_ops.tensordot(inputs, self.kernel, [[inputs.shape.ndims - 1], [0]])
        else:
            y = math_ops.matmul(inputs, self.kernel)
        if self.use_bias:
            y = nn.bias_add(y, self.bias)
        return y if self.activation is None else self.activation(y)

    def compute_output_shape(self, input_shape: TensorShape) -> TensorShape:
        channels_of(self, input_shape)
        return input_shape[:-1].concatenate(self.units)


class Dropout(Layer):
    """Sets a share of the elements to zero while training."""

    _CONFIG = "rate noise_shape seed"

    def __init__(self, rate: float | Tensor = 0.5, noise_shape: DynamicShape | None = None, seed: int | None = None,
                 name: str | None = None, **kwargs: object) -> None:
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Tensor, training: bool | Tensor = False) -> Tensor:
        return smart_cond(training,
                          lambda: nn.dropout(inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed),
                          lambda: array_ops.identity(inputs))


class Flatten(Layer):
    """Each example as one row."""

    _CONFIG = "data_format"

    def __init__(self, data_format: str | None = None, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.data_format, self.input_spec = data_format or "channels_last", InputSpec(min_ndim=1)

    def call(self, inputs: Tensor) -> Tensor:
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and (rank or 0) > 2:
            inputs = array_ops.transpose(inputs, [0, *range(2, rank), 1])
        rest = inputs.shape[1:]
        if rank is not None and rest.is_fully_defined():
            return array_ops.reshape(inputs, [-1, rest.num_elements() if rank > 1 else 1])
        return array_ops.reshape(inputs, array_ops.stack([array_ops.shape(inputs)[0], -1]))


def dense(inputs: TensorLike, units: int, activation: Activation | str | None = None, use_bias: bool = True,
          kernel_initializer: Initializer | str | None = None, bias_initializer: Initializer | str = ZEROS,
          kernel_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
          activity_regularizer: Regularizer | str | None = None, kernel_constraint: Constraint | str | None = None,
          bias_constraint: Constraint | str | None = None, trainable: bool = True, name: str | None = None,
          reuse: bool | None = None) -> Tensor:
    """A layer that is fully connected: activation(inputs * kernel + bias).

    Parameters
    ----------
    inputs : tensor_like
        Of shape [..., size]; the size is known.
    units : int
        Size of the outputs.
    activation : callable, optional
        None by default: linear.
    use_bias : bool
        Whether there is a bias.
    kernel_initializer, bias_initializer : callable, optional
        First values of the variables; the default of their scope, and zeros.
    kernel_regularizer, bias_regularizer, activity_regularizer : callable, optional
        Losses of the variables and of the outputs.
    kernel_constraint, bias_constraint : callable, optional
        Put variables back after each update.
    trainable : bool
        Whether the variables join the collection of those that are trained.
    name : str, optional
        Scope of the variables "kernel" [size, units] and "bias" [units]; "dense", "dense_1" ... by default.
    reuse : bool, optional
        Whether the variables are those that are there.

    Returns
    -------
    Tensor
        Of shape [..., units] and the type of `inputs`.

    Raises
    ------
    ValueError
        If the size of `inputs` is not known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     y = tw.layers.dense(tw.constant([[1.0, 2.0]]), 2, activation=tw.nn.relu, kernel_initializer=tw.ones_initializer())
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(y)
    array([[3., 3.]], dtype=float32)
    """
    layer = Dense(units=units, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                  bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                  activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                  bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def dropout(inputs: TensorLike, rate: float | Tensor = 0.5, noise_shape: DynamicShape | None = None, seed: int | None = None,
            training: bool | Tensor = False, name: str | None = None) -> Tensor:
    """Sets a random share of the elements to zero while training, and scales the others up.

    Parameters
    ----------
    inputs : tensor_like
        Of a floating type.
    rate : float or Tensor
        The share that becomes zero.
    noise_shape : tensor_like, optional
        Shape of the random choice, which is broadcast to that of `inputs`.
    seed : int, optional
        Seed of what is drawn.
    training : bool or Tensor
        Whether anything becomes zero; a tensor decides in each run.
    name : str, optional
        Name of the layer.

    Returns
    -------
    Tensor
        Of the type and shape of `inputs`.

    Raises
    ------
    ValueError
        `rate` is not in [0, 1).

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     training = tw.placeholder_with_default(False, [])
    ...     y = tw.layers.dropout(tw.ones([100]), training=training, seed=1)
    ...     print(set(sess.run(y).tolist()), sorted(set(sess.run(y, {training: True}).tolist())))
    {1.0} [0.0, 2.0]
    """
    layer = Dropout(rate=rate, noise_shape=noise_shape, seed=seed, name=name)
    return layer.apply(inputs, training=training)


def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """Each example as one row.

    Parameters
    ----------
    inputs : tensor_like
        Of shape [batch, ...].
    name : str, optional
        Name of the layer.
    data_format : str
        "channels_last", or "channels_first": then the channels go behind the others before.

    Returns
    -------
    Tensor
        Of shape [batch, elements of an example] and the type of `inputs`.

    Examples
    --------
    >>> tw.layers.flatten(tw.zeros([5, 2, 3])).shape.as_list()
    [5, 6]
    """
    layer = Flatten(name=name, data_format=data_format)
    return layer.apply(inputs)


def conv1d(inputs: TensorLike, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = 1,
           padding: str = "valid", data_format: str = "channels_last", dilation_rate: int | Sequence[int] = 1,
           activation: Activation | str | None = None, use_bias: bool = True, kernel_initializer: Initializer | str | None = None,
           bias_initializer: Initializer | str = ZEROS, kernel_regularizer: Regularizer | str | None = None,
           bias_regularizer: Regularizer | str | None = None, activity_regularizer: Regularizer | str | None = None,
           kernel_constraint: Constraint | str | None = None, bias_constraint: Constraint | str | None = None, trainable: bool = True,
           name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Convolution along one dimension."""
    layer = Conv1D(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                   dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                   kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                   kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def conv2d(inputs: TensorLike, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1),
           padding: str = "valid", data_format: str = "channels_last", dilation_rate: int | Sequence[int] = (1, 1),
           activation: Activation | str | None = None, use_bias: bool = True, kernel_initializer: Initializer | str | None = None,
           bias_initializer: Initializer | str = ZEROS, kernel_regularizer: Regularizer | str | None = None,
           bias_regularizer: Regularizer | str | None = None, activity_regularizer: Regularizer | str | None = None,
           kernel_constraint: Constraint | str | None = None, bias_constraint: Constraint | str | None = None, trainable: bool = True,
           name: str | None = None, reuse: bool | None = None) -> Tensor:
    """A convolution of images: activation(convolution of the inputs with `filters` kernels + bias).

    Parameters
    ----------
    inputs : tensor_like
        Of shape [batch, height, width, channels]; the channels are known.
    filters : int
        How many kernels.
    kernel_size, strides, dilation_rate : int or pair of int
        Height and width of the kernels, their steps, and the distance of their elements.
    padding : str
        "valid" or "same".
    data_format : str
        "channels_last" or "channels_first".
    activation : callable, optional
        None by default: linear.
    use_bias : bool
        Whether there is a bias.
    kernel_initializer, bias_initializer : callable, optional
        First values of the variables; the default of their scope, and zeros.
    kernel_regularizer, bias_regularizer, activity_regularizer : callable, optional
        Losses of the variables and of the outputs.
    kernel_constraint, bias_constraint : callable, optional
        Put variables back after each update.
    trainable : bool
        Whether the variables join the collection of those that are trained.
    name : str, optional
        Scope of the variables "kernel" [height, width, channels, filters] and "bias"; "conv2d" by default.
    reuse : bool, optional
        Whether the variables are those that are there.

    Returns
    -------
    Tensor
        Of shape [batch, height, width, filters].

    Raises
    ------
    ValueError
        The inputs have not four dimensions, or that of the channels is not known.

    Examples
    --------
    >>> tw.layers.conv2d(tw.zeros([8, 28, 28, 1]), 16, kernel_size=5, padding="same").shape.as_list()
    [8, 28, 28, 16]
    """
    layer = Conv2D(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                   dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                   kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                   kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def conv3d(inputs: TensorLike, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1, 1),
           padding: str = "valid", data_format: str = "channels_last", dilation_rate: int | Sequence[int] = (1, 1, 1),
           activation: Activation | str | None = None, use_bias: bool = True, kernel_initializer: Initializer | str | None = None,
           bias_initializer: Initializer | str = ZEROS, kernel_regularizer: Regularizer | str | None = None,
           bias_regularizer: Regularizer | str | None = None, activity_regularizer: Regularizer | str | None = None,
           kernel_constraint: Constraint | str | None = None, bias_constraint: Constraint | str | None = None, trainable: bool = True,
           name: str | None = None, reuse: bool | None = None) -> Tensor:
    """Convolution of volumes."""
    layer = Conv3D(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                   dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                   kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                   kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                   activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                   bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def conv2d_transpose(inputs: TensorLike, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1),
                     padding: str = "valid", data_format: str = "channels_last", activation: Activation | str | None = None,
                     use_bias: bool = True, kernel_initializer: Initializer | str | None = None, bias_initializer: Initializer | str = ZEROS,
                     kernel_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
                     activity_regularizer: Regularizer | str | None = None, kernel_constraint: Constraint | str | None = None,
                     bias_constraint: Constraint | str | None = None, trainable: bool = True, name: str | None = None,
                     reuse: bool | None = None) -> Tensor:
    """A transposed convolution of images: makes them larger.

    Parameters
    ----------
    inputs : tensor_like
        Of shape [batch, height, width, channels]; the channels are known.
    filters : int
        How many kernels.
    kernel_size, strides : int or pair of int
        Height and width of the kernels, and how much larger images become.
    padding : str
        "valid" or "same".
    data_format : str
        "channels_last" or "channels_first".
    activation : callable, optional
        None by default: linear.
    use_bias : bool
        Whether there is a bias.
    kernel_initializer, bias_initializer : callable, optional
        First values of the variables; the default of their scope, and zeros.
    kernel_regularizer, bias_regularizer, activity_regularizer : callable, optional
        Losses of the variables and of the outputs.
    kernel_constraint, bias_constraint : callable, optional
        Put variables back after each update.
    trainable : bool
        Whether the variables join the collection of those that are trained.
    name : str, optional
        Scope of the variables "kernel" [height, width, filters, channels] and "bias"; "conv2d_transpose" by default.
    reuse : bool, optional
        Whether the variables are those that are there.

    Returns
    -------
    Tensor
        Of shape [batch, height, width, filters].

    Raises
    ------
    ValueError
        The inputs have not four dimensions, or that of the channels is not known.

    Examples
    --------
    >>> tw.layers.conv2d_transpose(tw.zeros([8, 7, 7, 3]), 16, kernel_size=3, strides=2, padding="same").shape.as_list()
    [8, 14, 14, 16]
    """
    layer = Conv2DTranspose(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding,
                            data_format=data_format, activation=activation, use_bias=use_bias,
                            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                            kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                            activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                            bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def conv3d_transpose(inputs: TensorLike, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1, 1),
                     padding: str = "valid", data_format: str = "channels_last", activation: Activation | str | None = None,
                     use_bias: bool = True, kernel_initializer: Initializer | str | None = None, bias_initializer: Initializer | str = ZEROS,
                     kernel_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
                     activity_regularizer: Regularizer | str | None = None, kernel_constraint: Constraint | str | None = None,
                     bias_constraint: Constraint | str | None = None, trainable: bool = True, name: str | None = None,
                     reuse: bool | None = None) -> Tensor:
    """Transposed convolution of volumes."""
    layer = Conv3DTranspose(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding,
                            data_format=data_format, activation=activation, use_bias=use_bias,
                            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                            kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                            activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                            bias_constraint=bias_constraint, trainable=trainable, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs)


def separable_conv1d(inputs: TensorLike, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = 1,
                     padding: str = "valid", data_format: str = "channels_last", dilation_rate: int | Sequence[int] = 1,
                     depth_multiplier: int = 1, activation: Activation | str | None = None, use_bias: bool = True,
                     depthwise_initializer: Initializer | str | None = None, pointwise_initializer: Initializer | str | None = None,
                     bias_initializer: Initializer | str = ZEROS, depthwise_regularizer: Regularizer | str | None = None,
                     pointwise_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
                     activity_regularizer: Regularizer | str | None = None, depthwise_constraint: Constraint | str | None = None,
                     pointwise_constraint: Constraint | str | None = None, bias_constraint: Constraint | str | None = None,
                     trainable: bool = True, name: str | None = None, reuse: bool | None = None) -> Tensor:
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


def separable_conv2d(inputs: TensorLike, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = (1, 1),
                     padding: str = "valid", data_format: str = "channels_last", dilation_rate: int | Sequence[int] = (1, 1),
                     depth_multiplier: int = 1, activation: Activation | str | None = None, use_bias: bool = True,
                     depthwise_initializer: Initializer | str | None = None, pointwise_initializer: Initializer | str | None = None,
                     bias_initializer: Initializer | str = ZEROS, depthwise_regularizer: Regularizer | str | None = None,
                     pointwise_regularizer: Regularizer | str | None = None, bias_regularizer: Regularizer | str | None = None,
                     activity_regularizer: Regularizer | str | None = None, depthwise_constraint: Constraint | str | None = None,
                     pointwise_constraint: Constraint | str | None = None, bias_constraint: Constraint | str | None = None,
                     trainable: bool = True, name: str | None = None, reuse: bool | None = None) -> Tensor:
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


_POOLING = """The {what} of each window.

Parameters
----------
inputs : tensor_like
    Of shape [batch, {space}, channels].
pool_size, strides : int or sequence of int
    Size and distance of the windows: one number for all dimensions, or one for each.
padding : str
    "valid" or "same".
data_format : str
    "channels_last", or "channels_first" where the channels come second.
name : str, optional
    Name of the layer.

Returns
-------
Tensor
    Of the rank and type of `inputs`.

Raises
------
ValueError
    If the rank of `inputs` is not {rank}.

Examples
--------
>>> tw.layers.{name}(tw.zeros({shape}), pool_size=2, strides=2).shape.as_list()
{result}
"""


def _pooling(layer, what):
    """The function of a pooling layer."""
    def pooling(inputs: TensorLike, pool_size: int | Sequence[int], strides: int | Sequence[int], padding: str = "valid",
                data_format: str = "channels_last", name: str | None = None) -> Tensor:
        return layer(pool_size=pool_size, strides=strides, padding=padding, data_format=data_format, name=name).apply(inputs)
    pooling.__name__ = pooling.__qualname__ = layer.__name__.replace("Pooling", "_pooling").lower()
    space = {1: "steps", 2: "height, width", 3: "depth, height, width"}[layer.rank]
    pooling.__doc__ = _POOLING.format(what=what, space=space, rank=layer.rank + 2, name=pooling.__name__,
                                      shape=[8, *[28] * layer.rank, 3], result=[8, *[14] * layer.rank, 3])
    return pooling


max_pooling1d, max_pooling2d, max_pooling3d = [_pooling(l, "largest value") for l in (MaxPooling1D, MaxPooling2D, MaxPooling3D)]
average_pooling1d, average_pooling2d, average_pooling3d = [
    _pooling(l, "mean") for l in (AveragePooling1D, AveragePooling2D, AveragePooling3D)]


def batch_normalization(inputs: TensorLike, axis: int | Sequence[int] = -1, momentum: float = 0.99, epsilon: float = 0.001, center: bool = True,
                        scale: bool = True, beta_initializer: Initializer | str = ZEROS, gamma_initializer: Initializer | str = ONES,
                        moving_mean_initializer: Initializer | str = ZEROS, moving_variance_initializer: Initializer | str = ONES,
                        beta_regularizer: Regularizer | str | None = None, gamma_regularizer: Regularizer | str | None = None,
                        beta_constraint: Constraint | str | None = None, gamma_constraint: Constraint | str | None = None,
                        training: bool | Tensor = False, trainable: bool = True, name: str | None = None,
                        reuse: bool | None = None, renorm: bool = False, renorm_clipping: Mapping[str, TensorLike] | None = None,
                        renorm_momentum: float = 0.99, fused: bool | None = None, virtual_batch_size: int | None = None,
                        adjustment: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None) -> Tensor:
    """Normalizes by the mean and variance of the batch, or when not training by their moving averages.

    The updates of the averages are in the collection UPDATE_OPS: run them with the training step.

    Parameters
    ----------
    inputs : tensor_like
        Of a floating type; the size of `axis` is known.
    axis : int
        The dimension that keeps its own mean and variance, usually the channels.
    momentum : float
        How much of the averages stays in each step.
    epsilon : float
        Keeps the divisor from zero.
    center, scale : bool
        Whether there are variables "beta", which is added, and "gamma", which multiplies.
    beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer : callable
        First values of the variables.
    beta_regularizer, gamma_regularizer : callable, optional
        Losses of beta and gamma.
    beta_constraint, gamma_constraint : callable, optional
        Put beta and gamma back after each update.
    training : bool or Tensor
        Whether the batch counts; a tensor decides in each run.
    trainable : bool
        Whether the variables join the collection of those that are trained.
    name : str, optional
        Scope of the variables; "batch_normalization" by default.
    reuse : bool, optional
        Whether the variables are those that are there.
    renorm, renorm_clipping, renorm_momentum, virtual_batch_size, adjustment
        Not there yet.
    fused : bool, optional
        Whether one operation does it all; by default where it can.

    Returns
    -------
    Tensor
        Of the type and shape of `inputs`.

    Raises
    ------
    NotImplementedError
        If `renorm`, `virtual_batch_size` or `adjustment` is asked for.

    Examples
    --------
    >>> y = tw.layers.batch_normalization(tw.constant([[1.0], [3.0]]), training=True, epsilon=0.0)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(y)
    array([[-1.],
           [ 1.]], dtype=float32)
    """
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

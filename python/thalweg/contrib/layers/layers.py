# SPDX-License-Identifier: Apache-2.0
"""Layers with slim's arguments: fully_connected, convolutions, pooling."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, layers, nn
from thalweg.contrib.framework.arg_scopes import add_arg_scope
from thalweg.contrib.framework.variables import model_variable
from thalweg.contrib.layers.initializers import xavier_initializer
from thalweg.contrib.layers.utils import as_channels, collect, collect_variables, getter_of, variable_names
from thalweg.graph import graph
from thalweg.graph.ops import convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.variables import init_ops
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from thalweg.base.typing import Activation, DynamicShape, Initializer, Regularizer, TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variable_scopes import VariableScope

_XAVIER, _ZEROS = xavier_initializer(), init_ops.zeros_initializer()


def _with_normalizer(outputs, normalizer_fn, normalizer_params, activation_fn, collections, scope):
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect(collections, scope, outputs)


@add_arg_scope
def fully_connected(inputs: TensorLike, num_outputs: int, activation_fn: Activation | None = nn.relu,
                    normalizer_fn: Callable[..., Tensor] | None = None, normalizer_params: Mapping[str, object] | None = None,
                    weights_initializer: Initializer = _XAVIER, weights_regularizer: Regularizer | None = None,
                    biases_initializer: Initializer | None = _ZEROS, biases_regularizer: Regularizer | None = None,
                    reuse: bool | None = None,
                    variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
                    outputs_collections: str | Sequence[str] | None = None, trainable: bool = True,
                    scope: str | VariableScope | None = None) -> Tensor:
    """A layer that is fully connected: activation_fn(inputs * weights + biases), or with a normalizer instead of biases.

    Parameters
    ----------
    inputs : tensor_like
        Of shape [..., size]; the size is known.
    num_outputs : int
        Size of the outputs.
    activation_fn : callable or None
        relu by default; None: linear.
    normalizer_fn, normalizer_params : callable and dict, optional
        What normalizes in the place of biases, and its arguments.
    weights_initializer, biases_initializer : callable or None
        First values of the variables; without the second there are no biases.
    weights_regularizer, biases_regularizer : callable, optional
        Losses of the variables.
    reuse : bool, optional
        Whether the variables are those that are there.
    variables_collections : list of str or dict, optional
        Collections that the variables join, or {"weights": collections, "biases": collections}.
    outputs_collections : str or list of str, optional
        Collections that the outputs join.
    trainable : bool
        Whether the variables join the collection of those that are trained.
    scope : str or VariableScope, optional
        Scope of the variables "weights" and "biases"; "fully_connected" by default.

    Returns
    -------
    Tensor
        Of shape [..., num_outputs].

    Raises
    ------
    ValueError
        If `num_outputs` is no number or the size of `inputs` is not known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     y = tw.contrib.layers.fully_connected(tw.ones([1, 2]), 3, weights_initializer=tw.ones_initializer())
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(y)
    array([[2., 2., 2.]], dtype=float32)
    """
    if not isinstance(num_outputs, int) and not hasattr(num_outputs, "__index__"):
        raise ValueError(f"num_outputs type should be one of [int], got {type(num_outputs)}.")
    getter = getter_of({"bias": "biases", "kernel": "weights"})
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter) as sc:
        layer = layers.Dense(
            units=num_outputs, activation=None, use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer, bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, _scope=sc, _reuse=reuse)
        outputs = layer.apply(convert_to_tensor(inputs))
        collect_variables(layer, variables_collections)
        return _with_normalizer(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc)


_CONVOLUTIONS = {3: layers.Conv1D, 4: layers.Conv2D, 5: layers.Conv3D}


@add_arg_scope
def convolution(inputs: TensorLike, num_outputs: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                padding: str = "SAME", data_format: str | None = None, rate: int | Sequence[int] = 1,
                activation_fn: Activation | None = nn.relu, normalizer_fn: Callable[..., Tensor] | None = None,
                normalizer_params: Mapping[str, object] | None = None, weights_initializer: Initializer = _XAVIER,
                weights_regularizer: Regularizer | None = None, biases_initializer: Initializer | None = _ZEROS,
                biases_regularizer: Regularizer | None = None, reuse: bool | None = None,
                variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
                outputs_collections: str | Sequence[str] | None = None, trainable: bool = True,
                scope: str | VariableScope | None = None, conv_dims: int | None = None) -> Tensor:
    """A convolution of as many dimensions as the inputs have, its activation or normalizer."""
    getter = getter_of({"bias": "biases", "kernel": "weights"})
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank not in _CONVOLUTIONS or conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {3 if conv_dims is None else conv_dims + 2}, got {rank}")
        layer = _CONVOLUTIONS[rank](
            filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding, data_format=as_channels(data_format),
            dilation_rate=rate, activation=None, use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer, bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, _scope=sc, _reuse=reuse)
        outputs = layer.apply(inputs)
        collect_variables(layer, variables_collections)
        return _with_normalizer(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc)


def _of_rank(dimensions, name, doc):
    @add_arg_scope
    def made(inputs: TensorLike, num_outputs: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
             padding: str = "SAME", data_format: str | None = None, rate: int | Sequence[int] = 1,
             activation_fn: Activation | None = nn.relu, normalizer_fn: Callable[..., Tensor] | None = None,
             normalizer_params: Mapping[str, object] | None = None, weights_initializer: Initializer = _XAVIER,
             weights_regularizer: Regularizer | None = None, biases_initializer: Initializer | None = _ZEROS,
             biases_regularizer: Regularizer | None = None, reuse: bool | None = None,
             variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
             outputs_collections: str | Sequence[str] | None = None, trainable: bool = True,
             scope: str | VariableScope | None = None) -> Tensor:
        return convolution(inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
                           normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer,
                           reuse, variables_collections, outputs_collections, trainable, scope, conv_dims=dimensions)
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc
    return made


convolution1d = conv1d = _of_rank(1, "convolution1d", "Convolution along one dimension.")
convolution2d = conv2d = _of_rank(2, "convolution2d", "Convolution of images.")
convolution3d = conv3d = _of_rank(3, "convolution3d", "Convolution of volumes.")


@add_arg_scope
def convolution2d_transpose(inputs: TensorLike, num_outputs: int, kernel_size: int | Sequence[int],
                            stride: int | Sequence[int] = 1, padding: str = "SAME", data_format: str = "NHWC",
                            activation_fn: Activation | None = nn.relu, normalizer_fn: Callable[..., Tensor] | None = None,
                            normalizer_params: Mapping[str, object] | None = None, weights_initializer: Initializer = _XAVIER,
                            weights_regularizer: Regularizer | None = None, biases_initializer: Initializer | None = _ZEROS,
                            biases_regularizer: Regularizer | None = None, reuse: bool | None = None,
                            variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
                            outputs_collections: str | Sequence[str] | None = None, trainable: bool = True,
                            scope: str | VariableScope | None = None) -> Tensor:
    """Transposed convolution of images."""
    getter = getter_of({"bias": "biases", "kernel": "weights"})
    with variable_scope(scope, "Conv2d_transpose", [inputs], reuse=reuse, custom_getter=getter) as sc:
        layer = layers.Conv2DTranspose(
            filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding, data_format=as_channels(data_format),
            activation=None, use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer, bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, _scope=sc, _reuse=reuse)
        outputs = layer.apply(convert_to_tensor(inputs))
        collect_variables(layer, variables_collections)
        return _with_normalizer(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc)


conv2d_transpose = convolution2d_transpose


def _pair(value):
    return [value, value] if isinstance(value, int) else list(value)


@add_arg_scope
def separable_convolution2d(inputs: TensorLike, num_outputs: int | None, kernel_size: int | Sequence[int], depth_multiplier: int = 1,
                            stride: int | Sequence[int] = 1, padding: str = "SAME", data_format: str = "NHWC",
                            rate: int | Sequence[int] = 1, activation_fn: Activation | None = nn.relu,
                            normalizer_fn: Callable[..., Tensor] | None = None,
                            normalizer_params: Mapping[str, object] | None = None, weights_initializer: Initializer = _XAVIER,
                            pointwise_initializer: Initializer | None = None, weights_regularizer: Regularizer | None = None,
                            biases_initializer: Initializer | None = _ZEROS, biases_regularizer: Regularizer | None = None,
                            reuse: bool | None = None,
                            variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
                            outputs_collections: str | Sequence[str] | None = None, trainable: bool = True,
                            scope: str | VariableScope | None = None) -> Tensor:
    """A convolution of each channel, then, unless num_outputs is None, one that mixes them."""
    getter = getter_of({"bias": "biases", "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights"})
    with variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        use_bias = not normalizer_fn and biases_initializer is not None
        if num_outputs is not None:
            layer = layers.SeparableConv2D(
                filters=num_outputs, kernel_size=kernel_size, strides=stride, padding=padding,
                data_format=as_channels(data_format), dilation_rate=rate, activation=None, depth_multiplier=depth_multiplier,
                use_bias=use_bias, depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer, bias_initializer=biases_initializer,
                depthwise_regularizer=weights_regularizer, pointwise_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, _scope=sc, _reuse=reuse)
            outputs = layer.apply(inputs)
            collect_variables(layer, variables_collections)
        else:
            axis = 3 if data_format == "NHWC" else 1
            channels = inputs.shape._size(axis)
            weights = model_variable("depthwise_weights", [*_pair(kernel_size), channels, depth_multiplier],
                                     inputs.dtype.base_dtype, weights_initializer, weights_regularizer, trainable,
                                     variable_names(variables_collections, "weights"))
            steps = [1, *_pair(stride), 1] if data_format == "NHWC" else [1, 1, *_pair(stride)]
            outputs = nn.depthwise_conv2d(inputs, weights, steps, padding, _pair(rate), data_format=data_format)
            if use_bias:
                biases = model_variable("biases", [channels * depth_multiplier], inputs.dtype.base_dtype, biases_initializer,
                                        biases_regularizer, trainable, variable_names(variables_collections, "biases"))
                outputs = nn.bias_add(outputs, biases, data_format=data_format)
        return _with_normalizer(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc)


separable_conv2d = separable_convolution2d


def _pooling(layer, default_name, doc, rank=2):
    @add_arg_scope
    def pool(inputs: TensorLike, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 2, padding: str = "VALID",
             data_format: str = "NHWC" if rank == 2 else "NDHWC", outputs_collections: str | Sequence[str] | None = None,
             scope: str | VariableScope | None = None) -> Tensor:
        with graph.name_scope(scope, default_name, [inputs]) as sc:
            made = layer(pool_size=kernel_size, strides=stride, padding=padding, data_format=as_channels(data_format), _scope=sc)
            return collect(outputs_collections, sc, made.apply(convert_to_tensor(inputs)))
    pool.__doc__ = doc
    return pool


max_pool2d = _pooling(layers.MaxPooling2D, "MaxPool2D", "The largest value of each window.")
avg_pool2d = _pooling(layers.AveragePooling2D, "AvgPool2D", "The mean of each window.")
max_pool3d = _pooling(layers.MaxPooling3D, "MaxPool3D", "The largest value of each window.", 3)
avg_pool3d = _pooling(layers.AveragePooling3D, "AvgPool3D", "The mean of each window.", 3)


@add_arg_scope
def dropout(inputs: TensorLike, keep_prob: float | Tensor = 0.5, noise_shape: DynamicShape | None = None,
            is_training: bool | Tensor = True, outputs_collections: str | Sequence[str] | None = None,
            scope: str | VariableScope | None = None, seed: int | None = None) -> Tensor:
    """Sets a random share of the elements to zero while training, and scales the others up.

    Parameters
    ----------
    inputs : tensor_like
        Of a floating type.
    keep_prob : float or Tensor
        The share that stays.
    noise_shape : tensor_like, optional
        Shape of the random choice, which is broadcast to that of `inputs`.
    is_training : bool or Tensor
        Whether anything becomes zero; a tensor decides in each run.
    outputs_collections : str or list of str, optional
        Collections that the outputs join.
    scope : str, optional
        Name of the scope.
    seed : int, optional
        Seed of what is drawn.

    Returns
    -------
    Tensor
        Of the type and shape of `inputs`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.contrib.layers.dropout(tw.ones([3]), is_training=False))
    array([1., 1., 1.], dtype=float32)
    """
    with variable_scope(scope, "Dropout", [inputs]) as sc:
        layer = layers.Dropout(rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc)
        return collect(outputs_collections, sc, layer.apply(convert_to_tensor(inputs), training=is_training))


@add_arg_scope
def flatten(inputs: TensorLike, outputs_collections: str | Sequence[str] | None = None,
            scope: str | VariableScope | None = None) -> Tensor:
    """Each example as one row.

    Parameters
    ----------
    inputs : tensor_like
        Of shape [batch, ...].
    outputs_collections : str or list of str, optional
        Collections that the outputs join.
    scope : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        Of shape [batch, elements of an example] and the type of `inputs`.

    Raises
    ------
    ValueError
        If `inputs` is a scalar.

    Examples
    --------
    >>> tw.contrib.layers.flatten(tw.zeros([5, 2, 3])).shape.as_list()
    [5, 6]
    """
    with graph.name_scope(scope, "Flatten", [inputs]) as sc:
        return collect(outputs_collections, sc, layers.flatten(convert_to_tensor(inputs)))


@add_arg_scope
def bias_add(inputs: TensorLike, activation_fn: Callable[..., Tensor] | None = None, initializer: Initializer = _ZEROS,
             regularizer: Regularizer | None = None, reuse: bool | None = None,
             variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
             outputs_collections: str | Sequence[str] | None = None, trainable: bool = True, data_format: str = "NHWC",
             scope: str | VariableScope | None = None) -> Tensor:
    """Inputs and biases of the channels."""
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        size = inputs.shape._size(1 if data_format == "NCHW" else -1)
        biases = model_variable("biases", [size], inputs.dtype.base_dtype, initializer, regularizer, trainable,
                                variable_names(variables_collections, "biases"))
        outputs = nn.bias_add(inputs, biases, data_format=data_format)
        return collect(outputs_collections, sc, outputs if activation_fn is None else activation_fn(outputs))


@add_arg_scope
def one_hot_encoding(labels: TensorLike, num_classes: int, on_value: float = 1.0, off_value: float = 0.0,
                     outputs_collections: str | Sequence[str] | None = None, scope: str | VariableScope | None = None) -> Tensor:
    """Class numbers as vectors."""
    with graph.name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        labels = convert_to_tensor(labels)
        if labels.dtype.base_dtype.name == "int32":
            labels = math_ops.cast(labels, dtypes.int64)
        return collect(outputs_collections, sc, array_ops.one_hot(labels, num_classes, on_value, off_value))

# SPDX-License-Identifier: Apache-2.0
"""What a layer makes of its inputs: biases, activations, softmax, dropout."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, math_ops, random_ops
from thalweg.operations.math_ops import sigmoid, tanh  # noqa: F401  (activations as well)

if TYPE_CHECKING:
    from thalweg.base.typing import Activation, DynamicShape, TensorLike


def of_name(name: str) -> Activation:
    """The activation of a name: "relu"."""
    return getattr(sys.modules[__name__], name)


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """max(features, 0), element by element.

    Parameters
    ----------
    features : tensor_like
        Of a real type.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `features`.

    Raises
    ------
    TypeError
        Where `features` is of no real type.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.relu([-1.0, 0.0, 2.0]))
    array([0., 0., 2.], dtype=float32)
    """
    return apply("Relu", [features], name=name)


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """min(max(features, 0), 6), element by element.

    Parameters
    ----------
    features : tensor_like
        Of a real type.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `features`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.relu6([-1.0, 2.0, 8.0]))
    array([0., 2., 6.], dtype=float32)
    """
    return apply("Relu6", [features], name=name)


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """The features where they are above 0, elsewhere exp(features) - 1 (arXiv 1511.07289).

    Parameters
    ----------
    features : tensor_like
        Of a floating type.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `features`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.elu([0.0, 2.0]))
    array([0., 2.], dtype=float32)
    """
    return apply("Elu", [features], name=name)


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """An elu that is scaled so that activations keep mean 0 and variance 1 (arXiv 1706.02515).

    Parameters
    ----------
    features : tensor_like
        Of a floating type.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `features`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.selu([0.0, 1.0]))
    array([0.      , 1.050701], dtype=float32)
    """
    return apply("Selu", [features], name=name)


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """log(exp(features) + 1): a smooth relu.

    Parameters
    ----------
    features : tensor_like
        Of a floating type.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `features`.

    Raises
    ------
    TypeError
        Where `features` is of no floating type.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.softplus([0.0, 100.0]))
    array([  0.6931472, 100.       ], dtype=float32)
    """
    return apply("Softplus", [features], name=name)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """features / (1 + abs(features)): between -1 and 1.

    Parameters
    ----------
    features : tensor_like
        Of a floating type.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `features`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.softsign([-1.0, 0.0, 3.0]))
    array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    return apply("Softsign", [features], name=name)


def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None) -> Tensor:
    """value + bias, one bias for each channel.

    Parameters
    ----------
    value : tensor_like
        Of rank 2 or more, of any numeric type.
    bias : tensor_like
        Of shape [channels] and the type of `value`.
    data_format : str, optional
        "NHWC" (default): the channels are the last dimension; "NCHW": the second one.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `value`.

    Raises
    ------
    ValueError
        If `bias` is no vector or has not as many elements as there are channels.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.bias_add([[1.0, 2.0], [3.0, 4.0]], [10.0, 20.0]))
    array([[11., 22.],
           [13., 24.]], dtype=float32)
    """
    return apply("BiasAdd", [value, bias], {"data_format": data_format}, name=name or "BiasAdd")


def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """x * weights + biases: one layer that is fully connected.

    Parameters
    ----------
    x : tensor_like
        Of shape [batch, inputs].
    weights : tensor_like
        Of shape [inputs, outputs] and the type of `x`.
    biases : tensor_like
        Of shape [outputs].
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        Of shape [batch, outputs] and the type of `x`.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.xw_plus_b([[1.0, 2.0]], [[1.0], [10.0]], [0.5]))
    array([[21.5]], dtype=float32)
    """
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return bias_add(math_ops.matmul(x, weights), biases, name=scope)


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """The features where they are above 0, elsewhere alpha * features.

    Parameters
    ----------
    features : tensor_like
        Of a floating type.
    alpha : float
        The slope below 0.
    name : str, optional
        Name of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `features`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.leaky_relu([-2.0, 3.0], alpha=0.5))
    array([-1.,  3.], dtype=float32)
    """
    return apply("LeakyRelu", [features], {"alpha": alpha}, name=name)


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """Both halves of relu: of the features and of their negative."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features)
        return apply("Relu", [array_ops.concat([features, -features], axis)], name=scope)


def swish(features: TensorLike) -> Tensor:
    """x * sigmoid(x)."""
    features = convert_to_tensor(features)
    return features * apply("Sigmoid", [features])


def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
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
    if axis == -1 or rank is not None and axis == rank - 1:
        if rank == 1:
            return array_ops.squeeze(apply(op, [array_ops.expand_dims(logits, 0)]), 0, name=name)
        return apply(op, [logits], name=name)
    if rank is None:
        order = array_ops.swapped_order(logits, axis)
    else:
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
    return array_ops.transpose(apply(op, [array_ops.transpose(logits, order)]), order, name=name or op)


def softmax(logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `axis`: logits become probabilities.

    Parameters
    ----------
    logits : tensor_like
        Of a floating type and any shape that is not empty.
    axis : int, optional
        The dimension that sums to 1; the last one by default.
    name : str, optional
        Name of the operation.
    dim : int, optional
        Old name of `axis`.

    Returns
    -------
    Tensor
        Of the type and shape of `logits`.

    Raises
    ------
    ValueError
        If both `axis` and `dim` are given.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.softmax([[0.0, 0.0], [1.0, 1.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)
    """
    return _last_dimension("Softmax", logits, deprecated_argument_lookup("axis", axis, "dim", dim), name)


def log_softmax(logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """log(softmax(logits)), without the loss of digits that the two would have one after the other.

    Parameters
    ----------
    logits : tensor_like
        Of a floating type and any shape that is not empty.
    axis : int, optional
        The dimension of the classes; the last one by default.
    name : str, optional
        Name of the operation.
    dim : int, optional
        Old name of `axis`.

    Returns
    -------
    Tensor
        Of the type and shape of `logits`.

    Raises
    ------
    ValueError
        If both `axis` and `dim` are given.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.log_softmax([[0.0, 0.0]]))
    array([[-0.6931472, -0.6931472]], dtype=float32)
    """
    return _last_dimension("LogSoftmax", logits, deprecated_argument_lookup("axis", axis, "dim", dim), name)


def dropout(x: TensorLike, keep_prob: float | TensorLike | None = None, noise_shape: DynamicShape | None = None,
            seed: int | None = None, name: str | None = None, rate: float | TensorLike | None = None) -> Tensor:
    """Sets a random share of the elements to zero and scales the others up, so that their expected sum stays.

    Parameters
    ----------
    x : tensor_like
        Of a floating type.
    keep_prob : float or Tensor, optional
        Old form of `rate`: 1 - rate.
    noise_shape : tensor_like, optional
        Shape of the random choice, which is broadcast to that of `x`: a dimension of 1 keeps or drops its elements together.
    seed : int, optional
        Seed of the operation.
    name : str, optional
        Name of the scope.
    rate : float or Tensor, optional
        The share of elements that becomes zero, in [0, 1).

    Returns
    -------
    Tensor
        Of the type and shape of `x`.

    Raises
    ------
    ValueError
        If neither `rate` nor `keep_prob` is given, `rate` lies outside [0, 1), or `x` is of no floating type.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     y = sess.run(tw.nn.dropout(tw.ones([1000]), rate=0.5, seed=1))
    >>> sorted(set(y.tolist()))
    [0.0, 2.0]
    """
    if rate is None:
        if keep_prob is None:
            raise ValueError("You must provide a rate to dropout.")
        rate = 1 - keep_prob
    with name_scope(name, "dropout", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if not isinstance(x, Tensor):
            return x._map_values(lambda values: dropout(values, keep_prob, noise_shape, seed, None, rate))
        if not x.dtype.is_floating:
            raise ValueError(f"x has to be a floating point tensor since it's going to be scaled. Got {x.dtype!r}.")
        if not ops.is_dense(rate):
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

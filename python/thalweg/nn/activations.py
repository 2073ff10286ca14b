# SPDX-License-Identifier: Apache-2.0
"""What a layer makes of its inputs: biases, activations, softmax, dropout."""
import sys

from thalweg import raw_ops
from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops, random_ops

_SINGLE = {"relu": "Relu", "relu6": "Relu6", "elu": "Elu", "selu": "Selu", "softplus": "Softplus", "softsign": "Softsign",
           "sigmoid": "Sigmoid", "tanh": "Tanh"}


def __getattr__(name):
    if name in _SINGLE:
        value = globals()[name] = raw_ops.function(_SINGLE[name], name)
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def of_name(name):
    """The activation of a name: "relu"."""
    return getattr(sys.modules[__name__], name)


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
    if axis == -1 or rank is not None and axis == rank - 1:
        if rank is not None and rank < 2:
            return array_ops.squeeze(apply(op, [array_ops.expand_dims(logits, 0)]), 0, name=name)
        return apply(op, [logits], name=name)
    if rank is None:
        order = array_ops.swapped_order(logits, axis)
    else:
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
    return array_ops.transpose(apply(op, [array_ops.transpose(logits, order)]), order, name=name or op)


def softmax(logits, axis=None, name=None, dim=None):
    """exp(x) / sum(exp(x)) along `axis`, the last one."""
    return _last_dimension("Softmax", logits, deprecated_argument_lookup("axis", axis, "dim", dim), name)


def log_softmax(logits, axis=None, name=None, dim=None):
    """log(softmax(x))."""
    return _last_dimension("LogSoftmax", logits, deprecated_argument_lookup("axis", axis, "dim", dim), name)


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

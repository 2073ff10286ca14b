# SPDX-License-Identifier: Apache-2.0
"""Normalization with slim's arguments."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import layers, nn
from thalweg.contrib.framework.arg_scopes import add_arg_scope
from thalweg.contrib.framework.variables import model_variable
from thalweg.contrib.layers.utils import as_channels, collect, collect_variables, getter_of, variable_names
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops
from thalweg.variables import init_ops
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from thalweg.base.typing import Activation, Initializer, Regularizer, TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variable_scopes import VariableScope

_ZEROS, _ONES = init_ops.zeros_initializer(), init_ops.ones_initializer()


def _batch_norm_layer(sc, axis, given, reuse):
    initializers, regularizers = given["param_initializers"] or {}, given["param_regularizers"] or {}
    return layers.BatchNormalization(
        axis=axis, momentum=given["decay"], epsilon=given["epsilon"], center=given["center"], scale=given["scale"],
        beta_initializer=initializers.get("beta", _ZEROS), gamma_initializer=initializers.get("gamma", _ONES),
        moving_mean_initializer=initializers.get("moving_mean", _ZEROS),
        moving_variance_initializer=initializers.get("moving_variance", _ONES), beta_regularizer=regularizers.get("beta"),
        gamma_regularizer=regularizers.get("gamma"), trainable=given["trainable"], renorm=given["renorm"],
        renorm_clipping=given["renorm_clipping"], renorm_momentum=given["renorm_decay"], adjustment=given["adjustment"],
        name=sc.name, _scope=sc, _reuse=reuse, fused=given["fused"])


@add_arg_scope
def batch_norm(inputs: TensorLike, decay: float = 0.999, center: bool = True, scale: bool = False, epsilon: float = 0.001,
               activation_fn: Activation | None = None, param_initializers: Mapping[str, Initializer] | None = None,
               param_regularizers: Mapping[str, Regularizer] | None = None,
               updates_collections: str | Sequence[str] | None = GraphKeys.UPDATE_OPS, is_training: bool | Tensor = True,
               reuse: bool | None = None, variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
               outputs_collections: str | Sequence[str] | None = None, trainable: bool = True,
               batch_weights: TensorLike | None = None, fused: bool | None = None, data_format: str = "NHWC",
               zero_debias_moving_mean: bool = False, scope: str | VariableScope | None = None, renorm: bool = False,
               renorm_clipping: Mapping[str, TensorLike] | None = None, renorm_decay: float = 0.99,
               adjustment: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None) -> Tensor:
    """Normalizes a batch by its mean and variance, and keeps moving averages of these for when the model is used.

    Parameters
    ----------
    inputs : tensor of rank 2 or more
    decay : float
        Of the moving averages: how much of the old value stays.
    center, scale : bool
        Whether an offset beta is added; whether a factor gamma is multiplied by.
    epsilon : float
        Added to the variance.
    activation_fn : callable, optional
        Of the result.
    param_initializers, param_regularizers : dict, optional
        By "beta", "gamma", "moving_mean" and "moving_variance"; by "beta" and "gamma".
    updates_collections : str or list of str, optional
        Where the updates of the averages go; with None they happen in place.
    is_training : bool, or scalar bool tensor
        Whether the batch's own moments are used, or the averages.
    reuse : bool, optional
        Whether the variables are there already.
    variables_collections, outputs_collections : str, list or dict, optional
        Where variables and the result go, too.
    trainable : bool
        Whether the variables are for training.
    batch_weights : optional
        Not supported.
    fused : bool, optional
        Whether one operation does all of it: where it can, unless given.
    data_format : str
        "NHWC" or "NCHW".
    zero_debias_moving_mean : bool
        Not supported.
    scope : str or VariableScope, optional
        Of the variables.
    renorm : bool
        Whether it renormalizes, with `renorm_clipping` and `renorm_decay`.
    renorm_clipping : dict, optional
    renorm_decay : float
    adjustment : callable, optional
        Gives (scale, bias) of the shape, for training.

    Returns
    -------
    Tensor
        Of the shape of `inputs`.

    Raises
    ------
    NotImplementedError
        For `batch_weights` and `zero_debias_moving_mean`.
    ValueError
        There is no such format, or the rank is not known.

    Examples
    --------
    >>> y = tw.contrib.layers.batch_norm(tw.constant([[1.0], [3.0]]), is_training=True)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     print(sess.run(y).round(1).tolist())
    [[-1.0], [1.0]]
    """
    if batch_weights is not None or zero_debias_moving_mean:
        raise NotImplementedError("batch_norm has no batch_weights and zero_debias_moving_mean yet")
    given = dict(decay=decay, center=center, scale=scale, epsilon=epsilon, param_initializers=param_initializers,
                 param_regularizers=param_regularizers, trainable=trainable, renorm=renorm, renorm_clipping=renorm_clipping,
                 renorm_decay=renorm_decay, adjustment=adjustment, fused=fused)
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=getter_of({})) as sc:
        inputs = convert_to_tensor(inputs)
        first = inputs.shape.ndims is not None and as_channels(data_format) == "channels_first"
        kept = graph.get_collection(GraphKeys.UPDATE_OPS)
        layer = _batch_norm_layer(sc, 1 if first else -1, given, reuse)
        outputs = layer.apply(inputs, training=is_training)
        if updates_collections != GraphKeys.UPDATE_OPS:  # they are elsewhere, or done before the outputs
            graph.get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS)[:] = kept
            if updates_collections is None:
                with graph.control_dependencies(layer.updates):
                    outputs = array_ops.identity(outputs)
            else:
                for update in layer.updates:
                    graph.add_to_collections(updates_collections, update)
        collect_variables(layer, variables_collections)
        return collect(outputs_collections, sc, outputs if activation_fn is None else activation_fn(outputs))


def _parameters(sc, size, inputs, center, scale, trainable, collections, initializers=None):
    """(beta, gamma), None where they are not asked for."""
    initializers = initializers or {}

    def one(wanted, name, default):
        return model_variable(name, size, inputs.dtype.base_dtype, initializers.get(name, default), trainable=trainable,
                              collections=variable_names(collections, name)) if wanted else None
    return one(center, "beta", _ZEROS), one(scale, "gamma", _ONES)


@add_arg_scope
def layer_norm(inputs: TensorLike, center: bool = True, scale: bool = True, activation_fn: Activation | None = None,
               reuse: bool | None = None, variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
               outputs_collections: str | Sequence[str] | None = None, trainable: bool = True, begin_norm_axis: int = 1,
               begin_params_axis: int = -1, scope: str | VariableScope | None = None) -> Tensor:
    """Each example by its own mean and variance (Ba and others 2016).

    Parameters
    ----------
    inputs : tensor_like
        Of a floating type and a known rank.
    center, scale : bool
        Whether there are variables "beta", which is added, and "gamma", which multiplies.
    activation_fn : callable, optional
        None by default: linear.
    reuse : bool, optional
        Whether the variables are those that are there.
    variables_collections : list of str or dict, optional
        Collections that the variables join.
    outputs_collections : str or list of str, optional
        Collections that the outputs join.
    trainable : bool
        Whether the variables join the collection of those that are trained.
    begin_norm_axis : int
        Means and variances are taken over this dimension and those behind it.
    begin_params_axis : int
        Beta and gamma are of the shape of this dimension and those behind it, which must be known.
    scope : str or VariableScope, optional
        Scope of the variables; "LayerNorm" by default.

    Returns
    -------
    Tensor
        Of the type and shape of `inputs`.

    Raises
    ------
    ValueError
        If the rank or those dimensions are not known, or an axis is beyond the rank.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     y = tw.contrib.layers.layer_norm(tw.constant([[1.0, 3.0], [10.0, 30.0]]))
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(y).round(3)
    array([[-1.,  1.],
           [-1.,  1.]], dtype=float32)
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        shape, rank = inputs.shape, inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        first = begin_norm_axis % rank if begin_norm_axis < 0 else begin_norm_axis
        if first >= rank or begin_params_axis >= rank:
            raise ValueError(f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) must be < rank("
                             f"inputs) ({rank})")
        size = shape[begin_params_axis:]
        if not size.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {shape}")
        beta, gamma = _parameters(sc, size, inputs, center, scale, trainable, variables_collections)
        mean, variance = nn.moments(inputs, list(range(first, rank)), keep_dims=True)
        outputs = nn.batch_normalization(inputs, mean, variance, offset=beta, scale=gamma, variance_epsilon=1e-12)
        outputs.set_shape(shape)
        return collect(outputs_collections, sc, outputs if activation_fn is None else activation_fn(outputs))


@add_arg_scope
def instance_norm(inputs: TensorLike, center: bool = True, scale: bool = True, epsilon: float = 1e-6,
                  activation_fn: Activation | None = None, param_initializers: Mapping[str, Initializer] | None = None,
                  reuse: bool | None = None,
                  variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
                  outputs_collections: str | Sequence[str] | None = None, trainable: bool = True, data_format: str = "NHWC",
                  scope: str | VariableScope | None = None) -> Tensor:
    """Each channel of each example by its own mean and variance."""
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        axis = 1 if as_channels(data_format) == "channels_first" else rank - 1
        size = [inputs.shape._size(axis)]
        beta, gamma = _parameters(sc, size, inputs, center, scale, trainable, variables_collections, param_initializers)
        mean, variance = nn.moments(inputs, [i for i in range(1, rank) if i != axis], keep_dims=True)
        across = [-1 if i == axis else 1 for i in range(rank)]
        beta, gamma = (p if p is None else array_ops.reshape(p, across) for p in (beta, gamma))
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return collect(outputs_collections, sc, outputs if activation_fn is None else activation_fn(outputs))


@add_arg_scope
def group_norm(inputs: TensorLike, groups: int = 32, channels_axis: int = -1, reduction_axes: Sequence[int] = (-3, -2),
               center: bool = True, scale: bool = True, epsilon: float = 1e-6, activation_fn: Activation | None = None,
               param_initializers: Mapping[str, Initializer] | None = None, reuse: bool | None = None,
               variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
               outputs_collections: str | Sequence[str] | None = None, trainable: bool = True,
               scope: str | VariableScope | None = None, mean_close_to_zero: bool = False) -> Tensor:
    """Groups of channels of each example by their mean and variance (Wu and He 2018)."""
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        axis, reduced = channels_axis % rank, sorted(a % rank for a in reduction_axes)
        channels = inputs.shape._size(axis)
        if axis in reduced:
            raise ValueError("reduction_axes must not contain channels_axis")
        if channels is None or groups > channels or channels % groups:
            raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
        beta, gamma = _parameters(sc, [channels], inputs, center, scale, trainable, variables_collections, param_initializers)
        dynamic = array_ops.shape(inputs)
        sizes = [dynamic[i] if d is None else d for i, d in enumerate(inputs.shape.as_list())]
        grouped = array_ops.reshape(inputs, [*sizes[:axis], groups, channels // groups, *sizes[axis + 1:]])
        axes = [a if a < axis else a + 1 for a in reduced] + [axis + 1]
        mean, variance = nn.moments(grouped, axes, keep_dims=True)
        across = [1] * axis + [groups, channels // groups] + [1] * (rank - axis - 1)
        beta, gamma = (p if p is None else array_ops.reshape(p, across) for p in (beta, gamma))
        outputs = array_ops.reshape(nn.batch_normalization(grouped, mean, variance, beta, gamma, epsilon), dynamic)
        outputs.set_shape(inputs.shape)
        return collect(outputs_collections, sc, outputs if activation_fn is None else activation_fn(outputs))


@add_arg_scope
def unit_norm(inputs: TensorLike, dim: int, epsilon: float = 1e-7, scope: str | VariableScope | None = None) -> Tensor:
    """Vectors along `dim` of length 1."""
    with graph.name_scope(scope, "UnitNorm", [inputs]):
        inputs = convert_to_tensor(inputs)
        if inputs.shape.ndims is None:
            raise ValueError("The input rank must be known.")
        if dim < 0 or dim >= inputs.shape.ndims:
            raise ValueError(f"dim must be positive but smaller than the input rank, got {dim}")
        squares = math_ops.reduce_sum(inputs * inputs, dim, keepdims=True)
        return math_ops.divide(inputs, apply("Sqrt", [squares + epsilon]))

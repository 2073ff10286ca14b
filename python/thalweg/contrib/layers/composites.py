# SPDX-License-Identifier: Apache-2.0
"""Layers of layers, embeddings, and the step that trains."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from thalweg import nn, summary, train
from thalweg.contrib.framework.arg_scopes import add_arg_scope
from thalweg.contrib.framework.variables import model_variable
from thalweg.contrib.layers.layers import fully_connected
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.tensor import IndexedSlices
from thalweg.operations import array_ops, math_ops, random_ops
from thalweg.operations.gradient_ops import clip_by_global_norm, global_norm
from thalweg.variables import variables as all_variables
from thalweg.variables.init_ops import ones_initializer
from thalweg.variables.variable_scopes import variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import Initializer, Regularizer, TensorLike
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.training.optimizer import Optimizer
    from thalweg.variables.variable_scopes import VariableScope
    from thalweg.variables.variables import Variable

relu = functools.partial(fully_connected, activation_fn=nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=nn.relu6)
elu = functools.partial(fully_connected, activation_fn=nn.elu)
linear = functools.partial(fully_connected, activation_fn=None)


def _name_of(layer):
    return getattr(layer, "__name__", None) or getattr(getattr(layer, "func", None), "__name__", "stack")


def repeat(inputs: TensorLike, repetitions: int, layer: Callable[..., Tensor], *args: object, **kwargs: object) -> Tensor:
    """layer(layer(...inputs)), each time with variables of its own."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        scope = _name_of(layer) if scope is None else scope
        for i in range(repetitions):
            inputs = layer(inputs, *args, scope=f"{scope}_{i + 1}", **kwargs)
        return inputs


def stack(inputs: TensorLike, layer: Callable[..., Tensor], stack_args: Sequence[object], **kwargs: object) -> Tensor:
    """layer again and again, each time with the next of stack_args."""
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        scope = _name_of(layer) if scope is None else scope
        for i, given in enumerate(stack_args):
            given = given if isinstance(given, (list, tuple)) else [given]
            inputs = layer(inputs, *given, scope=f"{scope}_{i + 1}", **kwargs)
        return inputs


@add_arg_scope
def maxout(inputs: TensorLike, num_units: int, axis: int = -1, scope: str | VariableScope | None = None) -> Tensor:
    """The largest of groups of channels."""
    with graph.name_scope(scope, "MaxOut", [inputs]):
        inputs = convert_to_tensor(inputs)
        shape = inputs.shape.as_list()
        axis %= len(shape)
        channels = shape[axis]
        if channels is None or channels % num_units:
            raise ValueError(f"number of features({channels}) is not a multiple of num_units({num_units})")
        dynamic = array_ops.shape(inputs)
        sizes = [dynamic[i] if d is None else d for i, d in enumerate(shape)]
        grouped = array_ops.reshape(inputs, [*sizes[:axis], num_units, channels // num_units, *sizes[axis + 1:]])
        return math_ops.reduce_max(grouped, axis + 1)


@add_arg_scope
def softmax(logits: TensorLike, scope: str | VariableScope | None = None) -> Tensor:
    """softmax along the last dimension."""
    with graph.name_scope(scope, "softmax", [logits]):
        return nn.softmax(logits)


def spatial_softmax(features: TensorLike, temperature: TensorLike | None = None, name: str | None = None,
                    variables_collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None = None,
                    trainable: bool = True, data_format: str = "NHWC") -> Tensor:
    """The expected place of each channel: [batch, 2 * channels]."""
    with variable_scope(name, "spatial_softmax"):
        features = convert_to_tensor(features)
        if data_format == "NHWC":
            features = array_ops.transpose(features, [0, 3, 1, 2])
        _, channels, rows, columns = features.shape.as_list()
        x = array_ops.tile(array_ops.reshape(math_ops.linspace(-1.0, 1.0, rows), [rows, 1]), [1, columns])
        y = array_ops.tile(array_ops.reshape(math_ops.linspace(-1.0, 1.0, columns), [1, columns]), [rows, 1])
        if temperature is None:
            temperature = model_variable("temperature", [], initializer=ones_initializer(), trainable=trainable,
                                         collections=variables_collections)
        attention = nn.softmax(array_ops.reshape(features, [-1, rows * columns]) / temperature)
        places = [math_ops.reduce_sum(array_ops.reshape(p, [-1]) * attention, [1], keepdims=True) for p in (x, y)]
        return array_ops.reshape(array_ops.concat(places, 1), [-1, channels * 2])


def embed_sequence(ids: TensorLike, vocab_size: int | None = None, embed_dim: int | None = None, unique: bool = False,
                   initializer: Initializer | None = None, regularizer: Regularizer | None = None, trainable: bool = True,
                   scope: str | VariableScope | None = None, reuse: bool | None = None) -> Tensor:
    """Rows of an embedding for each id of sequences."""
    if not (reuse or vocab_size and embed_dim):
        raise ValueError(f"Must specify vocab size and embedding dimension when not reusing. Got vocab_size={vocab_size} and "
                         f"embed_dim={embed_dim}")
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        embeddings = model_variable("embeddings", shape=shape, initializer=initializer, regularizer=regularizer,
                                    trainable=trainable)
        if not unique:
            return nn.embedding_lookup(embeddings, ids)
        ids = convert_to_tensor(ids)
        few, places = array_ops.unique(array_ops.reshape(ids, [-1]))
        found = array_ops.gather(nn.embedding_lookup(embeddings, few), places)
        made = array_ops.reshape(found, array_ops.concat([array_ops.shape(ids), [embed_dim]], 0))
        made.set_shape(ids.shape.concatenate(embed_dim))
        return made


# ---- training ----
OPTIMIZER_CLS_NAMES = {"Adagrad": train.AdagradOptimizer, "Adam": train.AdamOptimizer, "Ftrl": train.FtrlOptimizer,
                       "Momentum": lambda learning_rate: train.MomentumOptimizer(learning_rate, momentum=0.9),
                       "RMSProp": train.RMSPropOptimizer, "SGD": train.GradientDescentOptimizer}
OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]


def _optimizer(given, rate):
    if isinstance(given, str):
        if given not in OPTIMIZER_CLS_NAMES:
            raise ValueError(f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {given}.")
        given = OPTIMIZER_CLS_NAMES[given]
    if isinstance(given, train.Optimizer):
        return given
    if not callable(given):
        raise ValueError("Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of Optimizer or "
                         f"function with one argument. Got {given}.")
    if rate is None and not isinstance(given, type):
        return given()
    return given(learning_rate=rate) if isinstance(given, type) else given(rate)


def _changed(pairs, noise, multipliers, clip):
    """Gradients with noise, multiplied and clipped."""
    if noise is not None:
        pairs = [(g if g is None else g + random_ops.truncated_normal(g.get_shape()) * noise, v) for g, v in pairs]
    if multipliers is not None:
        def times(g, v):
            factor = multipliers.get(v, multipliers.get(v.op.name)) if hasattr(multipliers, "get") else None
            if g is None or factor is None:
                return g
            return IndexedSlices(g.values * factor, g.indices, g.dense_shape) if isinstance(g, IndexedSlices) else g * factor
        pairs = [(times(g, v), v) for g, v in pairs]
    if isinstance(clip, float):
        clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip)
        return list(zip(clipped, [v for _, v in pairs]))
    if clip is not None and not callable(clip):
        raise ValueError(f"Unknown type {type(clip)} for clip_gradients")
    return clip(pairs) if clip is not None else pairs


def optimize_loss(loss: Tensor, global_step: Variable | Tensor | None, learning_rate: float | TensorLike | None,
                  optimizer: str | Optimizer | type[Optimizer] | Callable[[Any], Optimizer],
                  gradient_noise_scale: float | None = None, gradient_multipliers: Mapping[Variable | str, float] | None = None,
                  clip_gradients: float | Callable[..., object] | None = None,
                  learning_rate_decay_fn: Callable[..., Tensor] | None = None,
                  update_ops: Sequence[Operation | Tensor] | None = None, variables: Sequence[Variable] | None = None,
                  name: str | None = None, summaries: Sequence[str] | None = None, colocate_gradients_with_ops: bool = False,
                  increment_global_step: bool = True) -> Tensor:
    """A tensor that is the loss and trains when it is run."""
    loss = convert_to_tensor(loss)
    global_step = train.get_global_step() if global_step is None else global_step
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        update_ops = set(graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
        if update_ops:
            with graph.control_dependencies(list(update_ops)):
                loss = array_ops.identity(loss)
        rate = None
        if learning_rate is not None:
            rate = convert_to_tensor(learning_rate, dtype=loss.dtype.base_dtype) if isinstance(learning_rate, (int, float)) \
                else learning_rate
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
        summaries = ["loss", "learning_rate", "global_gradient_norm"] if summaries is None else summaries
        wrong = [s for s in summaries if s not in OPTIMIZER_SUMMARIES]
        if wrong:
            raise ValueError(f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {wrong[0]}.")
        if rate is not None and "learning_rate" in summaries:
            summary.scalar("learning_rate", rate)
        opt = _optimizer(optimizer, rate)
        pairs = opt.compute_gradients(loss, all_or(variables), colocate_gradients_with_ops=colocate_gradients_with_ops)
        if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
            summary.scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs if g is not None]))
        pairs = _changed(pairs, gradient_noise_scale, gradient_multipliers, clip_gradients)
        if "loss" in summaries:
            summary.scalar("loss", loss)
        step = global_step if increment_global_step else None
        update = opt.apply_gradients(pairs, global_step=step, name="train")
        with graph.control_dependencies([update]):
            return array_ops.identity(loss, name="loss")


def all_or(given: Sequence[Variable] | None) -> list[Variable]:
    """The variables given, or all that are trained."""
    return all_variables.trainable_variables() if given is None else given


# ---- summaries ----
def summarize_tensor(tensor: Tensor, tag: str | None = None) -> Tensor:
    """A scalar or a histogram."""
    if tensor.shape.ndims == 0:
        return summary.scalar(tag or f"{tensor.op.name}_summary", tensor)
    return summary.histogram(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Tensor) -> Tensor:
    """A histogram, and for rectifiers the share of zeros."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        summary.scalar(f"{op.op.name}/zeros", nn.zero_fraction(op))
    return summary.histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Iterable[Tensor], summarizer: Callable[[Tensor], Tensor] = summarize_tensor) -> list[Tensor]:
    """A summary for each tensor."""
    return [summarizer(t) for t in tensors]


def summarize_collection(collection: str, name_filter: str | None = None,
                         summarizer: Callable[[Tensor], Tensor] = summarize_tensor) -> list[Tensor]:
    """Summaries of all of a collection whose names match."""
    import re
    found = graph.get_collection(collection)
    kept = [t for t in found if name_filter is None or re.match(name_filter, t.op.name)]
    return summarize_tensors(kept, summarizer)


def summarize_activations(name_filter: str | None = None,
                          summarizer: Callable[[Tensor], Tensor] = summarize_activation) -> list[Tensor]:
    """A summary for each tensor in the collection of activations."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)

# SPDX-License-Identifier: Apache-2.0
"""Batch normalization as a layer."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nn
from thalweg.control.control_flow import smart_cond
from thalweg.layers.arguments import meant
from thalweg.operations import array_ops, math_ops
from thalweg.variables.layer import ONES, ZEROS, InputSpec, Layer
from thalweg.variables.variable_modes import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from thalweg.base.typing import Constraint, Initializer, Regularizer, TensorLike
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable


def _known_false(training):
    return isinstance(training, (bool, int)) and not training


def _fused(x, gamma, beta, mean, variance, axis, epsilon, training):
    """(normalized, mean, variance of the batch or as given) by one operation."""
    size, kind = mean.shape, mean.dtype.base_dtype
    gamma = array_ops.ones(size, kind) if gamma is None else gamma
    beta = array_ops.zeros(size, kind) if beta is None else beta
    layout = "NHWC" if axis == 3 else "NCHW"

    def of_batch():
        return list(nn.fused_batch_norm(x, gamma, beta, epsilon=epsilon, data_format=layout))

    def as_given():
        y = nn.fused_batch_norm(x, gamma, beta, mean, variance, epsilon, layout, is_training=False)[0]
        return [y, array_ops.identity(mean), array_ops.identity(variance)]
    return smart_cond(training, of_batch, as_given)


def _unfused(x, gamma, beta, mean, variance, axis, epsilon, training):
    """The same by moments, for any rank and axis."""
    given, x = x.dtype.base_dtype, math_ops.cast(x, mean.dtype.base_dtype)
    batch = nn.moments(x, [i for i in range(x.shape.ndims) if i != axis])
    used = smart_cond(training, lambda: [array_ops.identity(m) for m in batch],
                      lambda: [array_ops.identity(mean), array_ops.identity(variance)])
    across = [-1 if i == axis else 1 for i in range(x.shape.ndims)]
    parts = [p if p is None or axis == x.shape.ndims - 1 else array_ops.reshape(p, across) for p in (*used, beta, gamma)]
    return [math_ops.cast(nn.batch_normalization(x, *parts, epsilon), given), *used]


class BatchNormalization(Layer):
    """Normalizes by the mean and variance of the batch, or when not training by their moving averages, whose updates are
    in the collection UPDATE_OPS. Images of 32 bits or less go through one operation (`fused`), which corrects the moving
    variance for the size of the batch."""

    _CONFIG = ("axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer "
               "moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint gamma_constraint")
    beta_initializer: Initializer | None
    gamma_initializer: Initializer | None
    moving_mean_initializer: Initializer | None
    moving_variance_initializer: Initializer | None
    beta_regularizer: Regularizer | None
    gamma_regularizer: Regularizer | None
    beta_constraint: Constraint | None
    gamma_constraint: Constraint | None
    beta: Variable | None
    gamma: Variable | None
    moving_mean: Variable
    moving_variance: Variable

    def __init__(self, axis: int | Sequence[int] = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True,
                 scale: bool = True, beta_initializer: Initializer | str = ZEROS, gamma_initializer: Initializer | str = ONES,
                 moving_mean_initializer: Initializer | str = ZEROS, moving_variance_initializer: Initializer | str = ONES,
                 beta_regularizer: Regularizer | str | None = None, gamma_regularizer: Regularizer | str | None = None,
                 beta_constraint: Constraint | str | None = None, gamma_constraint: Constraint | str | None = None, renorm: bool = False,
                 renorm_clipping: Mapping[str, TensorLike] | None = None, renorm_momentum: float = 0.99,
                 fused: bool | None = None, trainable: bool = True, virtual_batch_size: int | None = None,
                 adjustment: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None, name: str | None = None,
                 **kwargs: object) -> None:
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise NotImplementedError("batch_normalization has no renorm, virtual_batch_size and adjustment yet")
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.axis, self.momentum, self.epsilon, self.center, self.scale = axis, momentum, epsilon, center, scale
        self._set_arguments(**meant(beta_initializer=beta_initializer, gamma_initializer=gamma_initializer,
                   moving_mean_initializer=moving_mean_initializer, moving_variance_initializer=moving_variance_initializer,
                   beta_regularizer=beta_regularizer, gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint,
                   gamma_constraint=gamma_constraint))
        self.fused, self.gamma, self.beta = fused, None, None

    def build(self, input_shape: TensorShape) -> None:
        axis = self.axis[0] if isinstance(self.axis, (list, tuple)) else self.axis
        if input_shape.ndims is None:
            raise ValueError("Input has undefined rank:", input_shape)
        self.axis = axis % input_shape.ndims
        size = [input_shape._size(self.axis)]
        if size[0] is None:
            raise ValueError(f"The dimension that batch_normalization keeps must be known, got shape {input_shape}")
        self.input_spec = InputSpec(ndim=input_shape.ndims, axes={self.axis: size[0]})
        kind = dtypes.float32 if self._dtype in (dtypes.float16, dtypes.bfloat16) else self._dtype

        if self.scale:
            self.gamma = self.add_weight("gamma", size, kind, self.gamma_initializer, self.gamma_regularizer,
                                         constraint=self.gamma_constraint)
        if self.center:
            self.beta = self.add_weight("beta", size, kind, self.beta_initializer, self.beta_regularizer,
                                        constraint=self.beta_constraint)
        # Each replica of a strategy moves its own by the batches that it sees; what is saved is their mean.
        moving = dict(trainable=False, synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.MEAN)
        self.moving_mean = self.add_weight("moving_mean", size, kind, self.moving_mean_initializer, **moving)
        self.moving_variance = self.add_weight("moving_variance", size, kind, self.moving_variance_initializer, **moving)

    def call(self, inputs: Tensor, training: bool | Tensor = False) -> Tensor:
        kind = self.moving_mean.dtype.base_dtype
        fits = inputs.shape.ndims == 4 and self.axis in (1, 3) and kind is dtypes.float32
        normalize = _fused if fits and self.fused is not False else _unfused
        result, mean, variance = normalize(inputs, self.gamma, self.beta, self.moving_mean, self.moving_variance, self.axis,
                                           self.epsilon, training)
        if not _known_false(training):
            rate = smart_cond(training, lambda: array_ops.ones([], kind) * (1 - self.momentum),
                              lambda: array_ops.zeros([], kind))
            for variable, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
                update = variable.assign_sub((variable - now) * rate)
                self.add_update(getattr(update, "op", update))
        return result


BatchNorm = BatchNormalization

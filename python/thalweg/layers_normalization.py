# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation as a layer."""
from thalweg import array_ops, dtypes, math_ops, nn
from thalweg.layer_base import ONES, ZEROS, InputSpec, Layer


def _known_false(training):
    return isinstance(training, (bool, int)) and not training


def _fused(x, gamma, beta, mean, variance, axis, epsilon, training):
    """(normalised, mean, variance of the batch or as given) by one operation."""
    from thalweg.control_flow import smart_cond
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
    from thalweg.control_flow import smart_cond
    given, x = x.dtype.base_dtype, math_ops.cast(x, mean.dtype.base_dtype)
    batch = nn.moments(x, [i for i in range(x.shape.ndims) if i != axis])
    used = smart_cond(training, lambda: [array_ops.identity(m) for m in batch],
                      lambda: [array_ops.identity(mean), array_ops.identity(variance)])
    across = [-1 if i == axis else 1 for i in range(x.shape.ndims)]
    parts = [p if p is None or axis == x.shape.ndims - 1 else array_ops.reshape(p, across) for p in (*used, beta, gamma)]
    return [math_ops.cast(nn.batch_normalization(x, *parts, epsilon), given), *used]


class BatchNormalization(Layer):
    """Normalises by the mean and variance of the batch, or when not training by their moving averages, whose updates are
    in the collection UPDATE_OPS. Images of 32 bits or less go through one operation (`fused`), which corrects the moving
    variance for the size of the batch."""

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=ZEROS,
                 gamma_initializer=ONES, moving_mean_initializer=ZEROS, moving_variance_initializer=ONES, beta_regularizer=None,
                 gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, renorm=False, renorm_clipping=None,
                 renorm_momentum=0.99, fused=None, trainable=True, virtual_batch_size=None, adjustment=None, name=None,
                 **kwargs):
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise NotImplementedError("batch_normalization has no renorm, virtual_batch_size and adjustment yet")
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.axis, self.momentum, self.epsilon, self.center, self.scale = axis, momentum, epsilon, center, scale
        self._beta = beta_initializer, beta_regularizer, beta_constraint
        self._gamma = gamma_initializer, gamma_regularizer, gamma_constraint
        self._moving = moving_mean_initializer, moving_variance_initializer
        self.fused, self.gamma, self.beta = fused, None, None

    def build(self, input_shape):
        axis = self.axis[0] if isinstance(self.axis, (list, tuple)) else self.axis
        if input_shape.ndims is None:
            raise ValueError("Input has undefined rank:", input_shape)
        self.axis = axis % input_shape.ndims
        size = [input_shape[self.axis].value]
        if size[0] is None:
            raise ValueError(f"The dimension that batch_normalization keeps must be known, got shape {input_shape}")
        self.input_spec = InputSpec(ndim=input_shape.ndims, axes={self.axis: size[0]})
        kind = dtypes.float32 if self._dtype in (dtypes.float16, dtypes.bfloat16) else self._dtype

        def weight(name, made_by):
            return self.add_weight(name, size, kind, made_by[0], made_by[1], constraint=made_by[2])
        self.gamma = weight("gamma", self._gamma) if self.scale else None
        self.beta = weight("beta", self._beta) if self.center else None
        self.moving_mean, self.moving_variance = (
            self.add_weight(name, size, kind, made_by, trainable=False)
            for name, made_by in zip(("moving_mean", "moving_variance"), self._moving))

    def call(self, inputs, training=False):
        from thalweg.control_flow import smart_cond
        kind = self.moving_mean.dtype.base_dtype
        fits = inputs.shape.ndims == 4 and self.axis in (1, 3) and kind is dtypes.float32
        normalise = _fused if fits and self.fused is not False else _unfused
        result, mean, variance = normalise(inputs, self.gamma, self.beta, self.moving_mean, self.moving_variance, self.axis,
                                           self.epsilon, training)
        if not _known_false(training):
            rate = smart_cond(training, lambda: array_ops.ones([], kind) * (1 - self.momentum),
                              lambda: array_ops.zeros([], kind))
            for variable, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
                update = variable.assign_sub((variable - now) * rate)
                self.add_update(getattr(update, "op", update))
        return result


BatchNorm = BatchNormalization

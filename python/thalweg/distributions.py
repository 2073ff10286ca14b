# SPDX-License-Identifier: Apache-2.0
"""Probability distributions: tw.distributions."""
import math

from thalweg import array_ops, dtypes, math_ops, names, nn, random_ops
from thalweg.graph import name_scope
from thalweg.ops import apply, constant, convert_to_tensor

_divergences = {}


class ReparameterizationType:
    """Whether gradients go through samples."""

    def __init__(self, rep_type):
        self._type = rep_type

    def __repr__(self):
        return f"<Reparameteriation Type: {self._type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """Base of distributions: `_log_prob`, `_sample_n` and the like are what a kind defines."""

    def __init__(self, dtype, reparameterization_type, validate_args, allow_nan_stats, parameters=None, graph_parents=None,
                 name=None):
        self.dtype, self.allow_nan_stats, self.validate_args = dtype, allow_nan_stats, validate_args
        self.reparameterization_type, self.parameters = reparameterization_type, dict(parameters or {})
        self.name = type(self).__name__ if name is None else name

    def _shape(self):
        raise NotImplementedError(f"{type(self).__name__} has no batch shape")

    batch_shape = property(lambda self: self._shape().shape)
    event_shape = property(lambda self: constant(0.0).shape)

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        return array_ops.shape(self._shape(), name=name)

    def log_prob(self, value, name="log_prob"):
        with name_scope(name):
            return self._log_prob(self._value(value))

    def prob(self, value, name="prob"):
        with name_scope(name):
            return apply("Exp", [self._log_prob(self._value(value))])

    def _value(self, value):
        return convert_to_tensor(value, dtype=None if hasattr(value, "graph") else self.dtype)

    def cdf(self, value, name="cdf"):
        with name_scope(name):
            return self._cdf(self._value(value))

    def log_cdf(self, value, name="log_cdf"):
        with name_scope(name):
            return apply("Log", [self._cdf(self._value(value))])

    def survival_function(self, value, name="survival_function"):
        with name_scope(name):
            return 1 - self._cdf(self._value(value))

    def sample(self, sample_shape=(), seed=None, name="sample"):
        """Random values: [*sample_shape, *batch_shape]."""
        with name_scope(name):
            wanted = array_ops._shape_argument([sample_shape] if isinstance(sample_shape, int) else sample_shape)
            return self._sample(array_ops.concat([wanted, array_ops.shape(self._shape())], 0), seed)

    def cross_entropy(self, other, name="cross_entropy"):
        return kl_divergence(self, other) + self.entropy()

    def kl_divergence(self, other, name="kl_divergence"):
        return kl_divergence(self, other, name=name)


def _statistic(name, doc):
    def method(self, name=name):
        with name_scope(name):
            return getattr(self, "_" + name)()
    method.__name__, method.__doc__ = name, doc
    return method


for _name, _doc in (("mean", "The mean."), ("variance", "The variance."), ("stddev", "The standard deviation."),
                    ("mode", "The most likely value."), ("entropy", "The entropy, in nats.")):
    setattr(Distribution, _name, _statistic(_name, _doc))
Distribution._stddev = lambda self: apply("Sqrt", [self._variance()])
Distribution._variance = lambda self: apply("Square", [self._stddev()])


class Normal(Distribution):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        with name_scope(name, values=[loc, scale]) as scope:
            self.loc = array_ops.identity(convert_to_tensor(loc, preferred_dtype=dtypes.float32), name="loc")
            self.scale = array_ops.identity(convert_to_tensor(scale, dtype=self.loc.dtype.base_dtype), name="scale")
        super().__init__(self.loc.dtype.base_dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _shape(self):
        return self.loc + self.scale

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _log_prob(self, x):
        return -0.5 * apply("Square", [self._z(x)]) - (0.5 * math.log(2 * math.pi) + apply("Log", [self.scale]))

    def _cdf(self, x):
        return 0.5 * apply("Erfc", [-self._z(x) * math.sqrt(0.5)])

    def _mean(self):
        return self.loc * array_ops.ones_like(self.scale)

    _mode = _mean

    def _stddev(self):
        return self.scale * array_ops.ones_like(self.loc)

    def _entropy(self):
        scale = self.scale * array_ops.ones_like(self.loc)
        return 0.5 * math.log(2 * math.pi * math.e) + apply("Log", [scale])

    def quantile(self, value, name="quantile"):
        """The value below which a draw is with this chance."""
        with name_scope(name):
            return apply("Ndtri", [convert_to_tensor(value, dtype=self.dtype)]) * self.scale + self.loc

    def _sample(self, shape, seed):
        return random_ops.random_normal(shape, dtype=self.dtype, seed=seed) * self.scale + self.loc


class Uniform(Distribution):
    """Every value between `low` and `high` is as likely."""

    def __init__(self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name="Uniform"):
        with name_scope(name, values=[low, high]) as scope:
            self.low = array_ops.identity(convert_to_tensor(low, preferred_dtype=dtypes.float32), name="low")
            self.high = array_ops.identity(convert_to_tensor(high, dtype=self.low.dtype.base_dtype), name="high")
        super().__init__(self.low.dtype.base_dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _shape(self):
        return self.low + self.high

    def range(self, name="range"):
        with name_scope(name):
            return self.high - self.low

    def _log_prob(self, x):
        size = self.high - self.low
        inside = math_ops.cast(apply("LogicalAnd", [x >= self.low, x < self.high]), self.dtype)
        return apply("Log", [inside / size])

    def _cdf(self, x):
        return apply("Minimum", [apply("Maximum", [(x - self.low) / (self.high - self.low), array_ops.zeros_like(self.low)]),
                                 array_ops.ones_like(self.low)])

    def _mean(self):
        return (self.low + self.high) / 2

    def _variance(self):
        return apply("Square", [self.high - self.low]) / 12

    def _stddev(self):
        return (self.high - self.low) / math.sqrt(12)

    def _entropy(self):
        return apply("Log", [self.high - self.low])

    def _sample(self, shape, seed):
        return self.low + (self.high - self.low) * random_ops.random_uniform(shape, dtype=self.dtype, seed=seed)


def _logits(logits, probs, inverse):
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    return convert_to_tensor(logits, preferred_dtype=dtypes.float32) if probs is None else inverse(convert_to_tensor(probs))


class Bernoulli(Distribution):
    """1 with chance `probs`, else 0."""

    def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False, allow_nan_stats=True,
                 name="Bernoulli"):
        with name_scope(name, values=[logits, probs]) as scope:
            self.logits = _logits(logits, probs, lambda p: apply("Log", [p]) - apply("Log1p", [-p]))
            self.probs = convert_to_tensor(probs) if probs is not None else apply("Sigmoid", [self.logits])
        super().__init__(dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _shape(self):
        return self.logits

    def _log_prob(self, x):
        x = math_ops.cast(x, self.logits.dtype.base_dtype)
        logits, x = self.logits + array_ops.zeros_like(x), x + array_ops.zeros_like(self.logits)
        return -nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)

    def _mean(self):
        return array_ops.identity(self.probs)

    def _variance(self):
        return self.probs * (1.0 - self.probs)

    def _mode(self):
        return math_ops.cast(self.probs > 0.5, self.dtype)

    def _entropy(self):
        return nn.softplus(self.logits) - self.logits * self.probs

    def _sample(self, shape, seed):
        chance = random_ops.random_uniform(shape, dtype=self.probs.dtype.base_dtype, seed=seed)
        return math_ops.cast(apply("Less", [chance, self.probs]), self.dtype)


class Categorical(Distribution):
    """A class number, with chances along the last dimension."""

    def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False, allow_nan_stats=True,
                 name="Categorical"):
        with name_scope(name, values=[logits, probs]) as scope:
            self.logits = _logits(logits, probs, lambda p: apply("Log", [p]))
            self.probs = convert_to_tensor(probs) if probs is not None else nn.softmax(self.logits)
        super().__init__(dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _shape(self):
        return self.logits[..., 0]

    event_size = property(lambda self: array_ops.shape(self.logits)[-1])

    def _log_prob(self, k):
        return -nn.sparse_softmax_cross_entropy_with_logits(labels=math_ops.cast(k, dtypes.int32), logits=self.logits)

    def _mode(self):
        return math_ops.cast(math_ops.argmax(self.logits, axis=-1), self.dtype)

    def _entropy(self):
        return -math_ops.reduce_sum(nn.log_softmax(self.logits) * self.probs, -1)

    def _sample(self, shape, seed):
        classes = self.event_size
        rows = array_ops.reshape(self.logits, array_ops.stack([-1, classes]))
        draws = math_ops.reduce_prod(shape) // array_ops.shape(rows)[0]
        drawn = random_ops.multinomial(rows, draws, seed=seed)
        return array_ops.reshape(array_ops.transpose(math_ops.cast(drawn, self.dtype)), shape)


class RegisterKL:
    """@RegisterKL(A, B) on function(a, b, name): the divergence of an A from a B."""

    def __init__(self, dist_cls_a, dist_cls_b):
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn):
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _divergences:
            raise ValueError(f"KL({self._key[0].__name__} || {self._key[1].__name__}) has already been registered")
        _divergences[self._key] = kl_fn
        return kl_fn


def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
    """KL(a || b), the divergence of a from b."""
    for a in type(distribution_a).__mro__:
        for b in type(distribution_b).__mro__:
            if (a, b) in _divergences:
                with name_scope(name, "KullbackLeibler"):
                    return _divergences[a, b](distribution_a, distribution_b, name=None)
    raise NotImplementedError(f"No KL(distribution_a || distribution_b) registered for distribution_a type "
                              f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}")


@RegisterKL(Normal, Normal)
def _normals(a, b, name=None):
    ratio = apply("Square", [a.scale / b.scale])
    return apply("SquaredDifference", [a.loc, b.loc]) / (2 * apply("Square", [b.scale])) + 0.5 * (
        ratio - 1 - apply("Log", [ratio]))


@RegisterKL(Bernoulli, Bernoulli)
def _bernoullis(a, b, name=None):
    zero = nn.softplus(b.logits) - nn.softplus(a.logits)
    one = nn.softplus(-b.logits) - nn.softplus(-a.logits)
    return apply("Sigmoid", [a.logits]) * one + apply("Sigmoid", [-a.logits]) * zero


@RegisterKL(Categorical, Categorical)
def _categoricals(a, b, name=None):
    return math_ops.reduce_sum(nn.softmax(a.logits) * (nn.log_softmax(a.logits) - nn.log_softmax(b.logits)), -1)


def __getattr__(name):
    if name in ("Beta", "Dirichlet", "Exponential", "Gamma", "Laplace", "Multinomial", "StudentT"):
        from thalweg import distributions_more
        return getattr(distributions_more, name)
    raise AttributeError(f"module 'thalweg.distributions' has no attribute '{name}'")


names.complete(globals())

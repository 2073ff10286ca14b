# SPDX-License-Identifier: Apache-2.0
"""What all distributions are, and how far two of them are apart."""

from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.operations import array_ops


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


Distribution._stddev = lambda self: apply("Sqrt", [self._variance()])
Distribution._variance = lambda self: apply("Square", [self._stddev()])


for _name, _doc in (("mean", "The mean."), ("variance", "The variance."), ("stddev", "The standard deviation."),
                    ("mode", "The most likely value."), ("entropy", "The entropy, in nats.")):
    setattr(Distribution, _name, _statistic(_name, _doc))
Distribution._stddev = lambda self: apply("Sqrt", [self._variance()])
Distribution._variance = lambda self: apply("Square", [self._stddev()])


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

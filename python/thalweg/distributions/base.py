# SPDX-License-Identifier: Apache-2.0
"""What all distributions are, and how far two of them are apart."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.base.typing import DynamicShape, F, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor


_divergences = {}


class ReparameterizationType:
    """Whether gradients go through samples."""

    def __init__(self, rep_type: str) -> None:
        self._type = rep_type

    def __repr__(self):
        return f"<Reparameteriation Type: {self._type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """Base of distributions: `_log_prob`, `_sample_n` and the like are what a kind defines."""

    def __init__(self, dtype: DType, reparameterization_type: ReparameterizationType, validate_args: bool, allow_nan_stats: bool,
                 parameters: Mapping[str, object] | None = None, graph_parents: Sequence[Tensor] | None = None,
                 name: str | None = None) -> None:
        self.dtype, self.allow_nan_stats, self.validate_args = dtype, allow_nan_stats, validate_args
        self.reparameterization_type, self.parameters = reparameterization_type, dict(parameters or {})
        self.name = type(self).__name__ if name is None else name

    def _shape(self):
        raise NotImplementedError(f"{type(self).__name__} has no batch shape")

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of one draw, as far as it is known."""
        return self._shape().shape

    @property
    def event_shape(self) -> TensorShape:
        """The shape of what is drawn together: a scalar, unless a kind says otherwise."""
        return constant(0.0).shape

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of one draw, int32."""
        return array_ops.shape(self._shape(), name=name)

    def log_prob(self, value: TensorLike, name: str = "log_prob") -> Tensor:
        """The logarithm of the density, or of the chance, of a value."""
        with name_scope(name):
            return self._log_prob(self._value(value))

    def prob(self, value: TensorLike, name: str = "prob") -> Tensor:
        """The density, or the chance, of a value."""
        with name_scope(name):
            return apply("Exp", [self._log_prob(self._value(value))])

    def _value(self, value):
        return convert_to_tensor(value, dtype=None if hasattr(value, "graph") else self.dtype)

    def cdf(self, value: TensorLike, name: str = "cdf") -> Tensor:
        """The chance that a draw is no larger than a value."""
        with name_scope(name):
            return self._cdf(self._value(value))

    def log_cdf(self, value: TensorLike, name: str = "log_cdf") -> Tensor:
        """The logarithm of the chance that a draw is no larger than a value."""
        with name_scope(name):
            return apply("Log", [self._cdf(self._value(value))])

    def survival_function(self, value: TensorLike, name: str = "survival_function") -> Tensor:
        """The chance that a draw is larger than a value."""
        with name_scope(name):
            return 1 - self._cdf(self._value(value))

    def mean(self, name: str = "mean") -> Tensor:
        """The mean."""
        with name_scope(name):
            return self._mean()

    def variance(self, name: str = "variance") -> Tensor:
        """The variance."""
        with name_scope(name):
            return self._variance()

    def stddev(self, name: str = "stddev") -> Tensor:
        """The standard deviation."""
        with name_scope(name):
            return self._stddev()

    def mode(self, name: str = "mode") -> Tensor:
        """The most likely value."""
        with name_scope(name):
            return self._mode()

    def entropy(self, name: str = "entropy") -> Tensor:
        """The entropy, in nats."""
        with name_scope(name):
            return self._entropy()

    def _stddev(self):
        return apply("Sqrt", [self._variance()])

    def _variance(self):
        return apply("Square", [self._stddev()])

    def sample(self, sample_shape: DynamicShape = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Random values: [*sample_shape, *batch_shape]."""
        with name_scope(name):
            wanted = array_ops._shape_argument([sample_shape] if isinstance(sample_shape, int) else sample_shape)
            return self._sample(array_ops.concat([wanted, array_ops.shape(self._shape())], 0), seed)

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """The cross entropy of another distribution under this one, in nats."""
        return kl_divergence(self, other) + self.entropy()

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """The divergence of this distribution from another one, in nats."""
        return kl_divergence(self, other, name=name)


class RegisterKL:
    """@RegisterKL(A, B) on function(a, b, name): the divergence of an A from a B."""

    def __init__(self, dist_cls_a: type[Distribution], dist_cls_b: type[Distribution]) -> None:
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: F) -> F:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _divergences:
            raise ValueError(f"KL({self._key[0].__name__} || {self._key[1].__name__}) has already been registered")
        _divergences[self._key] = kl_fn
        return kl_fn


def kl_divergence(distribution_a: Distribution, distribution_b: Distribution, allow_nan_stats: bool = True,
                  name: str | None = None) -> Tensor:
    """KL(a || b), the divergence of a from b.

    Parameters
    ----------
    distribution_a, distribution_b : Distribution
        Of kinds for which RegisterKL made a rule known.
    allow_nan_stats : bool
        Of no effect here.
    name : str, optional
        Name of the scope.

    Returns
    -------
    Tensor
        Of the batch shape.

    Raises
    ------
    NotImplementedError
        If there is no rule for these kinds.

    Examples
    --------
    >>> a, b = tw.distributions.Normal(0.0, 1.0), tw.distributions.Normal(1.0, 1.0)
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.distributions.kl_divergence(a, b)))
    0.5
    """
    for a in type(distribution_a).__mro__:
        for b in type(distribution_b).__mro__:
            if (a, b) in _divergences:
                with name_scope(name, "KullbackLeibler"):
                    return _divergences[a, b](distribution_a, distribution_b, name=None)
    raise NotImplementedError(f"No KL(distribution_a || distribution_b) registered for distribution_a type "
                              f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}")

# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.distributions: tw.distributions, and normal distributions of vectors whose elements do not depend on each other."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg import dtypes, linalg, nn
from thalweg.base import names
from thalweg.distributions import (  # noqa: F401
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Distribution,
    Exponential,
    Gamma,
    Laplace,
    Multinomial,
    Normal,
    RegisterKL,
    ReparameterizationType,
    StudentT,
    Uniform,
    kl_divergence,
)
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.operations import array_layout, array_ops, math_ops, random_ops

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import DynamicShape, TensorLike
    from thalweg.graph.tensor import Tensor


def softplus_inverse(x: TensorLike, name: str | None = None) -> Tensor:
    """The y whose log(1 + exp(y)) is x."""
    with name_scope(name, "softplus_inverse", [x]):
        x = convert_to_tensor(x)
        return x + apply("Log", [-apply("Expm1", [-x])])


class NormalWithSoftplusScale(Normal):
    """A normal distribution whose standard deviation is log(1 + exp(scale))."""

    def __init__(self, loc: TensorLike, scale: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "NormalWithSoftplusScale") -> None:
        super().__init__(loc, nn.softplus(convert_to_tensor(scale, preferred_dtype=dtypes.float32)), validate_args, allow_nan_stats, name)


class MultivariateNormalDiag(Distribution):
    """Vectors of independent normal elements: means `loc`, standard deviations `scale_diag` plus `scale_identity_multiplier`; all
    1 when neither is given."""

    def __init__(self, loc: TensorLike | None = None, scale_diag: TensorLike | None = None,
                 scale_identity_multiplier: TensorLike | None = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalDiag") -> None:
        if loc is None and scale_diag is None:
            raise ValueError("Must pass at least one of loc and scale_diag: without them the size of the vectors is not known")
        with name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as scope:
            given = [convert_to_tensor(x, preferred_dtype=dtypes.float32) for x in (loc, scale_diag) if x is not None]
            self._loc = None if loc is None else given[0]
            self._means = array_ops.zeros_like(given[-1]) if loc is None else given[0]
            self._deviations = given[-1]
            if scale_diag is None:
                self._deviations = array_ops.ones([given[0].shape.as_list()[-1] or array_ops.shape(given[0])[-1]], given[0].dtype.base_dtype)
            if scale_identity_multiplier is not None:
                more = array_ops.expand_dims(convert_to_tensor(scale_identity_multiplier, dtype=given[0].dtype.base_dtype), -1)
                self._deviations = more * self._deviations if scale_diag is None else more + self._deviations
        super().__init__(given[0].dtype.base_dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def loc(self) -> Tensor:
        """The mean, or None for zero."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The standard deviations as an operator."""
        return linalg.LinearOperatorDiag(self._deviations)

    @property
    def event_shape(self) -> TensorShape:
        return TensorShape(self._both().shape.as_list()[-1:])

    def _both(self):
        """Zeros of the shape of batch and event."""
        return array_ops.zeros_like(self._means + self._deviations)

    def _shape(self):
        return self._both()[..., 0]

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        with name_scope(name):
            return array_ops.shape(self._both())[-1:]

    def _log_prob(self, x):
        z = (x - self._means) / self._deviations
        sizes = 0.5 * math.log(2 * math.pi) + self._log_deviations()
        return math_ops.reduce_sum(-0.5 * z * z - sizes, -1)

    def _log_deviations(self):
        return apply("Log", [math_ops.abs_(self._deviations)])

    def _mean(self):
        return self._means + self._both()

    _mode = _mean

    def _stddev(self):
        return math_ops.abs_(self._deviations)  # of their own shape: without the batch of the means

    def covariance(self, name: str = "covariance") -> Tensor:
        """Squares of the standard deviations on the diagonal."""
        with name_scope(name):
            return array_layout.matrix_diag(apply("Square", [self._stddev()]))

    def _entropy(self):
        return math_ops.reduce_sum(0.5 * math.log(2 * math.pi * math.e) + self._log_deviations() + self._both(), -1)

    def sample(self, sample_shape: DynamicShape = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Random vectors: [*sample_shape, *batch_shape, size]."""
        with name_scope(name):
            wanted = array_ops._shape_argument([sample_shape] if isinstance(sample_shape, int) else sample_shape)
            shape = array_ops.concat([wanted, array_ops.shape(self._both())], 0)
            return random_ops.random_normal(shape, dtype=self.dtype, seed=seed) * self._deviations + self._means


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """Vectors of independent normal elements of standard deviations log(1 + exp(scale_diag))."""

    def __init__(self, loc: TensorLike, scale_diag: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MultivariateNormalDiagWithSoftplusScale") -> None:
        super().__init__(loc, nn.softplus(convert_to_tensor(scale_diag, preferred_dtype=dtypes.float32)), None, validate_args,
                         allow_nan_stats, name)


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _vectors(a, b, name=None):
    with name_scope(name, "KL_multivariate_normal"):
        ratio = apply("Square", [a._stddev() / b._stddev()])
        off = apply("Square", [(a._mean() - b._mean()) / b._stddev()])
        return math_ops.reduce_sum(0.5 * (off + ratio - 1 - apply("Log", [ratio])), -1)


names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""The gamma and beta distributions and their kin: exponential, Laplace, Student's t, Dirichlet, multinomial."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg import dtypes, nn
from thalweg.distributions.base import FULLY_REPARAMETERIZED, Distribution, RegisterKL
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, checks, math_ops, random_ops
from thalweg.operations.math_statistics import lbeta

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor


def _log(x):
    return apply("Log", [x])


def _lgamma(x):
    return apply("Lgamma", [x])


def _digamma(x):
    return apply("Digamma", [x])


class _OfParameters(Distribution):
    """Takes tensors as parameters; `_names` are those that are one for each number drawn."""

    def _begin(self, name, validate_args, allow_nan_stats, **parameters):
        with name_scope(name, values=list(parameters.values())) as scope:
            dtype = None
            for key, value in parameters.items():
                made = convert_to_tensor(value, dtype=dtype, preferred_dtype=dtypes.float32, name=key)
                dtype = made.dtype.base_dtype
                setattr(self, key, made)
        Distribution.__init__(self, dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, name=scope)

    def _only(self, condition, value):
        """The value where it is there, else NaN or an error."""
        if self.allow_nan_stats:
            return array_ops.where(condition, value, array_ops.fill(array_ops.shape(value), convert_to_tensor(
                math.nan, dtype=self.dtype)))
        return checks.with_dependencies([checks.Assert(math_ops.reduce_all(condition), ["the statistic is not defined for all members"])],
                                 value)


class Gamma(_OfParameters):
    """The gamma distribution of shape `concentration` and `rate`."""

    rate: Tensor

    def __init__(self, concentration: TensorLike, rate: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Gamma") -> None:
        self._begin(name, validate_args, allow_nan_stats, concentration=concentration, rate=rate)

    def _shape(self):
        return self.concentration + self.rate

    def _log_prob(self, x):
        a, b = self.concentration, self.rate
        return (a - 1.0) * _log(x) - b * x - (_lgamma(a) - a * _log(b))

    def _cdf(self, x):
        return apply("Igamma", [self.concentration + array_ops.zeros_like(x), self.rate * x])

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / apply("Square", [self.rate])

    def _stddev(self):
        return apply("Sqrt", [self.concentration]) / self.rate

    def _mode(self):
        value = (self.concentration - 1.0) / self.rate
        return self._only(self.concentration + array_ops.zeros_like(value) > 1.0, value)

    def _entropy(self):
        a = self.concentration
        return a - _log(self.rate) + _lgamma(a) + (1.0 - a) * _digamma(a)

    def _sample(self, shape, seed):
        return _gamma(shape, self.concentration + array_ops.zeros_like(self.rate), self.dtype, seed) / self.rate


def _gamma(shape, concentration, dtype, seed):
    """Draws of shape [..., *shape of concentration]."""
    more = array_ops.shape(shape)[0] - array_ops.rank(concentration)
    return random_ops.random_gamma(shape[:more], concentration, dtype=dtype, seed=seed)


class Exponential(Gamma):
    """The time between events that come at a rate."""

    rate: Tensor

    def __init__(self, rate: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Exponential") -> None:
        self._begin(name, validate_args, allow_nan_stats, rate=rate)

    @property
    def concentration(self) -> Tensor:
        """1: the gamma distribution of which this is a kind."""
        return array_ops.ones_like(self.rate)

    def _cdf(self, x):
        return -apply("Expm1", [-self.rate * x])

    def _sample(self, shape, seed):
        import numpy as np
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        return -_log(random_ops.random_uniform(shape, float(tiny), 1.0, self.dtype, seed=seed)) / self.rate


class Laplace(_OfParameters):
    """Two exponential distributions back to back at `loc`."""

    loc: Tensor
    scale: Tensor

    def __init__(self, loc: TensorLike, scale: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Laplace") -> None:
        self._begin(name, validate_args, allow_nan_stats, loc=loc, scale=scale)

    def _shape(self):
        return self.loc + self.scale

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _log_prob(self, x):
        return -apply("Abs", [self._z(x)]) - math.log(2.0) - _log(self.scale)

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 + 0.5 * apply("Sign", [z]) * (1.0 - apply("Exp", [-apply("Abs", [z])]))

    def _mean(self):
        return self.loc + array_ops.zeros_like(self.scale)

    _mode = _mean

    def _stddev(self):
        return math.sqrt(2.0) * self.scale + array_ops.zeros_like(self.loc)

    def _entropy(self):
        return math.log(2.0) + 1.0 + _log(self.scale + array_ops.zeros_like(self.loc))

    def _sample(self, shape, seed):
        import numpy as np
        low = float(np.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0)))
        u = random_ops.random_uniform(shape, low, 1.0, self.dtype, seed=seed)
        return self.loc - self.scale * apply("Sign", [u]) * apply("Log1p", [-apply("Abs", [u])])


class StudentT(_OfParameters):
    """Student's t distribution of `df` degrees of freedom, moved and scaled."""

    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(self, df: TensorLike, loc: TensorLike, scale: TensorLike, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "StudentT") -> None:
        self._begin(name, validate_args, allow_nan_stats, df=df, loc=loc, scale=scale)

    def _shape(self):
        return self.df + self.loc + self.scale

    def _normalization(self):
        return _log(apply("Abs", [self.scale])) + 0.5 * _log(self.df) + 0.5 * math.log(math.pi) + _lgamma(0.5 * self.df) - _lgamma(
            0.5 * (self.df + 1.0))

    def _log_prob(self, x):
        y = (x - self.loc) / self.scale
        return -0.5 * (self.df + 1.0) * apply("Log1p", [apply("Square", [y]) / self.df]) - self._normalization()

    def _cdf(self, x):
        y = (x - self.loc) / apply("Abs", [self.scale])
        half = 0.5 * apply("Betainc", [0.5 * self.df + array_ops.zeros_like(y), 0.5 + array_ops.zeros_like(y + self.df),
                                       self.df / (apply("Square", [y]) + self.df)])
        return array_ops.where(apply("Less", [y + array_ops.zeros_like(half), 0.0]), half, 1.0 - half)

    def _mean(self):
        value = self.loc + array_ops.zeros_like(self._shape())
        return self._only(self.df + array_ops.zeros_like(value) > 1.0, value)

    def _mode(self):
        return self.loc + array_ops.zeros_like(self._shape())

    def _variance(self):
        df = self.df + array_ops.zeros_like(self._shape())
        finite = array_ops.where(df > 2.0, df - 2.0, array_ops.ones_like(df))
        value = apply("Square", [self.scale + array_ops.zeros_like(df)]) * df / finite
        value = array_ops.where(df > 2.0, value, array_ops.fill(array_ops.shape(df), convert_to_tensor(math.inf, dtype=self.dtype)))
        return self._only(df > 1.0, value)

    def _entropy(self):
        df = self.df + array_ops.zeros_like(self._shape())
        beta = _lgamma(0.5 * df) + math.lgamma(0.5) - _lgamma(0.5 * df + 0.5)
        return _log(apply("Abs", [self.scale])) + 0.5 * _log(df) + beta + 0.5 * (df + 1.0) * (
            _digamma(0.5 * (df + 1.0)) - _digamma(0.5 * df))

    def _sample(self, shape, seed):
        df = self.df + array_ops.zeros_like(self._shape())
        normal = random_ops.random_normal(shape, dtype=self.dtype, seed=seed)
        other = _gamma(shape, 0.5 * df, self.dtype, None if seed is None else seed + 1) * 2.0
        return normal * apply("Rsqrt", [other / df]) * self.scale + self.loc


class Beta(_OfParameters):
    """The beta distribution: chances."""

    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: TensorLike | None = None, concentration0: TensorLike | None = None,
                 validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Beta") -> None:
        self._begin(name, validate_args, allow_nan_stats, concentration1=concentration1, concentration0=concentration0)

    @property
    def total_concentration(self) -> Tensor:
        """concentration1 + concentration0."""
        return self.concentration1 + self.concentration0

    def _shape(self):
        return self.total_concentration

    def _normalization(self):
        return _lgamma(self.concentration1) + _lgamma(self.concentration0) - _lgamma(self.total_concentration)

    def _log_prob(self, x):
        return (self.concentration1 - 1.0) * _log(x) + (self.concentration0 - 1.0) * apply("Log1p", [-x]) - self._normalization()

    def _cdf(self, x):
        zeros = array_ops.zeros_like(self._shape() + x)
        return apply("Betainc", [self.concentration1 + zeros, self.concentration0 + zeros, x + zeros])

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self):
        value = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        return self._only(apply("LogicalAnd", [self.concentration1 + array_ops.zeros_like(value) > 1.0,
                                               self.concentration0 + array_ops.zeros_like(value) > 1.0]), value)

    def _entropy(self):
        a, b = self.concentration1, self.concentration0
        return self._normalization() - (a - 1.0) * _digamma(a) - (b - 1.0) * _digamma(b) + (
            self.total_concentration - 2.0) * _digamma(self.total_concentration)

    def _sample(self, shape, seed):
        zeros = array_ops.zeros_like(self._shape())
        first = _gamma(shape, self.concentration1 + zeros, self.dtype, seed)
        second = _gamma(shape, self.concentration0 + zeros, self.dtype, None if seed is None else seed + 1)
        return first / (first + second)


class Dirichlet(_OfParameters):
    """Chances that add up to 1, along the last dimension."""

    concentration: Tensor

    def __init__(self, concentration: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Dirichlet") -> None:
        self._begin(name, validate_args, allow_nan_stats, concentration=concentration)

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentrations."""
        return math_ops.reduce_sum(self.concentration, -1)

    @property
    def event_shape(self) -> TensorShape:
        return self.concentration.shape[-1:]

    def _shape(self):
        return self.total_concentration

    def _normalization(self):
        return lbeta(self.concentration)

    def _log_prob(self, x):
        return math_ops.reduce_sum((self.concentration - 1.0) * _log(x), -1) - self._normalization()

    def _mean(self):
        return self.concentration / array_ops.expand_dims(self.total_concentration, -1)

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + array_ops.expand_dims(self.total_concentration, -1))

    def _mode(self):
        classes = math_ops.cast(array_ops.shape(self.concentration)[-1], self.dtype)
        value = (self.concentration - 1.0) / (array_ops.expand_dims(self.total_concentration, -1) - classes)
        return self._only(self.concentration > 1.0, value)

    def _entropy(self):
        k = math_ops.cast(array_ops.shape(self.concentration)[-1], self.dtype)
        total = self.total_concentration
        return self._normalization() + (total - k) * _digamma(total) - math_ops.reduce_sum(
            (self.concentration - 1.0) * _digamma(self.concentration), -1)

    def _sample(self, shape, seed):
        more = array_ops.shape(shape)[0] - array_ops.rank(self.total_concentration)
        drawn = random_ops.random_gamma(shape[:more], self.concentration, dtype=self.dtype, seed=seed)
        return drawn / math_ops.reduce_sum(drawn, -1, keepdims=True)


class Multinomial(_OfParameters):
    """How often each class comes in `total_count` draws."""

    total_count: Tensor
    logits: Tensor
    probs: Tensor

    def __init__(self, total_count: TensorLike, logits: TensorLike | None = None, probs: TensorLike | None = None,
                 validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Multinomial") -> None:
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        self._begin(name, validate_args, allow_nan_stats, total_count=total_count, **(
            {"logits": logits} if probs is None else {"probs": probs}))
        if probs is None:
            self.probs = nn.softmax(self.logits)
        else:
            self.logits = _log(self.probs)

    @property
    def event_shape(self) -> TensorShape:
        return self.logits.shape[-1:]

    def _shape(self):
        return math_ops.reduce_sum(self.logits, -1) + self.total_count

    def _log_prob(self, counts):
        ways = _lgamma(self.total_count + 1.0) - math_ops.reduce_sum(_lgamma(counts + 1.0), -1)
        return math_ops.reduce_sum(counts * nn.log_softmax(self.logits), -1) + ways

    def _mean(self):
        return self.probs * array_ops.expand_dims(self.total_count, -1)

    def _variance(self):
        mean = self._mean()
        return mean - mean * self.probs

    def _sample(self, shape, seed):
        raise NotImplementedError("samples of Multinomial are not there yet")


@RegisterKL(Gamma, Gamma)
def _gammas(a, b, name=None):
    return (a.concentration - b.concentration) * _digamma(a.concentration) + _lgamma(b.concentration) - _lgamma(
        a.concentration) + b.concentration * _log(a.rate) - b.concentration * _log(b.rate) + a.concentration * (b.rate / a.rate - 1.0)


@RegisterKL(Beta, Beta)
def _betas(a, b, name=None):
    d1, d0 = b.concentration1 - a.concentration1, b.concentration0 - a.concentration0
    return b._normalization() - a._normalization() - _digamma(a.concentration1) * d1 - _digamma(a.concentration0) * d0 + _digamma(
        a.total_concentration) * (d1 + d0)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlets(a, b, name=None):
    difference = a.concentration - b.concentration
    rest = _digamma(a.concentration) - array_ops.expand_dims(_digamma(a.total_concentration), -1)
    return math_ops.reduce_sum(difference * rest, -1) - a._normalization() + b._normalization()

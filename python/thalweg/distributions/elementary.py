# SPDX-License-Identifier: Apache-2.0
"""The normal, uniform, Bernoulli and categorical distributions."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg import dtypes, nn
from thalweg.distributions.base import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution, RegisterKL
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops, random_ops

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, TensorLike
    from thalweg.graph.tensor import Tensor


class Normal(Distribution):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    Parameters
    ----------
    loc, scale : tensor_like
        Of a floating type; they are broadcast to each other.
    validate_args : bool
        Of no effect here.
    allow_nan_stats : bool
        Whether statistics that are not defined are NaN, or an error.
    name : str
        Name of the scope.

    Examples
    --------
    >>> normal = tw.distributions.Normal(loc=0.0, scale=1.0)
    >>> with tw.Session() as sess:
    ...     print(round(float(sess.run(normal.prob(0.0))), 4), sess.run(normal.sample(1000)).shape)
    0.3989 (1000,)
    """

    def __init__(self, loc: TensorLike, scale: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Normal") -> None:
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

    def quantile(self, value: TensorLike, name: str = "quantile") -> Tensor:
        """The value below which a draw is with this chance."""
        with name_scope(name):
            return apply("Ndtri", [convert_to_tensor(value, dtype=self.dtype)]) * self.scale + self.loc

    def _sample(self, shape, seed):
        return random_ops.random_normal(shape, dtype=self.dtype, seed=seed) * self.scale + self.loc


class Uniform(Distribution):
    """Every value between `low` and `high` is as likely."""

    def __init__(self, low: TensorLike = 0.0, high: TensorLike = 1.0, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Uniform") -> None:
        with name_scope(name, values=[low, high]) as scope:
            self.low = array_ops.identity(convert_to_tensor(low, preferred_dtype=dtypes.float32), name="low")
            self.high = array_ops.identity(convert_to_tensor(high, dtype=self.low.dtype.base_dtype), name="high")
        super().__init__(self.low.dtype.base_dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _shape(self):
        return self.low + self.high

    def range(self, name: str = "range") -> Tensor:
        """high - low."""
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

    def __init__(self, logits: TensorLike | None = None, probs: TensorLike | None = None, dtype: DTypeLike = dtypes.int32,
                 validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Bernoulli") -> None:
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

    def __init__(self, logits: TensorLike | None = None, probs: TensorLike | None = None, dtype: DTypeLike = dtypes.int32,
                 validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Categorical") -> None:
        with name_scope(name, values=[logits, probs]) as scope:
            self.logits = _logits(logits, probs, lambda p: apply("Log", [p]))
            self.probs = convert_to_tensor(probs) if probs is not None else nn.softmax(self.logits)
        super().__init__(dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _shape(self):
        return self.logits[..., 0]

    @property
    def event_size(self) -> Tensor:
        """How many classes there are."""
        return array_ops.shape(self.logits)[-1]

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

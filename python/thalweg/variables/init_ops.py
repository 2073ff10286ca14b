# SPDX-License-Identifier: Apache-2.0
"""Initializers: initializer(shape, dtype) makes a variable's first value."""
from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph import ops
from thalweg.graph.shapes import as_shape
from thalweg.operations import random_ops
from thalweg.operations.array_ops import matrix_transpose, ones, reshape, zeros

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from thalweg.base.typing import DTypeLike, DynamicShape, TensorLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.partitioners import PartitionInfo


class Initializer:
    """Base of all initializers."""

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such an initializer."""
        given = inspect.getfullargspec(type(self).__init__).args[1:]
        values = {name: getattr(self, name) for name in given if hasattr(self, name)}
        return {name: value.name if isinstance(value, dtypes.DType) else value for name, value in values.items()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """An initializer of what get_config() gave."""
        return cls(**config)


class Zeros(Initializer):
    """An initializer that gives zeros; for strings it gives empty ones.

    Parameters
    ----------
    dtype : DType
        The type where none is asked for.

    Examples
    --------
    >>> w = tw.get_variable("w", [2], initializer=tw.zeros_initializer())
    >>> with tw.Session() as sess:
    ...     sess.run(w.initializer)
    ...     print(sess.run(w))
    [0. 0.]
    """

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        return zeros(shape, dtype or self.dtype)


class Ones(Initializer):
    """An initializer that gives ones."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        return ones(shape, dtype or self.dtype)


class Constant(Initializer):
    """An initializer that gives each variable the same value, or one array.

    Parameters
    ----------
    value : number, list or array, optional
        Where it has fewer elements than the variable, the last one fills it up.
    dtype : DType, optional
        Of a variable that names none.
    verify_shape : bool, optional
        Whether `value` must have the shape of the variable.

    Raises
    ------
    TypeError
        `value` is something else, or has not the shape that `verify_shape` asks for.

    Examples
    --------
    >>> v = tw.get_variable("v", [2, 2], initializer=tw.constant_initializer(3.0))
    >>> with tw.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(sess.run(v))
    [[3. 3.]
     [3. 3.]]
    """

    def __init__(self, value: Any = 0, dtype: DTypeLike = dtypes.float32, verify_shape: bool = False) -> None:
        self.value, self.dtype, self._verify_shape = value, dtypes.as_dtype(dtype), verify_shape

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None,
                 verify_shape: bool | None = None) -> Tensor:
        verify = self._verify_shape if verify_shape is None else verify_shape
        return ops.constant(self.value, dtype or self.dtype, shape=as_shape(shape), verify_shape=verify)


class RandomUniform(Initializer):
    """An initializer that draws from a uniform distribution over [minval, maxval).

    Parameters
    ----------
    minval : scalar tensor_like
    maxval : scalar tensor_like, optional
        1 for floating types; integers need one.
    seed : int, optional
        See tw.set_random_seed.
    dtype : DType
        The type where none is asked for.

    Examples
    --------
    >>> w = tw.get_variable("w", [3], initializer=tw.random_uniform_initializer(-1.0, 1.0))
    >>> with tw.Session() as sess:
    ...     sess.run(w.initializer)
    ...     print((abs(sess.run(w)) <= 1).all())
    True
    """

    def __init__(self, minval: TensorLike = 0, maxval: TensorLike | None = None, seed: int | None = None,
                 dtype: DTypeLike = dtypes.float32) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtypes.as_dtype(dtype)

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        return random_ops.random_uniform(shape, self.minval, self.maxval, dtype or self.dtype, seed=self.seed)


class RandomNormal(Initializer):
    """An initializer that draws of a normal distribution.

    Parameters
    ----------
    mean, stddev : float, optional
    seed : int, optional
        As for random_normal.
    dtype : DType, optional
        Of a variable that names none.

    Raises
    ------
    TypeError
        From a call for a type that is no floating type.

    Examples
    --------
    >>> v = tw.get_variable("v", [100], initializer=tw.random_normal_initializer(5.0, 0.1))
    >>> with tw.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(4.8 < sess.run(v).mean() < 5.2)
    True
    """

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None,
                 dtype: DTypeLike = dtypes.float32) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, dtypes.as_dtype(dtype)

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        return random_ops.random_normal(shape, self.mean, self.stddev, dtype or self.dtype, seed=self.seed)


class TruncatedNormal(RandomNormal):
    """An initializer that draws of a normal distribution, none further than two deviations from the mean.

    Parameters
    ----------
    mean, stddev : float, optional
    seed : int, optional
        As for truncated_normal.
    dtype : DType, optional
        Of a variable that names none.

    Raises
    ------
    TypeError
        From a call for a type that is no floating type.

    Examples
    --------
    >>> v = tw.get_variable("v", [100], initializer=tw.truncated_normal_initializer(stddev=0.1))
    >>> with tw.Session() as sess:
    ...     sess.run(v.initializer)
    ...     print(abs(sess.run(v)).max() <= 0.2)
    True
    """

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        return random_ops.truncated_normal(shape, self.mean, self.stddev, dtype or self.dtype, seed=self.seed)


def _fans(shape):
    """How many inputs and outputs a weight of this shape has."""
    shape = as_shape(shape).as_list()
    if len(shape) < 2:
        n = float(shape[0]) if shape else 1.0
        return n, n
    field = float(np.prod(shape[:-2]))
    return shape[-2] * field, shape[-1] * field


class VarianceScaling(Initializer):
    """Random values whose variance is scale / (number of inputs, outputs or their mean)."""

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None,
                 dtype: DTypeLike = dtypes.float32) -> None:
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        # A part of a variable is scaled as the whole.
        fan_in, fan_out = _fans(shape if partition_info is None else partition_info.full_shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        dtype = dtype or self.dtype
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_ops.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        # The standard deviation of what is left of a normal distribution within two of its own.
        return random_ops.truncated_normal(shape, 0.0, math.sqrt(variance) / 0.87962566103423978, dtype, seed=self.seed)


class GlorotUniform(VarianceScaling):
    """An initializer that draws from a uniform distribution over [-r, r), r = sqrt(6 / (inputs + outputs)).

    Parameters
    ----------
    seed : int, optional
        See tw.set_random_seed.
    dtype : DType
        The type where none is asked for.

    Examples
    --------
    >>> tw.get_variable("w", [784, 10], initializer=tw.keras.initializers.glorot_uniform(seed=1)).shape.as_list()
    [784, 10]
    """

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class GlorotNormal(VarianceScaling):
    """An initializer that draws from a normal distribution cut off at two standard deviations, of variance 2 / (inputs + outputs).

    Parameters
    ----------
    seed : int, optional
        See tw.set_random_seed.
    dtype : DType
        The type where none is asked for.

    Examples
    --------
    >>> tw.get_variable("w", [784, 10], initializer=tw.keras.initializers.glorot_normal(seed=1)).shape.as_list()
    [784, 10]
    """

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


def lecun_normal(seed: int | None = None) -> Initializer:
    """An initializer that draws of a normal distribution cut at two deviations; its variance is 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> Initializer:
    """An initializer that draws of -r to r, r = sqrt(3 / inputs)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> Initializer:
    """An initializer that draws of a normal distribution cut at two deviations; its variance is 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> Initializer:
    """An initializer that draws of -r to r, r = sqrt(6 / inputs)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


class Orthogonal(Initializer):
    """Random matrices with orthogonal rows or columns, by QR of normal values."""

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain, self.seed, self.dtype = gain, seed, dtypes.as_dtype(dtype)

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        shape = as_shape(shape).as_list()
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = int(np.prod(shape[:-1], dtype=np.int64)), shape[-1]
        values = random_ops.random_normal([max(rows, columns), min(rows, columns)], dtype=dtype or self.dtype, seed=self.seed)
        q, r = ops.apply("Qr", [values], {"full_matrices": False})
        q = q * ops.apply("Sign", [ops.apply("MatrixDiagPart", [r])])
        return reshape(matrix_transpose(q) if rows < columns else q, shape) * self.gain


class UniformUnitScaling(Initializer):
    """Uniform values that keep the scale of the inputs."""

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        self.factor, self.seed, self.dtype = factor, seed, dtypes.as_dtype(dtype)

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        whole = shape if partition_info is None else partition_info.full_shape
        inputs = max(float(np.prod(as_shape(whole).as_list()[:-1])), 1.0)
        limit = math.sqrt(3 / inputs) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, dtype or self.dtype, seed=self.seed)


class Identity(Initializer):
    """An initializer that gives an identity matrix, times `gain`."""

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain, self.dtype = gain, dtypes.as_dtype(dtype)

    def __call__(self, shape: DynamicShape, dtype: DTypeLike | None = None,
                 partition_info: PartitionInfo | None = None) -> Tensor:
        whole = as_shape(shape if partition_info is None else partition_info.full_shape).as_list()
        if len(whole) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        values = self.gain * np.eye(*whole)
        if partition_info is not None:
            values = values[tuple(slice(o, o + n) for o, n in zip(partition_info.var_offset, as_shape(shape).as_list()))]
        return ops.constant(values, dtypes.as_dtype(dtype or self.dtype))


zeros_initializer, ones_initializer, constant_initializer = Zeros, Ones, Constant
random_uniform_initializer, random_normal_initializer = RandomUniform, RandomNormal
truncated_normal_initializer, variance_scaling_initializer = TruncatedNormal, VarianceScaling
glorot_uniform_initializer, glorot_normal_initializer = GlorotUniform, GlorotNormal
identity_initializer = Identity
orthogonal_initializer, uniform_unit_scaling_initializer = Orthogonal, UniformUnitScaling

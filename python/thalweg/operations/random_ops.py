# SPDX-License-Identifier: Apache-2.0
"""Random values. The same seeds give TensorFlow's own values."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, checks
from thalweg.operations.array_ops import _shape_argument

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, DynamicShape, IntLike, IntsLike, TensorLike
    from thalweg.graph.tensor import Tensor


def _seeds(seed):
    first, second = graph.get_seed(seed)
    return {"seed": first, "seed2": second}


def random_normal(shape: DynamicShape, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike = dtypes.float32,
                  seed: int | None = None, name: str | None = None) -> Tensor:
    """Random numbers of a normal distribution.

    Parameters
    ----------
    shape : list of int, or int32 or int64 vector
    mean, stddev : scalars or tensors, optional
        Of type `dtype`, of shapes that broadcast to `shape`.
    dtype : DType, optional
        float16, float32 or float64.
    seed : int, optional
        With a seed here or of the graph (set_random_seed), sessions draw the same numbers.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of type `dtype`, shape `shape`; other values in every step.

    Raises
    ------
    InvalidArgumentError
        In the step: a dimension is negative.

    Examples
    --------
    >>> x = tw.random_normal([1000], mean=5.0, seed=1)
    >>> with tw.Session() as sess:
    ...     print(4.8 < sess.run(x).mean() < 5.2)
    True
    """
    return _scaled("RandomStandardNormal", "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(shape: DynamicShape, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike = dtypes.float32,
                     seed: int | None = None, name: str | None = None) -> Tensor:
    """Random numbers of a normal distribution, none further than two deviations from the mean.

    Parameters
    ----------
    shape : list of int, or int32 or int64 vector
    mean, stddev : scalars or tensors, optional
        Of type `dtype`, of shapes that broadcast to `shape`.
    dtype : DType, optional
        float16, float32 or float64.
    seed : int, optional
        With a seed here or of the graph (set_random_seed), sessions draw the same numbers.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of type `dtype`, shape `shape`; other values in every step.

    Raises
    ------
    TypeError
        `dtype` is no type of floating-point numbers.

    Examples
    --------
    >>> x = tw.truncated_normal([1000], stddev=0.1)
    >>> with tw.Session() as sess:
    ...     print(abs(sess.run(x)).max() <= 0.2)
    True
    """
    return _scaled("TruncatedNormal", "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _scaled(op, default_name, shape, mean, stddev, dtype, seed, name):
    with name_scope(name, default_name, [shape, mean, stddev]) as scope:
        shape = _shape_argument(shape)
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        values = apply(op, [shape], {"dtype": dtype, **_seeds(seed)}, name=op)
        return apply("Add", [apply("Mul", [values, stddev], name="mul"), mean], name=scope)


def random_uniform(shape: DynamicShape, minval: TensorLike = 0, maxval: TensorLike | None = None,
                   dtype: DTypeLike = dtypes.float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Random numbers that are all as likely.

    Parameters
    ----------
    shape : list of int, or int32 or int64 vector
    minval, maxval : scalars of type `dtype`, optional
        Numbers are at least `minval`, 0 unless given, and below `maxval`: 1 for real numbers; integers need one.
    dtype : DType, optional
        float16, float32, float64, int32 or int64.
    seed : int, optional
        With a seed here or of the graph (set_random_seed), sessions draw the same numbers.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of type `dtype`, shape `shape`; other values in every step.

    Raises
    ------
    ValueError
        Integers without `maxval`.

    Examples
    --------
    >>> x = tw.random_uniform([1000], 1, 7, tw.int32)
    >>> with tw.Session() as sess:
    ...     print(sorted(set(sess.run(x).tolist())))
    [1, 2, 3, 4, 5, 6]
    """
    dtype = dtypes.as_dtype(dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        shape = _shape_argument(shape)
        low = convert_to_tensor(minval, dtype=dtype, name="min")
        high = convert_to_tensor(maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            return apply("RandomUniformInt", [shape, low, high], _seeds(seed), name=scope)
        values = apply("RandomUniform", [shape], {"dtype": dtype, **_seeds(seed)}, name="RandomUniform")
        return apply("Add", [apply("Mul", [values, apply("Sub", [high, low], name="sub")], name="mul"), low], name=scope)


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Rows in a random order."""
    return apply("RandomShuffle", [value], _seeds(seed), name=name)


def multinomial(logits: TensorLike, num_samples: IntLike, seed: int | None = None, name: str | None = None,
                output_dtype: DTypeLike | None = None) -> Tensor:
    """Draws classes by the logarithms of their probabilities: [rows, num_samples] numbers of classes."""
    output_dtype = output_dtype or dtypes.int64
    return apply("Multinomial", [logits, num_samples], {"output_dtype": output_dtype, **_seeds(seed)}, name=name)


def random_gamma(shape: DynamicShape, alpha: TensorLike, beta: TensorLike | None = None, dtype: DTypeLike = dtypes.float32,
                 seed: int | None = None, name: str | None = None) -> Tensor:
    """Random numbers of gamma distributions: [*shape, *shape of alpha and beta]."""
    values = apply("RandomGamma", [_shape_argument(shape), convert_to_tensor(alpha, dtype=dtype)], _seeds(seed), name=name)
    return values if beta is None else values / beta


def random_poisson(lam: TensorLike, shape: DynamicShape, dtype: DTypeLike = dtypes.float32, seed: int | None = None,
                   name: str | None = None) -> Tensor:
    """Random numbers of Poisson distributions: [*shape, *shape of lam]."""
    return apply("RandomPoissonV2", [_shape_argument(shape), lam], {"dtype": dtype, **_seeds(seed)}, name=name)


def random_crop(value: TensorLike, size: IntsLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Takes a part of a tensor at a random place.

    Parameters
    ----------
    value : tensor of any type
    size : list of int, or int32 or int64 vector
        The shape of the part.
    seed : int, optional
        See tw.set_random_seed.
    name : str, optional

    Returns
    -------
    Tensor

    Raises
    ------
    errors.InvalidArgumentError
        In a step: the part is larger than the tensor.

    Examples
    --------
    >>> tw.random_crop(tw.zeros([32, 32, 3]), [24, 24, 3]).shape.as_list()
    [24, 24, 3]
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value, size = convert_to_tensor(value, name="value"), convert_to_tensor(size, dtype=dtypes.int32, name="size")
        shape = array_ops.shape(value)
        fits = checks.Assert(apply("All", [apply("GreaterEqual", [shape, size]), [0]]), ["Need value.shape >= size, got ", shape, size],
                             summarize=1000)
        limit = checks.with_dependencies([fits], shape) - size + 1
        offset = random_uniform(array_ops.shape(limit), maxval=2**31 - 1, dtype=dtypes.int32, seed=seed) % limit
        return array_ops.slice_(value, offset, size, name=scope)


def categorical(logits: TensorLike, num_samples: IntLike, dtype: DTypeLike | None = None, seed: int | None = None,
                name: str | None = None) -> Tensor:
    """Class numbers drawn for each row."""
    return multinomial(logits, num_samples, seed=seed, name=name, output_dtype=dtype or dtypes.int64)

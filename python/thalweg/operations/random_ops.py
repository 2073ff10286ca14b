# SPDX-License-Identifier: Apache-2.0
"""Random values. The same seeds give TensorFlow's own values."""
from thalweg import dtypes
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops
from thalweg.operations.array_ops import _shape_argument


def _seeds(seed):
    first, second = graph.get_seed(seed)
    return {"seed": first, "seed2": second}


def random_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Values of a normal distribution."""
    return _scaled("RandomStandardNormal", "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """As random_normal without values further than two standard deviations away."""
    return _scaled("TruncatedNormal", "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _scaled(op, default_name, shape, mean, stddev, dtype, seed, name):
    with name_scope(name, default_name, [shape, mean, stddev]) as scope:
        shape = _shape_argument(shape)
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        values = apply(op, [shape], {"dtype": dtype, **_seeds(seed)}, name=op)
        return apply("Add", [apply("Mul", [values, stddev], name="mul"), mean], name=scope)


def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Values between minval and maxval (which is left out)."""
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


def random_shuffle(value, seed=None, name=None):
    """Rows in a random order."""
    return apply("RandomShuffle", [value], _seeds(seed), name=name)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    output_dtype = output_dtype or dtypes.int64
    return apply("Multinomial", [logits, num_samples], {"output_dtype": output_dtype, **_seeds(seed)}, name=name)


def random_gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    values = apply("RandomGamma", [_shape_argument(shape), convert_to_tensor(alpha, dtype=dtype)], _seeds(seed), name=name)
    return values if beta is None else values / beta


def random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
    return apply("RandomPoissonV2", [_shape_argument(shape), lam], {"dtype": dtype, **_seeds(seed)}, name=name)


def random_crop(value, size, seed=None, name=None):
    """A part of `size` at a random place."""
    with name_scope(name, "random_crop", [value, size]) as scope:
        value, size = convert_to_tensor(value, name="value"), convert_to_tensor(size, dtype=dtypes.int32, name="size")
        limit = array_ops.shape(value) - size + 1
        offset = random_uniform(array_ops.shape(limit), maxval=2**31 - 1, dtype=dtypes.int32, seed=seed) % limit
        return array_ops.slice_(value, offset, size, name=scope)


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Class numbers drawn for each row."""
    return multinomial(logits, num_samples, seed=seed, name=name, output_dtype=dtype or dtypes.int64)

# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons, reductions, matrices: where TF1's function is more than one operation."""
import numpy as np

from thalweg import dtypes
from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph.graph import name_scope
from thalweg.graph.operators import cast, dtype_beside, logical_xor, matmul, truediv  # noqa: F401  (some are public here only)
from thalweg.graph.ops import apply, constant, convert_to_tensor, is_dense
from thalweg.graph.tensor import IndexedSlices
from thalweg.operations.array_ops import (concat, fill, gather, rank, reshape, shape, size, stack, stop_gradient, transpose,
                                          where)


def _caster(name, dtype):
    def convert(x, name=name):
        return cast(x, dtype, name=name)
    convert.__doc__ = f"x as {dtype.name}."
    return convert


to_float = _caster("ToFloat", dtypes.float32)
to_double = _caster("ToDouble", dtypes.float64)
to_int32 = _caster("ToInt32", dtypes.int32)
to_int64 = _caster("ToInt64", dtypes.int64)
to_bfloat16 = _caster("ToBFloat16", dtypes.bfloat16)


def saturate_cast(value, dtype, name=None):
    """cast, with values beyond the new type's range at its ends."""
    dtype = dtypes.as_dtype(dtype).base_dtype
    value = convert_to_tensor(value, name="value")
    if value.dtype.min < dtype.min:
        value = apply("Maximum", [value, constant(dtype.min, value.dtype.base_dtype)])
    if value.dtype.max > dtype.max:
        value = apply("Minimum", [value, constant(dtype.max, value.dtype.base_dtype)])
    return cast(value, dtype, name=name)


def divide(x, y, name=None):
    """x / y by Python's rules."""
    return truediv(x, y, name)


def div(x, y, name=None):
    """x / y: of integers rounded down, of real numbers exact."""
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
    return apply("RealDiv" if x.dtype.is_floating or x.dtype.is_complex else "FloorDiv", [x, y], name=name or "div")


def add_n(inputs, name=None):
    """The sum of tensors of one shape."""
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    inputs = [convert_to_tensor(i) for i in inputs]
    if len(inputs) == 1:
        return apply("Identity", inputs, name=name) if name else inputs[0]
    return apply("AddN", [inputs], name=name)


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    return add_n(inputs, name=name)


def _as_matrix(x, axes, axes_last):
    """x as a matrix whose columns (or rows) are what `axes` hold, and the sizes of its other dimensions: numbers, or scalar
    tensors where they are not known."""
    rank = x.shape.ndims
    axes = [i + rank if i < 0 else i for i in axes]
    if len(set(axes)) < len(axes) or not all(0 <= i < rank for i in axes):
        raise ValueError(f"'axes' must name dimensions of a tensor of rank {rank} once each, got {axes}")
    free = [i for i in range(rank) if i not in axes]
    static = x.shape.as_list()
    dynamic = None if None not in static else shape(x)
    sizes = [dynamic[i] if d is None else d for i, d in enumerate(static)]

    def product(places):
        total = 1
        for i in places:
            total = sizes[i] * total
        return total
    order = free + axes if axes_last else axes + free
    if order != list(range(rank)):
        x = transpose(x, order)
    parts = [product(free), product(axes)]
    return reshape(x, parts if axes_last else parts[::-1]), [sizes[i] for i in free], [static[i] for i in free]


def _as_matrix_of_any_rank(x, axes, axes_last):
    """As _as_matrix where the rank of x is not known: axes and sizes are vectors."""
    axes = convert_to_tensor(axes, dtype=dtypes.int32)
    axes = where(axes < 0, axes + rank(x), axes)
    free = apply("ListDiff", [range_(0, rank(x)), axes]).out
    sizes = shape(x)
    kept, summed = gather(sizes, free), gather(sizes, axes)
    parts = [reduce_prod(kept), reduce_prod(summed)]
    x = transpose(x, concat([free, axes] if axes_last else [axes, free], 0))
    return reshape(x, stack(parts if axes_last else parts[::-1])), kept


def _tensordot_of_any_rank(a, b, axes, name):
    """tensordot where a rank, or the axes, are known in the step only."""
    if isinstance(axes, int):
        axes = range_(rank(a) - axes, rank(a)), range_(axes)
    elif isinstance(axes, (list, tuple)):
        axes = [[i] if isinstance(i, int) else i for i in axes]
    else:  # a tensor of two rows
        axes = axes[0], axes[1]
    left, rows = _as_matrix_of_any_rank(a, axes[0], True)
    right, columns = _as_matrix_of_any_rank(b, axes[1], False)
    return reshape(matmul(left, right), concat([rows, columns], 0), name=name)


def tensordot(a, b, axes, name=None):
    """Sum of products over pairs of dimensions: the last and first `axes` ones, or those that two lists name."""
    with name_scope(name, "Tensordot", [a, b]) as scope:
        a = convert_to_tensor(a, dtype=dtype_beside(a, b), name="a")
        b = convert_to_tensor(b, dtype=a.dtype.base_dtype if not is_dense(b) else None, name="b")
        if isinstance(axes, int):
            if axes < 0 or a.shape.ndims is not None and axes > a.shape.ndims:
                raise ValueError(f"'axes' must be from 0 to the rank of a, {a.shape.ndims}, got {axes}")
            if None in (a.shape.ndims, b.shape.ndims):
                return _tensordot_of_any_rank(a, b, axes, scope)
            axes = list(range(-axes, 0)), list(range(axes))
        elif is_dense(axes) or None in (a.shape.ndims, b.shape.ndims):
            return _tensordot_of_any_rank(a, b, axes, scope)
        axes_a, axes_b = [[i] if isinstance(i, int) else [int(k) for k in i] for i in axes]
        if len(axes_a) != len(axes_b):
            raise ValueError(f"Different number of contraction axes 'a' and 'b', {len(axes_a)} != {len(axes_b)}.")
        left, rows, known_rows = _as_matrix(a, axes_a, True)
        right, columns, known_columns = _as_matrix(b, axes_b, False)
        result = reshape(matmul(left, right), rows + columns, name=scope)
        result.set_shape(known_rows + known_columns)
        return result


def range_(start, limit=None, delta=1, dtype=None, name="range"):
    """start, start + delta ... below limit."""
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        given = [start, limit, delta]
        if dtype is None:
            plain = {int: dtypes.int32, float: dtypes.float32}
            kinds = [v.dtype.base_dtype if is_dense(v) else
                     plain.get(type(v)) or dtypes.as_dtype(np.asarray(v).dtype) for v in given]
            order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            dtype = max(kinds, key=order.index)
        given = [cast(convert_to_tensor(v, dtype=None if is_dense(v) else dtype, name=n), dtype)
                 for v, n in zip(given, ("start", "limit", "delta"))]
        return apply("Range", given, name=scope)


def _reduction(op):
    def reduce(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
        keepdims = bool(deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
        x = convert_to_tensor(input_tensor, name="input_tensor")
        if axis is None:
            rank = x.shape.ndims
            if rank is not None:
                axis = constant(np.arange(rank, dtype=np.int32), name="Const")
            else:
                axis = range_(0, apply("Rank", [x]), 1)
        return apply(op, [x, axis], {"keep_dims": keepdims}, name=name)
    reduce.__doc__ = f"{op} over the dimensions `axis` (all of them for None)."
    return reduce


reduce_sum, reduce_mean, reduce_prod = _reduction("Sum"), _reduction("Mean"), _reduction("Prod")
reduce_max, reduce_min = _reduction("Max"), _reduction("Min")
reduce_all, reduce_any = _reduction("All"), _reduction("Any")


def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """log(sum(exp(x))) without overflow."""
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    with name_scope(name, "ReduceLogSumExp", [input_tensor]):
        largest = reduce_max(input_tensor, axis, keepdims=True)
        finite = stop_gradient(apply("Select", [apply("IsFinite", [largest]), largest, apply("ZerosLike", [largest])]))
        result = apply("Log", [reduce_sum(apply("Exp", [apply("Sub", [input_tensor, finite])]), axis, keepdims=True)])
        result = result + finite
        if keepdims:
            return result
        if axis is None:
            return reshape(result, [])
        if is_dense(axis):
            return reshape(result, apply("Shape", [reduce_sum(input_tensor, axis)]))
        return apply("Squeeze", [result], {"squeeze_dims": [axis] if isinstance(axis, int) else list(axis)})


def count_nonzero(input_tensor=None, axis=None, keepdims=None, dtype=dtypes.int64, name=None, reduction_indices=None,
                  keep_dims=None, input=None):  # noqa: A002
    """How many elements are not zero."""
    if (input_tensor is None) == (input is None):
        raise ValueError("count_nonzero takes one of 'input_tensor' and 'input'")
    x = convert_to_tensor(input if input_tensor is None else input_tensor)
    zero = constant(0, x.dtype.base_dtype)
    return reduce_sum(cast(apply("NotEqual", [x, zero]), dtype), axis, keepdims, name, reduction_indices, keep_dims)


def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):  # noqa: A002
    """Where the largest value along `axis` (0) is."""
    axis = deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return apply("ArgMax", [input, 0 if axis is None else axis], {"output_type": output_type}, name=name)


def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):  # noqa: A002
    """Where the smallest value along `axis` (0) is."""
    axis = deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return apply("ArgMin", [input, 0 if axis is None else axis], {"output_type": output_type}, name=name)


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Sums of what came before along `axis`."""
    return apply("Cumsum", [x, axis], {"exclusive": exclusive, "reverse": reverse}, name=name)


def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    """Products of what came before along `axis`."""
    return apply("Cumprod", [x, axis], {"exclusive": exclusive, "reverse": reverse}, name=name)


def abs_(x, name=None):
    """Magnitudes."""
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex:
        return apply("ComplexAbs", [x], {"Tout": x.dtype.real_dtype}, name=name)
    return apply("Abs", [x], name=name)


def pow_(x, y, name=None):
    """x to the power of y."""
    return apply("Pow", [x, y], name=name)


def equal(x, y, name=None):
    """True where x == y."""
    return apply("Equal", [x, y], name=name)


def not_equal(x, y, name=None):
    """True where x != y."""
    return apply("NotEqual", [x, y], name=name)


def round_(x, name=None):
    """To the nearest integer, halves to even ones."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else apply("Round", [x], name=name)


def sigmoid(x, name=None):
    return apply("Sigmoid", [x], name=name)


def tanh(x, name=None):
    return apply("Tanh", [x], name=name)


def add(x, y, name=None):
    """x + y."""
    return apply("Add", [x, y], name=name)


def subtract(x, y, name=None):
    """x - y."""
    return apply("Sub", [x, y], name=name)


def multiply(x, y, name=None):
    """x * y, element by element."""
    return apply("Mul", [x, y], name=name)


def scalar_mul(scalar, x, name=None):
    """x times a number."""
    scalar = convert_to_tensor(scalar, dtype=x.dtype.base_dtype if hasattr(x, "dtype") and hasattr(x.dtype, "base_dtype") else
                               None, name="scalar")
    if scalar.shape.ndims not in (0, None):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(apply("Mul", [scalar, x.values], name=name), x.indices, x.dense_shape)
    return apply("Mul", [scalar, x], name=name)


def log_sigmoid(x, name=None):
    """log(1 / (1 + exp(-x)))."""
    return apply("Neg", [apply("Softplus", [apply("Neg", [x])])], name=name or "LogSigmoid")


def linspace(start, stop, num, name=None):
    """num values from start to stop."""
    return apply("LinSpace", [start, stop, num], name=name)


def unsorted_segment_sum(data, segment_ids, num_segments, name=None):
    return apply("UnsortedSegmentSum", [data, segment_ids, num_segments], name=name)


def reduced_shape(input_shape, axes):
    """The shape of a reduction with keepdims: ones at `axes`."""
    rank = size(input_shape)
    axes = apply("FloorMod", [apply("Add", [axes, rank]), rank])
    return apply("DynamicStitch", [[range_(rank), axes], [input_shape, fill(shape(axes), 1)]])


def to_complex64(x, name="ToComplex64"):
    return cast(x, dtypes.complex64, name=name)


def to_complex128(x, name="ToComplex128"):
    return cast(x, dtypes.complex128, name=name)

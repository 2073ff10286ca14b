# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons, reductions, matrices: where TF1's function is more than one operation."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, overload

import numpy as np

from thalweg import dtypes
from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph.graph import name_scope
from thalweg.graph.operators import cast, dtype_beside, logical_xor, matmul, truediv  # noqa: F401  (some are public here only)
from thalweg.graph.ops import apply, constant, convert_to_tensor, is_dense
from thalweg.graph.tensor import IndexedSlices, Tensor
from thalweg.operations.array_ops import concat, fill, gather, rank, reshape, shape, size, stack, stop_gradient, transpose, where, zeros

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import Axis, DTypeLike, Gradient, IntLike, ShapeLike, TensorLike


def _caster(name, dtype):
    def convert(x: TensorLike, name: str | None = name) -> Tensor:
        return cast(x, dtype, name=name)
    convert.__doc__ = _CASTER_DOC.format(type=dtype.name, function=re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return convert


_CASTER_DOC = """Converts a tensor to {type}.

Parameters
----------
x : tensor_like
name : str, optional

Returns
-------
Tensor
    Of type {type}, the shape of `x`.

Examples
--------
>>> tw.{function}([1, 0]).dtype
tf.{type}
"""


to_float = _caster("ToFloat", dtypes.float32)
to_double = _caster("ToDouble", dtypes.float64)
to_int32 = _caster("ToInt32", dtypes.int32)
to_int64 = _caster("ToInt64", dtypes.int64)
to_bfloat16 = _caster("ToBFloat16", dtypes.bfloat16)


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Converts a tensor to another type; values beyond its range become the nearest ones in it.

    Parameters
    ----------
    value : numeric tensor
    dtype : DType
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.saturate_cast([-1.0, 300.0], tw.uint8)))
    [  0 255]
    """
    dtype = dtypes.as_dtype(dtype).base_dtype
    value = convert_to_tensor(value, name="value")
    if value.dtype.min < dtype.min:
        value = apply("Maximum", [value, constant(dtype.min, value.dtype.base_dtype)])
    if value.dtype.max > dtype.max:
        value = apply("Minimum", [value, constant(dtype.max, value.dtype.base_dtype)])
    return cast(value, dtype, name=name)


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides element by element by the rules of Python 3: integers give real numbers.

    Parameters
    ----------
    x, y : tensor_like
        They are broadcast to each other.
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.divide([7, 8], 2)))
    [3.5 4. ]
    """
    return truediv(x, y, name)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides element by element as Python 2 did: integers are rounded down.

    Parameters
    ----------
    x, y : tensor_like
        Of one numeric type; they are broadcast to each other.
    name : str, optional

    Returns
    -------
    Tensor
        Of the type of `x`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.div([7, -7], 2)), sess.run(tw.div([7.0], 2.0)))
    [ 3 -4] [3.5]
    """
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
    return apply("RealDiv" if x.dtype.is_floating or x.dtype.is_complex else "FloorDiv", [x, y], name=name or "div")


def add_n(inputs: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """The sum of tensors of one shape.

    Parameters
    ----------
    inputs : list of tensors
        Of numbers, of one type and shape; at least one.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of their type and shape.

    Raises
    ------
    ValueError
        `inputs` is empty or no list, or shapes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.add_n([[1, 2], [3, 4], [5, 6]])))
    [ 9 12]
    """
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError("inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape")
    inputs = [convert_to_tensor(i) for i in inputs]
    if len(inputs) == 1:
        return apply("Identity", inputs, name=name) if name else inputs[0]
    return apply("AddN", [inputs], name=name)


def accumulate_n(inputs: Sequence[TensorLike], shape: ShapeLike = None, tensor_dtype: DTypeLike | None = None,
                 name: str | None = None) -> Tensor:
    """Sums tensors of one shape, as tw.add_n does.

    Parameters
    ----------
    inputs : list of tensors
        Of one type and shape.
    shape : TensorShape, optional
        That shape.
    tensor_dtype : DType, optional
        That type.
    name : str, optional

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        The list is empty, or types or shapes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.accumulate_n([[1.0], [2.0], [3.0]])))
    [6.]
    """
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


def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = None) -> Tensor:
    """Sums the products of two tensors over pairs of their dimensions.

    Parameters
    ----------
    a, b : tensors of one type
    axes : int, or two lists of int
        A number N: the last N dimensions of a and the first N of b. Lists: the dimensions of a, and those of b.
    name : str, optional

    Returns
    -------
    Tensor
        Its dimensions are the others of a, then the others of b.

    Raises
    ------
    ValueError
        The lists differ in length, or sizes differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.tensordot([[1, 2], [3, 4]], [1, 10], axes=1)))
    [21 43]
    """
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


def range_(start: TensorLike, limit: TensorLike | None = None, delta: TensorLike = 1, dtype: DTypeLike | None = None,
           name: str = "range") -> Tensor:
    """start, start + delta ... as far as it is below the limit, or above it when delta is negative.

    Parameters
    ----------
    start : scalar
        Where `limit` is not given: the limit, and numbers begin with 0.
    limit : scalar, optional
    delta : scalar, optional
        Not 0.
    dtype : DType, optional
        The type of all; the widest of the arguments' own unless given.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        A vector of type `dtype`.

    Raises
    ------
    ValueError
        `delta` is 0, where it is known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.range(3)), sess.run(tw.range(10, 4, -3)))
    [0 1 2] [10  7]
    """
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


_REDUCTION_DOC = """{what} over dimensions.

Parameters
----------
input_tensor : tensor of {kind}
axis : int, list or vector of int, optional
    The dimensions that go; all of them unless given.
keepdims : bool, optional
    Whether they stay, of size 1.
name : str, optional
    Of the operation.
reduction_indices, keep_dims : optional
    The old names of `axis` and `keepdims`.

Returns
-------
Tensor
    Of the type of `input_tensor`.

Raises
------
ValueError
    An argument is given under both its names, or `axis` is beyond the rank where that is known.

Examples
--------
>>> x = tw.constant({values})
>>> with tw.Session() as sess:
...     print(sess.run(tw.{name}(x)), sess.run(tw.{name}(x, axis=1)))
{shown}
"""


def _reduction(op, what, shown, values="[[1.0, 2.0], [3.0, 5.0]]", kind="numbers"):
    def reduce(input_tensor: TensorLike, axis: Axis | None = None, keepdims: bool | None = None, name: str | None = None,
               reduction_indices: Axis | None = None, keep_dims: bool | None = None) -> Tensor:
        axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
        keepdims = bool(deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
        x = convert_to_tensor(input_tensor, name="input_tensor")
        if axis is None:
            rank = x.shape.ndims
            if rank is not None:
                axis = constant(np.arange(rank, dtype=np.int32), name="Const")
            elif isinstance(x, Tensor):
                axis = range_(0, apply("Rank", [x]), 1)
        return apply(op, [x, axis], {"keep_dims": keepdims}, name=name)
    reduce.__name__ = reduce.__qualname__ = f"reduce_{op.lower()}"
    reduce.__doc__ = _REDUCTION_DOC.format(what=what, kind=kind, values=values, name=reduce.__name__, shown=shown)
    return reduce


reduce_sum, reduce_mean = _reduction("Sum", "Sums", "11.0 [3. 8.]"), _reduction("Mean", "Means", "2.75 [1.5 4. ]")
reduce_prod = _reduction("Prod", "Products", "30.0 [ 2. 15.]")
reduce_max, reduce_min = _reduction("Max", "The largest values", "5.0 [2. 5.]"), _reduction("Min", "The smallest values", "1.0 [1. 3.]")
reduce_all = _reduction("All", "Whether all are true,", "False [False  True]", "[[True, False], [True, True]]", "bool")
reduce_any = _reduction("Any", "Whether any is true,", "True [False  True]", "[[False, False], [True, True]]", "bool")


def reduce_logsumexp(input_tensor: TensorLike, axis: Axis | None = None, keepdims: bool | None = None, name: str | None = None,
                     reduction_indices: Axis | None = None, keep_dims: bool | None = None) -> Tensor:
    """Computes log(sum(exp(x))) over dimensions, without overflow.

    Parameters
    ----------
    input_tensor : tensor of a floating type
    axis : int or list of int, optional
        The dimensions; all unless given.
    keepdims : bool, optional
        Whether they stay, with size 1.
    name : str, optional
    reduction_indices, keep_dims : optional
        The old names of `axis` and `keepdims`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.reduce_logsumexp([1000.0, 1000.0])).round(3))
    1000.693
    """
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


def count_nonzero(input_tensor: TensorLike | None = None, axis: Axis | None = None, keepdims: bool | None = None,
                  dtype: DTypeLike = dtypes.int64, name: str | None = None, reduction_indices: Axis | None = None,
                  keep_dims: bool | None = None, input: TensorLike | None = None) -> Tensor:
    """Counts the elements that are not zero; of strings those that are not empty.

    Parameters
    ----------
    input_tensor : tensor of any type
    axis : int or list of int, optional
        Over which dimensions; all unless given.
    keepdims : bool, optional
        Whether they stay, with size 1.
    dtype : DType
        Of the counts.
    name : str, optional
    reduction_indices, keep_dims, input : optional
        Other names of `axis`, `keepdims` and `input_tensor`.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        Both names of an argument are given, or no tensor.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.count_nonzero([[0, 1], [2, 3]], axis=0)))
    [1 2]
    """
    if (input_tensor is None) == (input is None):
        raise ValueError("count_nonzero takes one of 'input_tensor' and 'input'")
    x = convert_to_tensor(input if input_tensor is None else input_tensor)
    zero = zeros([], x.dtype.base_dtype)
    return reduce_sum(cast(apply("NotEqual", [x, zero]), dtype), axis, keepdims, name, reduction_indices, keep_dims)


def argmax(input: TensorLike, axis: IntLike | None = None, name: str | None = None, dimension: IntLike | None = None,
           output_type: DTypeLike = dtypes.int64) -> Tensor:
    """Where the largest value along a dimension is; of several the first.

    Parameters
    ----------
    input : tensor of numbers
    axis : int or integer scalar, optional
        0 unless given.
    name : str, optional
        Of the operation.
    dimension : int, optional
        The old name of `axis`.
    output_type : DType, optional
        int32 or int64.

    Returns
    -------
    Tensor
        Of type `output_type`, of the shape of `input` without `axis`.

    Raises
    ------
    ValueError
        `axis` is given under both names, or is beyond the rank where that is known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.argmax([[1, 5, 2], [7, 0, 3]], 1)))
    [1 0]
    """
    axis = deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return apply("ArgMax", [input, 0 if axis is None else axis], {"output_type": output_type}, name=name)


def argmin(input: TensorLike, axis: IntLike | None = None, name: str | None = None, dimension: IntLike | None = None,
           output_type: DTypeLike = dtypes.int64) -> Tensor:
    """Where the smallest value along a dimension is; of several the first.

    Parameters
    ----------
    input : tensor of numbers
    axis : int or integer scalar, optional
        0 unless given.
    name : str, optional
        Of the operation.
    dimension : int, optional
        The old name of `axis`.
    output_type : DType, optional
        int32 or int64.

    Returns
    -------
    Tensor
        Of type `output_type`, of the shape of `input` without `axis`.

    Raises
    ------
    ValueError
        `axis` is given under both names, or is beyond the rank where that is known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.argmin([[1, 5, 2], [7, 0, 3]], 1)))
    [0 1]
    """
    axis = deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return apply("ArgMin", [input, 0 if axis is None else axis], {"output_type": output_type}, name=name)


def cumsum(x: TensorLike, axis: IntLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Computes the sums of all elements up to each one, along a dimension.

    Parameters
    ----------
    x : numeric tensor
    axis : int, or scalar int32 tensor
    exclusive : bool
        Whether the element itself is left out.
    reverse : bool
        Whether sums begin at the end.
    name : str, optional

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.cumsum([1, 2, 3])), sess.run(tw.cumsum([1, 2, 3], exclusive=True)))
    [1 3 6] [0 1 3]
    """
    return apply("Cumsum", [x, axis], {"exclusive": exclusive, "reverse": reverse}, name=name)


def cumprod(x: TensorLike, axis: IntLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Computes the products of all elements up to each one, along a dimension.

    Parameters
    ----------
    x : numeric tensor
    axis : int, or scalar int32 tensor
    exclusive : bool
        Whether the element itself is left out.
    reverse : bool
        Whether products begin at the end.
    name : str, optional

    Returns
    -------
    Tensor
        Of the shape of `x`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.cumprod([2, 3, 4])))
    [ 2  6 24]
    """
    return apply("Cumprod", [x, axis], {"exclusive": exclusive, "reverse": reverse}, name=name)


def abs_(x: TensorLike, name: str | None = None) -> Tensor:
    """Magnitudes.

    Parameters
    ----------
    x : tensor of numbers
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the shape of `x` and its type; of complex numbers the real type.

    Raises
    ------
    TypeError
        `x` is no tensor of numbers.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.abs([-1.5, 2.0])))
    [1.5 2. ]
    """
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex:
        return apply("ComplexAbs", [x], {"Tout": x.dtype.real_dtype}, name=name)
    return apply("Abs", [x], name=name)


def pow_(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x to the power of y, element by element.

    Parameters
    ----------
    x, y : tensors of numbers of one type
        Of shapes that broadcast.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of their type, of the shape that both broadcast to.

    Raises
    ------
    TypeError
        Where `x` is of no numeric type, or `y` of another type than `x`.
    ValueError
        Where the shapes do not broadcast.
    InvalidArgumentError
        From a step with a negative power of integers.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.pow([2, 3], [3, 2])))
    [8 9]
    """
    return apply("Pow", [x, y], name=name)


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """True where x == y.

    Parameters
    ----------
    x, y : tensors of one type
        Of shapes that broadcast.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of bool, of the shape that both broadcast to.

    Raises
    ------
    TypeError
        Types differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.equal([1, 2, 3], [1, 0, 3])))
    [ True False  True]
    """
    return apply("Equal", [x, y], name=name)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Says element by element whether two tensors differ.

    Parameters
    ----------
    x, y : tensor_like
        Of one type; they are broadcast to each other.
    name : str, optional

    Returns
    -------
    Tensor
        bool.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.not_equal([1, 2], [1, 3])))
    [False  True]
    """
    return apply("NotEqual", [x, y], name=name)


def round_(x: TensorLike, name: str | None = None) -> Tensor:
    """To the nearest integer; halves to the even one.

    Parameters
    ----------
    x : tensor of numbers
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `x`.

    Raises
    ------
    TypeError
        `x` is no tensor of numbers.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.round([0.5, 1.5, -2.6])))
    [ 0.  2. -3.]
    """
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else apply("Round", [x], name=name)


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)).

    Parameters
    ----------
    x : tensor of real or complex numbers
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `x`; real values lie between 0 and 1.

    Raises
    ------
    TypeError
        Where `x` holds integers or text.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.sigmoid([0.0, 100.0])))
    [0.5 1. ]
    """
    return apply("Sigmoid", [x], name=name)


def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Hyperbolic tangent.

    Parameters
    ----------
    x : tensor of real or complex numbers
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `x`; real values lie between -1 and 1.

    Raises
    ------
    TypeError
        Where `x` holds integers or text.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.tanh([0.0])))
    [0.]
    """
    return apply("Tanh", [x], name=name)


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x + y, element by element.

    Parameters
    ----------
    x, y : tensors of one type, numbers or strings
        Of shapes that broadcast. A plain value takes the type of the tensor beside it.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of their type, of the shape that both broadcast to.

    Raises
    ------
    TypeError
        Types differ.
    ValueError
        Shapes do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.add([[1], [2]], [10, 20])))
    [[11 21]
     [12 22]]
    """
    return apply("Add", [x, y], name=name)


def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x - y, element by element.

    Parameters
    ----------
    x, y : tensors of numbers of one type
        Of shapes that broadcast.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of their type, of the shape that both broadcast to.

    Raises
    ------
    TypeError
        Types differ.
    ValueError
        Shapes do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.subtract([5, 6], 1)))
    [4 5]
    """
    return apply("Sub", [x, y], name=name)


def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * y, element by element.

    Parameters
    ----------
    x, y : tensors of numbers of one type
        Of shapes that broadcast.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of their type, of the shape that both broadcast to.

    Raises
    ------
    TypeError
        Types differ.
    ValueError
        Shapes do not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.multiply([1.0, 2.0], [[2.0], [3.0]])))
    [[2. 4.]
     [3. 6.]]
    """
    return apply("Mul", [x, y], name=name)


@overload
def scalar_mul(scalar: TensorLike, x: Tensor, name: str | None = None) -> Tensor: ...
@overload
def scalar_mul(scalar: TensorLike, x: IndexedSlices, name: str | None = None) -> IndexedSlices: ...
@overload
def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Tensor: ...
def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Gradient:
    """x times a number."""
    scalar = convert_to_tensor(scalar, dtype=x.dtype.base_dtype if hasattr(x, "dtype") and hasattr(x.dtype, "base_dtype") else
                               None, name="scalar")
    if scalar.shape.ndims not in (0, None):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(apply("Mul", [scalar, x.values], name=name), x.indices, x.dense_shape)
    return apply("Mul", [scalar, x], name=name)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """log(1 / (1 + exp(-x)))."""
    return apply("Neg", [apply("Softplus", [apply("Neg", [x])])], name=name or "LogSigmoid")


def linspace(start: TensorLike, stop: TensorLike, num: IntLike, name: str | None = None) -> Tensor:
    """Values at equal distances.

    Parameters
    ----------
    start, stop : scalars of one real type
        The first value and the last.
    num : int or integer scalar
        How many there are, at least 1.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        A vector of `num` values of the type of `start`.

    Raises
    ------
    ValueError
        `num` is not positive, where it is known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.linspace(0.0, 1.0, 5)))
    [0.   0.25 0.5  0.75 1.  ]
    """
    return apply("LinSpace", [start, stop, num], name=name)


def unsorted_segment_sum(data: TensorLike, segment_ids: TensorLike, num_segments: IntLike, name: str | None = None) -> Tensor:
    """Sums the elements with the same segment id.

    Parameters
    ----------
    data : numeric tensor
    segment_ids : integer tensor
        Its shape begins that of `data`. Ids need no order; elements of a negative one are left out.
    num_segments : int, or scalar integer tensor
    name : str, optional

    Returns
    -------
    Tensor
        [num_segments, ...]; 0 for a segment without elements.

    Raises
    ------
    errors.InvalidArgumentError
        In a step: an id is `num_segments` or more.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.unsorted_segment_sum([1, 2, 3], [1, 0, 1], 2)))
    [2 4]
    """
    return apply("UnsortedSegmentSum", [data, segment_ids, num_segments], name=name)


def reduced_shape(input_shape: TensorLike, axes: Axis) -> Tensor:
    """The shape of a reduction with keepdims: ones at `axes`."""
    rank = size(input_shape)
    axes = apply("FloorMod", [apply("Add", [axes, rank]), rank])
    return apply("DynamicStitch", [[range_(rank), axes], [input_shape, fill(shape(axes), 1)]])


def to_complex64(x: TensorLike, name: str = "ToComplex64") -> Tensor:
    """x as complex64."""
    return cast(x, dtypes.complex64, name=name)


def to_complex128(x: TensorLike, name: str = "ToComplex128") -> Tensor:
    """x as complex128."""
    return cast(x, dtypes.complex128, name=name)

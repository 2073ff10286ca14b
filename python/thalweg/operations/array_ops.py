# SPDX-License-Identifier: Apache-2.0
"""Shapes, slices, joins: where TF1's function is more than one operation."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph import graph as graph_module
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import Operation, _has_tensor, apply, constant, convert_to_tensor, group, is_dense
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.graph.tensor import IndexedSlices, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DTypeLike, DynamicShape, Element, IntLike, IntsLike, ShapeLike, T, TensorLike
    from thalweg.raw_ops import UniqueOutputs
    from thalweg.variables.variables import Variable

newaxis: None = None


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A tensor whose value every step is given in `feed_dict`.

    Parameters
    ----------
    dtype : DType, or what as_dtype() takes
    shape : TensorShape or list of int, optional
        With None for a size that may differ from step to step. None, the default: any shape.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of type `dtype` and static shape `shape`.

    Raises
    ------
    InvalidArgumentError
        From a step that needs the value and was not given it.
    ValueError
        From a step that was given a value of another shape.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [None, 2])
    >>> with tw.Session() as sess:
    ...     print(sess.run(x * 2.0, {x: [[1, 2], [3, 4]]}))
    [[2. 4.]
     [6. 8.]]
    """
    return apply("Placeholder", [], {"dtype": dtype, "shape": as_shape(None) if shape is None else shape}, name=name)


def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Makes a tensor that may be fed, and otherwise has a value of its own.

    Parameters
    ----------
    input : tensor_like
        The value where nothing is fed.
    shape : TensorShape, or list of int or None
        Which values may be fed.
    name : str, optional

    Returns
    -------
    Tensor
        Of the type of `input`.

    Raises
    ------
    ValueError
        The default does not fit the shape.

    Examples
    --------
    >>> x = tw.placeholder_with_default([1.0], [None])
    >>> with tw.Session() as sess:
    ...     print(sess.run(x), sess.run(x, {x: [2.0, 3.0]}))
    [1.] [2. 3.]
    """
    return apply("PlaceholderWithDefault", [input], {"shape": as_shape(shape)}, name=name)


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """The same value, as a tensor of its own.

    Parameters
    ----------
    input : tensor of any type and shape
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `input`.

    Raises
    ------
    ValueError
        `input` is None.

    Examples
    --------
    >>> last = tw.identity(tw.constant([1, 2]), name="last")
    >>> last.name
    'last:0'
    >>> with tw.Session() as sess:
    ...     print(sess.run("last:0"))
    [1 2]
    """
    return apply("Identity", [input], name=name)


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """The same value; gradients take it for a constant.

    Parameters
    ----------
    input : tensor of any type and shape
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type and shape of `input`.

    Raises
    ------
    ValueError
        Where `input` is None.

    Examples
    --------
    >>> x = tw.constant(3.0)
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.gradients(x * tw.stop_gradient(x), x)[0]))
    3.0
    """
    return apply("StopGradient", [input], name=name)


def _size(value, parameter):
    """One size of a shape; a number with a fraction or text is a mistake. `parameter`: of the operation that takes the shape."""
    if not isinstance(value, (float, np.inexact, str, bytes)):
        return int(value)
    if parameter is None:
        raise TypeError(f"Expected int32, got {value!r} of type '{type(value).__name__}' instead.")
    kind = "string" if isinstance(value, (str, bytes)) else "float32" if isinstance(value, float) else value.dtype.name
    raise TypeError(f"Value passed to parameter '{parameter}' has DataType {kind} not in list of allowed values: int32, int64")


def _shape_value(shape, parameter=None):
    """A static shape as an int32 array (int64 where it must be); a tensor as it is."""
    if is_dense(shape):
        return convert_to_tensor(shape)
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    if isinstance(shape, (list, tuple)) and any(is_dense(d) for d in shape):
        return convert_to_tensor(list(shape))
    values = np.asarray([_size(d, parameter) for d in (np.ravel(np.asarray(shape)) if not isinstance(shape, (list, tuple)) else shape)])
    small = values.size == 0 or np.abs(values).max() < 2**31
    return values.astype(np.int32 if small else np.int64)


def _shape_argument(shape, name="shape"):
    """As _shape_value, as a tensor."""
    return convert_to_tensor(_shape_value(shape), name=name)


def reshape(tensor: TensorLike, shape: DynamicShape, name: str | None = None) -> Tensor:
    """The same elements, row by row, under another shape.

    Parameters
    ----------
    tensor : tensor of any type and shape
    shape : list of int, or int32 or int64 vector
        One size may be -1: it is what the others leave.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type of `tensor`, shape `shape`.

    Raises
    ------
    ValueError
        The elements do not fill `shape`, where both are known; else a step ends with errors.InvalidArgumentError.

    Examples
    --------
    >>> x = tw.constant([1, 2, 3, 4, 5, 6])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.reshape(x, [2, -1])))
    [[1 2 3]
     [4 5 6]]
    """
    return apply("Reshape", [tensor, _shape_value(shape, "shape")], name=name)


def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """The shape of a tensor, as a tensor: known in a step where it is not known before.

    Parameters
    ----------
    input : tensor of any type and shape
    name : str, optional
        Of the operation.
    out_type : DType, optional
        int32 or int64.

    Returns
    -------
    Tensor
        A vector of type `out_type` with a size for each dimension.

    Raises
    ------
    ValueError
        Where `input` is None.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [None, 3])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.shape(x), {x: np.zeros([5, 3])}))
    [5 3]
    """
    x = convert_to_tensor(input)
    out_type = dtypes.as_dtype(out_type)
    if x.shape.is_fully_defined():
        return constant(np.asarray(x.shape.as_list(), dtype=out_type.as_numpy_dtype), name=name or "Shape")
    return apply("Shape", [x], {"out_type": out_type}, name=name)


def shape_internal(input: TensorLike, name: str | None = None, optimize: bool = True,
                   out_type: DTypeLike = dtypes.int32) -> Tensor:
    """shape, where `optimize` allows a constant."""
    return shape(input, name, out_type) if optimize else apply("Shape", [input], {"out_type": out_type}, name=name)


def shape_n(input: Sequence[TensorLike], out_type: DTypeLike = dtypes.int32, name: str | None = None) -> list[Tensor]:
    """Gives the shapes of several tensors.

    Parameters
    ----------
    input : list of tensors of one type
    out_type : DType
        int32 or int64.
    name : str, optional

    Returns
    -------
    list of Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.shape_n([[1, 2, 3], [4]])))
    [array([3], dtype=int32), array([1], dtype=int32)]
    """
    return apply("ShapeN", [input], {"out_type": out_type}, name=name)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """How many elements a tensor has.

    Parameters
    ----------
    input : tensor of any type and shape
    name : str, optional
        Of the operation.
    out_type : DType, optional
        int32 or int64.

    Returns
    -------
    Tensor
        A scalar of type `out_type`.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.size([[1, 2, 3], [4, 5, 6]])))
    6
    """
    x = convert_to_tensor(input)
    out_type = dtypes.as_dtype(out_type)
    if x.shape.is_fully_defined():
        return constant(x.shape.num_elements(), out_type, name=name or "Size")
    return apply("Size", [x], {"out_type": out_type}, name=name)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Gives the number of dimensions of a tensor, as a tensor.

    Parameters
    ----------
    input : tensor_like
    name : str, optional

    Returns
    -------
    Tensor
        An int32 scalar.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.rank([[1, 2], [3, 4]])))
    2
    """
    x = convert_to_tensor(input)
    if x.shape.ndims is not None:
        return constant(x.shape.ndims, dtypes.int32, name=name or "Rank")
    return apply("Rank", [x], name=name)


def fill(dims: DynamicShape, value: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of one value.

    Parameters
    ----------
    dims : list of int, or int32 or int64 vector
        The shape.
    value : scalar of any type
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type of `value`, shape `dims`.

    Raises
    ------
    ValueError
        A dimension is negative, where it is known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.fill([2, 3], 9)))
    [[9 9 9]
     [9 9 9]]
    """
    return apply("Fill", [_shape_value(dims, "dims"), value], name=name)


def _constant_shape(shape):
    """The static shape, or None when a part of it is a tensor."""
    if is_dense(shape) or isinstance(shape, (list, tuple)) and any(is_dense(d) for d in shape):
        return None
    dims = as_shape(_size(shape, None) if np.ndim(shape) == 0 and not isinstance(shape, TensorShape) else shape)
    return dims.as_list() if dims.is_fully_defined() else None


def _filled(value, default, shape, dtype, name):
    dtype = dtypes.as_dtype(dtype).base_dtype
    item = {dtypes.bool: bool(value), dtypes.string: "" if not value else None}.get(dtype, value)
    static = _constant_shape(shape)
    if static is not None and np.prod(static, dtype=np.int64) < 1000 and dtype is not dtypes.string:
        return constant(np.full(static, item, dtype.as_numpy_dtype), dtype, name=name or default)
    with name_scope(name, default, [shape]) as scope:
        return fill(_shape_argument(shape, "shape_as_tensor"), constant(item, dtype), name=scope)


def zeros(shape: DynamicShape, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros.

    Parameters
    ----------
    shape : list of int, or int32 or int64 vector
    dtype : DType, optional
        Numbers, bool (False), or string ("").
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of type `dtype`, shape `shape`.

    Raises
    ------
    ValueError
        A dimension is negative, where it is known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.zeros([2, 3], tw.int32)))
    [[0 0 0]
     [0 0 0]]
    """
    return _filled(0, "zeros", shape, dtype, name)


def ones(shape: DynamicShape, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones.

    Parameters
    ----------
    shape : list of int, or int32 or int64 vector
    dtype : DType, optional
        Numbers, or bool (True).
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of type `dtype`, shape `shape`.

    Raises
    ------
    ValueError
        A dimension is negative, where it is known.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.ones([3])))
    [1. 1. 1.]
    """
    return _filled(1, "ones", shape, dtype, name)


def zeros_like(tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Makes zeros of the shape of a tensor.

    Parameters
    ----------
    tensor : tensor_like
    dtype : DType, optional
        That of `tensor` unless given.
    name : str, optional
    optimize : bool
        Whether a constant is made where the shape is known.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        `tensor` is None.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.zeros_like([[1, 2], [3, 4]])))
    [[0 0]
     [0 0]]
    """
    x = convert_to_tensor(tensor, name="tensor")
    if not isinstance(x, Tensor):
        return x._map_values(lambda values: zeros_like(values, dtype, name))
    if dtype is not None and dtypes.as_dtype(dtype) is not x.dtype.base_dtype:
        return zeros(shape(x), dtype, name=name)
    return apply("ZerosLike", [x], name=name)


def ones_like(tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones of the shape of a tensor.

    Parameters
    ----------
    tensor : tensor of any shape and numeric type
    dtype : DType, optional
        Of the result; that of `tensor` unless given.
    name : str, optional
        Of the operation.
    optimize : bool, optional
        Has no effect.

    Returns
    -------
    Tensor
        Of type `dtype`, shape of `tensor`.

    Raises
    ------
    ValueError
        `tensor` is None.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.ones_like([[1.5, 2.5]])))
    [[1. 1.]]
    """
    x = convert_to_tensor(tensor, name="tensor")
    if not isinstance(x, Tensor):
        return x._map_values(lambda values: ones_like(values, dtype, name))
    return ones(shape(x), dtype or x.dtype.base_dtype, name=name or "ones_like")


def expand_dims(input: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """A dimension of size 1 more.

    Parameters
    ----------
    input : tensor of any type, shape [d0, ... dn-1]
    axis : int
        Where the new dimension is, from -(n + 1) to n.
    name : str, optional
        Of the operation.
    dim : int, optional
        The old name of `axis`.

    Returns
    -------
    Tensor
        Of the type and with the elements of `input`.

    Raises
    ------
    ValueError
        `axis` is given under both names, or beyond the rank where that is known.

    Examples
    --------
    >>> tw.expand_dims([1, 2, 3], 0).shape.as_list()
    [1, 3]
    >>> tw.expand_dims([1, 2, 3], -1).shape.as_list()
    [3, 1]
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return apply("ExpandDims", [input, axis], name=name)


def squeeze(input: TensorLike, axis: int | Sequence[int] | None = None, name: str | None = None,
            squeeze_dims: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without dimensions of size 1.

    Parameters
    ----------
    input : tensor of any type and shape
    axis : int or list of int, optional
        Which dimensions go; all of size 1 unless given.
    name : str, optional
        Of the operation.
    squeeze_dims : int or list of int, optional
        The old name of `axis`.

    Returns
    -------
    Tensor
        Of the type and with the elements of `input`.

    Raises
    ------
    ValueError
        A dimension of `axis` is known not to be 1, or `axis` is given under both names.

    Examples
    --------
    >>> x = tw.zeros([1, 3, 1])
    >>> tw.squeeze(x).shape.as_list(), tw.squeeze(x, [0]).shape.as_list()
    ([3], [3, 1])
    """
    axis = deprecated_argument_lookup("axis", axis, "squeeze_dims", squeeze_dims)
    axis = [] if axis is None else [axis] if np.isscalar(axis) else list(axis)
    return apply("Squeeze", [input], {"squeeze_dims": axis}, name=name)


def concat(values: Sequence[TensorLike], axis: IntLike, name: str = "concat") -> Tensor:
    """Joins tensors along a dimension that they have.

    Parameters
    ----------
    values : list of tensors
        Of one type, and of one shape but for `axis`.
    axis : int or int32 scalar
        Negative numbers count from the last dimension.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type of `values`; its size at `axis` is the sum of theirs.

    Raises
    ------
    ValueError
        Shapes differ elsewhere, where they are known.
    TypeError
        Types differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.concat([[[1, 2]], [[3, 4], [5, 6]]], 0)))
    [[1 2]
     [3 4]
     [5 6]]
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        return identity(values[0], name=name)
    return apply("ConcatV2", [list(values), axis], name=name)


def stack(values: TensorLike, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape as the parts of one tensor with a dimension more.

    Parameters
    ----------
    values : list of tensors
        Of one type and shape.
    axis : int, optional
        Where the new dimension is, from -(rank + 1) to rank.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type of `values`; its size at `axis` is their number.

    Raises
    ------
    ValueError
        Shapes differ, or `axis` is beyond the rank.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.stack([[1, 2], [3, 4]], axis=1)))
    [[1 3]
     [2 4]]
    """
    if not any(_has_tensor(v) for v in values) and axis == 0:
        return convert_to_tensor(np.asarray(values) if any(isinstance(v, np.ndarray) for v in values) else list(values),
                                 name=name)
    return apply("Pack", [list(values)], {"axis": axis}, name=name)


def unstack(value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The parts of a tensor along a dimension.

    Parameters
    ----------
    value : tensor of any type, of rank 1 or more
    num : int, optional
        The size of the dimension, where the shape does not tell it.
    axis : int, optional
        Negative numbers count from the last dimension.
    name : str, optional
        Of the operation.

    Returns
    -------
    list of Tensor
        Each of the type of `value` and without the dimension.

    Raises
    ------
    ValueError
        The size is not known, or `axis` is beyond the rank.

    Examples
    --------
    >>> rows = tw.unstack([[1, 2], [3, 4]])
    >>> with tw.Session() as sess:
    ...     print(sess.run(rows[0] + rows[1]))
    [4 6]
    """
    value = convert_to_tensor(value)
    if num is None:
        dims = value.shape
        if dims.ndims is not None and not -dims.ndims <= axis < dims.ndims:
            raise ValueError(f"axis = {axis} not in [{-dims.ndims}, {dims.ndims})")
        num = dims._size(axis)
        if num is None:
            raise ValueError(f"Cannot infer num from shape {dims}")
    return apply("Unpack", [value], {"num": num, "axis": axis}, name=name)


def split(value: TensorLike, num_or_size_splits: int | IntsLike, axis: IntLike = 0, num: int | None = None,
          name: str = "split") -> list[Tensor]:
    """Cuts a tensor along a dimension.

    Parameters
    ----------
    value : tensor of any type
    num_or_size_splits : int, or list or vector of int
        Into how many equal parts, or the sizes of the parts, of which one may be -1.
    axis : int or int32 scalar, optional
    num : int, optional
        How many sizes there are, where that is not known.
    name : str, optional
        Of the operation.

    Returns
    -------
    list of Tensor
        Each of the type of `value`.

    Raises
    ------
    ValueError
        The parts do not make up the dimension, or their number is not known.

    Examples
    --------
    >>> parts = tw.split([1, 2, 3, 4, 5], [2, 3])
    >>> with tw.Session() as sess:
    ...     print(*sess.run(parts))
    [1 2] [3 4 5]
    """
    if isinstance(num_or_size_splits, (int, np.integer)):
        return apply("Split", [axis, value], {"num_split": int(num_or_size_splits)}, name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    if num is None and not sizes.shape.is_fully_defined():
        raise ValueError(f"Cannot infer num from shape {sizes}")
    return apply("SplitV", [value, sizes, axis], {"num_split": num or sizes.shape.as_list()[0]}, name=name)


def transpose(a: TensorLike, perm: IntsLike | None = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """The dimensions in another order.

    Parameters
    ----------
    a : tensor of any type and shape
    perm : list or vector of int, optional
        Dimension i of the result is dimension perm[i] of `a`; the reverse order unless given.
    name : str, optional
        Of the operation.
    conjugate : bool, optional
        Whether complex elements are conjugated.

    Returns
    -------
    Tensor
        Of the type of `a`.

    Raises
    ------
    ValueError
        `perm` does not name each dimension once.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.transpose([[1, 2, 3], [4, 5, 6]])))
    [[1 4]
     [2 5]
     [3 6]]
    """
    with name_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        if perm is None:
            if a.shape.ndims is None:
                perm = rank(a) - 1 - apply("Range", [0, rank(a), 1])
            else:
                perm = list(range(a.shape.ndims))[::-1]
        return apply("ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose", [a, perm], name=scope)


def matrix_transpose(a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Swaps the last two dimensions of a tensor.

    Parameters
    ----------
    a : tensor of rank 2 or more
    name : str
    conjugate : bool
        Whether complex elements are conjugated, too.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        The rank is less than 2.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.matrix_transpose([[1, 2], [3, 4]])))
    [[1 3]
     [2 4]]
    """
    a = convert_to_tensor(a)
    if a.shape.ndims is None:
        return transpose(a, swapped_order(a, -2), name=name, conjugate=conjugate)
    if a.shape.ndims < 2:
        raise ValueError(f"Argument 'a' should be a (batch) matrix, with rank >= 2. Found: {a.shape}")
    order = list(range(a.shape.ndims))
    return transpose(a, order[:-2] + [order[-1], order[-2]], name=name, conjugate=conjugate)


def swapped_order(tensor: TensorLike, axis: int) -> Tensor:
    """The dimensions of a tensor of unknown rank, with `axis` and the last one in each other's place."""
    count = rank(tensor)
    places = apply("Range", [0, count, 1])
    axis = constant(axis, dtypes.int32) if axis >= 0 else count + axis
    places = apply("TensorScatterUpdate", [places, stack([[axis], [count - 1]]), stack([count - 1, axis])])
    return places


def slice_(input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None) -> Tensor:
    """A box out of a tensor.

    Parameters
    ----------
    input_ : tensor of any type, of rank n
    begin : vector of n integers
        Where the box begins in each dimension.
    size : vector of n integers
        How far it goes; -1: to the end.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type of `input_`, shape `size`.

    Raises
    ------
    ValueError
        The box is known to reach beyond the tensor; else a step ends with errors.InvalidArgumentError.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1])))
    [[2 3]
     [5 6]]
    """
    return apply("Slice", [input_, begin, size], name=name)


def strided_slice(input_: TensorLike, begin: TensorLike, end: TensorLike, strides: TensorLike | None = None, begin_mask: int = 0,
                  end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
                  var: Variable | None = None, name: str | None = None) -> Tensor:
    """What tensor[begin:end:strides] gives, dimension by dimension; bit i of a mask is about place i.

    Parameters
    ----------
    input_ : tensor of any type
    begin, end : vectors of integers
        Negative ones count from the end.
    strides : vector of integers, optional
        Not 0; ones unless given.
    begin_mask, end_mask : int, optional
        Where the slice begins, or ends, as far out as it can.
    ellipsis_mask : int, optional
        The place that stands for all dimensions between; at most one bit.
    new_axis_mask : int, optional
        A new dimension of size 1.
    shrink_axis_mask : int, optional
        One element, whose dimension goes.
    var : Variable, optional
        Of which the result is a part: it has `assign`.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of the type of `input_`.

    Raises
    ------
    ValueError
        An index is known to lie beyond its dimension, or a stride is 0.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.strided_slice([1, 2, 3, 4, 5], [0], [5], [2])))
    [1 3 5]
    """
    if strides is None:
        strides = apply("OnesLike", [convert_to_tensor(begin)])
    return apply("StridedSlice", [input_, begin, end, strides],
                 dict(begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask,
                      shrink_axis_mask=shrink_axis_mask), name=name)


def gather(params: TensorLike, indices: TensorLike, validate_indices: bool | None = None, name: str | None = None,
           axis: IntLike | None = None, batch_dims: int = 0) -> Tensor:
    """Rows of a tensor, or parts along another dimension, by their indices.

    Parameters
    ----------
    params : tensor of any type, of rank 1 or more
    indices : int32 or int64 tensor of any shape
    validate_indices : bool, optional
        Has no effect: indices are always checked.
    name : str, optional
        Of the operation.
    axis : int or integer scalar, optional
        0 unless given.
    batch_dims : int, optional
        How many leading dimensions `params` and `indices` share.

    Returns
    -------
    Tensor
        Of the type of `params`; the dimensions of `indices` stand in the place of `axis`.

    Raises
    ------
    InvalidArgumentError
        From a step with an index beyond the dimension.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.gather([[1, 2], [3, 4], [5, 6]], [2, 0])))
    [[5 6]
     [1 2]]
    """
    return apply("GatherV2", [getattr(params, "_read_for_gather", lambda: params)(), indices, 0 if axis is None else axis],
                 {"batch_dims": batch_dims}, name=name)


def gather_nd(params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Takes elements or parts of a tensor by indices of several dimensions.

    Parameters
    ----------
    params : tensor of any type
    indices : int32 or int64 tensor, [..., K]
        Each row of K numbers is the place of an element, or of a part where K is less than the rank of `params`.
    name : str, optional
    batch_dims : int
        How many first dimensions the two have in common.

    Returns
    -------
    Tensor
        Of the type of `params`, shape indices.shape[:-1] + params.shape[K:].

    Raises
    ------
    ValueError
        K is larger than the rank. In a step errors.InvalidArgumentError: an index lies outside.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]])))
    [2 3]
    """
    if batch_dims != 0:
        raise NotImplementedError("gather_nd with batch_dims is not there yet")
    return apply("GatherNd", [params, indices], name=name)


def tile(input: TensorLike, multiples: IntsLike, name: str | None = None) -> Tensor:
    """Repeats a tensor along each of its dimensions.

    Parameters
    ----------
    input : tensor of any type, of rank 1 or more
    multiples : list of int, or int32 or int64 vector, [rank]
        How often, in each dimension.
    name : str, optional

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        `multiples` has not one number for each dimension.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.tile([[1, 2]], [2, 2])))
    [[1 2 1 2]
     [1 2 1 2]]
    """
    return apply("Tile", [input, multiples], name=name)


def pad(tensor: TensorLike, paddings: TensorLike, mode: str = "CONSTANT", name: str | None = None,
        constant_values: TensorLike = 0) -> Tensor:
    """Puts a border around a tensor.

    Parameters
    ----------
    tensor : tensor of any type
    paddings : int32 or int64 matrix, [rank, 2]
        How many elements to add before and after, in each dimension.
    mode : str
        "CONSTANT"; "REFLECT": the border mirrors what lies inside, without its edge; "SYMMETRIC": with its edge.
    name : str, optional
    constant_values : scalar tensor_like
        Fills the border of "CONSTANT".

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        There is no such mode.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.pad([[1, 2]], [[0, 1], [1, 1]])))
    [[0 1 2 0]
     [0 0 0 0]]
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if is_dense(constant_values) or constant_values != 0:
            return apply("PadV2", [tensor, paddings, constant_values], name=name)
        return apply("Pad", [tensor, paddings], name=name)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}")
    return apply("MirrorPad", [tensor, paddings], {"mode": mode}, name=name)


def one_hot(indices: TensorLike, depth: IntLike, on_value: TensorLike | None = None, off_value: TensorLike | None = None,
            axis: int | None = None, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """One value where an index says, another elsewhere.

    Parameters
    ----------
    indices : integer tensor of any shape
        Where an index is not from 0 to depth - 1, no element is `on_value`.
    depth : int or int32 scalar
        The size of the new dimension.
    on_value, off_value : scalars, optional
        1 and 0 unless given.
    axis : int, optional
        Where the new dimension is; the last one unless given.
    dtype : DType, optional
        That of the values, or float32.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor
        Of type `dtype`, with a dimension more than `indices`.

    Raises
    ------
    TypeError
        Types of `on_value`, `off_value` and `dtype` differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.one_hot([0, 2], 3)))
    [[1. 0. 0.]
     [0. 0. 1.]]
    """
    if dtype is None:
        dtype = next((v.dtype.base_dtype for v in (on_value, off_value) if is_dense(v)), None)
        if dtype is None:
            given = [v for v in (on_value, off_value) if v is not None]
            dtype = convert_to_tensor(given[0]).dtype if given else dtypes.float32
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        on = convert_to_tensor(1 if on_value is None else on_value, dtype=dtype, name="on_value")
        off = convert_to_tensor(0 if off_value is None else off_value, dtype=dtype, name="off_value")
        return apply("OneHot", [indices, depth, on, off], {"axis": -1 if axis is None else axis}, name=scope)


def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Takes elements of x where a condition holds and those of y elsewhere; without x and y it gives the places where the condition holds.

    Parameters
    ----------
    condition : bool tensor
        Of the shape of x, or a vector that chooses rows.
    x, y : tensor_like, optional
        Of one type and shape; both or none.
    name : str, optional

    Returns
    -------
    Tensor
        Of the type of x; or int64, [N, rank]: a row is a place.

    Raises
    ------
    ValueError
        One of x and y is given alone.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.where([True, False], [1, 2], [10, 20])))
    ...     print(sess.run(tw.where([True, False, True])))
    [ 1 20]
    [[0]
     [2]]
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        with name_scope(name, "Where", [condition]) as scope:
            return apply("Where", [convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")], name=scope)
    return apply("Select", [condition, x, y], name=name or "Select")


def reverse(tensor: TensorLike, axis: IntsLike, name: str | None = None) -> Tensor:
    """Turns a tensor back to front along dimensions.

    Parameters
    ----------
    tensor : tensor of any type
    axis : list of int, or int32 or int64 vector
        The dimensions; negative ones count from the end.
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.reverse([[1, 2], [3, 4]], axis=[1])))
    [[2 1]
     [4 3]]
    """
    return apply("ReverseV2", [tensor, axis], name=name)


def unique(x: TensorLike, out_idx: DTypeLike = dtypes.int32, name: str | None = None) -> UniqueOutputs:
    """Finds the different values of a vector.

    Parameters
    ----------
    x : vector of any type
    out_idx : DType
        int32 or int64: the type of `idx`.
    name : str, optional

    Returns
    -------
    named tuple (y, idx)
        y: the values, in the order in which they come first. idx: for each element of x the place of its value in y.

    Examples
    --------
    >>> values, places = tw.unique([5, 7, 5])
    >>> with tw.Session() as sess:
    ...     print(sess.run(values), sess.run(places))
    [5 7] [0 1 0]
    """
    return apply("Unique", [x], {"out_idx": out_idx}, name=name)


def boolean_mask(tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: IntLike | None = None) -> Tensor:
    """Keeps the rows for which a mask is true.

    Parameters
    ----------
    tensor : tensor of any type
    mask : bool tensor of known rank K
        Its shape is that of dimensions `axis` to `axis` + K - 1 of `tensor`.
    name : str
    axis : int, optional
        The first dimension that the mask is for; 0 unless given.

    Returns
    -------
    Tensor
        The dimensions of the mask become one.

    Raises
    ------
    ValueError
        The mask is a scalar, or its shape does not fit.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.boolean_mask([1, 2, 3], [True, False, True])))
    [1 3]
    """
    tensor, mask = convert_to_tensor(tensor), convert_to_tensor(mask)
    if mask.dtype.base_dtype is not dtypes.bool:
        mask = apply("NotEqual", [mask, apply("ZerosLike", [mask])])
    axis = axis or 0
    count = mask.shape.ndims
    if count is None:
        raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None")
    if count == 0:
        raise ValueError("mask cannot be scalar.")
    if isinstance(axis, int) and tensor.shape.ndims is not None:
        tensor.shape[axis:axis + count].assert_is_compatible_with(mask.shape)
    with name_scope(name, "boolean_mask", [tensor, mask]) as scope:
        if axis == 0 and count == 1:
            chosen = apply("Cast", [mask], {"DstT": dtypes.int32})
            return identity(apply("DynamicPartition", [tensor, chosen], {"num_partitions": 2})[1], name=scope)
        dims = shape(tensor)
        flat = reshape(tensor, concat([dims[:axis], [-1], dims[axis + count:]], 0))
        rows = squeeze(where(reshape(mask, [-1])), axis=[1])
        return gather(flat, rows, axis=axis)


def broadcast_to(input: TensorLike, shape: DynamicShape, name: str | None = None) -> Tensor:
    """Repeats a tensor along dimensions of size 1, and along new first ones, until it has a shape.

    Parameters
    ----------
    input : tensor of any type
    shape : list of int, or int32 or int64 vector
    name : str, optional

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        The shape is none that the tensor can be broadcast to, where that is known; else a step ends with errors.InvalidArgumentError.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.broadcast_to([1, 2], [2, 2])))
    [[1 2]
     [1 2]]
    """
    return apply("BroadcastTo", [input, _shape_value(shape)], name=name)


def tuple_(tensors: Sequence[T], name: str | None = None, control_inputs: Sequence[Element] | None = None) -> list[T]:
    """The tensors, rows of tensors (IndexedSlices) and operations, none of which is there before all are."""
    if not tensors or all(t is None for t in tensors):
        raise ValueError(f"Must have at least one Tensor: {tensors}")

    def behind(item):
        if item is None:
            return None
        if isinstance(item, IndexedSlices):
            return IndexedSlices(identity(item.values), item.indices, item.dense_shape)
        if isinstance(item, Operation):
            return group(item)
        return identity(item)

    with name_scope(name, "tuple", tensors):
        gate = group(*[t for t in tensors if t is not None], *(control_inputs or []))
        with graph_module.control_dependencies([gate]):
            return [behind(t) for t in tensors]


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """Gives its input, which the caller says never changes.

    Parameters
    ----------
    input : tensor_like
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.guarantee_const([1, 2])))
    [1 2]
    """
    return apply("GuaranteeConst", [input], name=name)

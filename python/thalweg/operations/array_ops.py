# SPDX-License-Identifier: Apache-2.0
"""Shapes, slices, joins: where TF1's function is more than one operation."""
import numpy as np

from thalweg import dtypes
from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph import graph as graph_module
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import Operation, _has_tensor, apply, constant, convert_to_tensor, group, is_dense
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.graph.tensor import IndexedSlices

newaxis = None


def placeholder(dtype, shape=None, name=None):
    """A tensor whose value comes from feed_dict."""
    return apply("Placeholder", [], {"dtype": dtype, "shape": as_shape(None) if shape is None else shape}, name=name)


def placeholder_with_default(input, shape, name=None):  # noqa: A002
    """A tensor that may be fed; else it is `input`."""
    return apply("PlaceholderWithDefault", [input], {"shape": as_shape(shape)}, name=name)


def identity(input, name=None):  # noqa: A002
    """The same value under another name."""
    return apply("Identity", [input], name=name)


def stop_gradient(input, name=None):  # noqa: A002
    """The same value; gradients take it for a constant."""
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


def reshape(tensor, shape, name=None):
    """The same elements under another shape; one dimension may be -1."""
    return apply("Reshape", [tensor, _shape_value(shape, "shape")], name=name)


def shape(input, name=None, out_type=dtypes.int32):  # noqa: A002
    """The shape as a vector: a constant where it is known."""
    x = convert_to_tensor(input)
    out_type = dtypes.as_dtype(out_type)
    if x.shape.is_fully_defined():
        return constant(np.asarray(x.shape.as_list(), dtype=out_type.as_numpy_dtype), name=name or "Shape")
    return apply("Shape", [x], {"out_type": out_type}, name=name)


def shape_internal(input, name=None, optimize=True, out_type=dtypes.int32):  # noqa: A002
    """shape, where `optimize` allows a constant."""
    return shape(input, name, out_type) if optimize else apply("Shape", [input], {"out_type": out_type}, name=name)


def shape_n(input, out_type=dtypes.int32, name=None):  # noqa: A002
    return apply("ShapeN", [input], {"out_type": out_type}, name=name)


def size(input, name=None, out_type=dtypes.int32):  # noqa: A002
    """How many elements there are."""
    x = convert_to_tensor(input)
    out_type = dtypes.as_dtype(out_type)
    if x.shape.is_fully_defined():
        return constant(x.shape.num_elements(), out_type, name=name or "Size")
    return apply("Size", [x], {"out_type": out_type}, name=name)


def rank(input, name=None):  # noqa: A002
    """How many dimensions there are."""
    x = convert_to_tensor(input)
    if x.shape.ndims is not None:
        return constant(x.shape.ndims, dtypes.int32, name=name or "Rank")
    return apply("Rank", [x], name=name)


def fill(dims, value, name=None):
    """A tensor of one value."""
    return apply("Fill", [_shape_value(dims, "dims"), value], name=name)


def _constant_shape(shape):
    """The static shape, or None when a part of it is a tensor."""
    if is_dense(shape) or isinstance(shape, (list, tuple)) and any(is_dense(d) for d in shape):
        return None
    dims = as_shape(_size(shape, None) if np.ndim(shape) == 0 and not isinstance(shape, TensorShape) else shape)
    return dims.as_list() if dims.is_fully_defined() else None


def _filled(value):
    def make(shape, dtype=dtypes.float32, name=None):
        dtype = dtypes.as_dtype(dtype).base_dtype
        item = {dtypes.bool: bool(value), dtypes.string: "" if not value else None}.get(dtype, value)
        default = "zeros" if value == 0 else "ones"
        static = _constant_shape(shape)
        if static is not None and np.prod(static, dtype=np.int64) < 1000 and dtype is not dtypes.string:
            return constant(np.full(static, item, dtype.as_numpy_dtype), dtype, name=name or default)
        with name_scope(name, default, [shape]) as scope:
            return fill(_shape_argument(shape, "shape_as_tensor"), constant(item, dtype), name=scope)
    make.__doc__ = f"A tensor of {'zeros' if value == 0 else 'ones'}."
    return make


zeros, ones = _filled(0), _filled(1)


def zeros_like(tensor, dtype=None, name=None, optimize=True):
    """Zeros of the same shape."""
    x = convert_to_tensor(tensor, name="tensor")
    if dtype is not None and dtypes.as_dtype(dtype) is not x.dtype.base_dtype:
        return zeros(shape(x), dtype, name=name)
    return apply("ZerosLike", [x], name=name)


def ones_like(tensor, dtype=None, name=None, optimize=True):
    """Ones of the same shape."""
    x = convert_to_tensor(tensor, name="tensor")
    return ones(shape(x), dtype or x.dtype.base_dtype, name=name or "ones_like")


def expand_dims(input, axis=None, name=None, dim=None):  # noqa: A002
    """One more dimension of size 1, at `axis`."""
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return apply("ExpandDims", [input, axis], name=name)


def squeeze(input, axis=None, name=None, squeeze_dims=None):  # noqa: A002
    """Without the dimensions of size 1, all of them or those of `axis`."""
    axis = deprecated_argument_lookup("axis", axis, "squeeze_dims", squeeze_dims)
    axis = [] if axis is None else [axis] if np.isscalar(axis) else list(axis)
    return apply("Squeeze", [input], {"squeeze_dims": axis}, name=name)


def concat(values, axis, name="concat"):
    """Joins tensors along a dimension that they have."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        return identity(values[0], name=name)
    return apply("ConcatV2", [list(values), axis], name=name)


def stack(values, axis=0, name="stack"):
    """Joins tensors along a new dimension; numbers make a constant."""
    if not any(_has_tensor(v) for v in values) and axis == 0:
        return convert_to_tensor(np.asarray(values) if any(isinstance(v, np.ndarray) for v in values) else list(values),
                                 name=name)
    return apply("Pack", [list(values)], {"axis": axis}, name=name)


def unstack(value, num=None, axis=0, name="unstack"):
    """The parts along `axis`, each without it."""
    value = convert_to_tensor(value)
    if num is None:
        dims = value.shape
        num = None if dims.ndims is None else dims[axis].value
        if num is None:
            raise ValueError(f"Cannot infer num from shape {dims}")
    return apply("Unpack", [value], {"num": num, "axis": axis}, name=name)


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Cuts along `axis`: into so many equal parts, or parts of these sizes."""
    if isinstance(num_or_size_splits, (int, np.integer)):
        return apply("Split", [axis, value], {"num_split": int(num_or_size_splits)}, name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    return apply("SplitV", [value, sizes, axis], {"num_split": num or sizes.shape.as_list()[0]}, name=name)


def transpose(a, perm=None, name="transpose", conjugate=False):
    """Dimensions in another order; reversed for None."""
    with name_scope(name, "transpose", [a]) as scope:
        a = convert_to_tensor(a, name="a")
        if perm is None:
            if a.shape.ndims is None:
                perm = rank(a) - 1 - apply("Range", [0, rank(a), 1])
            else:
                perm = list(range(a.shape.ndims))[::-1]
        return apply("ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose", [a, perm], name=scope)


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """The last two dimensions swapped."""
    a = convert_to_tensor(a)
    if a.shape.ndims is None:
        return transpose(a, swapped_order(a, -2), name=name, conjugate=conjugate)
    if a.shape.ndims < 2:
        raise ValueError(f"Argument 'a' should be a (batch) matrix, with rank >= 2. Found: {a.shape}")
    order = list(range(a.shape.ndims))
    return transpose(a, order[:-2] + [order[-1], order[-2]], name=name, conjugate=conjugate)


def swapped_order(tensor, axis):
    """The dimensions of a tensor of unknown rank, with `axis` and the last one in each other's place."""
    count = rank(tensor)
    places = apply("Range", [0, count, 1])
    axis = constant(axis, dtypes.int32) if axis >= 0 else count + axis
    places = apply("TensorScatterUpdate", [places, stack([[axis], [count - 1]]), stack([count - 1, axis])])
    return places


def slice_(input_, begin, size, name=None):
    """The part of `size` that starts at `begin`."""
    return apply("Slice", [input_, begin, size], name=name)


def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
                  shrink_axis_mask=0, var=None, name=None):
    """x[begin:end:strides] for each dimension."""
    if strides is None:
        strides = apply("OnesLike", [convert_to_tensor(begin)])
    return apply("StridedSlice", [input_, begin, end, strides],
                 dict(begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask,
                      shrink_axis_mask=shrink_axis_mask), name=name)


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """Rows of params."""
    return apply("GatherV2", [getattr(params, "_read_for_gather", lambda: params)(), indices, 0 if axis is None else axis],
                 {"batch_dims": batch_dims}, name=name)


def gather_nd(params, indices, name=None, batch_dims=0):
    """Elements or parts of params by full indices."""
    if batch_dims != 0:
        raise NotImplementedError("gather_nd with batch_dims is not there yet")
    return apply("GatherNd", [params, indices], name=name)


def tile(input, multiples, name=None):  # noqa: A002
    """Repeats along each dimension."""
    return apply("Tile", [input, multiples], name=name)


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    """Adds a border."""
    mode = mode.upper()
    if mode == "CONSTANT":
        if is_dense(constant_values) or constant_values != 0:
            return apply("PadV2", [tensor, paddings, constant_values], name=name)
        return apply("Pad", [tensor, paddings], name=name)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}")
    return apply("MirrorPad", [tensor, paddings], {"mode": mode}, name=name)


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """Vectors with one value on."""
    if dtype is None:
        dtype = next((v.dtype.base_dtype for v in (on_value, off_value) if is_dense(v)), None)
        if dtype is None:
            given = [v for v in (on_value, off_value) if v is not None]
            dtype = convert_to_tensor(given[0]).dtype if given else dtypes.float32
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        on = convert_to_tensor(1 if on_value is None else on_value, dtype=dtype, name="on_value")
        off = convert_to_tensor(0 if off_value is None else off_value, dtype=dtype, name="off_value")
        return apply("OneHot", [indices, depth, on, off], {"axis": -1 if axis is None else axis}, name=scope)


def where(condition, x=None, y=None, name=None):
    """x where the condition holds, else y; without them the indices where it does."""
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        with name_scope(name, "Where", [condition]) as scope:
            return apply("Where", [convert_to_tensor(condition, preferred_dtype=dtypes.bool, name="condition")], name=scope)
    return apply("Select", [condition, x, y], name=name or "Select")


def reverse(tensor, axis, name=None):
    """Back to front along `axis`."""
    return apply("ReverseV2", [tensor, axis], name=name)


def unique(x, out_idx=dtypes.int32, name=None):
    return apply("Unique", [x], {"out_idx": out_idx}, name=name)


def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    """The rows where the mask holds."""
    tensor, mask = convert_to_tensor(tensor), convert_to_tensor(mask, dtype=dtypes.bool)
    axis = axis or 0
    count = mask.shape.ndims
    if count is None or count == 0:
        raise ValueError("mask cannot be scalar, and its number of dimensions must be known.")
    with name_scope(name, "boolean_mask", [tensor, mask]) as scope:
        if axis == 0 and count == 1:
            chosen = apply("Cast", [mask], {"DstT": dtypes.int32})
            return identity(apply("DynamicPartition", [tensor, chosen], {"num_partitions": 2})[1], name=scope)
        dims = shape(tensor)
        flat = reshape(tensor, concat([dims[:axis], [-1], dims[axis + count:]], 0))
        rows = squeeze(where(reshape(mask, [-1])), axis=[1])
        return gather(flat, rows, axis=axis)


def broadcast_to(input, shape, name=None):  # noqa: A002
    return apply("BroadcastTo", [input, _shape_value(shape)], name=name)


def tuple_(tensors, name=None, control_inputs=None):
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


def guarantee_const(input, name=None):  # noqa: A002
    return apply("GuaranteeConst", [input], name=name)

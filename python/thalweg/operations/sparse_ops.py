# SPDX-License-Identifier: Apache-2.0
"""Operations on SparseTensors, with TF1's names and arguments."""
from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from thalweg import dtypes
from thalweg.base.renamed_arguments import deprecated_argument_lookup
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg.graph.tensor import IndexedSlices
from thalweg.graph.tensor_util import constant_value_as_shape
from thalweg.operations import array_ops, math_ops
from thalweg.operations.checks import Assert, with_dependencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import Axis, DTypeLike, DynamicShape, IntLike, IntsLike, ShapeLike, SparseLike, TensorLike
    from thalweg.graph.tensor import Tensor


def as_sparse(value: SparseLike) -> SparseTensor:
    if isinstance(value, (SparseTensor, SparseTensorValue)) or hasattr(value, "dense_shape"):
        return SparseTensor.from_value(value)
    raise TypeError("Input must be a SparseTensor.")


def _parts(value):
    value = as_sparse(value)
    return [value.indices, value.values, value.dense_shape]


def sparse_placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> SparseTensor:
    """Makes a SparseTensor whose value comes from feed_dict, as a SparseTensorValue.

    Parameters
    ----------
    dtype : DType
    shape : TensorShape, list of int or None, or int64 tensor, optional
        The dense shape, as far as it is known.
    name : str, optional

    Returns
    -------
    SparseTensor

    Examples
    --------
    >>> x = tw.sparse_placeholder(tw.float32)
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.sparse_reduce_sum(x), {x: tw.SparseTensorValue([[0, 0], [1, 1]], [1.0, 2.0], [2, 2])}))
    3.0
    """
    def named(part):
        return None if name is None else f"{name}/{part}"

    def place(kind, dims, part):
        return array_ops.placeholder(kind, dims, name=named(part))
    if shape is None:
        dense, rank = place(dtypes.int64, [None], "shape"), None
    elif hasattr(shape, "dtype"):
        dense, rank = shape, shape.shape[0]
    else:
        dims = [-1 if d is None else int(d) for d in shape]
        rank = len(dims)
        dense = (convert_to_tensor(np.array(dims, np.int64), name=named("shape")) if -1 not in dims
                 else place(dtypes.int64, [rank], "shape"))
    values = place(dtype, [None], "values")
    return SparseTensor(place(dtypes.int64, [None, rank], "indices"), values, dense)


def sparse_reorder(sp_input: SparseLike, name: str | None = None) -> SparseTensor:
    """The same with its indices in order."""
    sp_input = as_sparse(sp_input)
    indices, values = apply("SparseReorder", _parts(sp_input), name=name)
    return SparseTensor(indices, values, sp_input.dense_shape)


def sparse_reshape(sp_input: SparseLike, shape: DynamicShape, name: str | None = None) -> SparseTensor:
    """The same elements in another shape."""
    sp_input = as_sparse(sp_input)
    shape = math_ops.cast(shape, dtypes.int64)
    before, after = constant_value_as_shape(sp_input.dense_shape), constant_value_as_shape(shape)
    if before.is_fully_defined() and after.is_fully_defined() and before.num_elements() != after.num_elements():
        raise ValueError(f"Cannot reshape a tensor with {before.num_elements()} elements to shape {after.as_list()} "
                         f"({after.num_elements()} elements).")
    indices, shape = apply("SparseReshape", [sp_input.indices, sp_input.dense_shape, shape], name=name)
    return SparseTensor(indices, sp_input.values, shape)


def sparse_concat(axis: int, sp_inputs: Sequence[SparseLike], name: str | None = None, expand_nonconcat_dim: bool = False,
                  concat_dim: int | None = None, expand_nonconcat_dims: bool | None = None) -> SparseTensor:
    """SparseTensors one behind the other along a dimension; the others grow to the largest on demand."""
    axis = deprecated_argument_lookup("axis", axis, "concat_dim", concat_dim)
    inputs = [as_sparse(sp) for sp in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [sp.dense_shape for sp in inputs]
    if expand_nonconcat_dims or expand_nonconcat_dim:
        largest = math_ops.reduce_max(array_ops.stack(shapes), axis=0)
        rank = array_ops.size(largest)
        chosen = apply("Equal", [math_ops.range_(rank), apply("FloorMod", [convert_to_tensor(axis, dtypes.int32), rank])])
        shapes = [array_ops.where(chosen, shape, largest) for shape in shapes]
    made = apply("SparseConcat", [[sp.indices for sp in inputs], [sp.values for sp in inputs], shapes],
                 {"concat_dim": int(axis)}, name=name)
    return SparseTensor(*made)


def sparse_split(keyword_required: object = None, sp_input: SparseLike | None = None, num_split: int | None = None,
                 axis: int | None = None, name: str | None = None, split_dim: int | None = None) -> list[SparseTensor]:
    """A SparseTensor cut into num_split ones along a dimension."""
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    axis = deprecated_argument_lookup("axis", axis, "split_dim", split_dim)
    for what, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if value is None:
            raise ValueError(f"{what} is required")
    indices, values, shapes = apply("SparseSplit", [convert_to_tensor(axis, dtypes.int64), *_parts(sp_input)],
                                    {"num_split": num_split}, name=name)
    return [SparseTensor(*part) for part in zip(indices, values, shapes)]


def sparse_slice(sp_input: SparseLike, start: TensorLike, size: TensorLike, name: str | None = None) -> SparseTensor:
    """A block of a SparseTensor."""
    start, size = (convert_to_tensor(x, dtypes.int64) for x in (start, size))
    return SparseTensor(*apply("SparseSlice", [*_parts(sp_input), start, size], name=name))


@overload
def sparse_add(a: SparseLike, b: SparseLike, threshold: TensorLike | None = None, thresh: TensorLike | None = None) -> SparseTensor: ...
@overload
def sparse_add(a: SparseLike | TensorLike, b: SparseLike | TensorLike, threshold: TensorLike | None = None,
               thresh: TensorLike | None = None) -> Tensor | SparseTensor: ...
def sparse_add(a: SparseLike | TensorLike, b: SparseLike | TensorLike, threshold: TensorLike | None = None,
               thresh: TensorLike | None = None) -> Tensor | SparseTensor:
    """The sum of two tensors of which one at least is sparse."""
    threshold = deprecated_argument_lookup("threshold", threshold, "thresh", thresh) or 0
    sparse = [hasattr(x, "dense_shape") for x in (a, b)]
    if not any(sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if all(sparse):
        a, b = as_sparse(a), as_sparse(b)
        kind = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}.get(a.dtype.base_dtype, a.dtype.base_dtype)
        return SparseTensor(*apply("SparseAdd", [*_parts(a), *_parts(b), convert_to_tensor(threshold, kind)]))
    if sparse[1]:
        a, b = b, a
    a = as_sparse(a)
    return apply("SparseTensorDenseAdd", [*_parts(a), convert_to_tensor(b, a.dtype)])


def sparse_tensor_dense_matmul(sp_a: SparseLike, b: TensorLike, adjoint_a: bool = False, adjoint_b: bool = False,
                               name: str | None = None) -> Tensor:
    """Multiplies a sparse by a dense matrix.

    Parameters
    ----------
    sp_a : SparseTensor of rank 2
    b : matrix of its type
    adjoint_a, adjoint_b : bool
        Whether a matrix is conjugated and transposed first.
    name : str, optional

    Returns
    -------
    Tensor
        A dense matrix.

    Raises
    ------
    ValueError
        The inner dimensions differ, where they are known.

    Examples
    --------
    >>> a = tw.SparseTensor([[0, 1]], [2.0], [2, 2])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.sparse_tensor_dense_matmul(a, [[1.0], [3.0]])))
    [[6.]
     [0.]]
    """
    sp_a = as_sparse(sp_a)
    return apply("SparseTensorDenseMatMul", [*_parts(sp_a), convert_to_tensor(b, sp_a.dtype)],
                 {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b}, name=name)


def sparse_tensor_to_dense(sp_input: SparseLike, default_value: TensorLike | None = None, validate_indices: bool = True,
                           name: str | None = None) -> Tensor:
    """A dense tensor with the default where the sparse one has nothing."""
    sp_input = as_sparse(sp_input)
    if default_value is None:
        default_value = array_ops.zeros([], sp_input.dtype)
    return apply("SparseToDense", [sp_input.indices, sp_input.dense_shape, sp_input.values,
                                   convert_to_tensor(default_value, sp_input.dtype)],
                 {"validate_indices": validate_indices}, name=name)


def sparse_to_indicator(sp_input: SparseLike, vocab_size: IntLike | Sequence[IntLike], name: str | None = None) -> Tensor:
    """Truth values: which numbers below vocab_size the last dimension holds."""
    sp_input = as_sparse(sp_input)
    with name_scope(name or "SparseToIndicator"):
        ones = SparseTensor(sp_input.indices, apply("OnesLike", [math_ops.cast(sp_input.values, dtypes.bool)]),
                            sp_input.dense_shape)
        return sparse_tensor_to_dense(sparse_merge(sp_input, ones, vocab_size), False, validate_indices=False, name=name)


def sparse_merge(sp_ids: SparseLike | Sequence[SparseLike], sp_values: SparseLike, vocab_size: IntLike | Sequence[IntLike],
                 name: str | None = None, already_sorted: bool = False) -> SparseTensor:
    """A SparseTensor of values whose last index is the id beside them."""
    several = isinstance(sp_ids, (list, tuple)) and not hasattr(sp_ids, "dense_shape")
    ids = [as_sparse(x) for x in (sp_ids if several else [sp_ids])]
    sizes = list(vocab_size) if isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if len(ids) != len(sizes):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    values = as_sparse(sp_values)
    columns = [array_ops.expand_dims(math_ops.cast(x.values, dtypes.int64), 1) for x in ids]
    indices = array_ops.concat([ids[0].indices[:, :-1], *columns], 1)
    tails = [array_ops.reshape(math_ops.cast(n, dtypes.int64), [1]) for n in sizes]
    made = SparseTensor(indices, values.values, array_ops.concat([ids[0].dense_shape[:-1], *tails], 0))
    return made if already_sorted else sparse_reorder(made, name=name)


def sparse_retain(sp_input: SparseLike, to_retain: TensorLike) -> SparseTensor:
    """Keeps those elements of a sparse tensor that are marked.

    Parameters
    ----------
    sp_input : SparseTensor
        Of N elements.
    to_retain : bool vector, [N]

    Returns
    -------
    SparseTensor
        Of the same dense shape.

    Examples
    --------
    >>> x = tw.SparseTensor([[0], [2]], [5, 7], [3])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.sparse_retain(x, [False, True])).values)
    [7]
    """
    sp_input = as_sparse(sp_input)
    kept = array_ops.reshape(array_ops.where(convert_to_tensor(to_retain, dtypes.bool)), [-1])
    return SparseTensor(array_ops.gather(sp_input.indices, kept), array_ops.gather(sp_input.values, kept), sp_input.dense_shape)


def sparse_reset_shape(sp_input: SparseLike, new_shape: DynamicShape | None = None) -> SparseTensor:
    """The same elements in a larger shape, or in the smallest."""
    sp_input = as_sparse(sp_input)
    if new_shape is None:
        largest = math_ops.reduce_max(sp_input.indices, axis=0) + convert_to_tensor(1, dtypes.int64)
        zero = array_ops.zeros_like(largest)
        return SparseTensor(sp_input.indices, sp_input.values, apply("Maximum", [largest, zero]))
    new_shape = math_ops.cast(new_shape, dtypes.int64)
    fits = math_ops.reduce_all(apply("LessEqual", [sp_input.dense_shape, new_shape]))
    shape = with_dependencies([Assert(fits, [sp_input.dense_shape, new_shape])], new_shape)
    return SparseTensor(sp_input.indices, sp_input.values, shape)


def sparse_fill_empty_rows(sp_input: SparseLike, default_value: TensorLike,
                           name: str | None = None) -> tuple[SparseTensor, Tensor]:
    """A default in the first place of each empty row; and which rows were empty."""
    sp_input = as_sparse(sp_input)
    made = apply("SparseFillEmptyRows", [*_parts(sp_input), convert_to_tensor(default_value, sp_input.dtype)], name=name)
    return SparseTensor(made[0], made[1], sp_input.dense_shape), made[2]


def sparse_softmax(sp_input: SparseLike, name: str | None = None) -> SparseTensor:
    """Softmax over the present values of each row."""
    sp_input = as_sparse(sp_input)
    return SparseTensor(sp_input.indices, apply("SparseSoftmax", _parts(sp_input), name=name), sp_input.dense_shape)


def _extreme(op, sp_a, sp_b, name):
    sp_a = as_sparse(sp_a)
    indices, values = apply(op, [*_parts(sp_a), *_parts(sp_b)], name=name)
    return SparseTensor(indices, values, sp_a.dense_shape)


def sparse_maximum(sp_a: SparseLike, sp_b: SparseLike | TensorLike, name: str | None = None) -> SparseTensor:
    """The larger of both, element by element; what is missing is zero."""
    return _extreme("SparseSparseMaximum", sp_a, sp_b, name)


def sparse_minimum(sp_a: SparseLike, sp_b: SparseLike | TensorLike, name: str | None = None) -> SparseTensor:
    """The smaller of both, element by element; what is missing is zero."""
    return _extreme("SparseSparseMinimum", sp_a, sp_b, name)


def _reduced(op, sp_input, axis, keepdims, reduction_axes, keep_dims):
    keep = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    axis = deprecated_argument_lookup("axis", axis, "reduction_axes", reduction_axes)
    sp_input = as_sparse(sp_input)
    axes = math_ops.range_(array_ops.size(sp_input.dense_shape)) if axis is None else axis
    return apply(op, [*_parts(sp_input), axes], {"keep_dims": bool(keep)})


def sparse_reduce_sum(sp_input: SparseLike, axis: Axis | None = None, keepdims: bool | None = None,
                      reduction_axes: Axis | None = None, keep_dims: bool | None = None) -> Tensor:
    """Sums over dimensions, as a dense tensor."""
    return _reduced("SparseReduceSum", sp_input, axis, keepdims, reduction_axes, keep_dims)


def sparse_reduce_sum_sparse(sp_input: SparseLike, axis: Axis | None = None, keepdims: bool | None = None,
                             reduction_axes: Axis | None = None, keep_dims: bool | None = None) -> SparseTensor:
    """Sums over dimensions, as a SparseTensor."""
    return SparseTensor(*_reduced("SparseReduceSumSparse", sp_input, axis, keepdims, reduction_axes, keep_dims))


def sparse_reduce_max(sp_input: SparseLike, axis: Axis | None = None, keepdims: bool | None = None,
                      reduction_axes: Axis | None = None, keep_dims: bool | None = None) -> Tensor:
    """Largest values over dimensions, as a dense tensor."""
    return _reduced("SparseReduceMax", sp_input, axis, keepdims, reduction_axes, keep_dims)


def sparse_reduce_max_sparse(sp_input: SparseLike, axis: Axis | None = None, keepdims: bool | None = None,
                             reduction_axes: Axis | None = None, keep_dims: bool | None = None) -> SparseTensor:
    """Largest values over dimensions, as a SparseTensor."""
    return SparseTensor(*_reduced("SparseReduceMaxSparse", sp_input, axis, keepdims, reduction_axes, keep_dims))


def sparse_transpose(sp_input: SparseLike, perm: IntsLike | None = None, name: str | None = None) -> SparseTensor:
    """The dimensions in another order."""
    sp_input = as_sparse(sp_input)
    with name_scope(name or "SparseTranspose"):
        if perm is None:
            rank = array_ops.size(sp_input.dense_shape)
            perm = rank - 1 - math_ops.range_(rank)
        indices = array_ops.transpose(array_ops.gather(array_ops.transpose(sp_input.indices), perm))
        shape = array_ops.gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, shape))


def _sparse_of_sparse_segments(op, data, indices, segment_ids, num_segments, name):
    if num_segments is None:
        return apply(op, [data, indices, segment_ids], name=name)
    return apply(op + "WithNumSegments", [data, indices, segment_ids, num_segments], name=name)


def sparse_segment_sum(data: TensorLike, indices: TensorLike, segment_ids: TensorLike, name: str | None = None,
                       num_segments: IntLike | None = None) -> Tensor:
    """Sums of the picked rows of each segment."""
    return _sparse_of_sparse_segments("SparseSegmentSum", data, indices, segment_ids, num_segments, name)


def sparse_segment_mean(data: TensorLike, indices: TensorLike, segment_ids: TensorLike, name: str | None = None,
                        num_segments: IntLike | None = None) -> Tensor:
    """Means of the picked rows of each segment."""
    return _sparse_of_sparse_segments("SparseSegmentMean", data, indices, segment_ids, num_segments, name)


def sparse_segment_sqrt_n(data: TensorLike, indices: TensorLike, segment_ids: TensorLike, name: str | None = None,
                          num_segments: IntLike | None = None) -> Tensor:
    """Sums of the picked rows of each segment, divided by the root of how many there are."""
    return _sparse_of_sparse_segments("SparseSegmentSqrtN", data, indices, segment_ids, num_segments, name)


def sparse_expand_dims(sp_input: SparseLike, axis: int | None = None, name: str | None = None) -> SparseTensor:
    """A dimension of size one more, at `axis` (by default the last)."""
    sp_input = as_sparse(sp_input)
    rank = sp_input.dense_shape.shape._size(0)
    if rank is None:
        raise ValueError("tw.sparse.expand_dims needs a known rank")
    axis = rank if axis is None else axis
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"axis {axis} is out of range for rank {rank}")
    axis = axis + rank + 1 if axis < 0 else axis
    shape = sp_input.dense_shape
    one = convert_to_tensor(np.ones([1], np.int64))
    return sparse_reshape(sp_input, array_ops.concat([shape[:axis], one, shape[axis:]], 0), name=name)


def sparse_eye(num_rows: IntLike, num_columns: IntLike | None = None, dtype: DTypeLike = dtypes.float32,
               name: str | None = None) -> SparseTensor:
    """Ones on the diagonal."""
    columns = num_rows if num_columns is None else num_columns
    size = min(num_rows, columns)
    places = np.repeat(np.arange(size, dtype=np.int64)[:, None], 2, axis=1)
    return SparseTensor(places, array_ops.ones([size], dtype), np.array([num_rows, columns], np.int64))


def sparse_from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """What is not zero in a dense tensor."""
    tensor = convert_to_tensor(tensor)
    indices = array_ops.where(math_ops.not_equal(tensor, array_ops.zeros_like(tensor)))
    return SparseTensor(indices, array_ops.gather_nd(tensor, indices), array_ops.shape(tensor, out_type=dtypes.int64))


def sparse_mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """IndexedSlices without the rows that mask_indices name."""
    with name_scope(name or "sparse_mask"):
        indices, kept = apply("ListDiff", [a.indices, convert_to_tensor(mask_indices, a.indices.dtype)])
        return IndexedSlices(array_ops.gather(a.values, kept), indices, a.dense_shape)


# ---- serialized ----
def serialize_sparse(sp_input: SparseLike, name: str | None = None, out_type: DTypeLike = dtypes.string) -> Tensor:
    """A vector of three strings (or variants): indices, values, shape."""
    return apply("SerializeSparse", _parts(sp_input), {"out_type": out_type}, name=name)


def serialize_many_sparse(sp_input: SparseLike, name: str | None = None, out_type: DTypeLike = dtypes.string) -> Tensor:
    """A row of three strings (or variants) for each row of the SparseTensor."""
    return apply("SerializeManySparse", _parts(sp_input), {"out_type": out_type}, name=name)


def _restored(op, serialized, dtype, rank, name):
    indices, values, shape = apply(op, [serialized], {"dtype": dtypes.as_dtype(dtype)}, name=name)
    if rank is not None:
        indices.set_shape([None, rank])
        shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def deserialize_sparse(serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None,
                       name: str | None = None) -> SparseTensor:
    """The SparseTensors of serialize_sparse, stacked."""
    return _restored("DeserializeSparse", serialized_sparse, dtype, rank, name)


def deserialize_many_sparse(serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None,
                            name: str | None = None) -> SparseTensor:
    """The SparseTensors of serialize_many_sparse, stacked along a new first dimension."""
    return _restored("DeserializeManySparse", serialized_sparse, dtype, rank, name)


# ---- kept between steps: what goes through queues are handles ----
def store_sparse(sp_input: SparseLike, shared_name: str) -> Tensor:
    """A handle to the SparseTensor, which stays in a map of that name."""
    return apply("AddSparseToTensorsMap", _parts(sp_input), {"shared_name": shared_name})


def store_many_sparse(sp_input: SparseLike, shared_name: str) -> Tensor:
    """A handle to each row of the SparseTensor."""
    return apply("AddManySparseToTensorsMap", _parts(sp_input), {"shared_name": shared_name})


def take_many_sparse(handles: TensorLike, dtype: DTypeLike, rank: int, shared_name: str) -> SparseTensor:
    """The SparseTensors of a vector of handles, stacked along a new first dimension; the map forgets them."""
    indices, values, shape = apply("TakeManySparseFromTensorsMap", [handles], {"dtype": dtype, "shared_name": shared_name})
    if rank is not None:
        indices.set_shape([None, rank])
        shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def retain_rows(sp_input: SparseLike, keep: TensorLike) -> SparseTensor:
    """The rows that are marked, one behind the other."""
    keep = convert_to_tensor(keep, dtypes.bool)
    number = math_ops.cumsum(math_ops.cast(keep, dtypes.int64), exclusive=True)
    found = sparse_retain(sp_input, array_ops.gather(keep, sp_input.indices[:, 0]))
    rows = array_ops.expand_dims(array_ops.gather(number, found.indices[:, 0]), 1)
    count = math_ops.reduce_sum(math_ops.cast(keep, dtypes.int64), keepdims=True)
    return SparseTensor(array_ops.concat([rows, found.indices[:, 1:]], 1), found.values,
                        array_ops.concat([count, found.dense_shape[1:]], 0))


# ---- crosses of features ----
def _crossed(inputs, hashed, num_buckets, hash_key, name):
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("Inputs must be a list")
    sparse = [SparseTensor.from_value(i) for i in inputs if isinstance(i, (SparseTensor, SparseTensorValue))]
    dense = [convert_to_tensor(i) for i in inputs if not isinstance(i, (SparseTensor, SparseTensorValue))]

    def number_or_text(tensor):
        return tensor if tensor.dtype == dtypes.string else math_ops.cast(tensor, dtypes.int64)
    values, dense = [number_or_text(s.values) for s in sparse], [number_or_text(d) for d in dense]
    only_texts = all(t.dtype == dtypes.string for t in values + dense)
    indices, crossed, shape = apply(
        "SparseCross", [[s.indices for s in sparse], values, [s.dense_shape for s in sparse], dense],
        {"N": len(sparse), "hashed_output": hashed, "num_buckets": num_buckets,
         "hash_key": 0xDECAFCAFFE if hash_key is None else hash_key, "out_type": dtypes.int64 if hashed else dtypes.string,
         "internal_type": dtypes.string if only_texts else dtypes.int64, "sparse_types": [v.dtype for v in values],
         "dense_types": [d.dtype for d in dense]}, name=name)
    return SparseTensor(indices, crossed, shape)


def sparse_cross(inputs: Sequence[SparseLike | TensorLike], name: str | None = None) -> SparseTensor:
    """Every combination of the features of a row, as texts joined by "_X_"."""
    return _crossed(inputs, False, 0, None, name)


def sparse_cross_hashed(inputs: Sequence[SparseLike | TensorLike], num_buckets: int = 0, hash_key: int | None = None,
                        name: str | None = None) -> SparseTensor:
    """Every combination of the features of a row, as hashes."""
    return _crossed(inputs, True, num_buckets, hash_key, name)

# SPDX-License-Identifier: Apache-2.0
"""Blocks, diagonals and patches; search in sorted rows: where TF1's arguments are not the operation's."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor, is_dense
from thalweg.graph.shapes import TensorShape, as_shape, dimension_at_index
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor_util import constant_value
from thalweg.operations import array_ops, checks, math_ops
from thalweg.operations.array_ops import reshape, shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import Axis, DTypeLike, DynamicShape, IntLike, IntsLike, ShapeLike, SparseLike, TensorLike
    from thalweg.graph.tensor import Tensor

ListDiff = collections.namedtuple("ListDiff", ["out", "idx"])


def _blocks(block_size, block_shape):
    if (block_size is None) == (block_shape is None):
        raise ValueError("Exactly one of block_size and block_shape must be given.")
    return np.array([block_size, block_size], np.int64) if block_shape is None else block_shape


def space_to_batch(input: TensorLike, paddings: TensorLike, block_size: int | None = None, name: str | None = None,
                   block_shape: IntsLike | None = None) -> Tensor:
    """Blocks of the padded space become entries of the batch."""
    return apply("SpaceToBatchND", [input, _blocks(block_size, block_shape), paddings], name=name)


def batch_to_space(input: TensorLike, crops: TensorLike, block_size: int, name: str | None = None,
                   block_shape: IntsLike | None = None) -> Tensor:
    """Entries of the batch become blocks of a space, which is then cropped."""
    return apply("BatchToSpaceND", [input, _blocks(block_size, block_shape), crops], name=name)


def _is_main_diagonal(k):
    return isinstance(k, int) and k == 0


def matrix_diag(diagonal: TensorLike, name: str = "diag", k: IntLike | IntsLike = 0, num_rows: IntLike = -1,
                num_cols: IntLike = -1, padding_value: TensorLike = 0) -> Tensor:
    """Matrices with the given diagonals."""
    if _is_main_diagonal(k) and (num_rows, num_cols, padding_value) == (-1, -1, 0):
        return apply("MatrixDiag", [diagonal], name=name)
    return apply("MatrixDiagV2", [diagonal, k, num_rows, num_cols, padding_value], name=name)


def matrix_diag_part(input: TensorLike, name: str = "diag_part", k: IntLike | IntsLike = 0,
                     padding_value: TensorLike = 0) -> Tensor:
    """Diagonals of matrices, one row for each."""
    if _is_main_diagonal(k):
        return apply("MatrixDiagPart", [input], name=name)
    return apply("MatrixDiagPartV2", [input, k, padding_value], name=name)


def matrix_set_diag(input: TensorLike, diagonal: TensorLike, name: str = "set_diag", k: IntLike | IntsLike = 0) -> Tensor:
    """Matrices with some diagonals replaced."""
    if _is_main_diagonal(k):
        return apply("MatrixSetDiag", [input, diagonal], name=name)
    return apply("MatrixSetDiagV2", [input, diagonal, k], name=name)


def extract_image_patches(images: TensorLike, ksizes: Sequence[int] | None = None, strides: Sequence[int] | None = None,
                          rates: Sequence[int] | None = None, padding: str | None = None, name: str | None = None,
                          sizes: Sequence[int] | None = None) -> Tensor:
    """Windows of an image, each laid out as the channels of one place."""
    if ksizes is not None and sizes is not None:
        raise ValueError("Cannot specify both 'ksizes' and 'sizes'.")
    return apply("ExtractImagePatches", [images], {"ksizes": sizes if ksizes is None else ksizes, "strides": strides,
                                                   "rates": rates, "padding": padding}, name=name)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Gives its input, and lets a step fail in which that has another shape.

    Parameters
    ----------
    x : tensor of any type
    shape : TensorShape, or list of int or None
        None stands for any size.
    name : str, optional

    Returns
    -------
    Tensor
        Its shape is known to be this one.

    Raises
    ------
    ValueError
        The shape of `x` is known not to fit; else a step ends with errors.InvalidArgumentError.

    Examples
    --------
    >>> x = tw.ensure_shape(tw.placeholder(tw.float32), [None, 3])
    >>> x.shape.as_list()
    [None, 3]
    """
    return apply("EnsureShape", [x], {"shape": as_shape(shape)}, name=name)


def reverse_sequence(input: TensorLike, seq_lengths: TensorLike, seq_axis: int | None = None, batch_axis: int | None = None,
                     name: str | None = None, seq_dim: int | None = None, batch_dim: int | None = None) -> Tensor:
    """Turns the first elements of each sequence of a batch back to front, and leaves the others.

    Parameters
    ----------
    input : tensor of any type
    seq_lengths : int32 or int64 vector
        How many elements of each sequence are turned.
    seq_axis : int, optional
        The dimension of the elements.
    batch_axis : int, optional
        The dimension of the sequences; 0 unless given.
    name : str, optional
    seq_dim, batch_dim : int, optional
        The old names of `seq_axis` and `batch_axis`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1)))
    [[2 1 3]
     [6 5 4]]
    """
    return apply("ReverseSequence", [input, seq_lengths],
                 {"seq_dim": seq_dim if seq_axis is None else seq_axis,
                  "batch_dim": (batch_dim or 0) if batch_axis is None else batch_axis}, name=name)


def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = dtypes.int32, name: str | None = None) -> ListDiff:
    """Finds what is in one vector and not in another.

    Parameters
    ----------
    x, y : vectors of one type
    index_dtype : DType
        int32 or int64: the type of `idx`.
    name : str, optional

    Returns
    -------
    named tuple (out, idx)
        out: the values, in the order of x. idx: where they stand in x.

    Examples
    --------
    >>> values, places = tw.setdiff1d([1, 2, 3, 4], [2, 4])
    >>> with tw.Session() as sess:
    ...     print(sess.run(values), sess.run(places))
    [1 3] [0 2]
    """
    return ListDiff(*apply("ListDiff", [x, y], {"out_idx": index_dtype}, name=name))


def searchsorted(sorted_sequence: TensorLike, values: TensorLike, side: str = "left", out_type: DTypeLike = dtypes.int32,
                 name: str | None = None) -> Tensor:
    """Finds where values would be put into sorted rows.

    Parameters
    ----------
    sorted_sequence : tensor, [..., N]
        Rows that rise.
    values : tensor of its type, [..., M]
    side : str
        "left": before equal ones; "right": behind them.
    out_type : DType
        int32 or int64.
    name : str, optional

    Returns
    -------
    Tensor
        Of the shape of `values`.

    Raises
    ------
    ValueError
        There is no such side.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.searchsorted([1, 3, 5], [3, 6])))
    [1 3]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    rows, values = convert_to_tensor(sorted_sequence), convert_to_tensor(values)
    flat = [reshape(x, [-1, shape(x)[-1]]) for x in (rows, values)]
    found = apply("LowerBound" if side == "left" else "UpperBound", flat, {"out_type": out_type}, name=name)
    return reshape(found, shape(values))


def sparse_to_dense(sparse_indices: TensorLike, output_shape: DynamicShape, sparse_values: TensorLike,
                    default_value: TensorLike = 0, validate_indices: bool = True, name: str | None = None) -> Tensor:
    """Makes a dense tensor that has values at some places and a default at all others.

    Parameters
    ----------
    sparse_indices : int32 or int64 tensor
        [N, rank]: a row is a place. A vector of places in a vector, or a scalar for one.
    output_shape : list of int, or vector of the same type
    sparse_values : scalar or vector, [N]
    default_value : scalar tensor_like
    validate_indices : bool
        Whether indices must rise and differ.
    name : str, optional

    Returns
    -------
    Tensor

    Raises
    ------
    errors.InvalidArgumentError
        In a step: an index lies outside, or the order is not right.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.sparse_to_dense([[0], [2]], [3], [5, 7])))
    [5 0 7]
    """
    return apply("SparseToDense", [sparse_indices, output_shape, sparse_values, default_value],
                 {"validate_indices": validate_indices}, name=name)


def edit_distance(hypothesis: SparseLike, truth: SparseLike, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """Computes the Levenshtein distance between the sequences of two sparse tensors: how many elements to insert, delete or change.

    Parameters
    ----------
    hypothesis, truth : SparseTensor
        Of one type; the last dimension is that of the sequences.
    normalize : bool
        Whether a distance is divided by the length of the truth.
    name : str

    Returns
    -------
    Tensor
        float32, without the last dimension.

    Raises
    ------
    ValueError
        The ranks of hypothesis and truth differ.

    Examples
    --------
    >>> guess = tw.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2])
    >>> truth = tw.SparseTensor([[0, 0], [0, 1]], ["a", "c"], [1, 2])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.edit_distance(guess, truth)))
    [0.5]
    """
    parts = []
    for sparse in (hypothesis, truth):
        if not isinstance(sparse, SparseTensor) and not hasattr(sparse, "dense_shape"):
            raise TypeError("Hypothesis and truth must be SparseTensors.")
        sparse = SparseTensor.from_value(sparse)
        parts += [sparse.indices, sparse.values, sparse.dense_shape]
    return apply("EditDistance", parts, {"normalize": normalize}, name=name)


def sequence_mask(lengths: TensorLike, maxlen: IntLike | None = None, dtype: DTypeLike = dtypes.bool,
                  name: str | None = None) -> Tensor:
    """Makes rows that are true in their first places.

    Parameters
    ----------
    lengths : integer tensor
        How many places of each row are true.
    maxlen : int, or scalar integer tensor, optional
        The length of a row; the largest of `lengths` unless given.
    dtype : DType
        Of the result: true is 1.
    name : str, optional

    Returns
    -------
    Tensor
        Of shape lengths.shape + [maxlen].

    Raises
    ------
    ValueError
        `maxlen` is no scalar.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.sequence_mask([1, 3], dtype=tw.int32)))
    [[1 0 0]
     [1 1 1]]
    """
    lengths = convert_to_tensor(lengths)
    kind = lengths.dtype.base_dtype
    if maxlen is None:
        maxlen = apply("Maximum", [math_ops.reduce_max(lengths), constant(0, kind)])
    places = math_ops.range_(0, convert_to_tensor(maxlen, dtype=kind), 1, dtype=kind)
    return math_ops.cast(apply("Less", [places, array_ops.expand_dims(lengths, -1)]), dtype)


def repeat(input: TensorLike, repeats: TensorLike, axis: Axis | None = None, name: str | None = None) -> Tensor:
    """Repeats each element.

    Parameters
    ----------
    input : tensor_like
    repeats : int, or int32 or int64 tensor
        How often: one number, or one for each place along the axis.
    axis : int, optional
        The dimension; all elements as one vector unless given.
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.repeat([1, 2], [2, 3])))
    [1 1 2 2 2]
    """
    with name_scope(name, "Repeat"):
        values, repeats = convert_to_tensor(input), math_ops.cast(repeats, dtypes.int32)
        if axis is None:
            values, axis = array_ops.reshape(values, [-1]), 0
        rank = values.shape.ndims
        if rank is None:
            raise ValueError("repeat needs a known rank")
        axis %= rank
        if repeats.shape.num_elements() == 1 or repeats.shape.ndims == 0:
            repeats = array_ops.broadcast_to(array_ops.reshape(repeats, []), array_ops.reshape(array_ops.shape(values)[axis], [1]))
        if repeats.shape.ndims != 1:
            raise ValueError(f"repeats must be a scalar or a vector, got shape {repeats.shape}")
        if not dimension_at_index(repeats.shape, 0).is_compatible_with(values.shape[axis]):
            raise ValueError(f"repeats must have one number for each of {values.shape[axis]} elements, got {repeats.shape}")
        size = array_ops.reshape(array_ops.shape(values)[axis], [1])
        with graph.control_dependencies([checks.assert_equal(array_ops.shape(repeats), size)]):
            most = apply("Maximum", [math_ops.reduce_max(repeats), 0])
        chosen = array_ops.where(sequence_mask(repeats, most))[:, 0]
        return array_ops.gather(values, chosen, axis=axis)


def parallel_stack(values: Sequence[TensorLike], name: str = "parallel_stack") -> Tensor:
    """Joins tensors of one known shape along a new first dimension."""
    with name_scope(name):
        first = convert_to_tensor(values[0])
        shape = TensorShape([len(values)]).concatenate(first.shape)
        rows = [array_ops.expand_dims(convert_to_tensor(v, dtype=first.dtype.base_dtype), 0) for v in values]
        return apply("ParallelConcat", [rows], {"shape": shape})


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Gathers within each part of a batch: row i of the indices chooses within part i.

    Parameters
    ----------
    params : tensor of any type, [..., N, ...]
    indices : integer tensor
        Its dimensions but the last are the first ones of `params`.
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.batch_gather([[1, 2], [3, 4]], [[1], [0]])))
    [[2]
     [3]]
    """
    with name_scope(name, "BatchGather", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        if indices.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return array_ops.gather(params, indices, axis=indices.shape.ndims - 1, batch_dims=indices.shape.ndims - 1)


def broadcast_dynamic_shape(shape_x: DynamicShape, shape_y: DynamicShape) -> Tensor:
    """Computes the shape that two shapes are broadcast to, in a step.

    Parameters
    ----------
    shape_x, shape_y : list of int, or int32 or int64 vector

    Returns
    -------
    Tensor

    Raises
    ------
    errors.InvalidArgumentError
        In a step: the shapes do not go together.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.broadcast_dynamic_shape([2, 1], [1, 3])))
    [2 3]
    """
    return apply("BroadcastArgs", [shape_x, shape_y])


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Computes the shape that two shapes are broadcast to, as far as they are known before a step.

    Parameters
    ----------
    shape_x, shape_y : TensorShape, or list of int or None

    Returns
    -------
    TensorShape

    Raises
    ------
    ValueError
        The shapes do not go together.

    Examples
    --------
    >>> tw.broadcast_static_shape(tw.TensorShape([2, 1]), tw.TensorShape([1, 3])).as_list()
    [2, 3]
    """
    a, b = as_shape(shape_x), as_shape(shape_y)
    if a.ndims is None or b.ndims is None:
        return TensorShape(None)
    rows = []
    for x, y in zip([1] * (b.ndims - a.ndims) + a.as_list(), [1] * (a.ndims - b.ndims) + b.as_list()):
        if x == 1 or y == 1:
            rows.append(y if x == 1 else x)
        elif x is None or y is None:
            rows.append(y if x is None else x)
        elif x == y:
            rows.append(x)
        else:
            raise ValueError(f"Incompatible shapes for broadcasting: {a} and {b}")
    return TensorShape(rows)


def required_space_to_batch_paddings(input_shape: DynamicShape, block_shape: IntsLike, base_paddings: TensorLike | None = None,
                                     name: str | None = None) -> tuple[Tensor, Tensor]:
    """(paddings, crops) that make sizes multiples of the blocks."""
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        given = [_known(v) for v in (input_shape, block_shape, 0 if base_paddings is None else base_paddings)]
        if all(v is not None for v in given):
            sizes, blocks = given[0], given[1]
            base = np.zeros([len(blocks), 2], np.int32) if base_paddings is None else given[2]
            more = (-(sizes + base.sum(1))) % blocks
            pads = np.stack([base[:, 0], base[:, 1] + more], 1)
            return (constant(pads.astype(np.int32), name="paddings"),
                    constant(np.stack([0 * more, more], 1).astype(np.int32), name="crops"))
        sizes = convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
        blocks = convert_to_tensor(block_shape, dtype=dtypes.int32, name="block_shape")
        base = array_ops.zeros([array_ops.shape(blocks)[0], 2], dtypes.int32) if base_paddings is None else \
            convert_to_tensor(base_paddings, dtype=dtypes.int32)
        more = apply("FloorMod", [0 - (sizes + math_ops.reduce_sum(base, 1)), blocks])
        return (array_ops.stack([base[:, 0], base[:, 1] + more], 1, name="paddings"),
                array_ops.stack([array_ops.zeros_like(more), more], 1, name="crops"))


def _known(value):
    """The value as an array when the graph's builder can tell it."""
    if is_dense(value):
        value = constant_value(value)
        return None if value is None else np.asarray(value)
    return np.asarray([int(v) for v in value] if isinstance(value, TensorShape) else value)


def meshgrid(*args: TensorLike, **kwargs: object) -> list[Tensor]:
    """Makes the coordinates of all points of a grid.

    Parameters
    ----------
    *args : vectors
        The coordinates along each dimension.
    **kwargs
        `indexing`: "xy", where the first two dimensions are columns and rows, or "ij". `name`: str.

    Returns
    -------
    list of Tensor
        For each vector a tensor of the grid's shape.

    Raises
    ------
    TypeError
        There is no such argument.
    ValueError
        There is no such indexing.

    Examples
    --------
    >>> x, y = tw.meshgrid([1, 2], [3, 4])
    >>> with tw.Session() as sess:
    ...     print(sess.run(x).tolist(), sess.run(y).tolist())
    [[1, 2], [1, 2]] [[3, 3], [4, 4]]
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    if kwargs:
        raise TypeError(f"'{sorted(kwargs)[0]}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        lines = [array_ops.reshape(convert_to_tensor(a), [-1]) for a in args]
        sizes = [array_ops.size(line) for line in lines]
        shapes = [[1] * i + [-1] + [1] * (len(args) - i - 1) for i in range(len(args))]
        if indexing == "xy" and len(args) > 1:
            shapes[0], shapes[1], sizes[0], sizes[1] = shapes[1], shapes[0], sizes[1], sizes[0]
        return [array_ops.broadcast_to(array_ops.reshape(line, shape), array_ops.stack(sizes))
                for line, shape in zip(lines, shapes)]

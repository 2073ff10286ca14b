# SPDX-License-Identifier: Apache-2.0
"""Rows of embeddings: one by one or combined, also where an embedding lies in several variables."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import colocate_with, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops, math_ops
from thalweg.operations.gradient_ops import clip_by_norm
from thalweg.operations.sparse_ops import (
    as_sparse,
    sparse_fill_empty_rows,
    sparse_reshape,
    sparse_retain,
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)

if TYPE_CHECKING:
    from thalweg.base.typing import SparseLike, TensorLike
    from thalweg.graph.tensor import Tensor


def rows_of(params: TensorLike, ids: TensorLike, name: str | None = None) -> Tensor:
    """Rows of params, taken where params is: between tasks the rows go, not the table."""
    op = getattr(params, "op", None)
    with contextlib.nullcontext() if op is None else colocate_with(op):
        return array_ops.gather(params, ids, name=name)


def embedding_lookup(params: TensorLike, ids: TensorLike, partition_strategy: str = "mod", name: str | None = None,
                     validate_indices: bool = True, max_norm: TensorLike | None = None) -> Tensor:
    """Rows of an embedding, which may lie in several variables.

    Parameters
    ----------
    params : tensor_like or Variable or sequence of these
        The embedding, of shape [rows, ...], or its parts.
    ids : tensor_like
        Numbers of rows, int32 or int64, of any shape.
    partition_strategy : str
        How rows lie in several parts: "mod", row i in part i % parts, or "div", in blocks.
    name : str, optional
        Name of the operation.
    validate_indices : bool
        Of no effect: ids are always checked.
    max_norm : float, optional
        Rows that are longer than that are scaled down to it.

    Returns
    -------
    Tensor
        Of shape ids.shape + params.shape[1:] and the type of the embedding.

    Raises
    ------
    ValueError
        If there are no params, or `partition_strategy` is neither "mod" nor "div".
    InvalidArgumentError
        When it runs, if an id is no number of a row.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     sess.run(tw.nn.embedding_lookup(tw.constant([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]), [2, 0]))
    array([[4., 5.],
           [0., 1.]], dtype=float32)
    """
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)) and not params:
        raise ValueError("Need at least one param")
    if hasattr(ids, "_map_values"):
        return ids._map_values(lambda values: embedding_lookup(params, values, partition_strategy, name, validate_indices, max_norm))
    if isinstance(params, (list, tuple)):
        parts = list(params)
    elif hasattr(params, "_get_variable_list"):
        parts = params._get_variable_list()
    else:
        parts = [params]
    if len(parts) == 1:
        found = rows_of(parts[0], ids, name or "embedding_lookup")
    else:
        parts = [p if hasattr(p, "op") else convert_to_tensor(p) for p in parts]
        found = lookup_in_parts(parts, ids, partition_strategy, name)
    if max_norm is not None:
        found = clip_by_norm(found, max_norm, axes=[-1])
    return found


def lookup_in_parts(params: TensorLike, ids: TensorLike, partition_strategy: str, name: str) -> Tensor:
    """Rows of an embedding that lies in several variables: id % parts, or in blocks ("div")."""
    count = len(params)
    with name_scope(name, "embedding_lookup", [ids]) as scope:
        ids = convert_to_tensor(ids, name="ids")
        kind = ids.dtype.base_dtype
        flat = array_ops.reshape(ids, [-1])
        if partition_strategy == "mod":
            part, place = flat % count, flat // count
        elif partition_strategy == "div":
            sizes = [p.shape._size(0) for p in params]
            if None in sizes:
                raise ValueError("embedding_lookup with \"div\" must know the first dimension of all parts")
            each, more = divmod(sum(sizes), count)
            edge = more * (each + 1)
            part = apply("Maximum", [flat // (each + 1), (flat - more) // max(each, 1)])
            inside = flat < edge
            place = apply("Select", [inside, flat % (each + 1), (flat - edge) % max(each, 1)])
        else:
            raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
        part = math_ops.cast(part, dtypes.int32)
        places = apply("DynamicPartition", [place, part], {"num_partitions": count})
        order = apply("DynamicPartition", [math_ops.range_(array_ops.size(flat)), part], {"num_partitions": count})
        found = [rows_of(p, math_ops.cast(i, kind)) for p, i in zip(params, places)]
        merged = apply("DynamicStitch", [order, found])
        rest = found[0].shape[1:]
        shape = array_ops.concat([array_ops.shape(ids), array_ops.shape(found[0])[1:]], 0)
        merged = array_ops.reshape(merged, shape, name=scope)
        merged.set_shape(ids.shape.concatenate(rest))
        return merged


def embedding_lookup_sparse(params: TensorLike, sp_ids: SparseLike, sp_weights: SparseLike | None,
                            partition_strategy: str = "mod", name: str | None = None, combiner: str | None = None,
                            max_norm: TensorLike | None = None) -> Tensor:
    """For each row of sp_ids the sum, mean or sqrtn of the embeddings that it names, weighted by sp_weights."""
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    sp_ids = as_sparse(sp_ids)
    with name_scope(name or "embedding_lookup_sparse"):
        segments = math_ops.cast(sp_ids.indices[:, 0], dtypes.int32)
        distinct, places = array_ops.unique(sp_ids.values)
        rows = embedding_lookup(params, distinct, partition_strategy=partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            function = {"sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n}[combiner]
            return function(rows, places, segments)
        weights = math_ops.cast(as_sparse(sp_weights).values, rows.dtype)
        rows = array_ops.gather(rows, places)
        ones = apply("Fill", [array_ops.expand_dims(array_ops.rank(rows) - 1, 0), 1])
        spread = array_ops.reshape(weights, array_ops.concat([array_ops.shape(weights), ones], 0))
        total = apply("SegmentSum", [rows * spread, segments])
        if combiner == "sum":
            return total
        by = weights if combiner == "mean" else weights * weights
        weight = apply("SegmentSum", [array_ops.reshape(by, array_ops.shape(spread)), segments])
        return total / (weight if combiner == "mean" else apply("Sqrt", [weight]))


def safe_embedding_lookup_sparse(embedding_weights: TensorLike, sparse_ids: SparseLike, sparse_weights: SparseLike | None = None,
                                 combiner: str = "mean", default_id: int | None = None, name: str | None = None,
                                 partition_strategy: str = "div", max_norm: TensorLike | None = None) -> Tensor:
    """embedding_lookup_sparse that passes over ids below zero and weights that are not positive; empty rows are zero, or the
    embedding of default_id."""
    if embedding_weights is None:
        raise ValueError("Missing embedding_weights.")
    if hasattr(embedding_weights, "_get_variable_list"):
        embedding_weights = embedding_weights._get_variable_list()
    elif not isinstance(embedding_weights, (list, tuple)):
        embedding_weights = [embedding_weights]
    sparse_ids = as_sparse(sparse_ids)
    with name_scope(name or "embedding_lookup"):
        rank = array_ops.size(sparse_ids.dense_shape)
        outer = array_ops.slice_(sparse_ids.dense_shape, [0], [rank - 1])
        flat = array_ops.stack([math_ops.reduce_prod(outer), array_ops.gather(sparse_ids.dense_shape, rank - 1)])
        ids = sparse_reshape(sparse_ids, flat)
        weights = None
        if sparse_weights is not None:
            weights = SparseTensor(ids.indices, as_sparse(sparse_weights).values, ids.dense_shape)
        good = apply("GreaterEqual", [ids.values, convert_to_tensor(0, ids.dtype)])
        if weights is not None and combiner != "sum":
            good = apply("LogicalAnd", [good, apply("Greater", [weights.values, convert_to_tensor(0, weights.dtype)])])
        ids = sparse_retain(ids, good)
        weights = sparse_retain(weights, good) if weights is not None else None
        ids, is_empty = sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        result = embedding_lookup_sparse(embedding_weights, ids, weights, partition_strategy, combiner=combiner, max_norm=max_norm)
        if default_id is None:
            mask = array_ops.tile(array_ops.reshape(is_empty, [-1, 1]), array_ops.stack([1, array_ops.shape(result)[1]]))
            result = array_ops.where(mask, array_ops.zeros_like(result), result)
        tail = array_ops.slice_(array_ops.shape(result), [1], [-1])
        found = array_ops.reshape(result, array_ops.concat([math_ops.cast(outer, dtypes.int32), tail], 0))
        if sparse_ids.shape.ndims is not None and result.shape.ndims is not None:
            found.set_shape([None] * (sparse_ids.shape.ndims - 1) + result.shape.as_list()[1:])
        return found

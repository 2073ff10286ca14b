# SPDX-License-Identifier: Apache-2.0
"""Functions over several operations: order, repetition, counts, shapes that broadcast."""
import numpy as np

from thalweg import array_ops, checks, dtypes, graph, math_ops
from thalweg.graph import name_scope
from thalweg.ops import apply, constant, convert_to_tensor
from thalweg.shapes import TensorShape, as_shape
from thalweg.tensor import Tensor


# ---- order ----
def _axis_and_order(values, axis, direction):
    """(axis as a place from the front or -1, whether the smallest comes first)."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Direction should be one of ASCENDING, DESCENDING. Instead got {direction}")
    rank = values.shape.ndims
    if isinstance(axis, Tensor):
        raise ValueError("axis must be a number that is known when the graph is built")
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(f"Invalid axis {axis} for values of rank {rank}")
    return -1 if rank is not None and axis % rank == rank - 1 else axis, direction == "ASCENDING"


def _flipped(values):
    """Values in the opposite order; a second time, themselves."""
    dtype = values.dtype.base_dtype
    if not dtype.is_integer:
        return apply("Neg", [values])
    return apply("Sub", [constant(dtype.max if dtype.is_unsigned else -1, dtype), values])


def _best_first(values, axis, rising):
    """(values, places) in order along an axis. TopKV2 puts the largest first, along the last one."""
    order = None
    if axis != -1:
        rank = values.shape.ndims
        if rank is None:
            raise ValueError("values must have a known rank to be sorted along another axis than the last")
        order = list(range(rank))
        order[axis % rank], order[-1] = order[-1], order[axis % rank]
        values = array_ops.transpose(values, order)
    found, places = apply("TopKV2", [_flipped(values) if rising else values, array_ops.shape(values)[-1]])
    found = _flipped(found) if rising else found
    return (found, places) if order is None else (array_ops.transpose(found, order), array_ops.transpose(places, order))


def sort(values, axis=-1, direction="ASCENDING", name=None):
    """The values in order along an axis."""
    with name_scope(name, "sort"):
        values = convert_to_tensor(values)
        return _best_first(values, *_axis_and_order(values, axis, direction))[0]


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """The places of the values in order along an axis; equal ones keep theirs."""
    with name_scope(name, "argsort"):
        values = convert_to_tensor(values)
        return _best_first(values, *_axis_and_order(values, axis, direction))[1]


# ---- repetition and parts ----
def repeat(input, repeats, axis=None, name=None):  # noqa: A002
    """Each element so many times, along an axis or of all."""
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
        if not repeats.shape[0].is_compatible_with(values.shape[axis]):
            raise ValueError(f"repeats must have one number for each of {values.shape[axis]} elements, got {repeats.shape}")
        size = array_ops.reshape(array_ops.shape(values)[axis], [1])
        with graph.control_dependencies([checks.assert_equal(array_ops.shape(repeats), size)]):
            most = apply("Maximum", [math_ops.reduce_max(repeats), 0])
        chosen = array_ops.where(array_ops.sequence_mask(repeats, most))[:, 0]
        return array_ops.gather(values, chosen, axis=axis)


def parallel_stack(values, name="parallel_stack"):
    """Joins tensors of one known shape along a new first dimension."""
    with name_scope(name):
        first = convert_to_tensor(values[0])
        shape = TensorShape([len(values)]).concatenate(first.shape)
        rows = [array_ops.expand_dims(convert_to_tensor(v, dtype=first.dtype.base_dtype), 0) for v in values]
        return apply("ParallelConcat", [rows], {"shape": shape})


def batch_gather(params, indices, name=None):
    """Row i of the indices chooses within part i of params."""
    with name_scope(name, "BatchGather", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        if indices.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return array_ops.gather(params, indices, axis=indices.shape.ndims - 1, batch_dims=indices.shape.ndims - 1)


# ---- counts ----
def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32):
    """How often each number from 0 on occurs, or the sums of the weights of each."""
    with name_scope(None, "bincount"):
        arr = convert_to_tensor(arr, dtype=dtypes.int32, name="arr")
        present = apply("Greater", [math_ops.reduce_prod(array_ops.shape(arr)), 0])
        size = math_ops.cast(present, dtypes.int32) * (math_ops.reduce_max(arr) + 1)
        if minlength is not None:
            size = apply("Maximum", [convert_to_tensor(minlength, dtype=dtypes.int32, name="minlength"), size])
        if maxlength is not None:
            size = apply("Minimum", [convert_to_tensor(maxlength, dtype=dtypes.int32, name="maxlength"), size])
        weights = constant([], dtype) if weights is None else convert_to_tensor(weights, name="weights")
        return apply("Bincount", [arr, size, weights])


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """The number of the bin of each value; those outside the range are in the first and the last."""
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = convert_to_tensor(values, name="values")
        low_high = convert_to_tensor(value_range, name="value_range")
        bins = convert_to_tensor(nbins, dtype=dtypes.int32, name="nbins")
        share = apply("TruncateDiv" if values.dtype.is_integer else "RealDiv", [values - low_high[0], low_high[1] - low_high[0]])
        places = apply("Floor", [math_ops.cast(bins, share.dtype) * share]) if not share.dtype.is_integer else \
            math_ops.cast(bins, share.dtype) * share
        last = math_ops.cast(bins - 1, dtypes.int32)
        return math_ops.cast(apply("Minimum", [apply("Maximum", [math_ops.cast(places, dtypes.int32), 0]), last]), dtype)


# ---- shapes ----
def broadcast_dynamic_shape(shape_x, shape_y):
    """The shape of what is computed, element by element, of tensors of two shapes."""
    return apply("BroadcastArgs", [shape_x, shape_y])


def broadcast_static_shape(shape_x, shape_y):
    """As broadcast_dynamic_shape for shapes that are known, at least in part."""
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


def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
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
    from thalweg.tensor_util import constant_value
    if isinstance(value, Tensor):
        value = constant_value(value)
        return None if value is None else np.asarray(value)
    return np.asarray([int(v) for v in value] if isinstance(value, TensorShape) else value)

# SPDX-License-Identifier: Apache-2.0
"""Variables in several parts: partitioners, and the variable that they make."""
import math

from thalweg import array_ops, dtypes
from thalweg.graph import GraphKeys, add_to_collection
from thalweg.shapes import as_shape


def fixed_size_partitioner(num_shards, axis=0):
    """Always so many parts along `axis`."""
    def partitioner(shape, **unused):
        counts = [1] * len(shape)
        counts[axis] = min(num_shards, shape.dims[axis].value)
        return counts
    return partitioner


def variable_axis_size_partitioner(max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None):
    """As few parts along `axis` as keep each below so many bytes."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1 or max_shards is not None and max_shards < 1:
        raise ValueError("max_shard_bytes, bytes_per_string_element and max_shards must be positive")

    def partitioner(shape, dtype):
        if axis >= len(shape):
            raise ValueError(f"Cannot partition along axis {axis} when shape is only {shape}")
        kind = dtypes.as_dtype(dtype).base_dtype
        element = bytes_per_string_element if kind is dtypes.string else kind.size
        slice_bytes = max(shape.num_elements() // max(shape[axis].value, 1) * element, 1)
        per_shard = max(1, max_shard_bytes // slice_bytes)
        count = math.ceil(shape[axis].value / per_shard)
        counts = [1] * len(shape)
        counts[axis] = min(shape[axis].value, count if max_shards is None else min(max_shards, count))
        return counts
    return partitioner


def min_max_variable_partitioner(max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16):
    """At most so many parts, none below `min_slice_size` bytes."""
    def partitioner(shape, dtype):
        kind = dtypes.as_dtype(dtype).base_dtype
        element = bytes_per_string_element if kind is dtypes.string else kind.size
        counts = [1] * len(shape)
        counts[axis] = max(1, min(shape.dims[axis].value, max_partitions,
                                  math.ceil(shape.num_elements() * element / min_slice_size)))
        return counts
    return partitioner


class PartitionedVariable:
    """Variables whose values side by side are one; as a tensor it is their concatenation."""

    __array_priority__ = 100

    class PartitionedVariableIterator:
        """The parts, one by one."""

        def __init__(self, partitioned_variable):
            self._parts = iter(list(partitioned_variable._variable_list))

        def __iter__(self):
            return self

        def __next__(self):
            return next(self._parts)

    def __init__(self, name, shape, dtype, variable_list, partitions):
        self._name, self._shape, self._dtype = name, as_shape(shape), dtypes.as_dtype(dtype)
        self._variable_list, self._partitions = list(variable_list), list(partitions)
        self._axis = next((i for i, p in enumerate(partitions) if p > 1), 0)
        self._whole = None

    def __iter__(self):
        return iter(self._variable_list)

    def __len__(self):
        return len(self._variable_list)

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._variable_list[0].dtype)
    shape = property(lambda self: self._shape)
    graph = property(lambda self: self._variable_list[0].graph)

    def get_shape(self):
        return self._shape

    def _get_variable_list(self):
        return self._variable_list

    def _get_partitions(self):
        return self._partitions

    def as_tensor(self):
        """The parts side by side."""
        if self._whole is None:
            with self.graph.control_dependencies(None), self.graph.name_scope(self._name + "/ConcatPartitions/"):
                self._whole = array_ops.concat([v._as_tensor() for v in self._variable_list], self._axis)
        return self._whole

    _as_tensor = _as_graph_element = as_tensor

    def assign(self, value, use_locking=False, name=None, read_value=True):
        sizes = [v.shape[self._axis].value for v in self._variable_list]
        parts = array_ops.split(value, sizes, self._axis)
        return [v.assign(p) for v, p in zip(self._variable_list, parts)]

    def __repr__(self):
        return f"<tf.PartitionedVariable '{self._name}' shape={self._shape} parts={len(self)}>"


def _add_operators():
    from thalweg.tensor import add_operators
    add_operators(PartitionedVariable)


_add_operators()


def parts_of(partitioner, shape, dtype):
    """How many parts in each dimension, or None when it is one."""
    if not callable(partitioner):
        counts = list(partitioner)
    else:
        counts = list(partitioner(shape=shape, dtype=dtype))
    if len(counts) != shape.ndims or any(c < 1 for c in counts):
        raise ValueError(f"Partitioner returned {counts} for a variable of shape {shape}; it must give a positive number for "
                         "each dimension")
    if sum(c > 1 for c in counts) > 1:
        raise NotImplementedError(f"a variable cannot be cut along several dimensions yet, got {counts}")
    return counts


def get(store, name, shape, counts, initializer, get_variable):
    """The partitioned variable of this name, its parts made or found by get_variable(name, shape, initializer)."""
    axis = next((i for i, c in enumerate(counts) if c > 1), 0)
    count, size = counts[axis], shape[axis].value
    parts, offset = [], 0
    for i in range(count):
        length = size // count + (1 if i < size % count else 0)
        part = shape.as_list()
        part[axis] = length
        parts.append(get_variable(f"{name}/part_{i}", part, initializer=_sliced(initializer, axis, offset, length)))
        offset += length
    key = (name, "partitioned")
    if key not in store:
        store[key] = PartitionedVariable(name, shape, parts[0].dtype, parts, counts)
        add_to_collection(GraphKeys.CONCATENATED_VARIABLES, store[key])
    return store[key]


def _sliced(initializer, axis, offset, length):
    """The part of an initial value; a function makes each part by itself."""
    if initializer is None or callable(initializer):
        return initializer
    from thalweg.ops import convert_to_tensor
    value = convert_to_tensor(initializer)
    begin, size = [0] * value.shape.ndims, [-1] * value.shape.ndims
    begin[axis], size[axis] = offset, length
    return array_ops.slice_(value, begin, size)


__all__ = ["PartitionedVariable", "fixed_size_partitioner", "min_max_variable_partitioner",
           "variable_axis_size_partitioner"]

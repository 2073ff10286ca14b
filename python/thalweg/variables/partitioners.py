# SPDX-License-Identifier: Apache-2.0
"""Variables in several parts: partitioners, and the variable that they make."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.operators import add_operators
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.shapes import as_shape
from thalweg.operations import array_ops
from thalweg.variables.save_slices import SaveSliceInfo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from thalweg.base.typing import DTypeLike, Initializer, Partitioner, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.graph import Graph
    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Makes a partitioner that cuts every variable into the same number of parts.

    Parameters
    ----------
    num_shards : int
    axis : int
        The dimension that is cut.

    Returns
    -------
    callable
        For get_variable and variable_scope: gives the number of parts of each dimension for a shape and a type.

    Examples
    --------
    >>> w = tw.get_variable("w", [4, 2], partitioner=tw.fixed_size_partitioner(2))
    >>> [part.shape.as_list() for part in w]
    [[2, 2], [2, 2]]
    """
    def partitioner(shape, **unused):
        counts = [1] * len(shape)
        counts[axis] = min(num_shards, shape.dims[axis].value)
        return counts
    return partitioner


def variable_axis_size_partitioner(max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16,
                                   max_shards: int | None = None) -> Partitioner:
    """As few parts along `axis` as keep each below so many bytes."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1 or max_shards is not None and max_shards < 1:
        raise ValueError("max_shard_bytes, bytes_per_string_element and max_shards must be positive")

    def partitioner(shape, dtype):
        if axis >= len(shape):
            raise ValueError(f"Cannot partition along axis {axis} when shape is only {shape}")
        kind = dtypes.as_dtype(dtype).base_dtype
        element = bytes_per_string_element if kind is dtypes.string else kind.size
        slice_bytes = max(shape.num_elements() // max(shape._size(axis), 1) * element, 1)
        per_shard = max(1, max_shard_bytes // slice_bytes)
        count = math.ceil(shape._size(axis) / per_shard)
        counts = [1] * len(shape)
        counts[axis] = min(shape._size(axis), count if max_shards is None else min(max_shards, count))
        return counts
    return partitioner


def min_max_variable_partitioner(max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10,
                                 bytes_per_string_element: int = 16) -> Partitioner:
    """At most so many parts, none below `min_slice_size` bytes."""
    def partitioner(shape, dtype):
        kind = dtypes.as_dtype(dtype).base_dtype
        element = bytes_per_string_element if kind is dtypes.string else kind.size
        counts = [1] * len(shape)
        counts[axis] = max(1, min(shape.dims[axis].value, max_partitions,
                                  math.ceil(shape.num_elements() * element / min_slice_size)))
        return counts
    return partitioner


class PartitionInfo:
    """What the initializer of a part is told of the whole."""

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        if not isinstance(full_shape, (list, tuple)):
            raise TypeError(f"`full_shape` must be a sequence (like tuple or list) instead of {type(full_shape).__name__}")
        if not isinstance(var_offset, (list, tuple)):
            raise TypeError(f"`var_offset` must be a sequence (like tuple or list) instead of {type(var_offset).__name__}")
        if len(full_shape) != len(var_offset):
            raise ValueError(f"Expected equal length, but `var_offset` is of length {len(var_offset)} while full_shape is of length "
                             f"{len(full_shape)}.")
        self.full_shape, self.var_offset = list(full_shape), list(var_offset)

    def single_slice_dim(self, shape: Any) -> int | None:
        """The only dimension in which a part of this shape is less than the whole; None where it is the whole."""
        if len(shape) != len(self.full_shape):
            raise ValueError(f"Expected equal length, but received shape={shape} of length {len(shape)} while self.full_shape="
                             f"{self.full_shape} is of length {len(self.full_shape)}.")
        cut = [i for i, (n, whole) in enumerate(zip(shape, self.full_shape)) if n != whole]
        if len(cut) > 1:
            raise ValueError(f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={self.full_shape} since slice dim "
                             f"could be either dimension {cut[1]} or {cut[0]}.")
        return cut[0] if cut else None

    def single_offset(self, shape: Any) -> int:
        """Where a part of this shape begins in that dimension."""
        dimension = self.single_slice_dim(shape)
        return 0 if dimension is None else self.var_offset[dimension]


class PartitionedVariable:
    """Variables whose values side by side are one; as a tensor it is their concatenation."""

    __array_priority__ = 100

    class PartitionedVariableIterator:
        """The parts, one by one."""

        def __init__(self, partitioned_variable: Any) -> None:
            self._parts = iter(list(partitioned_variable._variable_list))

        def __iter__(self) -> Self:
            return self

        def __next__(self):
            return next(self._parts)

    def __init__(self, name: str, shape: Any, dtype: DTypeLike, variable_list: Sequence[Variable],
                 partitions: Sequence[int]) -> None:
        self._name, self._shape, self._dtype = name, as_shape(shape), dtypes.as_dtype(dtype)
        self._variable_list, self._partitions = list(variable_list), list(partitions)
        self._axis = next((i for i, p in enumerate(partitions) if p > 1), 0)
        self._whole = None

    def __iter__(self):
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    @property
    def name(self) -> str: return self._name
    @property
    def dtype(self) -> DType: return self._variable_list[0].dtype
    @property
    def shape(self) -> TensorShape: return self._shape
    @property
    def graph(self) -> Graph: return self._variable_list[0].graph

    def get_shape(self) -> TensorShape:
        return self._shape

    def _get_variable_list(self):
        return self._variable_list

    def _get_partitions(self):
        return self._partitions

    def _partition_axes(self):
        """The dimensions that are cut; one that is in a single part counts as cut along the first."""
        return [i for i, p in enumerate(self._partitions) if p > 1] or [0]

    def as_tensor(self) -> Tensor:
        """The parts side by side."""
        if self._whole is None:
            with self.graph.control_dependencies(None), self.graph.name_scope(self._name + "/ConcatPartitions/"):
                self._whole = array_ops.concat([v._as_tensor() for v in self._variable_list], self._axis)
        return self._whole

    _as_tensor = _as_graph_element = as_tensor

    def _each(self, change, value):
        """The parts after each was changed by its part of the value."""
        if len(self) == 1:
            return [change(self._variable_list[0], value)]
        value = convert_to_tensor(value, dtype=self._dtype.base_dtype)
        sizes = [v.shape._size(self._axis) for v in self._variable_list]
        return [change(v, p) for v, p in zip(self._variable_list, array_ops.split(value, sizes, self._axis))]

    def assign(self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list[Any]:
        """Sets the parts; gives them."""
        return self._each(lambda v, part: v.assign(part, use_locking, name, read_value), value)

    def assign_add(self, value: TensorLike | Sequence[TensorLike], use_locking: bool = False, name: str | None = None,
                   read_value: bool = True) -> list[Any]:
        return self._each(lambda v, part: v.assign_add(part, use_locking, name, read_value), value)

    def assign_sub(self, value: TensorLike | Sequence[TensorLike], use_locking: bool = False, name: str | None = None,
                   read_value: bool = True) -> list[Any]:
        return self._each(lambda v, part: v.assign_sub(part, use_locking, name, read_value), value)

    def __repr__(self):
        return f"<tf.PartitionedVariable '{self._name}' shape={self._shape} parts={len(self)}>"


add_operators(PartitionedVariable)


def parts_of(partitioner: Partitioner, shape: Any, dtype: DTypeLike) -> list[int]:
    """How many parts a partitioner wants in each dimension."""
    if not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
    counts = partitioner(shape=shape, dtype=dtype)
    if not isinstance(counts, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {counts}")
    return checked(list(counts), shape)


def checked(counts: Sequence[int], shape: Any) -> Any:
    """Counts of parts that a variable can be cut into: along one dimension."""
    if len(counts) != shape.ndims:
        raise ValueError(f"Partitioner returned a partition list that does not match the Variable's rank: {counts} vs. {shape}")
    if any(c < 1 for c in counts):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {counts}")
    if sum(c > 1 for c in counts) > 1:
        raise ValueError(f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {counts}")
    return counts


def get(store: Any, name: str, shape: Any, counts: Sequence[int], initializer: Initializer | TensorLike,
        get_variable: Any) -> Any:
    """The partitioned variable of this name, its parts made or found by get_variable(name, shape, initializer=,
    partition_info=)."""
    axis = next((i for i, c in enumerate(counts) if c > 1), 0)
    count, size = counts[axis], shape._size(axis)
    parts, offset = [], 0
    for i in range(count):
        length = size // count + (1 if i < size % count else 0)
        part = shape.as_list()
        part[axis] = length
        begin = [offset if a == axis else 0 for a in range(len(part))]
        value = _sliced(initializer, axis, offset, length)
        made = get_variable(f"{name}/part_{i}", part if value is None or callable(value) else None, initializer=value,
                            partition_info=PartitionInfo(shape.as_list(), begin))
        made._set_save_slice_info(SaveSliceInfo(name, shape.as_list(), begin, part))
        parts.append(made)
        offset += length
    key = (name, "partitioned")
    if key not in store:
        store[key] = PartitionedVariable(name, shape, parts[0].dtype, parts, counts)
    return store[key]


def _sliced(initializer, axis, offset, length):
    """The part of an initial value; a function makes each part by itself."""
    if initializer is None or callable(initializer):
        return initializer
    value = convert_to_tensor(initializer)
    begin, size = [0] * value.shape.ndims, [-1] * value.shape.ndims
    begin[axis], size[axis] = offset, length
    return array_ops.slice_(value, begin, size)


__all__ = ["PartitionedVariable", "fixed_size_partitioner", "min_max_variable_partitioner",
           "variable_axis_size_partitioner"]

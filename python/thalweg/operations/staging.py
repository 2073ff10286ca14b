# SPDX-License-Identifier: Apache-2.0
"""Staging areas: elements that one step puts in and a later one gets, first in first out or by key."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes as dtypes_module
from thalweg.graph import graph
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, IntLike, Nested, ShapeLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.tensor import Operation, Tensor


class BaseStagingArea:
    """At most `capacity` elements and `memory_limit` bytes; 0 for no bound."""

    def __init__(self, dtypes: Sequence[DTypeLike], shapes: Sequence[ShapeLike] | None = None, names: Sequence[str] | None = None,
                 shared_name: str | None = None, capacity: int = 0, memory_limit: int = 0) -> None:
        self._dtypes = [dtypes_module.as_dtype(d) for d in dtypes]
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        if capacity < 0 or memory_limit < 0:
            raise ValueError(f"capacity and memory_limit must not be negative, got {capacity} and {memory_limit}")
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None)] * len(self._dtypes)
        self._names, self._capacity, self._memory_limit = names, capacity, memory_limit
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError(f"shared_name must be a string, got {shared_name!r}")
        self._name = shared_name or graph.get_default_graph().unique_name(type(self).__name__)

    @property
    def name(self) -> str: return self._name
    @property
    def dtypes(self) -> list[DType]: return self._dtypes
    @property
    def shapes(self) -> list[TensorShape]: return self._shapes
    @property
    def names(self) -> Sequence[str] | None: return self._names
    @property
    def capacity(self) -> int: return self._capacity
    @property
    def memory_limit(self) -> int: return self._memory_limit

    def _op(self, op, inputs, name, dtypes=None):
        attrs = {"shared_name": self._name, "capacity": self._capacity, "memory_limit": self._memory_limit}
        if op != "Stage":  # its dtypes are those of its inputs
            attrs["dtypes"] = self._dtypes if dtypes is None else dtypes
        return apply(op, inputs, attrs, name)

    def _values_and_indices(self, vals, indices=None):
        """Tensors and their places, of a dict by names, of a list by indices."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError("Keys in dictionary to put do not match names of staging area. "
                                 f"Dictionary: ({sorted(vals)}), Queue: ({sorted(self._names)})")
            indices = [i for i, n in enumerate(self._names) if n in vals]
            vals = [vals[self._names[i]] for i in indices]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if not isinstance(vals, (list, tuple)):
                vals = [vals]
            if len(indices) != len(vals):
                raise ValueError(f"Number of indices '{len(indices)}' doesn't match number of values '{len(vals)}'")
        tensors = []
        for value, i in zip(vals, indices):
            dtype, shape = self._dtypes[i], self._shapes[i]
            tensor = convert_to_tensor(value, None if hasattr(value, "dtype") else dtype, name=f"component_{i}")
            if tensor.dtype.base_dtype is not dtype:
                raise ValueError(f"Datatypes do not match. '{tensor.dtype!r}' != '{dtype!r}'")
            tensor.shape.assert_is_compatible_with(shape)
            tensors.append(tensor)
        return tensors, list(indices)

    def _result(self, tensors, indices):
        """What a get returns: a dict by names, or a list."""
        for tensor, i in zip(tensors, indices):
            tensor.set_shape(self._shapes[i])
        return {self._names[i]: tensor for tensor, i in zip(tensors, indices)} if self._names else list(tensors)

    @staticmethod
    def _listed(made):
        return list(made) if isinstance(made, (list, tuple)) else [made]


class StagingArea(BaseStagingArea):
    """put() of one step, get() of a later one, in order."""

    def put(self, values: Nested, name: str | None = None) -> Operation:
        """An operation that puts an element in; it waits for room."""
        with name_scope(name, f"{self._name}_put", [values]) as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            indices = None if isinstance(values, dict) else list(range(len(values)))
            tensors, _ = self._values_and_indices(values, indices)
            if len(tensors) != len(self._dtypes):
                raise ValueError(f"Unexpected number of inputs '{len(tensors)}' vs '{len(self._dtypes)}'")
            return self._op("Stage", [tensors], scope)

    def _got(self, made):
        return self._result(self._listed(made), range(len(self._dtypes)))

    def get(self, name: str | None = None) -> Any:
        """The first element; waits for one."""
        return self._got(self._op("Unstage", [], name or f"{self._name}_get"))

    def peek(self, index: IntLike, name: str | None = None) -> Any:
        """The element at an index, which stays; waits for it."""
        return self._got(self._op("StagePeek", [index], name or f"{self._name}_peek"))

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        return self._op("StageSize", [], name or f"{self._name}_size")

    def clear(self, name: str | None = None) -> Operation:
        """An operation that drops all elements."""
        return self._op("StageClear", [], name or f"{self._name}_clear")


class MapStagingArea(BaseStagingArea):
    """put() under a key, in parts if need be; get() of that key, or of any: of the smallest where the map is ordered."""

    def __init__(self, dtypes: Sequence[DTypeLike], shapes: Sequence[ShapeLike] | None = None, names: Sequence[str] | None = None,
                 shared_name: str | None = None, ordered: bool = False, capacity: int = 0, memory_limit: int = 0) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._kind = "OrderedMap" if ordered else "Map"

    def put(self, key: TensorLike, vals: Nested, indices: Sequence[int | str] | None = None,
            name: str | None = None) -> Operation:
        """An operation that puts an element, or parts of it, in; it waits for room."""
        with name_scope(name, f"{self._name}_put", [vals]) as scope:
            tensors, indices = self._values_and_indices(vals, indices)
            return self._op(self._kind + "Stage", [key, indices, tensors], scope, self._dtypes)

    def _indices(self, indices):
        """Places of the parts that are wanted: all, or those of these numbers or names."""
        if indices is None:
            return list(range(len(self._dtypes)))
        if not isinstance(indices, (list, tuple)):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if all(isinstance(i, str) for i in indices):
            if self._names is None:
                raise ValueError(f"String indices provided '{indices}', but this Staging Area was not created with names.")
            return [self._names.index(i) for i in indices]
        if all(isinstance(i, int) for i in indices):
            for i in indices:
                if not 0 <= i < len(self._dtypes):
                    raise IndexError(f"index {i} is out of range: the elements have {len(self._dtypes)} parts")
            return list(indices)
        raise TypeError(f"Mixed types in indices '{indices}'. May only be str or int")

    def get(self, key: TensorLike | None = None, indices: Sequence[int | str] | None = None, name: str | None = None) -> Any:
        """(key, the element or parts of it): of that key, or of any. Waits for it."""
        if key is None:
            return self._get_any(indices, name)
        indices = self._indices(indices)
        made = self._op(self._kind + "Unstage", [key, indices], name or f"{self._name}_get", [self._dtypes[i] for i in indices])
        return key, self._result(self._listed(made), indices)

    def _get_any(self, indices, name):
        indices = self._indices(indices)
        key, values = self._op(self._kind + "UnstageNoKey", [indices], name or f"{self._name}_get_nokey",
                               [self._dtypes[i] for i in indices])
        return key, self._result(self._listed(values), indices)

    def peek(self, key: TensorLike, indices: Sequence[int | str] | None = None, name: str | None = None) -> Any:
        """The element of a key, or parts of it, which stay; waits for it."""
        indices = self._indices(indices)
        made = self._op(self._kind + "Peek", [key, indices], name or f"{self._name}_pop", [self._dtypes[i] for i in indices])
        return self._result(self._listed(made), indices)

    def size(self, name: str | None = None) -> Tensor:
        """How many complete elements there are."""
        return self._op(self._kind + "Size", [], name or f"{self._name}_size")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements still lack parts."""
        return self._op(self._kind + "IncompleteSize", [], name or f"{self._name}_incomplete_size")

    def clear(self, name: str | None = None) -> Operation:
        """An operation that drops all elements."""
        return self._op(self._kind + "Clear", [], name or f"{self._name}_clear")

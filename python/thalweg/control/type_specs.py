# SPDX-License-Identifier: Apache-2.0
"""What a value looks like without its numbers: type, shape, name."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.tensor_array import TensorArray
from thalweg.graph import ops
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor import IndexedSlices, Tensor

if TYPE_CHECKING:
    from typing import Any, Self

    from thalweg.base.typing import DTypeLike, ShapeLike
    from thalweg.dtypes import DType


class TypeSpec:
    """Base: specifications are equal when all they say is."""

    @property
    def value_type(self) -> type[Any]: return self._value_type
    _value_type = Tensor

    def _key(self):
        raise NotImplementedError(f"{type(self).__name__}._key")

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a value, or all values of another specification, are of this one."""
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        if type(other) is not type(self):
            return False
        return all(mine.is_compatible_with(its) if isinstance(mine, (TensorShape, dtypes.DType)) else mine == its
                   for mine, its in zip(self._key(), other._key()))

    def most_specific_compatible_type(self, other: TypeSpec) -> Self:
        """The narrowest specification that both are of."""
        if type(other) is not type(self) or any(
                m != o for m, o in zip(self._key(), other._key()) if not isinstance(m, TensorShape)):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return type(self)._of([_wider(m, o) if isinstance(m, TensorShape) else m
                               for m, o in zip(self._key(), other._key())])

    @classmethod
    def _of(cls, key):
        return cls(*key)

    def __eq__(self, other: TypeSpec) -> bool:
        return type(other) is type(self) and _plain(self._key()) == _plain(other._key())

    def __ne__(self, other: TypeSpec) -> bool:
        return not self == other

    def __hash__(self):
        return hash((type(self).__name__, _plain(self._key())))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(repr(k) for k in self._key())})"


def _plain(key):
    return tuple(("shape", None if k.ndims is None else tuple(k.as_list())) if isinstance(k, TensorShape) else k for k in key)


def _wider(a, b):
    """The shape that both are of."""
    if a.ndims is None or a.ndims != b.ndims:
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list())])


class TensorSpec(TypeSpec):
    """A tensor's shape, type and, if it matters, name."""

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = as_shape(shape), dtypes.as_dtype(dtype), name

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> Self:
        """A spec of the same shape and type under another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> Self:
        """The spec of a tensor."""
        if not isinstance(tensor, Tensor):
            raise ValueError("`tensor` should be a tf.Tensor")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape: return self._shape
    @property
    def dtype(self) -> DType: return self._dtype
    @property
    def name(self) -> str | None: return self._name

    def _key(self):
        return self._shape, self._dtype, self._name

    def is_compatible_with(self, spec_or_tensor: object) -> bool:
        """Whether type and shape are; the name does not count."""
        other = spec_or_tensor if hasattr(spec_or_tensor, "dtype") else ops.convert_to_tensor(spec_or_tensor)
        return self._dtype.is_compatible_with(other.dtype) and self._shape.is_compatible_with(as_shape(other.shape))

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class SparseTensorSpec(TypeSpec):
    """A sparse tensor's dense shape and type."""

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32) -> None:
        self._shape, self._dtype = as_shape(shape), dtypes.as_dtype(dtype)

    @property
    def shape(self) -> TensorShape: return self._shape
    @property
    def dtype(self) -> DType: return self._dtype

    @property
    def _value_type(self):
        return SparseTensor

    def _key(self):
        return self._shape, self._dtype


class IndexedSlicesSpec(TypeSpec):
    """The types and shapes of the parts of IndexedSlices."""
    _value_type = IndexedSlices

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32, indices_dtype: DTypeLike = dtypes.int64,
                 dense_shape_dtype: DTypeLike | None = None, indices_shape: ShapeLike = None) -> None:
        self._values = as_shape(shape), dtypes.as_dtype(dtype)
        self._indices = dtypes.as_dtype(indices_dtype), as_shape([None] if indices_shape is None else indices_shape)
        self._dense = None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype)

    def _key(self):
        return (*self._values, self._indices[0], self._dense, self._indices[1])


class TensorArraySpec(TypeSpec):
    """What is known of the elements of a TensorArray."""

    def __init__(self, element_shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32, dynamic_size: bool = False,
                 infer_shape: bool = True) -> None:
        self._shape, self._dtype = as_shape(element_shape), dtypes.as_dtype(dtype)
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape

    @property
    def _value_type(self):
        return TensorArray

    def _key(self):
        return self._shape, self._dtype, self._dynamic_size, self._infer_shape


class OptionalSpec(TypeSpec):
    """A value of this specification, or none."""

    def __init__(self, value_structure: object) -> None:
        self._value = value_structure

    def _key(self):
        return (self._value,)


def spec_of(value: object) -> Any:
    """The specification of a value."""
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.get_shape(), value.dtype)
    if isinstance(value, IndexedSlices):
        return IndexedSlicesSpec(None, value.dtype, value.indices.dtype,
                                 None if value.dense_shape is None else value.dense_shape.dtype)
    tensor = value if isinstance(value, Tensor) else ops.convert_to_tensor(value)
    return TensorSpec(tensor.shape, tensor.dtype)

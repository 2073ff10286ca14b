# SPDX-License-Identifier: Apache-2.0
"""Values as tensors or as what holds several; values of a program's own classes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import ops
from thalweg.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg.graph.tensor import IndexedSlices, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import DTypeLike, SparseLike, TensorLike


def convert_to_tensor(value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None,
                      preferred_dtype: DTypeLike | None = None, dtype_hint: DTypeLike | None = None) -> Tensor:
    made = ops.convert_to_tensor(value, dtype, name, preferred_dtype, dtype_hint)
    if not isinstance(made, Tensor):
        raise TypeError(f"Failed to convert object of type {type(value)} to Tensor. Contents: {value}. Consider casting elements to a "
                        "supported type.")
    return made


convert_to_tensor.__doc__ = ops.convert_to_tensor.__doc__

def convert_to_tensor_or_indexed_slices(value: TensorLike, dtype: DTypeLike | None = None,
                                        name: str | None = None) -> Tensor | IndexedSlices:
    """IndexedSlices as they are, all else as a tensor."""
    if isinstance(value, IndexedSlices):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
                             f"{value.dtype.name}: {value}")
        return value
    return ops.convert_to_tensor(value, dtype=dtype, name=name)


def convert_to_tensor_or_sparse_tensor(value: TensorLike | SparseLike, dtype: DTypeLike | None = None,
                                       name: str | None = None) -> Tensor | SparseTensor:
    """A SparseTensor of a sparse value, all else as a tensor."""
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(f"Sparse dtype: requested = {dtypes.as_dtype(dtype).name}, actual = {value.dtype.name}")
        return value
    return ops.convert_to_tensor(value, dtype=dtype, name=name)


def register_tensor_conversion_function(base_type: type[Any] | tuple[type[Any], ...], conversion_func: Callable[..., object],
                                        priority: int = 100) -> None:
    """Values of a class become tensors by conversion_func(value, dtype=None, name=None, as_ref=False)."""
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    if not all(isinstance(kind, type) for kind in kinds):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    for kind in kinds:
        try:
            kind._as_tensor = lambda self: conversion_func(self, dtype=None, name=None, as_ref=False)
        except TypeError:
            raise TypeError("Cannot register conversions for Python numeric types and NumPy scalars and arrays, nor for "
                            f"classes that cannot be changed: {kind}") from None

# SPDX-License-Identifier: Apache-2.0
"""What generators yield, as arrays that a py_func gives: a tensor is one, a RaggedTensor its flat values and the row splits of all
ragged dimensions, a SparseTensor its indices, values and shape."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.control.type_specs import SparseTensorSpec, TensorSpec, TypeSpec
from thalweg.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg.ragged.ragged_tensor import RaggedTensor
from thalweg.ragged.ragged_tensor_value import RaggedTensorValue
from thalweg.ragged.specs import RaggedTensorSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.graph.tensor import Tensor


def is_known(spec: TypeSpec) -> bool:
    """Whether generators may yield what the specification is of."""
    return isinstance(spec, (TensorSpec, SparseTensorSpec)) or isinstance(spec, RaggedTensorSpec) and spec.ragged_rank > 0


def array_specs(spec: TypeSpec) -> list[TensorSpec]:
    """Those of the arrays of one component."""
    if isinstance(spec, SparseTensorSpec):
        rank = spec.shape.ndims
        return [TensorSpec([None, rank], dtypes.int64), TensorSpec([None], spec.dtype), TensorSpec([rank], dtypes.int64)]
    if isinstance(spec, RaggedTensorSpec):
        inner = None if spec.shape.ndims is None else [None, *spec.shape.as_list()[spec.ragged_rank + 1:]]
        first = None if spec.shape.ndims is None or spec.shape.as_list()[0] is None else spec.shape.as_list()[0] + 1
        splits = [TensorSpec([n], spec.row_splits_dtype) for n in [first, *[None] * (spec.ragged_rank - 1)]]
        return [TensorSpec(inner, spec.dtype), *splits]
    return [spec]


def component(spec: TypeSpec, tensors: Sequence[Tensor]) -> Tensor | RaggedTensor | SparseTensor:
    """The component whose arrays these tensors are."""
    if isinstance(spec, SparseTensorSpec):
        return SparseTensor(*tensors)
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensor.from_nested_row_splits(tensors[0], tensors[1:], validate=False)
    return tensors[0]


def _is_of(spec: TypeSpec, value: object) -> bool:
    if isinstance(spec, SparseTensorSpec):
        return isinstance(value, SparseTensorValue) and spec.shape.is_compatible_with(np.asarray(value.dense_shape).tolist())
    if not isinstance(value, RaggedTensorValue) or value.ragged_rank != spec.ragged_rank:
        return False
    is_type = value.dtype.kind in "OSU" if spec.dtype == dtypes.string else value.dtype == spec.dtype.as_numpy_dtype
    return is_type and spec.shape.is_compatible_with(value.shape)


def arrays(value: object, spec: TypeSpec) -> list[np.ndarray]:
    """The arrays of one component of what was yielded; TypeError and ValueError say what it is instead."""
    if isinstance(spec, TensorSpec):
        return [_array(value, spec)]
    if not _is_of(spec, value):
        raise TypeError(f"`generator` yielded an element that did not match the expected structure. The expected structure was "
                        f"{spec}, but the yielded element was {value!r}.")
    if isinstance(spec, SparseTensorSpec):
        parts = [np.asarray(value.indices).reshape(-1, len(value.dense_shape)), value.values, value.dense_shape]
    else:
        parts = [value.flat_values, *value.nested_row_splits]
    return [_array(part, s) for part, s in zip(parts, array_specs(spec))]


def _array(value: object, spec: TensorSpec) -> np.ndarray:
    if spec.dtype == dtypes.string:
        array = np.asarray(value, object)
        flat = [v.encode() if isinstance(v, str) else v for v in array.ravel().tolist()]
        array = np.array(flat, object).reshape(array.shape)
    else:
        try:
            array = np.asarray(value, spec.dtype.as_numpy_dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(f"`generator` yielded an element that could not be converted to the expected type. The expected type was "
                            f"{spec.dtype.name}, but the yielded element was {value!r}.") from error
    if not spec.shape.is_compatible_with(array.shape):
        raise ValueError(f"`generator` yielded an element of shape {array.shape} where an element of shape {spec.shape} was expected.")
    return array

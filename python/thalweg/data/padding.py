# SPDX-License-Identifier: Apache-2.0
"""Batches of elements that are padded to one shape."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data import nest, structure
from thalweg.data.making import make
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from thalweg.base.typing import IntLike
    from thalweg.data.dataset import Dataset


def _shape_tensor(shape: object, of: TensorShape) -> tuple[Tensor, TensorShape]:
    """A padded shape as a tensor, and what is known of it."""
    if isinstance(shape, Tensor):
        return convert_to_tensor(shape, dtypes.int64), TensorShape(None) if of.ndims is None else TensorShape([None] * of.ndims)
    if not isinstance(shape, TensorShape):
        listed = list(np.atleast_1d(np.asarray([-1 if d is None else int(d) for d in shape], np.int64))) if len(shape) else []
        shape = TensorShape([None if d == -1 else int(d) for d in listed])
    if shape.ndims is None:
        raise ValueError("Padded shape must have a known rank.")
    if of.ndims is not None and of.ndims != shape.ndims:
        raise ValueError(f"The padded shape {shape} is not compatible with the corresponding input component shape {of}.")
    for d, (want, have) in enumerate(zip(shape.as_list(), of.as_list() if of.ndims is not None else [])):
        if want is not None and have is not None and have > want:
            raise ValueError(f"The padded shape {shape} is not compatible with the corresponding input component shape {of}: "
                             f"dimension {d} is smaller.")
    return convert_to_tensor(np.array([-1 if d is None else d for d in shape.as_list()], np.int64)), shape


def _value(spec: TensorSpec, value: object) -> Tensor:
    """What stands around smaller elements: zero, or an empty string, unless it is given."""
    if value is None:
        value = "" if spec.dtype == dtypes.string else np.zeros([], spec.dtype.as_numpy_dtype)
        return convert_to_tensor(value, spec.dtype)
    tensor = convert_to_tensor(value)
    if tensor.dtype.base_dtype != spec.dtype:
        if isinstance(value, Tensor):
            raise TypeError(f"The padding value type {tensor.dtype} is not compatible with the corresponding component's type "
                            f"{spec.dtype}")
        tensor = convert_to_tensor(value, spec.dtype)
    if tensor.shape.ndims not in (None, 0):
        raise ValueError(f"Padding value should be a scalar, but is not: {value!r}")
    return tensor


def padded_batch(dataset: Dataset, batch_size: IntLike, padded_shapes: object, padding_values: object,
                 drop_remainder: bool, name: str | None = None) -> Dataset:
    """See Dataset.padded_batch."""
    spec = dataset.element_spec
    flat = nest.flatten(spec)
    if not all(isinstance(s, TensorSpec) for s in flat):
        raise TypeError("Padded batching of sparse tensors and datasets is not possible: only tensors have a shape to pad to")
    if padded_shapes is None:
        padded_shapes = dataset.output_shapes
    shapes, known = zip(*(_shape_tensor(shape, of.shape) for shape, of in zip(nest.flatten_up_to(spec, padded_shapes), flat)))
    given = [None] * len(flat)
    if padding_values is not None:
        given = [padding_values] * len(flat) if not nest.is_nested(padding_values) else nest.flatten_up_to(spec, padding_values)
    values = [_value(of, value) for of, value in zip(flat, given)]
    rows = nest.pack(spec, [TensorSpec(shape, of.dtype) for shape, of in zip(known, flat)])
    size = int(batch_size) if drop_remainder is True and isinstance(batch_size, (int, np.integer)) else None
    return make("PaddedBatchDatasetV2",
                [dataset, convert_to_tensor(batch_size, dtypes.int64), list(shapes), values,
                 convert_to_tensor(drop_remainder, dtypes.bool)],
                structure.batched(rows, size), {"N": len(flat), "Toutput_types": structure.types_of(rows)}, types="Toutput_types", name=name)

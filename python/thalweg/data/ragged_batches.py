# SPDX-License-Identifier: Apache-2.0
"""Batches of tensors of different sizes: RaggedTensors."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data import nest
from thalweg.ragged.ragged_tensor import RaggedTensor
from thalweg.ragged.specs import RaggedTensorSpec

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, IntLike
    from thalweg.data.dataset import Dataset


def ragged_batch(dataset: Dataset, batch_size: IntLike, drop_remainder: bool = False, row_splits_dtype: DTypeLike = dtypes.int64,
                 name: str | None = None) -> Dataset:
    """See Dataset.ragged_batch."""
    def open_spec(spec):
        if not isinstance(spec, TensorSpec) or spec.shape.ndims is None or spec.shape.is_fully_defined():
            return spec
        last = max(axis for axis, size in enumerate(spec.shape.as_list()) if size is None)
        return RaggedTensorSpec(spec.shape, spec.dtype, last, row_splits_dtype)
    specs = nest.map_structure(open_spec, dataset.element_spec)
    flat = nest.flatten(specs)

    def travels(spec, part):
        if not isinstance(spec, RaggedTensorSpec) or isinstance(part, RaggedTensor):
            return part
        if spec.ragged_rank > 0:
            part = RaggedTensor.from_tensor(part, ragged_rank=spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype)
        return spec.to_variant(part)

    def as_variants(*element):
        return tuple(travels(spec, part) for spec, part in zip(flat, nest.flatten(element)))
    mapped = dataset.map(as_variants)
    mapped._element_spec = specs
    return mapped.batch(batch_size, drop_remainder, name=name)

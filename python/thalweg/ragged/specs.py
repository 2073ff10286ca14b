# SPDX-License-Identifier: Apache-2.0
"""RaggedTensorSpec: what RaggedTensors look like without their numbers."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import TypeSpec
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.graph.tensor import Tensor
from thalweg.ragged import partitions
from thalweg.ragged.ragged_tensor import RaggedTensor

if TYPE_CHECKING:
    from typing import Self

    from thalweg.base.typing import DTypeLike, ShapeLike
    from thalweg.dtypes import DType


class RaggedTensorSpec(TypeSpec):
    """A RaggedTensor's shape and type, how many of its dimensions are ragged, and the type of its row splits. With no ragged one
    it is a tensor."""

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32, ragged_rank: int | None = None,
                 row_splits_dtype: DTypeLike = dtypes.int64) -> None:
        self._shape, self._dtype = as_shape(shape), dtypes.as_dtype(dtype)
        self._row_splits_dtype = partitions.splits_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with known rank.")
            ragged_rank = rank - 1
        elif not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank!r}.")
        elif rank is not None and ragged_rank >= rank:
            raise ValueError(f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank}).")
        self._ragged_rank = ragged_rank

    @classmethod
    def from_value(cls, value: RaggedTensor) -> Self:
        """The specification of a RaggedTensor."""
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a RaggedTensor, or all of another specification, are of this one."""
        if isinstance(spec_or_value, RaggedTensor):
            spec_or_value = type(self).from_value(spec_or_value)
        return super().is_compatible_with(spec_or_value)

    @property
    def shape(self) -> TensorShape: return self._shape
    @property
    def dtype(self) -> DType: return self._dtype
    @property
    def ragged_rank(self) -> int: return self._ragged_rank
    @property
    def row_splits_dtype(self) -> DType: return self._row_splits_dtype

    @property
    def _value_type(self):
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    def _key(self):
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    def _with(self, shape: TensorShape, ragged_rank: int) -> Self:
        """The same types of another shape."""
        return type(self)(shape, self._dtype, ragged_rank, self._row_splits_dtype)

    def batched(self, size: int | None) -> Self:
        """The specification of so many elements in one; None: of any number."""
        return self._with(TensorShape([size]).concatenate(self._shape), self._ragged_rank + 1)

    def row(self) -> Self:
        """The specification of its rows."""
        if self._ragged_rank <= 0:
            raise ValueError(f"{self} has no ragged rows")
        return self._with(self._shape[1:] if self._shape.ndims is not None else TensorShape(None), self._ragged_rank - 1)

    def to_variant(self, value: RaggedTensor | Tensor, batched: bool = False) -> Tensor:
        """The value as one variant, or as one for each row."""
        if self._ragged_rank > 0:
            return RaggedTensor.from_value(value)._to_variant(batched)
        return RaggedTensor._dense_to_variant(value, self._dtype, self._row_splits_dtype, batched)

    def from_variant(self, variant: Tensor) -> RaggedTensor | Tensor:
        """The value of what `to_variant` made, or of a tensor of such variants."""
        made = RaggedTensor._from_variant(variant, self._dtype, self._ragged_rank, row_splits_dtype=self._row_splits_dtype)
        rank = self._shape.ndims
        if rank is None:
            return made
        if isinstance(made, Tensor):
            made.set_shape(self._shape)
            return made
        made.flat_values.set_shape([None, *self._shape.as_list()[self._ragged_rank + 1:]])
        if self._shape._size(0) is not None:
            made.row_splits.set_shape([self._shape._size(0) + 1])
        return made

# SPDX-License-Identifier: Apache-2.0
"""What the elements of a dataset look like: a structure of specifications. How each component travels as one tensor: a
SparseTensor as a vector of three variants, a RaggedTensor and a dataset as a variant."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import OptionalSpec, SparseTensorSpec, TensorSpec, TypeSpec, spec_of
from thalweg.data import nest
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg.graph.tensor import Tensor
from thalweg.operations import sparse_ops
from thalweg.ragged.ragged_tensor import RaggedTensor
from thalweg.ragged.ragged_tensor_value import RaggedTensorValue
from thalweg.ragged.specs import RaggedTensorSpec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Optional:
    """A value of a structure, or none: what `get_next_as_optional` gives."""

    def __init__(self, variant: Tensor, value_structure: object):
        self._variant, self._value = variant, value_structure

    @property
    def value_structure(self) -> object:
        """The structure of specifications of the value."""
        return self._value

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is one: a bool scalar."""
        return apply("OptionalHasValue", [self._variant], name=name)

    def get_value(self, name: str | None = None) -> Any:
        """The value; InvalidArgumentError when the step runs and there is none."""
        flat = apply("OptionalGetValue", [self._variant],
                     {"output_types": types_of(self._value), "output_shapes": shapes_of(self._value)}, name)
        return from_tensors(self._value, as_list(flat))

    @staticmethod
    def from_value(value: object) -> Optional:
        """An optional that holds the value."""
        spec = spec_of_value(value)
        return Optional(apply("OptionalFromValue", [to_tensors(spec, value)]), spec)

    @staticmethod
    def none_from_structure(value_structure: object) -> Optional:
        """An optional without a value."""
        return Optional(apply("OptionalNone", []), value_structure)


class DatasetSpec(TypeSpec):
    """A dataset whose elements are of this specification."""

    def __init__(self, element_spec: object, dataset_shape: object = ()):
        self._element_spec = element_spec

    @property
    def _value_type(self) -> type:
        return dataset_class()

    def _key(self):
        return (str(self._element_spec),)


_dataset: list[type] = []  # the class of datasets, once there is one


def register_dataset(cls: type) -> type:
    """Says which class datasets are of, which may be elements themselves."""
    _dataset.append(cls)
    return cls


def dataset_class() -> type:
    """The class of datasets."""
    return _dataset[0]


def as_list(outputs: object) -> list[object]:
    """What `apply` gives for a list of outputs, as a list."""
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def spec_of_component(value: object) -> TypeSpec:
    """The specification of one component."""
    if _dataset and isinstance(value, _dataset[0]):
        return DatasetSpec(value.element_spec)
    if isinstance(value, Optional):
        return OptionalSpec(value.value_structure)
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, (RaggedTensor, RaggedTensorValue)):
        return RaggedTensorSpec.from_value(RaggedTensor.from_value(value))
    return spec_of(value)


def spec_of_value(value: object) -> object:
    """The structure of specifications of a value."""
    return nest.map_structure(spec_of_component, value)


def _is_variant(spec: TypeSpec) -> bool:
    return isinstance(spec, (DatasetSpec, OptionalSpec))


def types_of(structure: object) -> list[dtypes.DType]:
    """The type of the tensor that each component travels as."""
    return [spec.dtype if isinstance(spec, TensorSpec) else dtypes.variant for spec in nest.flatten(structure)]


def shapes_of(structure: object) -> list[TensorShape]:
    """Its shape. A batch of SparseTensors has rows of three, one of RaggedTensors a variant for each, so their rank is open."""
    return [spec.shape if isinstance(spec, TensorSpec) else TensorShape([] if _is_variant(spec) else None)
            for spec in nest.flatten(structure)]


def _to_tensor(spec: TypeSpec, value: object) -> Tensor:
    if isinstance(spec, (DatasetSpec, OptionalSpec)):
        return value._variant
    if isinstance(spec, SparseTensorSpec):
        return sparse_ops.serialize_sparse(SparseTensor.from_value(value), out_type=dtypes.variant)
    if isinstance(spec, RaggedTensorSpec):
        return spec.to_variant(value)
    return convert_to_tensor(value, spec.dtype)


def to_tensors(structure: object, value: object) -> list[Tensor]:
    """The tensors that the value travels as."""
    return [_to_tensor(spec, part) for spec, part in zip(nest.flatten(structure), nest.flatten(value))]


def to_batched_tensors(structure: object, value: object) -> list[Tensor]:
    """The same of a value that is a batch: a row of three for each row of a SparseTensor, a variant for each of a RaggedTensor."""
    def convert(spec, part):
        if isinstance(spec, SparseTensorSpec):
            return sparse_ops.serialize_many_sparse(SparseTensor.from_value(part), out_type=dtypes.variant)
        return spec.to_variant(part, batched=True) if isinstance(spec, RaggedTensorSpec) else _to_tensor(spec, part)
    return [convert(spec, part) for spec, part in zip(nest.flatten(structure), nest.flatten(value))]


def _from_tensor(spec: TypeSpec, tensor: Tensor) -> object:
    if isinstance(spec, DatasetSpec):
        return dataset_class()._of(tensor, spec._element_spec)
    if isinstance(spec, OptionalSpec):
        return Optional(tensor, spec._value)
    if isinstance(spec, SparseTensorSpec):
        rank = spec.shape.ndims
        return sparse_ops.deserialize_sparse(tensor, spec.dtype, rank)
    return spec.from_variant(tensor) if isinstance(spec, RaggedTensorSpec) else tensor


def from_tensors(structure: object, tensors: Sequence[Tensor]) -> object:
    """The value that travels as these tensors."""
    return nest.pack(structure, [_from_tensor(s, t) for s, t in zip(nest.flatten(structure), tensors)])


def _batched(spec: TypeSpec, size: int | None) -> TypeSpec:
    if isinstance(spec, TensorSpec):
        return TensorSpec(TensorShape([size]).concatenate(spec.shape), spec.dtype)
    if isinstance(spec, SparseTensorSpec):
        return SparseTensorSpec(TensorShape([size]).concatenate(spec.shape), spec.dtype)
    if isinstance(spec, RaggedTensorSpec):
        return spec.batched(size)
    raise TypeError(f"{spec} cannot be batched: only tensors, SparseTensors and RaggedTensors can")


def batched(structure: object, size: int | None) -> object:
    """The structure of batches of so many elements; None: of any number."""
    return nest.map_structure(lambda spec: _batched(spec, size), structure)


def _row(spec: TypeSpec) -> TypeSpec:
    if isinstance(spec, RaggedTensorSpec):
        return spec.row()
    if not isinstance(spec, (TensorSpec, SparseTensorSpec)):
        raise TypeError(f"{spec} has no rows: only tensors, SparseTensors and RaggedTensors do")
    if spec.shape.ndims == 0:
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    shape = TensorShape(None) if spec.shape.ndims is None else spec.shape[1:]
    return type(spec)(shape, spec.dtype)


def assert_as_many_rows(structure: object) -> None:
    """A ValueError where parts of an element are known to have different numbers of rows."""
    known = [spec.shape.dims[0] for spec in nest.flatten(structure) if getattr(spec, "shape", None) is not None and spec.shape.ndims]
    for dimension in known[1:]:
        known[0].assert_is_compatible_with(dimension)


def rows(structure: object) -> object:
    """The structure of the rows of elements."""
    return nest.map_structure(_row, structure)


def _wider_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    if a.ndims is None or a.ndims != b.ndims:
        return TensorShape(None)
    return TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list())])


def _kind(spec):
    """What is said of it where only types matter."""
    return repr(spec.dtype) if isinstance(spec, TensorSpec) else spec


def wider(a: object, b: object) -> object:
    """The structure that elements of both are of; TypeError where types differ."""
    def join(mine, its):
        if type(mine) is not type(its) or getattr(mine, "dtype", None) != getattr(its, "dtype", None):
            raise TypeError(f"Two datasets to concatenate have different types {_kind(mine)} and {_kind(its)}")
        if isinstance(mine, RaggedTensorSpec):
            return mine.most_specific_compatible_type(its)
        return type(mine)(_wider_shape(mine.shape, its.shape), mine.dtype) if hasattr(mine, "shape") else mine
    return nest.map_structure(join, a, b)


def of_types_and_shapes(output_types: object, output_shapes: object = None, output_classes: object = None) -> object:
    """A structure of specifications from structures of types, shapes and classes."""
    types = nest.flatten(output_types)
    shapes = [TensorShape(None)] * len(types)
    if output_shapes is not None:
        shapes = [TensorShape(s) for s in nest.flatten_up_to(output_types, output_shapes)]
    classes = nest.flatten(output_classes) if output_classes is not None else [Tensor] * len(types)
    leaves = [(SparseTensorSpec if c is SparseTensor else TensorSpec)(s, dtypes.as_dtype(t))
              for t, s, c in zip(types, shapes, classes)]
    return nest.pack(output_types, leaves)

# SPDX-License-Identifier: Apache-2.0
"""Lists of a type that is said (set_element_type): in converted code they grow and shrink within loops and conditionals."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import ops
from thalweg.graph.ops import apply
from thalweg.graph.shapes import as_shape
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import DTypeLike, IntLike, ShapeLike, TensorLike


class TensorList:
    """A list of tensors as one value of the graph. As with a TensorArray, what goes through control flow is its `flow`."""

    _is_tensor_array = True

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, flow: Tensor) -> None:
        self.dtype, self._shape, self.flow = dtypes.as_dtype(dtype).base_dtype, as_shape(shape), flow

    def _with_flow(self, flow: Tensor) -> TensorList:
        return TensorList(self.dtype, self._shape, flow)

    def _shape_tensor(self) -> Tensor:
        dims = self._shape.ndims is not None and [-1 if d is None else d for d in self._shape.as_list()]
        return ops.constant(-1 if dims is False else dims, dtypes.int32)

    def identity(self) -> TensorList:
        return self._with_flow(array_ops.identity(self.flow))

    def append(self, value: TensorLike) -> TensorList:
        """The list with one more element."""
        value = ops.convert_to_tensor(value, dtype=self.dtype)
        return self._with_flow(apply("TensorListPushBack", [self.flow, value], {"element_dtype": self.dtype}))

    def pop(self) -> tuple[TensorList, Tensor]:
        """(the list without its last element, that element)."""
        flow, last = apply("TensorListPopBack", [self.flow, self._shape_tensor()], {"element_dtype": self.dtype})
        return self._with_flow(flow), self._shaped(last)

    def _shaped(self, element: Tensor) -> Tensor:
        element.set_shape(self._shape)
        return element

    def __getitem__(self, index: IntLike) -> Tensor:
        return self._shaped(apply("TensorListGetItem", [self.flow, index, self._shape_tensor()], {"element_dtype": self.dtype}))

    def size(self) -> Tensor:
        return apply("TensorListLength", [self.flow])

    def stack(self) -> Tensor:
        return apply("TensorListStack", [self.flow, self._shape_tensor()], {"element_dtype": self.dtype})


def typed(elements: Any, dtype: DTypeLike, shape: ShapeLike = None) -> TensorList:
    """A list of Python as one whose elements have a type."""
    if isinstance(elements, TensorList):
        return elements
    made = TensorList(dtype, shape, elements)
    made.flow = apply("EmptyTensorList", [made._shape_tensor(), -1], {"element_dtype": made.dtype})
    for element in elements:
        made = made.append(element)
    return made


def append(elements: Any, value: Any) -> Any:
    """What a name holds after `name.append(value)`."""
    if isinstance(elements, TensorList):
        return elements.append(value)
    elements.append(value)
    return elements


def pop(elements: Any, *index: Any) -> tuple[Any, Any]:
    """(what a name holds after `name.pop()`, what that gives)."""
    if isinstance(elements, TensorList) and not index:
        return elements.pop()
    last = elements.pop(*index)
    return elements, last


def stack(list_or_tensor: Any, element_dtype: DTypeLike | None = None, strict: bool = True) -> Any:
    """The elements of a list as one tensor; what is none is handed back, or refused where `strict`."""
    if isinstance(list_or_tensor, TensorList):
        return list_or_tensor.stack()
    if strict and not isinstance(list_or_tensor, Tensor):
        raise ValueError(f"{list_or_tensor} must be stackable when strict=True")
    return list_or_tensor

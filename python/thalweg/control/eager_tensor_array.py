# SPDX-License-Identifier: Apache-2.0
"""TensorArray where operations run at once: a list of Python's."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, errors
from thalweg.control.tensor_array import TensorArray
from thalweg.graph.ops import constant, convert_to_tensor
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from typing import Any, NoReturn, Self

    from thalweg.base.typing import DTypeLike, IntLike, ShapeLike, TensorLike
    from thalweg.graph.tensor import Tensor


class EagerTensorArray(TensorArray):
    """Writes change the array itself, and give it again."""

    def __init__(self, dtype: DTypeLike, size: IntLike | None = None, dynamic_size: bool | None = None,
                 clear_after_read: bool | None = None, tensor_array_name: str | None = None, handle: Tensor | None = None,
                 flow: Tensor | None = None, infer_shape: bool = True, element_shape: ShapeLike = None,
                 colocate_with_first_write_call: bool = True, name: str | None = None) -> None:
        if handle is not None:
            raise ValueError("TensorArray handles are not supported when eager execution is enabled.")
        if size is None:
            raise ValueError("Size must be declared for TensorArrays when eager execution is enabled.")
        self._dtype, self._dynamic_size = dtypes.as_dtype(dtype).base_dtype, bool(dynamic_size)
        self._shapes = [] if element_shape is None else [as_shape(element_shape)]
        self._infer_shape = True if element_shape is not None else infer_shape
        self._clears = clear_after_read is None or bool(clear_after_read)
        self._handle, self._flow = None, constant(0.0)
        self._values: list[Tensor | None] = [None] * int(size)
        self._read: set[int] = set()

    def _with_flow(self, flow):
        return self

    def identity(self) -> Self:
        """The same array."""
        return self

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> NoReturn:
        raise NotImplementedError("TensorArray.grad is not supported when executing eagerly; eager's gradient implementation does not "
                                  "use/need this function to compute gradients of operations that use TensorArrays.")

    def _zeros(self, index):
        """The value at an index; zeros where none was written and their shape is known."""
        value = self._values[index]
        if value is None:
            if not self.element_shape.is_fully_defined():
                raise errors.InvalidArgumentError(None, None, f"Could not read index {index} because it has not been written to, and the "
                                                  "shape of the elements is not known.")
            value = self._values[index] = array_ops.zeros(self.element_shape, self._dtype)
        return value

    def read(self, index: IntLike, name: str | None = None) -> Tensor:
        """The element at `index`."""
        index = int(index)
        if index < 0:
            raise errors.OutOfRangeError(None, None, f"Reading from negative indices (index {index}) is not allowed.")
        if index >= len(self._values):
            raise errors.OutOfRangeError(None, None, f"Tried to read from index {index} but array size is: {len(self._values)}")
        if index in self._read:
            raise errors.InvalidArgumentError(None, None, f"Could not read index {index} twice because it was cleared after a previous "
                                              "read (perhaps try setting clear_after_read = false?)")
        value = self._zeros(index)
        if self._clears:
            self._values[index] = None
            self._read.add(index)
        return value

    def write(self, index: IntLike, value: TensorLike, name: str | None = None) -> Self:
        """The array, with `value` at `index`."""
        index = int(index)
        if index < 0:
            raise errors.OutOfRangeError(None, None, f"Writing to negative indices (index {index}) is not allowed.")
        if index >= len(self._values):
            if not self._dynamic_size:
                raise errors.OutOfRangeError(None, None, f"Tried to write to index {index} but array is not resizeable and size is: "
                                             f"{len(self._values)}")
            self._values += [None] * (index + 1 - len(self._values))
        value = self._value(value)
        if value.dtype.base_dtype is not self._dtype:
            raise errors.InvalidArgumentError(None, None, f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                                              f"{value.dtype.name}")
        if not self.element_shape.is_compatible_with(value.shape):
            raise ValueError(f"Incompatible shape for value ({value.shape}), expected ({self.element_shape})")
        self._learn_shape(value.shape)
        self._values[index] = value
        return self

    def _value(self, value: Any) -> Tensor:
        return convert_to_tensor(value, preferred_dtype=self._dtype)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as the rows of one tensor."""
        if not self._values:
            return array_ops.zeros([0, *(0 if d is None else d for d in self.element_shape._dims or ())], self._dtype)
        return array_ops.stack([self._zeros(i) for i in range(len(self._values))])

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The elements at `indices` as the rows of one tensor."""
        return array_ops.stack([self._zeros(int(i)) for i in convert_to_tensor(indices).numpy()])

    def concat(self, name: str | None = None) -> Tensor:
        """All elements one after the other along their first dimension."""
        return array_ops.concat([self._zeros(i) for i in range(len(self._values))], 0)

    def unstack(self, value: TensorLike, name: str | None = None) -> Self:
        """The array, with the rows of `value` at 0, 1, 2 ..."""
        rows = array_ops.unstack(self._value(value))
        if len(rows) > len(self._values) and not self._dynamic_size:
            raise ValueError(f"Cannot unstack {len(rows)} tensors into a TensorArray of static size {len(self._values)}")
        for i, row in enumerate(rows):
            self.write(i, row)
        return self

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> Self:
        """The array, with the rows of `value` at `indices`."""
        for i, row in zip(convert_to_tensor(indices).numpy(), array_ops.unstack(self._value(value))):
            self.write(i, row)
        return self

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> Self:
        """The array, with pieces of `value`, lengths[i] rows each, at 0, 1, 2 ..."""
        lengths = convert_to_tensor(lengths)
        if lengths.shape.ndims != 1:
            raise errors.InvalidArgumentError(None, None, f"Expected lengths to be a vector, received shape: {lengths.shape}")
        value = self._value(value)
        rows = 0 if value.shape.ndims == 0 else value.shape.as_list()[0]
        total = int(sum(lengths.numpy()))
        if total != rows:
            raise errors.InvalidArgumentError(None, None, f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                                              f"{total} and value's shape is: {value.shape} ")
        if not self._dynamic_size and len(lengths) != len(self._values):
            raise errors.InvalidArgumentError(None, None, "TensorArray's size is not equal to the size of lengths "
                                              f"({len(self._values)} vs. {len(lengths)}), and the TensorArray is not marked as "
                                              "dynamically resizeable")
        begin = 0
        for i, length in enumerate(lengths.numpy()):
            self._learn_nothing_of_rows(i, value[begin:begin + int(length)])
            begin += int(length)
        return self

    def _learn_nothing_of_rows(self, index, piece):
        """Pieces may have different numbers of rows."""
        if index >= len(self._values):
            self._values += [None] * (index + 1 - len(self._values))
        self._values[index] = piece
        shape = TensorShape([None]).concatenate(piece.shape[1:])
        if self._infer_shape:
            self._shapes[:] = [shape if not self._shapes else self._shapes[0].merge_with(shape)]

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        return constant(len(self._values))

    def close(self, name: str | None = None) -> None:
        """Releases the elements."""
        self._values.clear()

    def __repr__(self) -> str:
        return f"<tf.TensorArray of {self._dtype.name}, {len(self._values)} elements>"

# SPDX-License-Identifier: Apache-2.0
"""TensorArray: tensors written once and read by index, in loops above all.

Every write gives a new TensorArray object that has to be used from then on: its `flow`, a float that goes through all
operations on the array, is what orders them and what gradients go along. Loops and conditionals carry the flow.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.graph import get_default_graph, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.shapes import TensorShape, as_shape
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from thalweg.base.typing import DTypeLike, IntLike, ShapeLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.tensor import Operation

_AT_ONCE = "thalweg.control.eager_tensor_array"


class TensorArray:
    """TensorArray(tf.float32, size=10): one for each step that runs it; `write` and `read`, `unstack` and `stack`.

    With `infer_shape` all elements have one shape. With `clear_after_read` (the default) an element is given to the one
    that reads it, so that it can be read once.
    """

    _is_tensor_array = True

    def __new__(cls, *args: object, **kwargs: object):
        if cls is TensorArray and get_default_graph()._executes:
            cls = importlib.import_module(_AT_ONCE).EagerTensorArray  # derived from this, and few programs run operations at once
        return super().__new__(cls)

    def __init__(self, dtype: DTypeLike, size: IntLike | None = None, dynamic_size: bool | None = None,
                 clear_after_read: bool | None = None, tensor_array_name: str | None = None, handle: Tensor | None = None,
                 flow: Tensor | None = None, infer_shape: bool = True, element_shape: ShapeLike = None,
                 colocate_with_first_write_call: bool = True, name: str | None = None) -> None:
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot construct with both handle and tensor_array_name")
        if handle is not None and size is not None:
            raise ValueError("Cannot provide both a handle and size to the constructor")
        if handle is None and size is None:
            raise ValueError("Size must be provided if handle is not provided")
        if handle is not None and dynamic_size is not None:
            raise ValueError("Cannot provide both a handle and dynamic_size to the constructor")
        if handle is not None and clear_after_read is not None:
            raise ValueError("Cannot provide both a handle and clear_after_read to the constructor")
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._colocate = colocate_with_first_write_call
        # One list for all objects of one array: what a write in the body of a loop learns is known after the loop.
        self._shapes = [] if element_shape is None else [as_shape(element_shape)]
        self._infer_shape = True if element_shape is not None else infer_shape
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                self._handle, self._flow = handle, flow
                return
            made = apply("TensorArrayV3", [size], {
                "dtype": self._dtype, "element_shape": as_shape(element_shape), "identical_element_shapes": self._infer_shape,
                "dynamic_size": self._dynamic_size, "clear_after_read": clear_after_read is None or bool(clear_after_read),
                "tensor_array_name": tensor_array_name or ""}, name=scope)
            self._handle, self._flow = made

    @property
    def dtype(self) -> DType: return self._dtype
    @property
    def handle(self) -> Tensor | None: return self._handle
    @property
    def flow(self) -> Tensor: return self._flow
    @property
    def dynamic_size(self) -> bool: return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the elements' shapes."""
        return self._shapes[0] if self._shapes else TensorShape(None)

    def _with_flow(self, flow):
        """The same array after other operations."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, _flow=flow)
        return made

    def _learn_shape(self, shape):
        if not self._infer_shape:
            return
        if not self._shapes:
            self._shapes.append(shape)
        elif not shape.is_compatible_with(self._shapes[0]):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self._shapes[0]} (and infer_shape=True)")
        else:
            self._shapes[0] = self._shapes[0].merge_with(shape)

    def _value(self, value):
        return convert_to_tensor(value, preferred_dtype=self._dtype, name="value")

    def identity(self) -> TensorArray:
        """The same array behind an identity of its flow: after the control dependencies of here."""
        return self._with_flow(apply("Identity", [self._flow]))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The gradient array of this one for the gradients of name `source`."""
        flow = self._flow if flow is None else flow
        with name_scope(name, "TensorArrayGrad", [self._handle]):
            made = apply("TensorArrayGradV3", [self._handle, flow], {"source": source}, name="TensorArrayGradV3")
            with self._handle.graph.control_dependencies([made.grad_handle.op]):
                flow = apply("Identity", [flow], name="gradient_flow")
            result = TensorArray(self._dtype, handle=made.grad_handle, flow=flow, infer_shape=self._infer_shape)
            result._shapes = list(self._shapes)
            return result

    def read(self, index: IntLike, name: str | None = None) -> Tensor:
        """The element at `index`."""
        value = apply("TensorArrayReadV3", [self._handle, index, self._flow], {"dtype": self._dtype},
                      name=name or "TensorArrayReadV3")
        if self._shapes:
            value.set_shape(self._shapes[0])
        return value

    def write(self, index: IntLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array after `value` was written at `index`."""
        with name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = self._value(value)
            self._learn_shape(value.shape)
            flow = apply("TensorArrayWriteV3", [self._handle, index, value, self._flow], name="TensorArrayWriteV3")
        return self._with_flow(flow)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as the rows of one tensor."""
        with name_scope(name, "TensorArrayStack", [self._handle]):
            return self.gather(math_ops.range_(0, self.size()), name=name)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The elements at `indices` as the rows of one tensor."""
        value = apply("TensorArrayGatherV3", [self._handle, indices, self._flow],
                      {"dtype": self._dtype, "element_shape": self.element_shape}, name=name or "TensorArrayGatherV3")
        if self._shapes and self._shapes[0].ndims is not None:
            value.set_shape([None] + self._shapes[0].as_list())
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """All elements one after the other along their first dimension."""
        rest = TensorShape(None)
        if self._shapes and self._shapes[0].ndims is not None:
            rest = self._shapes[0][1:]
        value = apply("TensorArrayConcatV3", [self._handle, self._flow],
                      {"dtype": self._dtype, "element_shape_except0": rest}, name=name or "TensorArrayConcatV3").value
        if rest.ndims is not None:
            value.set_shape([None] + rest.as_list())
        return value

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array after the rows of `value` were written at 0, 1, 2 ..."""
        with name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            value = self._value(value)
            count = array_ops.shape(value)[0]
            return self.scatter(math_ops.range_(0, count), value, name=name)

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array after the rows of `value` were written at `indices`."""
        with name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            value = self._value(value)
            if value.shape.ndims is not None:
                self._learn_shape(value.shape[1:])
            return self._with_flow(apply("TensorArrayScatterV3", [self._handle, indices, value, self._flow],
                                         name=name or "TensorArrayScatterV3"))

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """The array after pieces of `value`, lengths[i] rows each, were written at 0, 1, 2 ..."""
        with name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            value = self._value(value)
            if value.shape.ndims is not None:
                given = () if isinstance(lengths, Tensor) else tuple(lengths)
                rows = int(given[0]) if given and all(g == given[0] for g in given) else None
                self._learn_shape(TensorShape([rows]).concatenate(value.shape[1:]))
            lengths = apply("Cast", [convert_to_tensor(lengths)], {"DstT": dtypes.int64})
            return self._with_flow(apply("TensorArraySplitV3", [self._handle, value, lengths, self._flow],
                                         name=name or "TensorArraySplitV3"))

    def size(self, name: str | None = None) -> Tensor:
        """How many elements there are."""
        return apply("TensorArraySizeV3", [self._handle, self._flow], name=name or "TensorArraySizeV3")

    def close(self, name: str | None = None) -> Operation:
        """An operation that releases the elements."""
        return apply("TensorArrayCloseV3", [self._handle], name=name or "TensorArrayCloseV3")

    def __repr__(self):
        return f"<tf.TensorArray of {self._dtype.name}, handle {self._handle.name!r}>"

# SPDX-License-Identifier: Apache-2.0
"""EagerTensor: a tensor that has its value."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import _core, dtypes
from thalweg.graph.graph import get_default_graph
from thalweg.graph.ops import apply
from thalweg.graph.shapes import TensorShape
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    from thalweg.base.typing import Array, ShapeLike

_MOST_SHAPES = 4096
_shapes: dict[tuple[int, ...], TensorShape] = {}
_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


_OF_GRAPHS = ("op", "graph", "name", "value_index")


def _refuse(_):
    raise AttributeError  # which makes Python ask __getattr__


class EagerTensor(_core.EagerTensor, Tensor):
    """A tensor that has its value: what operations give while they run at once."""

    def __new__(cls, value: object, context: object = None, device: object = None, dtype: object = None) -> EagerTensor:
        number = 0 if dtype is None else dtypes.as_dtype(dtype).base_dtype._number
        return _core.eager_tensor(value, number)

    op = graph = name = value_index = property(_refuse)

    if not TYPE_CHECKING:  # which know what there is
        def __getattr__(self, name: str):
            raise AttributeError(f"Tensor.{name} is meaningless when eager execution is enabled." if name in _OF_GRAPHS else
                                 f"'EagerTensor' object has no attribute '{name}'")

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        dims = self._dims
        found = _shapes.get(dims)
        if found is None:
            if len(_shapes) >= _MOST_SHAPES:
                _shapes.clear()
            found = _shapes[dims] = TensorShape(dims)
        return found

    def set_shape(self, shape: ShapeLike) -> None:
        """Checks the shape."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {shape}")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._dims)

    @property
    def device(self) -> str:
        """The device that has the value."""
        return _CPU

    backing_device = device

    def consumers(self) -> NoReturn:
        raise NotImplementedError("Tensor.consumers is meaningless when eager execution is enabled.")

    def eval(self, feed_dict: object = None, session: object = None) -> NoReturn:
        raise NotImplementedError("eval is not supported when eager execution is enabled, is .numpy() what you're looking for?")

    def numpy(self) -> Any:
        """The value as a numpy array or scalar of the caller's own; of strings: bytes, or an array of them."""
        if self.dtype in (dtypes.resource, dtypes.variant):
            raise ValueError("Resource handles are not convertible to numpy." if self.dtype is dtypes.resource else
                             f"Tensors of type {self.dtype.name} are not convertible to numpy.")
        return self._numpy()

    def cpu(self) -> EagerTensor:
        """The tensor in the memory of the host."""
        return self

    def gpu(self, gpu_index: int = 0) -> NoReturn:
        raise RuntimeError("There are no GPUs here.")

    def _shape_tuple(self) -> tuple[int, ...]:
        return self._dims

    def _rank(self) -> int:
        return len(self._dims)

    def _num_elements(self) -> int:
        return int(np.prod(self._dims, dtype=np.int64))

    def _shape_as_list(self) -> list[int]:
        return list(self._dims)

    def _datatype_enum(self) -> int:
        return self._dtype

    # ---- Python's own operators ----
    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        value = self.numpy()
        value = np.asarray(value, object if isinstance(value, bytes) else None)  # else zeros at its end would be lost
        return value if dtype is None else value.astype(dtype)

    def __dlpack__(self, **kwargs: object) -> Any:
        return np.asarray(self.numpy()).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __bool__(self) -> bool:
        return bool(self._numpy())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._numpy())

    def __float__(self) -> float:
        return float(self._numpy())

    def __complex__(self) -> complex:
        return complex(self._numpy())

    def __index__(self) -> int:
        value = self._numpy()
        if not isinstance(value, np.integer):
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(value)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._numpy(), digits)

    def __format__(self, spec: str) -> str:
        return format(self._numpy(), spec) if spec and self.dtype not in (dtypes.resource, dtypes.variant) else str(self).__format__(spec)

    def __len__(self) -> int:
        if not self._dims:
            raise TypeError("Scalar tensor has no `len()`")
        return self._dims[0]

    def __iter__(self) -> Iterator[EagerTensor]:
        if not self._dims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return iter(apply("Unpack", [self], {"num": self._dims[0], "axis": 0}) if self._dims[0] else [])

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: object) -> EagerTensor:
        return self if self.dtype in (dtypes.resource, dtypes.variant) else _core.eager_tensor(self._numpy(), self._dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return EagerTensor, (self.numpy(), None, None, self.dtype.as_numpy_dtype)

    def __repr__(self) -> str:
        return f"<tf.Tensor: id={self._id}, shape={self.shape}, dtype={self.dtype.name}, numpy={value_text(self, True)}>"

    def __str__(self) -> str:
        return f"tf.Tensor({value_text(self, False)}, shape={self.shape}, dtype={self.dtype.name})"


def value_text(tensor: EagerTensor, is_repr: bool) -> str:
    """The value of a tensor as its repr and str show it."""
    if tensor.dtype in (dtypes.resource, dtypes.variant):
        return "<unprintable>"
    value = tensor._numpy()
    text = repr(value) if is_repr and not isinstance(value, np.generic) else str(value)
    return "\n" + text if "\n" in text else text


def is_eager(value: object) -> bool:
    """Whether it is a tensor that has its value."""
    return isinstance(value, EagerTensor)


def executing_eagerly() -> bool:
    """Whether operations of this thread run when they are made."""
    return get_default_graph()._executes


_core.set_eager_class(EagerTensor)

# SPDX-License-Identifier: Apache-2.0
"""What a Saver can save that is no variable: an object that says which tensors stand for it, and how it is set again."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.ops import convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.base.typing import DTypeLike, ShapeLike
    from thalweg.graph.tensor import Operation, Tensor


class SaveSpec:
    """One tensor of a checkpoint. `slice_spec` is the part of a larger one, in the words of SaveV2, "" for the whole; a tensor
    that a function makes needs its type and device."""

    def __init__(self, tensor: Tensor | Callable[[], Tensor], slice_spec: str, name: str, dtype: DTypeLike | None = None,
                 device: object = None) -> None:
        if callable(tensor) and (dtype is None or device is None):
            raise AssertionError("When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must be provided.")
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        self.dtype = tensor.dtype if dtype is None else dtype
        self.device = getattr(tensor, "device", "") if device is None else device

    @property
    def tensor(self) -> Tensor:
        """What is saved, made when it is asked for."""
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """`op` is what is saved, `specs` the tensors that stand for it, `name` what a Saver knows it by."""

    def __init__(self, op: object, specs: Sequence[SaveSpec], name: str) -> None:
        self.op, self.specs, self.name = op, specs, name

    @property
    def optional_restore(self) -> bool:
        """Whether checkpoints may lack it."""
        return False

    @property
    def device(self) -> str:
        """Where the first tensor is."""
        return self.specs[0].device

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[ShapeLike] | None) -> Operation:
        """The operation that sets the object to the tensors of a checkpoint; `restored_shapes` where the Saver reshapes."""
        raise ValueError("Calling an abstract method.")


class BaseSaverBuilder:
    """Where TensorFlow keeps these names."""

    SaveSpec = SaveSpec
    SaveableObject = SaveableObject


def entries(saveables: Sequence[SaveableObject]) -> tuple[list[str], list[str], list[Tensor]]:
    """(names, slices, tensors) that a checkpoint has of them."""
    specs = [spec for s in saveables for spec in s.specs]
    return [s.name for s in specs], [s.slice_spec for s in specs], [convert_to_tensor(s.tensor) for s in specs]


def restore_operations(saveables: Sequence[SaveableObject], restored: Sequence[Tensor], reshape: bool) -> list[Operation]:
    """What sets them to the restored tensors."""
    found, at = [], 0
    for saveable in saveables:
        values = restored[at:at + len(saveable.specs)]
        at += len(saveable.specs)
        shapes = [spec.tensor.shape for spec in saveable.specs] if reshape else None
        done = saveable.restore(values, shapes)
        found.append(getattr(done, "op", done))
    return found

# SPDX-License-Identifier: Apache-2.0
"""Parts of variables as checkpoints have them: several slices under the name of the whole."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.graph.graph import prepend_name_scope, strip_name_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.graph.tensor import Tensor
    from thalweg.messages import SaveSliceInfoDef
    from thalweg.variables.variables import Variable


class SaveSliceInfo:
    """Where a part lies in the tensor that it is a slice of."""

    def __init__(self, full_name: str | None = None, full_shape: Sequence[int] | None = None,
                 var_offset: Sequence[int] | None = None, var_shape: Sequence[int] | None = None,
                 save_slice_info_def: SaveSliceInfoDef | None = None, import_scope: str | None = None) -> None:
        if save_slice_info_def is not None:
            given = save_slice_info_def
            full_name = prepend_name_scope(given.full_name, import_scope)
            full_shape, var_offset, var_shape = given.full_shape, given.var_offset, given.var_shape
        self.full_name = full_name
        self.full_shape, self.var_offset, self.var_shape = ([int(n) for n in sizes or []] for sizes in (
            full_shape, var_offset, var_shape))

    @property
    def spec(self) -> str:
        """What SaveV2 and RestoreV2 take as shape and slice: "10 4 0,5:0,4"."""
        return "".join(f"{n} " for n in self.full_shape) + ":".join(f"{o},{n}" for o, n in zip(self.var_offset, self.var_shape))

    def to_proto(self, export_scope: str | None = None) -> SaveSliceInfoDef | None:
        """A SaveSliceInfoDef, or None for what is not within the scope."""
        if export_scope and not self.full_name.startswith(export_scope):
            return None
        return messages.SaveSliceInfoDef(full_name=strip_name_scope(self.full_name, export_scope), full_shape=self.full_shape,
                                         var_offset=self.var_offset, var_shape=self.var_shape)


def follow(slot: Variable, primary: Variable | Tensor) -> None:
    """A variable that is to another what a slot is to its primary, of the same shape, is partitioned like it. Its name in checkpoints
    is cut as TensorFlow cuts it: from a slot that lies in a scope, as those of ready-made models do, not behind a "/"."""
    info = getattr(primary, "_save_slice_info", None)
    if info is not None and slot._save_slice_info is None and primary.op.name + "/" in slot.op.name and \
            slot.shape.is_compatible_with(primary.shape):
        name = f"{info.full_name}/{slot.op.name[len(primary.op.name) + 1:]}"
        slot._set_save_slice_info(SaveSliceInfo(name, info.full_shape, info.var_offset, info.var_shape))

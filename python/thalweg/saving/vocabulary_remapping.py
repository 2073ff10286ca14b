# SPDX-License-Identifier: Apache-2.0
"""Variables whose rows or columns stand for the lines of a vocabulary, from a checkpoint of another vocabulary."""
from __future__ import annotations

import collections
import os
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph import graph, ops
from thalweg.graph.ops import convert_to_tensor

if TYPE_CHECKING:
    from typing import Self

    from thalweg.base.typing import Initializer, PathLike
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable


class VocabInfo(collections.namedtuple("VocabInfo", "new_vocab new_vocab_size num_oov_buckets old_vocab old_vocab_size "
                                                    "backup_initializer axis")):
    """How the rows (axis 0) or columns (axis 1) of a variable stand for the lines of a vocabulary, now and in a checkpoint."""

    def __new__(cls, new_vocab: PathLike, new_vocab_size: int, num_oov_buckets: int, old_vocab: PathLike,
                old_vocab_size: int = -1, backup_initializer: Initializer | None = None, axis: int = 0) -> Self:
        if axis not in (0, 1):
            raise ValueError(f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}")
        return super().__new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size, backup_initializer, axis)


def _zeros(shape):
    return ops.apply("Fill", [shape, 0.0])


def _as_int32(n):
    return ops.apply("Cast", [convert_to_tensor(n)], {"DstT": dtypes.int32})


def _initial(info, shape):
    """A tensor of this shape, perhaps known only when it runs, of what has no value in the checkpoint."""
    shape = ops.apply("Pack", [[_as_int32(n) for n in shape]])
    return convert_to_tensor((info.backup_initializer or _zeros)(shape))


def _remapping(info, offset, count):
    """(old places of `count` new lines, how many of them the old vocabulary has)."""
    return ops.apply("GenerateVocabRemapping", [os.fsdecode(info.new_vocab), os.fsdecode(info.old_vocab)],
                     {"new_vocab_offset": offset, "num_new_vocab": count, "old_vocab_size": info.old_vocab_size})


def remapped(path: str, name: str, info: VocabInfo, shape: list[int], offset: int, total_rows: int) -> Tensor:
    """The value of a variable of `shape`, which begins at row `offset` of `total_rows`, from tensor `name` of a checkpoint."""
    if len(shape) != 2:
        raise ValueError(f"Only variables of two dimensions have rows and columns of a vocabulary, but '{name}' has the shape {shape}")
    rows, columns = shape
    by_row = info.axis == 0
    vocabulary = info.new_vocab_size + info.num_oov_buckets
    found = total_rows if by_row else columns
    if found > vocabulary or not by_row and found != vocabulary:  # rows may be fewer: the first lines
        raise ValueError(f"'{name}' has {found} {'rows' if by_row else 'columns'}, the vocabulary {info.new_vocab_size} lines and "
                         f"{info.num_oov_buckets} buckets for words that it does not have")
    loaded_rows = min(rows, max(0, info.new_vocab_size - offset)) if by_row else rows
    loaded_columns = columns if by_row else info.new_vocab_size
    if loaded_rows == 0:
        return _initial(info, shape)  # nothing but buckets
    if by_row:
        row_places, rows_present = _remapping(info, offset, loaded_rows)
        column_places, columns_present = convert_to_tensor([], dtypes.int64), columns  # all, where they are
    else:
        row_places, rows_present = convert_to_tensor(list(range(offset, offset + rows)), dtypes.int64), rows
        column_places, columns_present = _remapping(info, 0, loaded_columns)
    present = ops.apply("Mul", [_as_int32(rows_present), _as_int32(columns_present)])
    missing = ops.apply("Sub", [convert_to_tensor(loaded_rows * loaded_columns), present])
    value = ops.apply("LoadAndRemapMatrix", [path, name, row_places, column_places, _initial(info, [missing, 1])],
                      {"num_rows": loaded_rows, "num_cols": loaded_columns, "max_rows_in_memory": -1})
    if rows > loaded_rows:
        value = ops.apply("ConcatV2", [[value, _initial(info, [rows - loaded_rows, columns])], 0])
    if columns > loaded_columns:
        value = ops.apply("ConcatV2", [[value, _initial(info, [rows, columns - loaded_columns])], 1])
    value.set_shape(shape)
    return value


def start_with(variable: Variable, value: Tensor) -> None:
    """The initializer of a variable gives this value."""
    variable._initial_value = value
    if variable._resource:
        variable._initializer = ops.apply("AssignVariableOp", [variable.handle, value])
    else:
        variable._initializer = ops.apply("Assign", [variable._ref_tensor, value]).op


def start_remapped(path: str, name: str, info: VocabInfo, parts: list[Variable]) -> None:
    """The initializers of the parts of a variable give what the checkpoint has under a name, at the places of the new vocabulary."""
    total_rows = sum(part.shape.as_list()[0] for part in parts)
    for part in parts:
        shape, slices = part.shape.as_list(), part._save_slice_info
        with part.graph.control_dependencies(None), graph.name_scope("checkpoint_initializer"):
            start_with(part, remapped(path, name, info, shape, slices.var_offset[0] if slices else 0, total_rows))

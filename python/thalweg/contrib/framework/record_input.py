# SPDX-License-Identifier: Apache-2.0
"""RecordInput: shuffled records of files."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph import graph, ops
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from thalweg.base.typing import IntLike, PathLike
    from thalweg.graph.tensor import Tensor


class RecordInput:
    """RecordInput("train-*", batch_size=32).get_yield_op(): the next records, each a text."""

    def __init__(self, file_pattern: PathLike, batch_size: IntLike = 1, buffer_size: int = 1, parallelism: int = 1,
                 shift_ratio: float = 0, seed: int = 0, name: str | None = None, batches: int | None = None,
                 compression_type: str | None = None) -> None:
        self._attrs = {"file_pattern": file_pattern, "file_buffer_size": buffer_size, "file_parallelism": parallelism,
                       "file_shuffle_shift_ratio": shift_ratio, "file_random_seed": seed,
                       "batch_size": batch_size * (batches or 1), "compression_type": compression_type or ""}
        self._batches, self._name = batches, name

    def get_yield_op(self) -> Tensor | list[list[Tensor]]:
        """A vector of records; where there are `batches`, a list of so many lists of scalars."""
        records = ops.apply("RecordInput", [], self._attrs, name=self._name)
        if self._batches is None:
            return records
        with graph.name_scope(self._name):
            parts = array_ops.split(records, self._attrs["batch_size"], 0)
            scalars = [array_ops.reshape(part, []) for part in parts]
            return [scalars[i::self._batches] for i in range(self._batches)]

# SPDX-License-Identifier: Apache-2.0
"""RecordInput: shuffled records of files."""
from thalweg.graph import graph, ops
from thalweg.operations import array_ops


class RecordInput:
    """RecordInput("train-*", batch_size=32).get_yield_op(): the next records, each a text."""

    def __init__(self, file_pattern, batch_size=1, buffer_size=1, parallelism=1, shift_ratio=0, seed=0, name=None, batches=None,
                 compression_type=None):
        self._attrs = {"file_pattern": file_pattern, "file_buffer_size": buffer_size, "file_parallelism": parallelism,
                       "file_shuffle_shift_ratio": shift_ratio, "file_random_seed": seed,
                       "batch_size": batch_size * (batches or 1), "compression_type": compression_type or ""}
        self._batches, self._name = batches, name

    def get_yield_op(self):
        """A vector of records; where there are `batches`, a list of so many lists of scalars."""
        records = ops.apply("RecordInput", [], self._attrs, name=self._name)
        if self._batches is None:
            return records
        with graph.name_scope(self._name):
            parts = array_ops.split(records, self._attrs["batch_size"], 0)
            scalars = [array_ops.reshape(part, []) for part in parts]
            return [scalars[i::self._batches] for i in range(self._batches)]

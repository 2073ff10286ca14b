# SPDX-License-Identifier: Apache-2.0
"""RaggedTensorValue: what a fetched RaggedTensor is: arrays of numpy."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any


class RaggedTensorValue:
    """Rows of different lengths: row i holds values[row_splits[i]:row_splits[i + 1]]. The values may be ragged themselves."""

    def __init__(self, values: Any, row_splits: np.ndarray) -> None:
        if not (isinstance(row_splits, (np.ndarray, np.generic)) and row_splits.dtype in (np.int64, np.int32)
                and row_splits.ndim == 1):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values, self._row_splits = values, row_splits

    @property
    def values(self) -> Any: return self._values
    @property
    def row_splits(self) -> np.ndarray: return self._row_splits

    @property
    def flat_values(self) -> np.ndarray:
        """The innermost values."""
        return self._values.flat_values if isinstance(self._values, RaggedTensorValue) else self._values

    @property
    def nested_row_splits(self) -> tuple[np.ndarray, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()
        return (self._row_splits, *inner)

    @property
    def dtype(self) -> np.dtype: return self._values.dtype
    @property
    def ragged_rank(self) -> int: return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """None for each ragged dimension."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Nested lists."""
        values = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [values[begin:end] for begin, end in zip(self._row_splits[:-1], self._row_splits[1:])]

    def __str__(self):
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self):
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"

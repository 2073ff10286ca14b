# SPDX-License-Identifier: Apache-2.0
"""slim.data_provider: tensors of a dataset by the names of its items."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.graph.tensor import Tensor


__all__ = ["DataProvider"]


class DataProvider:
    """The tensors of one record.

    Parameters
    ----------
    items_to_tensors : dict
        From an item's name to its tensor.
    num_samples : int
        How many records there are.
    """

    def __init__(self, items_to_tensors: Mapping[str, Tensor], num_samples: int) -> None:
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items: Sequence[str]) -> list[Tensor]:
        """The tensors of these items, in this order. ValueError for one that is not there."""
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        valid = self.list_items()
        for item in items:
            if item not in valid:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {valid}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """The names of the items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int:
        """How many records there are."""
        return self._num_samples


names.complete(globals())

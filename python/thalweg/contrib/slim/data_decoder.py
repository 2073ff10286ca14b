# SPDX-License-Identifier: Apache-2.0
"""tensorflow.contrib.slim.python.slim.data.data_decoder: what decoders of records derive from."""
from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


__all__ = ["DataDecoder"]


class DataDecoder(metaclass=abc.ABCMeta):
    """Makes tensors, which it calls items, of one record."""

    @abc.abstractmethod
    def decode(self, data: TensorLike, items: Sequence[str]) -> list[Tensor]:
        """The tensors of these items, in this order."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """The names of the items that there are."""


names.complete(globals())

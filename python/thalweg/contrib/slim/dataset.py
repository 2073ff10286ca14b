# SPDX-License-Identifier: Apache-2.0
"""slim.dataset: where the records of a dataset are, and how they are read."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from thalweg.contrib.slim.data_decoder import DataDecoder
    from thalweg.operations.readers import ReaderBase


__all__ = ["Dataset"]


class Dataset:
    """What a DatasetDataProvider is made of.

    Parameters
    ----------
    data_sources : str or list of str
        Files, or patterns of them.
    reader : class
        Of readers, such as TFRecordReader.
    decoder : DataDecoder
        Makes items of a record.
    num_samples : int
        How many records there are.
    items_to_descriptions : dict
        From an item's name to what it is, for people.
    **kwargs
        Further attributes, such as num_classes.
    """

    def __init__(self, data_sources: str | Sequence[str], reader: Callable[..., ReaderBase], decoder: DataDecoder, num_samples: int,
                 items_to_descriptions: Mapping[str, str], **kwargs: Any) -> None:
        self.__dict__.update(kwargs, data_sources=data_sources, reader=reader, decoder=decoder, num_samples=num_samples,
                             items_to_descriptions=items_to_descriptions)


names.complete(globals())

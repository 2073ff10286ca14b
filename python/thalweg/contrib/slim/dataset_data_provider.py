# SPDX-License-Identifier: Apache-2.0
"""slim.dataset_data_provider: the records of a Dataset, read by queues."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.contrib.slim import parallel_reader
from thalweg.contrib.slim.data_provider import DataProvider

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from thalweg.contrib.slim.dataset import Dataset


__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """The items of one record of a dataset, and its key.

    Parameters
    ----------
    dataset : Dataset
        Of slim.
    num_readers, reader_kwargs, shuffle, num_epochs, seed, scope
        See `parallel_reader.parallel_read`.
    common_queue_capacity, common_queue_min : int
        How many records may wait, and how many stay to be shuffled.
    record_key : str
        The item that is the record's key: file and place.

    Raises
    ------
    ValueError
        If the dataset has an item of that name.
    """

    def __init__(self, dataset: Dataset, num_readers: int = 1, reader_kwargs: Mapping[str, Any] | None = None, shuffle: bool = True,
                 num_epochs: int | None = None, common_queue_capacity: int = 256, common_queue_min: int = 128,
                 record_key: str = "record_key", seed: int | None = None, scope: str | None = None) -> None:
        key, data = parallel_reader.parallel_read(
            dataset.data_sources, reader_class=dataset.reader, num_epochs=num_epochs, num_readers=num_readers, reader_kwargs=reader_kwargs,
            shuffle=shuffle, capacity=common_queue_capacity, min_after_dequeue=common_queue_min, seed=seed, scope=scope)
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}")
        tensors = dict(zip(items, dataset.decoder.decode(data, items)))
        super().__init__({**tensors, record_key: key}, dataset.num_samples)


names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""Datasets of the features of Example messages."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data.dataset import AUTOTUNE, Dataset
from thalweg.data.readers import TFRecordDataset
from thalweg.operations.parsing import parse_example

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from thalweg.base.typing import IntLike
    from thalweg.data.experimental.transformations import Transformation


def parse_example_dataset(features: Mapping[str, object], num_parallel_calls: IntLike = 1) -> Transformation:
    """Dictionaries of the features of batches of serialized Examples: tensors and SparseTensors, as tw.parse_example gives them."""
    if features is None:
        raise ValueError("Missing: features was None.")

    def parse(dataset: Dataset) -> Dataset:
        spec = dataset.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype != dtypes.string or not spec.shape.is_compatible_with([None]):
            raise TypeError(f"Input dataset should be a dataset of vectors of strings, got elements of {spec}")
        return dataset.map(lambda serialized: parse_example(serialized, features), num_parallel_calls)
    return parse


def make_batched_features_dataset(file_pattern: object, batch_size: IntLike, features: Mapping[str, object],
                                  reader: Callable[..., Dataset] = TFRecordDataset, label_key: str | None = None,
                                  reader_args: Sequence[object] | None = None, num_epochs: int | None = None, shuffle: bool = True,
                                  shuffle_buffer_size: IntLike = 10000, shuffle_seed: int | None = None,
                                  prefetch_buffer_size: IntLike | None = None, reader_num_threads: IntLike | None = None,
                                  parser_num_threads: IntLike | None = None, sloppy_ordering: bool = False,
                                  drop_final_batch: bool = False) -> Dataset:
    """Batches of the features of the Examples in files, as dictionaries; with `label_key`, pairs of one and that feature.

    `features` is what tw.parse_example shall find; `reader(name, *reader_args)` is the dataset of a file's records, or of pairs of a key
    and a record. All files are read `num_epochs` times, or without it for ever. With `shuffle` files, and records among
    `shuffle_buffer_size` of them, come in another order in each epoch. `reader_num_threads` files are read and `parser_num_threads`
    batches parsed at once, 1 and 2; with `sloppy_ordering` a file that is slow does not hold up others.
    """
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")
    names = Dataset.list_files(file_pattern, shuffle, shuffle_seed)
    threads = reader_num_threads or 1
    records = names.interleave(lambda name: reader(name, *(reader_args or ())), threads, 1, threads if threads != 1 else None,
                               deterministic=not sloppy_ordering)
    if isinstance(records.element_spec, tuple):
        records = records.map(lambda _, record: record)
    if shuffle:
        records = records.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        records = records.repeat(num_epochs)
    # Without end every batch is whole, and its size is known.
    batches = records.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    found = batches.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key is not None:
        found = found.map(lambda parsed: ({key: value for key, value in parsed.items() if key != label_key}, parsed[label_key]))
    return found.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)

# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn.datasets.base: examples of CSV files; files that are there already."""
from __future__ import annotations

import collections
import csv
import os
from typing import TYPE_CHECKING

import numpy as np

from thalweg import gfile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thalweg.base.typing import PathLike

Dataset = collections.namedtuple("Dataset", ["data", "target"])
Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])


def _split(records: Iterable[list[str]], target_dtype: object, features_dtype: object, target_column: int) -> Dataset:
    data, target = [], []
    for record in records:
        target.append(record.pop(target_column))
        data.append(np.asarray(record, features_dtype))
    return Dataset(np.array(data), np.array(target, target_dtype))


def load_csv_with_header(filename: PathLike, target_dtype: object, features_dtype: object, target_column: int = -1) -> Dataset:
    """Examples of a CSV file whose first record begins with their number and that of their features."""
    with gfile.Open(filename) as file:
        records = csv.reader(file)
        try:
            count, features = (int(field) for field in next(records, ())[:2])
        except ValueError as error:
            raise ValueError(f"{filename} does not begin with the numbers of its examples and of their features: {error}") from error
        found = _split(records, target_dtype, features_dtype, target_column)
    if len(found.data) != count or count and found.data.shape[1] != features:
        raise ValueError(f"{filename} says that it holds {count} examples of {features} features, and holds {found.data.shape}")
    return found


def load_csv_without_header(filename: PathLike, target_dtype: object, features_dtype: object, target_column: int = -1) -> Dataset:
    """Examples of a CSV file."""
    with gfile.Open(filename) as file:
        return _split(csv.reader(file), target_dtype, features_dtype, target_column)


def maybe_download(filename: PathLike, work_directory: PathLike, source_url: str) -> str:
    """The path of a file that is in a folder already. Nothing is ever fetched: where it is not there, FileNotFoundError says from where
    it can be had."""
    path = os.path.join(work_directory, filename)
    if not gfile.Exists(path):
        raise FileNotFoundError(f"there is no file {path}. Thalweg downloads nothing: fetch it from {source_url} yourself")
    return path

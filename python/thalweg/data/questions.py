# SPDX-License-Identifier: Apache-2.0
"""The functions of 1.15 that ask a dataset or an iterator for what are attributes and methods there too."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from thalweg.data.dataset import Dataset
    from thalweg.data.iterators import Iterator


def get_output_types(dataset_or_iterator: Dataset | Iterator) -> Any:
    """The structure of the components' types."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """The structure of the components' shapes."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """The structure of the components' classes."""
    return dataset_or_iterator.output_classes


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Makes an iterator that goes through a dataset once and needs no initializer.

    Parameters
    ----------
    dataset : Dataset
        One that reads no variables or tables.

    Returns
    -------
    Iterator

    Examples
    --------
    >>> element = tw.compat.v1.data.make_one_shot_iterator(tw.data.Dataset.range(2)).get_next()
    >>> with tw.Session() as sess:
    ...     print(sess.run(element), sess.run(element))
    0 1
    """
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """dataset.make_initializable_iterator(shared_name)."""
    return dataset.make_initializable_iterator(shared_name)

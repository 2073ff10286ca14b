# SPDX-License-Identifier: Apache-2.0
"""Datasets of the elements of a Python list."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.data import nest, structure
from thalweg.data.dataset import Dataset
from thalweg.data.making import make

if TYPE_CHECKING:
    from collections.abc import Sequence


def _shape_of(spec):
    """The structure alone."""
    return nest.map_structure(lambda leaf: 0, spec)


def from_list(elements: Sequence[object], name: str | None = None) -> Dataset:
    """A dataset of the elements of a list, which may be structures and have different shapes.

    Parameters
    ----------
    elements : list
        Of values of one structure and type.
    name : str, optional
        Of the operation.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If it is no list, is empty, or its elements are of different structures. TypeError: they are of different types.

    Examples
    --------
    >>> dataset = tw.data.experimental.from_list([(1, "a"), (2, "b")])
    >>> following = dataset.make_one_shot_iterator().get_next()
    >>> with tw.Session() as sess:
    ...     print([tuple(sess.run(following)) for _ in range(2)][1][1])
    b'b'
    """
    if not isinstance(elements, list):
        raise ValueError("Invalid `elements`. `elements` must be a list.")
    if not elements:
        raise ValueError("Invalid `elements`. `elements` should not be empty. If you want an empty dataset, use `tf.data.Dataset.range(0)`.")
    # A list in the place of an element is a tensor.
    specs = [structure.spec_of_component(e) if isinstance(e, list) else structure.spec_of_value(e) for e in elements]
    whole = specs[0]
    for spec in specs[1:]:
        if _shape_of(whole) != _shape_of(spec):
            raise ValueError(f"The two structures don't have the same nested structure. First structure: {whole}, second structure: {spec}")
        whole = structure.wider(whole, spec)
    tensors = [tensor for e in elements for tensor in structure.to_tensors(whole, e)]
    return make("ListDataset", [tensors], whole, name=name)

# SPDX-License-Identifier: Apache-2.0
"""Datasets of the names of files."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data.making import make
from thalweg.graph.graph import control_dependencies
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, string_ops
from thalweg.operations.checks import Assert

if TYPE_CHECKING:
    from thalweg.data.dataset import Dataset


def list_files(file_pattern: object, shuffle: bool | None = None, seed: int | None = None, name: str | None = None) -> Dataset:
    """See Dataset.list_files."""
    again = shuffle is None
    shuffle = True if shuffle is None else shuffle
    pattern = convert_to_tensor(file_pattern, dtypes.string)
    found = apply("MatchingFiles", [pattern])
    none = string_ops.string_join(["No files matched pattern: ",
                                   string_ops.reduce_join(array_ops.reshape(pattern, [-1]), 0, separator=", ")])
    with control_dependencies([Assert(array_ops.shape(found)[0] > 0, [none], summarize=1)]):
        found = array_ops.identity(found)
    dataset = make("TensorSliceDataset", [[found]], TensorSpec([], dtypes.string), types="Toutput_types", name=name)
    if not shuffle:
        return dataset
    count = apply("Maximum", [array_ops.shape(found, out_type=dtypes.int64)[0], convert_to_tensor(1, dtypes.int64)])
    return dataset.shuffle(count, seed=seed, reshuffle_each_iteration=again or None)

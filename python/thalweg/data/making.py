# SPDX-License-Identifier: Apache-2.0
"""Datasets as operations of the graph: what makes one of others."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.data import structure
from thalweg.graph import graph as graph_module
from thalweg.graph.ops import apply, convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import IntLike
    from thalweg.data.dataset import Dataset
    from thalweg.graph.tensor import Tensor


def int64(value: IntLike) -> Tensor:
    """A number as operations of datasets take it."""
    return convert_to_tensor(value, dtypes.int64)


def seeds_of(seed: int | None) -> list[Tensor]:
    """The two seeds of a random dataset: zeros for any."""
    first, second = graph_module.get_seed(seed)
    return [int64(first or 0), int64(second or 0)]


def make(op: str, inputs: Sequence[object], element_spec: object, attrs: dict[str, object] | None = None,
         types: str = "output_types", name: str | None = None) -> Dataset:
    """The dataset that operation `op` makes of the inputs, datasets and others, with the options of those datasets. `types`:
    the attribute that says the components' types; empty where the operation says nothing of its elements."""
    said = dict(attrs or {})
    if types:
        said["output_shapes"] = structure.shapes_of(element_spec)
    if types == "output_types":
        said[types] = structure.types_of(element_spec)
    of = structure.dataset_class()
    before: list[Dataset] = []

    def plain(value):
        if isinstance(value, of):
            before.append(value)
            return value._variant
        return [plain(v) for v in value] if isinstance(value, list) else value

    made = of._of(apply(op, [plain(v) for v in inputs], said, name), element_spec)
    for dataset in before:
        if dataset._options is not None:
            made._options = made.options().merge(dataset._options)
    return made

# SPDX-License-Identifier: Apache-2.0
"""Datasets as operations of the graph: what makes one of others."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.data import structure
from thalweg.graph.ops import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.data.dataset import Dataset


def make(op: str, inputs: Sequence[object], element_spec: object, attrs: dict[str, object] | None = None,
         types: str = "output_types") -> Dataset:
    """The dataset that operation `op` makes of the inputs. `types`: the attribute that says the components' types; empty where
    the operation says nothing of its elements."""
    said = dict(attrs or {})
    if types:
        said["output_shapes"] = structure.shapes_of(element_spec)
    if types == "output_types":
        said[types] = structure.types_of(element_spec)
    return structure.dataset_class()._of(apply(op, list(inputs), said), element_spec)

# SPDX-License-Identifier: Apache-2.0
"""What is left of a dataset after all its elements were seen."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.data import nest, structure
from thalweg.data.dataset_functions import ElementFunction
from thalweg.graph.ops import apply

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.data.dataset import Dataset


def stateful_function(function: Callable[..., object], state_spec: object, element_spec: object, what: str) -> ElementFunction:
    """A function of a state and an element."""
    return ElementFunction(function, (state_spec, element_spec), what)


def reduce(dataset: Dataset, initial_state: object, reduce_func: Callable[..., object], name: str | None = None) -> Any:
    """See Dataset.reduce."""
    spec = structure.spec_of_value(initial_state)
    function = stateful_function(reduce_func, spec, dataset.element_spec, "reduce")
    found, wanted = nest.flatten(function.output_structure), nest.flatten(spec)
    if [getattr(f, "dtype", None) for f in found] != [getattr(w, "dtype", None) for w in wanted]:
        raise TypeError(f"The element types for the new state must match the initial state. Expected {spec}; got "
                        f"{function.output_structure}.")
    spec = structure.wider(spec, nest.pack(spec, found))
    flat = apply("ReduceDataset", [dataset._variant, structure.to_tensors(spec, initial_state), function.captured],
                 {"f": function.defined, "output_types": structure.types_of(spec), "output_shapes": structure.shapes_of(spec)}, name)
    return structure.from_tensors(spec, structure.as_list(flat))


def single_element(dataset: Dataset, name: str | None = None) -> Any:
    """The one element of a dataset; InvalidArgumentError when the step runs and there is none, or more."""
    spec = dataset.element_spec
    flat = apply("DatasetToSingleElement", [dataset._variant],
                 {"output_types": structure.types_of(spec), "output_shapes": structure.shapes_of(spec)}, name)
    return structure.from_tensors(spec, structure.as_list(flat))

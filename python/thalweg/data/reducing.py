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


def stateful_function(function: Callable[..., object], state: object, element_spec: object, what: str,
                      next_of: Callable[[Any], Any]) -> tuple[ElementFunction, Any]:
    """A function of a state and an element, and what is true of all states; `next_of`: the next state, of what it gives."""
    while True:
        made = ElementFunction(function, (state, element_spec), what)
        following = next_of(made.output_structure)
        found, wanted = nest.flatten(following), nest.flatten(state)
        if [getattr(f, "dtype", None) for f in found] != [getattr(w, "dtype", None) for w in wanted]:
            raise TypeError(f"The element types for the new state must match the initial state. Expected {state}; got {following}.")
        # The shapes of states that grow are those that stay true of the next one.
        wider = structure.wider(state, nest.pack(state, found))
        if [str(s) for s in structure.shapes_of(state)] == [str(s) for s in structure.shapes_of(wider)]:
            return made, state
        state = wider


def reduce(dataset: Dataset, initial_state: object, reduce_func: Callable[..., object], name: str | None = None) -> Any:
    """See Dataset.reduce."""
    function, spec = stateful_function(reduce_func, structure.spec_of_value(initial_state), dataset.element_spec, "reduce",
                                       lambda given: given)
    flat = apply("ReduceDataset", [dataset._variant, structure.to_tensors(spec, initial_state), function.captured],
                 {"f": function.defined, "output_types": structure.types_of(spec), "output_shapes": structure.shapes_of(spec)}, name)
    return structure.from_tensors(spec, structure.as_list(flat))


def single_element(dataset: Dataset, name: str | None = None) -> Any:
    """The one element of a dataset; InvalidArgumentError when the step runs and there is none, or more."""
    spec = dataset.element_spec
    flat = apply("DatasetToSingleElement", [dataset._variant],
                 {"output_types": structure.types_of(spec), "output_shapes": structure.shapes_of(spec)}, name)
    return structure.from_tensors(spec, structure.as_list(flat))

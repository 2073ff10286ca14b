# SPDX-License-Identifier: Apache-2.0
"""Functions that datasets call with their elements: traced once, with the element's structure as arguments."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.autograph import conversion
from thalweg.control.functions import DefinedFunction
from thalweg.control.type_specs import TensorSpec
from thalweg.data import nest, structure

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.graph.tensor import Tensor


class ElementFunction:
    """A Python function of a dataset's elements as a function of the graph's library.

    A tuple becomes the arguments of the function; any other structure is its one argument, as in TensorFlow.
    """

    def __init__(self, function: Callable[..., object], input_structure: object, what: str):
        self.output_structure: object = None
        function = conversion.traced(function, asked_for=False)
        types = structure.types_of(input_structure)
        shapes = structure.shapes_of(input_structure)

        def on_tensors(*flat: Tensor) -> list[Tensor]:
            for tensor, shape in zip(flat, shapes):
                tensor.set_shape(shape)
            element = structure.from_tensors(input_structure, flat)
            spread = isinstance(element, tuple) and not hasattr(element, "_fields")
            results = function(*element) if spread else function(element)
            results = _as_element(results)
            self.output_structure = structure.spec_of_value(results)
            return structure.to_tensors(self.output_structure, results)
        names = [f"args_{i}" for i in range(len(types))]
        self.defined = DefinedFunction(on_tensors, names, types, func_name=None)
        self.defined.__name__ = "".join(c if c.isalnum() else "_" for c in getattr(function, "__name__", what)).strip("_") or what
        on_tensors.__name__ = f"Dataset_{what}"
        self.defined._trace()

    @property
    def captured(self) -> list[Tensor]:
        """What it reads from outside."""
        return list(self.defined.captured_inputs)

    @property
    def types(self) -> list[object]:
        """The types of its results, as they travel."""
        return structure.types_of(self.output_structure)

    @property
    def shapes(self) -> list[object]:
        """The shapes of its results, as they travel."""
        return structure.shapes_of(self.output_structure)

    def gives(self, *specs: TensorSpec) -> bool:
        """Whether its results are these."""
        found = nest.flatten(self.output_structure)
        return len(found) == len(specs) and all(
            isinstance(f, TensorSpec) and f.dtype == s.dtype and f.shape.is_compatible_with(s.shape) for f, s in zip(found, specs))

    def expect(self, *specs: TensorSpec) -> ElementFunction:
        """Refuses results other than these; TypeError says what there is."""
        if not self.gives(*specs):
            raise TypeError(f"`{self.defined.__name__}` must return {', '.join(map(str, specs))}, got {self.output_structure}")
        return self


def _as_element(results: object) -> object:
    """A list that a function returns is a tuple, as in TensorFlow; one within a structure is a tensor."""
    return tuple(results) if isinstance(results, list) else results

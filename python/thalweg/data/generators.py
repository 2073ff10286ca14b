# SPDX-License-Identifier: Apache-2.0
"""Datasets of what Python's iterators yield."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec, TypeSpec
from thalweg.data import nest, structure, yielded
from thalweg.data.dataset_functions import ElementFunction
from thalweg.data.making import make
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations import script_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.data.dataset import Dataset

_NUMBER = TensorSpec([], dtypes.int64)


class _Passes:
    """The iterators that passes over the dataset have open, by number."""

    def __init__(self, generator: Callable[..., object]):
        self._generator = generator
        self._lock = threading.Lock()
        self._open: dict[int, object] = {}
        self._next = 0

    def begin(self, *args: object) -> np.int64:
        iterator = iter(self._generator(*args))
        with self._lock:
            self._next += 1
            self._open[self._next] = iterator
            return np.int64(self._next)

    def take(self, number: int) -> object:
        with self._lock:
            iterator = self._open[int(number)]
        return next(iterator)

    def end(self, number: int) -> np.int64:
        with self._lock:
            iterator = self._open.pop(int(number), None)
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
        return np.int64(0)


def _spec(output_types: object, output_shapes: object, signature: object) -> object:
    """The structure of specifications that the arguments tell."""
    if signature is None:
        if output_types is None:
            raise TypeError("either output_signature or output_types must be given")
        return structure.of_types_and_shapes(output_types, output_shapes)
    if output_types is not None or output_shapes is not None:
        raise TypeError("The `output_types` and `output_shapes` arguments can not be used together with the `output_signature` "
                        "argument.")
    for spec in nest.flatten(signature):
        if not isinstance(spec, TypeSpec):
            raise TypeError(f"`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found {type(spec)} which "
                            "is not.")
        if not yielded.is_known(spec):
            raise NotImplementedError(f"generators yield tensors, RaggedTensors and SparseTensors here, not what {spec} is of")
    return signature


def from_generator(generator: Callable[..., object], output_types: object, output_shapes: object = None,
                   args: Sequence[object] | None = None, output_signature: object = None, name: str | None = None) -> Dataset:
    """See Dataset.from_generator."""
    if not callable(generator):
        raise TypeError("`generator` must be callable.")
    spec = _spec(output_types, output_shapes, output_signature)
    flat = nest.flatten(spec)
    of_arrays = [yielded.array_specs(s) for s in flat]
    expected = output_types if output_signature is None else output_signature
    inputs = tuple(convert_to_tensor(a) for a in args or ())
    passes = _Passes(generator)

    def arrays(number: int) -> list[np.ndarray]:
        value = passes.take(number)
        try:
            parts = nest.flatten_up_to(spec, value)
        except ValueError as error:
            raise TypeError(f"`generator` yielded an element that did not match the expected structure. The expected structure was "
                            f"{expected!r}, but the yielded element was {value!r}.") from error
        return [array for part, s in zip(parts, flat) for array in yielded.arrays(part, s)]

    def begin(*arguments: Tensor) -> Tensor:
        return _shaped(script_ops.py_func(passes.begin, list(arguments), dtypes.int64))

    def following(number: Tensor) -> object:
        expected_arrays = [s for specs in of_arrays for s in specs]
        results = structure.as_list(script_ops.py_func(arrays, [number], [s.dtype for s in expected_arrays]))
        for result, s in zip(results, expected_arrays):
            result.set_shape(s.shape)
        following_array = iter(results)
        return nest.pack(spec, [yielded.component(s, [next(following_array) for _ in specs]) for s, specs in zip(flat, of_arrays)])

    def end(number: Tensor) -> Tensor:
        return _shaped(script_ops.py_func(passes.end, [number], dtypes.int64))

    init = ElementFunction(begin, tuple(structure.spec_of_component(i) for i in inputs), "begin")
    take = ElementFunction(following, _NUMBER, "next")
    finalize = ElementFunction(end, _NUMBER, "end")
    return make("GeneratorDataset", [list(inputs) + init.captured, take.captured, finalize.captured], spec,
                {"init_func": init.defined, "next_func": take.defined, "finalize_func": finalize.defined}, name=name)


def _shaped(number: object) -> Tensor:
    tensor = structure.as_list(number)[0]
    tensor.set_shape([])
    return tensor

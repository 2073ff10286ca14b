# SPDX-License-Identifier: Apache-2.0
"""Iterators: where the operations of a graph get the elements of a dataset from."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, errors
from thalweg.control.functions import BodyGraph, DefinedFunction, write_sites
from thalweg.data import nest, structure
from thalweg.graph import graph as graph_module, graph_import
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph_util import extract_sub_graph
from thalweg.operations import sparse_ops

if TYPE_CHECKING:
    from collections.abc import Iterator as PythonIterator
    from typing import Any

    from thalweg.data.dataset import Dataset
    from thalweg.graph.tensor import Operation, Tensor

GLOBAL_ITERATORS = "iterators"


def _attrs(spec: object) -> dict[str, object]:
    return {"output_types": structure.types_of(spec), "output_shapes": structure.shapes_of(spec)}


class Iterator:
    """A place in a dataset.

    Parameters
    ----------
    iterator_resource : Tensor
        Its handle; programs call `dataset.make_one_shot_iterator()` and the like instead.
    initializer : Operation or None
        Lets it begin; None for one that begins by itself.
    element_spec : structure of TypeSpec
        Of the elements.
    """

    def __init__(self, iterator_resource: Tensor, initializer: Operation | None, element_spec: object):
        self._iterator_resource, self._initializer, self._element_spec = iterator_resource, initializer, element_spec
        self._string_handle: Tensor | None = None
        graph_module.add_to_collection(GLOBAL_ITERATORS, iterator_resource)

    @staticmethod
    def from_structure(output_types: object, output_shapes: object = None, shared_name: str | None = None,
                       output_classes: object = None) -> Iterator:
        """An iterator for datasets of this structure, which `make_initializer` gives one of."""
        spec = structure.of_types_and_shapes(output_types, output_shapes, output_classes)
        return Iterator(_handle(spec, shared_name), None, spec)

    @staticmethod
    def from_string_handle(string_handle: object, output_types: object, output_shapes: object = None,
                           output_classes: object = None) -> Iterator:
        """The iterator whose `string_handle()` this is: a string scalar, mostly a placeholder."""
        spec = structure.of_types_and_shapes(output_types, output_shapes, output_classes)
        handle = apply("IteratorFromStringHandleV2", [convert_to_tensor(string_handle, dtypes.string)], _attrs(spec))
        return Iterator(handle, None, spec)

    @property
    def initializer(self) -> Operation:
        """Lets the iterator begin anew."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Operation:
        """An operation that lets the iterator begin with the dataset."""
        mine, its = nest.flatten(self._element_spec), nest.flatten(dataset.element_spec)
        for m, i in zip(mine, its):
            if getattr(m, "dtype", None) != getattr(i, "dtype", None):
                raise TypeError(f"Expected output types {self.output_types!r} but got dataset with output types "
                                f"{dataset.output_types!r}.")
            if hasattr(m, "shape") and not m.shape.is_compatible_with(i.shape):
                raise TypeError(f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with output shapes "
                                f"{dataset.output_shapes!r}.")
        if len(mine) != len(its):
            raise TypeError(f"Expected elements of {self._element_spec} but got a dataset of {dataset.element_spec}")
        return apply("MakeIterator", [dataset._variant, self._iterator_resource], name=name)

    def get_next(self, name: str | None = None) -> Any:
        """The next element, each time that a step needs it: all results of one call are of one element.

        Parameters
        ----------
        name : str, optional
            Of the operation.

        Returns
        -------
        structure of Tensor
            As the dataset's elements. A step that runs them raises OutOfRangeError when there is no element any more.

        Examples
        --------
        >>> following = tw.data.Dataset.range(2).make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     try:
        ...         while True:
        ...             print(sess.run(following))
        ...     except tw.errors.OutOfRangeError:
        ...         print("end")
        0
        1
        end
        """
        flat = apply("IteratorGetNext", [self._iterator_resource], _attrs(self._element_spec), name)
        return structure.from_tensors(self._element_spec, structure.as_list(flat))

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string scalar that names the iterator, to be fed to `from_string_handle`."""
        if name is not None or self._string_handle is None:
            made = apply("IteratorToStringHandle", [self._iterator_resource], name=name)
            if name is not None:
                return made
            self._string_handle = made
        return self._string_handle

    @property
    def element_spec(self) -> Any:
        """The structure of the elements' specifications."""
        return self._element_spec

    @property
    def output_types(self) -> Any:
        """The structure of the components' types."""
        return nest.map_structure(lambda s: getattr(s, "dtype", dtypes.variant), self._element_spec)

    @property
    def output_shapes(self) -> Any:
        """The structure of the components' shapes."""
        return nest.map_structure(lambda s: getattr(s, "shape", None), self._element_spec)

    @property
    def output_classes(self) -> Any:
        """The structure of the components' classes."""
        return nest.map_structure(lambda s: s.value_type, self._element_spec)


def _handle(spec: object, shared_name: str | None) -> Tensor:
    return apply("IteratorV2", [], {"container": "", "shared_name": shared_name or "", **_attrs(spec)})


class EagerIterator(Iterator):
    """A pass over a dataset where operations run at once: Python's own kind of iterator as well."""

    def __init__(self, dataset: Dataset):
        spec = dataset.element_spec
        handle, self._deleter = apply("AnonymousIteratorV2", [], _attrs(spec))
        super().__init__(handle, None, spec)
        self._dataset = dataset
        apply("MakeIterator", [dataset._variant, handle])

    def __iter__(self) -> EagerIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except errors.OutOfRangeError:
            raise StopIteration from None

    next = __next__


def initializable(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """See Dataset.make_initializable_iterator."""
    if graph_module.get_default_graph()._executes:
        raise RuntimeError("dataset.make_initializable_iterator is not supported when eager execution is enabled. "
                           "Use `for element in dataset` instead.")
    handle = _handle(dataset.element_spec, shared_name)
    return Iterator(handle, apply("MakeIterator", [dataset._variant, handle]), dataset.element_spec)


_OF_A_SESSION = ("Placeholder", "PlaceholderWithDefault", "VariableV2", "Variable", "VarHandleOp", "HashTableV2", "FIFOQueueV2")


class _Factory(DefinedFunction):
    """A function without inputs that makes a dataset as the graph outside does: its operations, copied."""

    def __init__(self, dataset: Dataset):
        variant = dataset._variant
        whole = variant.graph.as_graph_def()
        part = extract_sub_graph(whole, [variant.op.name])
        for node in part.node:
            if node.op in _OF_A_SESSION:
                raise ValueError(
                    f"Cannot capture a {'placeholder' if node.op.startswith('Placeholder') else 'stateful node'} (name:{node.name}, "
                    f"type:{node.op}) by value. A one-shot iterator has nothing of a session: use make_initializable_iterator(dataset).")
        part.library.CopyFrom(whole.library)
        write_sites({node.name: variant.graph.get_operation_by_name(node.name).site for node in part.node}, part.debug_info)

        def make() -> list[Tensor]:
            return graph_import.import_graph_def(part, return_elements=[variant.name], name="")
        super().__init__(make, [], [])
        self.__name__ = "Dataset_factory"


def one_shot(dataset: Dataset) -> Iterator:
    """See Dataset.make_one_shot_iterator."""
    if graph_module.get_default_graph()._executes:
        return EagerIterator(dataset)
    if dataset._variant.graph._captures is not None or isinstance(dataset._variant.graph, BodyGraph):
        raise ValueError("a one-shot iterator cannot be made inside of a function")
    handle = apply("OneShotIterator", [], {"dataset_factory": _Factory(dataset), **_attrs(dataset.element_spec)})
    return Iterator(handle, None, dataset.element_spec)


def get_next_as_optional(iterator: Iterator) -> structure.Optional:
    """The next element, or nothing at the end."""
    spec = iterator.element_spec
    return structure.Optional(apply("IteratorGetNextAsOptional", [iterator._iterator_resource], _attrs(spec)), spec)


def of_arrays(dataset: Dataset) -> PythonIterator[Any]:
    """See Dataset.as_numpy_iterator."""
    if not graph_module.get_default_graph()._executes:
        raise RuntimeError("`tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode.")
    for spec in nest.flatten(dataset.element_spec):
        if isinstance(spec, (structure.DatasetSpec, structure.OptionalSpec)):
            raise TypeError("`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that produce values of type "
                            f"{spec.value_type}")
    return (nest.map_structure(_array_of, element) for element in one_shot(dataset))


def _array_of(part):
    return sparse_ops.sparse_tensor_to_dense(part).numpy() if isinstance(part, SparseTensor) else part.numpy()

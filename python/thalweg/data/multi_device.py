# SPDX-License-Identifier: Apache-2.0
"""Iterators whose elements several devices of a process take in turn."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data import iterators, structure
from thalweg.data.dataset_functions import ElementFunction
from thalweg.data.making import make
from thalweg.graph import graph as graph_module
from thalweg.graph.ops import apply, convert_to_tensor, group

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.data.dataset import Dataset
    from thalweg.graph.tensor import Operation, Tensor


class MultiDeviceIterator:
    """A pass over a dataset whose elements go to several devices in turn, each of which has some ready.

    Parameters
    ----------
    dataset : Dataset
        Its first element goes to the first device, the second to the second, and so on, then again.
    devices : list of str
        Of this process.
    max_buffer_size : int, optional
        Elements that wait for each device where the dataset is made. A device that takes none holds the others up after that.
    prefetch_buffer_size : int, optional
        Elements that each device has ready.
    source_device : str, optional
        Where the dataset is made.

    Examples
    --------
    >>> towers = tw.data.experimental.MultiDeviceIterator(tw.data.Dataset.range(4), ["/cpu:0", "/cpu:0"])
    >>> first, second = towers.get_next()
    >>> with tw.Session() as sess:
    ...     sess.run(towers.initializer)
    ...     for _ in range(2):
    ...         print(*sess.run([first, second]))
    0 1
    2 3
    """

    def __init__(self, dataset: Dataset, devices: Sequence[str], max_buffer_size: int = 1, prefetch_buffer_size: int = 1,
                 source_device: str = "/cpu:0"):
        if not devices:
            raise ValueError("devices must name at least one device")
        self._devices, self._element_spec = list(devices), dataset.element_spec
        attrs = {"output_types": structure.types_of(self._element_spec), "output_shapes": structure.shapes_of(self._element_spec)}
        with graph_module.device(source_device):
            self._resource = apply("MultiDeviceIterator", [],
                                   {"devices": self._devices, "shared_name": "", "container": "", **attrs})
            incarnation = apply("MultiDeviceIteratorInit", [dataset._variant, self._resource,
                                                            convert_to_tensor(max_buffer_size, dtypes.int64)])
            name = apply("MultiDeviceIteratorToStringHandle", [self._resource])
        self._iterators = []
        for i, device in enumerate(self._devices):
            with graph_module.device(device):
                part = _elements_of(i, name, incarnation, self._element_spec)
                if prefetch_buffer_size > 0:
                    part = part.prefetch(prefetch_buffer_size)
                self._iterators.append(iterators.initializable(part))
        self._initializer = group(*[i.initializer for i in self._iterators])

    @property
    def initializer(self) -> Operation:
        """Lets the pass begin, and again."""
        return self._initializer

    @property
    def element_spec(self) -> Any:
        """The structure of the elements' specifications."""
        return self._element_spec

    def get_next(self, device: str | None = None) -> Any:
        """The next element of each device, a list of them; or of the one named."""
        if device is not None:
            return self._of(device).get_next()
        return [self._with_device(i, i.get_next) for i in self._iterators]

    def get_next_as_optional(self) -> list[structure.Optional]:
        """The next element of each device, or nothing where there is none."""
        return [self._with_device(i, lambda i=i: iterators.get_next_as_optional(i)) for i in self._iterators]

    def _of(self, device: str) -> iterators.Iterator:
        if device not in self._devices:
            raise ValueError(f"{device!r} is none of the iterator's devices {self._devices}")
        return self._iterators[self._devices.index(device)]

    def _with_device(self, iterator: iterators.Iterator, call):
        with graph_module.device(self._devices[self._iterators.index(iterator)]):
            return call()


def _elements_of(shard: int, name: Tensor, incarnation: Tensor, spec: object) -> Dataset:
    """A dataset of what is dealt to one device."""
    attrs = {"output_types": structure.types_of(spec), "output_shapes": structure.shapes_of(spec)}
    number = TensorSpec([], dtypes.int64)

    def begin() -> Tensor:
        return convert_to_tensor(shard, dtypes.int64)

    def following(_: Tensor) -> object:
        handle = apply("MultiDeviceIteratorFromStringHandle", [name], attrs)
        flat = apply("MultiDeviceIteratorGetNextFromShard", [handle, convert_to_tensor(shard, dtypes.int32), incarnation], attrs)
        return structure.from_tensors(spec, structure.as_list(flat))

    def end(shard_number: Tensor) -> Tensor:
        return shard_number

    init, take = ElementFunction(begin, (), "begin"), ElementFunction(following, number, "next")
    finalize = ElementFunction(end, number, "end")
    return make("GeneratorDataset", [init.captured, take.captured, finalize.captured], spec,
                {"init_func": init.defined, "next_func": take.defined, "finalize_func": finalize.defined})

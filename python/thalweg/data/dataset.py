# SPDX-License-Identifier: Apache-2.0
"""Dataset: elements made one after the other, by a pipeline that is a part of the graph.

    images = tw.data.Dataset.from_tensor_slices((pixels, labels)).shuffle(1000).batch(32).prefetch(2)
    pixels, labels = images.make_one_shot_iterator().get_next()

Each method adds an operation; nothing is read before an iterator is asked for an element.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data import file_names, generators, iterators, loops, nest, padding, reducing, structure
from thalweg.data.dataset_functions import ElementFunction
from thalweg.data.later_methods import LaterMethods
from thalweg.data.making import int64 as _int64, make, seeds_of
from thalweg.data.options import Options
from thalweg.data.structure import DatasetSpec
from thalweg.graph import graph
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import IntLike, Text
    from thalweg.data.iterators import Iterator
    from thalweg.graph.tensor import Tensor

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
_UNTUNED = b"\x3a\x02\x08\x00"  # a serialized message of options: field 7, whose field 1 is 0
_INT64 = TensorSpec([], dtypes.int64)
_BOOL = TensorSpec([], dtypes.bool)


def _static(value: object) -> int | None:
    return int(value) if isinstance(value, (int, np.integer)) else None


@structure.register_dataset
class Dataset(LaterMethods):
    """A potentially large sequence of elements of one structure.

    Parameters
    ----------
    variant_tensor : Tensor
        Of type variant, shape []: the dataset as the graph has it. Programs call `from_tensor_slices`, `range` and the like instead.

    Examples
    --------
    >>> dataset = tw.data.Dataset.range(10).filter(lambda x: tw.equal(x % 3, 0)).batch(2)
    >>> following = dataset.make_one_shot_iterator().get_next()
    >>> with tw.Session() as sess:
    ...     print(sess.run(following), sess.run(following))
    [0 3] [6 9]
    """

    _element_spec: object = None
    _options: Options | None = None

    def __init__(self, variant_tensor: Tensor):
        self._variant = variant_tensor

    @classmethod
    def _of(cls, variant: Tensor, element_spec: object) -> Dataset:
        dataset = Dataset(variant)
        dataset._element_spec = element_spec
        return dataset

    def _made(self, op: str, inputs: Sequence[object], attrs: dict[str, object] | None = None,
              element_spec: object = None, name: str | None = None) -> Dataset:
        """A dataset that operation `op` makes of this one."""
        return make(op, [self, *inputs], self._element_spec if element_spec is None else element_spec, attrs, name=name)

    def __repr__(self) -> str:
        shapes, types = nest.map_structure(str, self.output_shapes), nest.map_structure(repr, self.output_types)
        return f"<DatasetV1Adapter shapes: {shapes}, types: {types}>".replace("'", "")

    def __iter__(self) -> Iterator:
        if graph.get_default_graph()._executes:
            return iterators.one_shot(self)
        raise RuntimeError("elements come from session.run: dataset.make_one_shot_iterator().get_next() is the next one. __iter__() is only "
                           "supported inside of tf.function or when eager execution is enabled.")

    # ---- what the elements are ----
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
        return nest.map_structure(lambda s: getattr(s, "shape", TensorShape([])), self._element_spec)

    @property
    def output_classes(self) -> Any:
        """The structure of the components' classes."""
        return nest.map_structure(lambda s: s.value_type, self._element_spec)

    @property
    def _variant_tensor(self) -> Tensor:
        return self._variant

    def _inputs(self) -> list[Dataset]:
        return []

    def options(self) -> Options:
        """What `with_options` was given, here and in the stages before; of several inputs the later one's count. A copy."""
        return Options() if self._options is None else Options().merge(self._options)

    # ---- sources ----
    @staticmethod
    def from_tensors(tensors: object, name: str | None = None) -> Dataset:
        """A dataset of one element, the given one."""
        spec = structure.spec_of_value(tensors)
        return make("TensorDataset", [structure.to_tensors(spec, tensors)], spec, types="Toutput_types", name=name)

    @staticmethod
    def from_tensor_slices(tensors: object, name: str | None = None) -> Dataset:
        """A dataset of the rows of the given tensors, which must have equally many.

        Examples
        --------
        >>> dataset = tw.data.Dataset.from_tensor_slices([1, 2, 3])
        >>> following = dataset.make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print(sess.run(following), sess.run(following))
        1 2
        """
        spec = structure.spec_of_value(tensors)
        structure.assert_as_many_rows(spec)
        return make("TensorSliceDataset", [structure.to_batched_tensors(spec, tensors)], structure.rows(spec),
                    types="Toutput_types", name=name)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: SparseTensor) -> Dataset:
        """A dataset of the rows of a SparseTensor: triples of indices, values and shape."""
        sparse = SparseTensor.from_value(sparse_tensor)
        rank = sparse.indices.shape.with_rank(2)[1] - 1
        spec = (TensorSpec([None, rank], dtypes.int64), TensorSpec([None], sparse.dtype), TensorSpec([rank], dtypes.int64))
        return make("SparseTensorSliceDataset", [sparse.indices, sparse.values, sparse.dense_shape], spec, types="")

    @staticmethod
    def from_generator(generator: Callable[..., object], output_types: object = None, output_shapes: object = None,
                       args: Sequence[object] | None = None, output_signature: object = None, name: str | None = None) -> Dataset:
        """A dataset of what the iterators yield that `generator(*args)` makes, one for each pass.

        What is yielded is told by `output_types` and `output_shapes`, or by `output_signature`: a structure of TensorSpec,
        RaggedTensorSpec and SparseTensorSpec. RaggedTensors are yielded as RaggedTensorValue, SparseTensors as SparseTensorValue.

        Examples
        --------
        >>> squares = tw.data.Dataset.from_generator(lambda: (x * x for x in range(3)), output_signature=tw.TensorSpec([], tw.int64))
        >>> following = squares.make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print([int(sess.run(following)) for _ in range(3)])
        [0, 1, 4]
        """
        return generators.from_generator(generator, output_types, output_shapes, args, output_signature, name)

    @staticmethod
    def range(*args: IntLike, name: str | None = None) -> Dataset:
        """A dataset of int64s: range(stop), range(start, stop) or range(start, stop, step)."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid `args`: range takes one to three numbers, got {args}")
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        return make("RangeDataset", [_int64(start), _int64(stop), _int64(step)], _INT64, name=name)

    @staticmethod
    def zip(*args: object, datasets: object = None, name: str | None = None) -> Dataset:
        """A dataset of the structure of `datasets`, whose elements hold one of each; as long as the shortest.

        The datasets are given as one structure, or one after the other.
        """
        if (datasets is None) == (not args):
            raise TypeError("Dataset.zip() takes `datasets`, or datasets one after the other, and not both")
        if datasets is None:
            datasets = args[0] if len(args) == 1 else args
        if not nest.is_nested(datasets):
            raise TypeError(f"The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects, got {datasets!r}")
        flat = nest.flatten(datasets)
        if not all(isinstance(d, Dataset) for d in flat):
            raise TypeError(f"The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects, got {datasets!r}")
        return make("ZipDataset", [list(flat)], nest.pack(datasets, [d._element_spec for d in flat]), name=name)

    @staticmethod
    def list_files(file_pattern: object, shuffle: bool | None = None, seed: int | None = None,
                   name: str | None = None) -> Dataset:
        """A dataset of the names of the files that match, sorted, or shuffled unless `shuffle` is False."""
        return file_names.list_files(file_pattern, shuffle, seed, name)

    # ---- which elements ----
    def take(self, count: IntLike, name: str | None = None) -> Dataset:
        """The first `count` elements; all for -1."""
        return self._made("TakeDataset", [_int64(count)], name=name)

    def skip(self, count: IntLike, name: str | None = None) -> Dataset:
        """All but the first `count` elements; none for -1."""
        return self._made("SkipDataset", [_int64(count)], name=name)

    def repeat(self, count: IntLike | None = None, name: str | None = None) -> Dataset:
        """All elements `count` times.

        Parameters
        ----------
        count : int or int64 scalar, optional
            None and -1: without end.
        name : str, optional
            Of the operation.

        Returns
        -------
        Dataset
            Of the same elements.

        Examples
        --------
        >>> following = tw.data.Dataset.range(2).repeat(2).make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print([int(sess.run(following)) for _ in range(4)])
        [0, 1, 0, 1]
        """
        return self._made("RepeatDataset", [_int64(-1 if count is None else count)], name=name)

    def shard(self, num_shards: IntLike, index: IntLike, name: str | None = None) -> Dataset:
        """Every element whose number modulo `num_shards` is `index`."""
        count, which = _static(num_shards), _static(index)
        if count is not None and count < 1:
            raise ValueError(f"num_shards must be >= 1; got {count}")
        if count is not None and which is not None and not 0 <= which < count:
            raise ValueError("index must be >= 0 and < num_shards")
        return self._made("ShardDataset", [_int64(num_shards), _int64(index)], name=name)

    def filter(self, predicate: Callable[..., object], name: str | None = None) -> Dataset:
        """The elements for which `predicate` gives true."""
        function = ElementFunction(predicate, self._element_spec, "filter")
        if not function.gives(_BOOL):
            raise ValueError("`predicate` return type must be convertible to a scalar boolean tensor. Was "
                             f"{function.output_structure}.")
        return self._made("FilterDataset", [function.captured], {"predicate": function.defined}, name=name)

    filter_with_legacy_function = filter

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """The elements of this dataset, then those of the other."""
        return self._made("ConcatenateDataset", [dataset], None,
                          structure.wider(self._element_spec, dataset._element_spec), name)

    # ---- in which order, and when ----
    def shuffle(self, buffer_size: IntLike, seed: int | None = None, reshuffle_each_iteration: bool | None = None,
                name: str | None = None) -> Dataset:
        """The elements in random order: each time any of the next `buffer_size`."""
        again = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return self._made("ShuffleDataset", [_int64(buffer_size), *seeds_of(seed)], {"reshuffle_each_iteration": again},
                          name=name)

    def prefetch(self, buffer_size: IntLike, name: str | None = None) -> Dataset:
        """The same elements, some of which are made before they are asked for.

        Parameters
        ----------
        buffer_size : int or int64 scalar
            How many may be ready. AUTOTUNE: two, and more where that was too few. Fewer where the memory limit comes near.
        name : str, optional
            Of the operation.

        Returns
        -------
        Dataset
            Of the same elements.

        Examples
        --------
        >>> following = tw.data.Dataset.range(3).prefetch(2).make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print([int(sess.run(following)) for _ in range(3)])
        [0, 1, 2]
        """
        return self._made("PrefetchDataset", [_int64(buffer_size)], name=name)

    def cache(self, filename: Text = "", name: str | None = None) -> Dataset:
        """The same elements, made once and kept in memory, or in files whose names begin with `filename`.

        A pass that comes to its end writes the files for all others, also of other processes; while it does, others that begin are
        AlreadyExistsError. What depends on chance or time is what it was then: remove the files to make them anew.
        """
        return self._made("CacheDataset", [convert_to_tensor(filename, dtypes.string)], name=name)

    # ---- what becomes of them ----
    def map(self, map_func: Callable[..., object], num_parallel_calls: IntLike | None = None,
            deterministic: bool | None = None, name: str | None = None) -> Dataset:
        """What `map_func` makes of each element; `num_parallel_calls` of them at once, in the elements' order.

        Examples
        --------
        >>> squares = tw.data.Dataset.range(4).map(lambda x: x * x).batch(4)
        >>> with tw.Session() as sess:
        ...     print(sess.run(squares.make_one_shot_iterator().get_next()))
        [0 1 4 9]
        """
        function = ElementFunction(map_func, self._element_spec, "map")
        if num_parallel_calls is None:
            return self._made("MapDataset", [function.captured], {"f": function.defined}, function.output_structure, name)
        if deterministic:
            return self._made("ParallelMapDatasetV2", [function.captured, _int64(num_parallel_calls)],
                              {"f": function.defined, "deterministic": "true"}, function.output_structure, name)
        return self._made("ParallelMapDataset", [function.captured, convert_to_tensor(num_parallel_calls, dtypes.int32)],
                          {"f": function.defined, "sloppy": deterministic is False}, function.output_structure, name)

    map_with_legacy_function = map

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """The elements of the datasets that `map_func` makes of the elements, one dataset after the other."""
        function, spec = self._to_datasets(map_func, "flat_map")
        return self._made("FlatMapDataset", [function.captured], {"f": function.defined}, spec, name)

    def interleave(self, map_func: Callable[..., Dataset], cycle_length: IntLike | None = AUTOTUNE,
                   block_length: IntLike | None = 1, num_parallel_calls: IntLike | None = None, deterministic: bool | None = None,
                   name: str | None = None) -> Dataset:
        """`block_length` elements of each of `cycle_length` of the datasets that `map_func` makes, in turn.

        A cycle that is left open (None, AUTOTUNE) has as many members as the machine has processors. `deterministic` False: members
        that are late are passed over, so that the order may change.
        """
        function, spec = self._to_datasets(map_func, "interleave")
        cycle = [_int64(AUTOTUNE if cycle_length is None else cycle_length), _int64(1 if block_length is None else block_length)]
        if num_parallel_calls is None:
            return self._made("InterleaveDataset", [function.captured, *cycle], {"f": function.defined}, spec, name)
        if deterministic:
            return self._made("ParallelInterleaveDatasetV3", [function.captured, *cycle, _int64(num_parallel_calls)],
                              {"f": function.defined, "deterministic": "true"}, spec, name)
        return self._made("ParallelInterleaveDatasetV2", [function.captured, *cycle, _int64(num_parallel_calls)],
                          {"f": function.defined, "sloppy": deterministic is False}, spec, name)

    def _to_datasets(self, map_func: Callable[..., object], what: str) -> tuple[ElementFunction, object]:
        function = ElementFunction(map_func, self._element_spec, what)
        if not isinstance(function.output_structure, DatasetSpec):
            raise TypeError(f"`map_func` must return a `Dataset` object. Got {function.output_structure}")
        return function, function.output_structure._element_spec

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """transformation_func(self)."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {dataset!r}")
        return dataset

    # ---- several as one ----
    def batch(self, batch_size: IntLike, drop_remainder: bool = False, num_parallel_calls: IntLike | None = None,
              deterministic: bool | None = None, name: str | None = None) -> Dataset:
        """`batch_size` elements as one, with one dimension more in front; the last may be smaller.

        Examples
        --------
        >>> batches = tw.data.Dataset.range(5).batch(2)
        >>> following = batches.make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print([sess.run(following).tolist() for _ in range(3)])
        [[0, 1], [2, 3], [4]]
        """
        size = _static(batch_size) if drop_remainder is True else None
        return self._made("BatchDatasetV2", [_int64(batch_size), convert_to_tensor(drop_remainder, dtypes.bool)], None,
                          structure.batched(self._element_spec, size), name)

    def padded_batch(self, batch_size: IntLike, padded_shapes: object = None, padding_values: object = None,
                     drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """Batches elements whose shapes differ: each component is padded to one shape.

        Parameters
        ----------
        batch_size : int, or scalar int64 tensor
        padded_shapes : structure of shapes, optional
            To which shape; None in one: to the largest size of the batch. The components' own shapes unless given.
        padding_values : structure of scalars, optional
            What is filled in; 0 or "" unless given.
        drop_remainder : bool
            Whether a last batch that is smaller is dropped.
        name : str, optional

        Returns
        -------
        Dataset

        Examples
        --------
        >>> rows = tw.data.Dataset.range(1, 3).map(lambda n: tw.fill([n], n))
        >>> batch = rows.padded_batch(2, [None]).make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print(sess.run(batch))
        [[1 0]
         [2 2]]
        """
        return padding.padded_batch(self, batch_size, padded_shapes, padding_values, drop_remainder, name)

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of the elements."""
        return self._made("UnbatchDataset", [], None, structure.rows(self._element_spec), name)

    def window(self, size: IntLike, shift: IntLike | None = None, stride: IntLike = 1, drop_remainder: bool = False,
               name: str | None = None) -> Dataset:
        """Datasets of `size` elements, of which one begins every `shift` elements and takes every `stride`th."""
        spec = nest.map_structure(DatasetSpec, self._element_spec)
        return self._made("WindowDataset", [_int64(size), _int64(size if shift is None else shift), _int64(stride),
                                            convert_to_tensor(drop_remainder, dtypes.bool)], None, spec, name)

    def reduce(self, initial_state: object, reduce_func: Callable[..., object], name: str | None = None) -> Any:
        """The state after `reduce_func(state, element)` has made a next state of each element."""
        return reducing.reduce(self, initial_state, reduce_func, name)

    def _for_statement(self, *loop: Any) -> None:
        """`for` over the dataset in a function that is converted."""
        loops.for_statement(self, *loop)

    def enumerate(self, start: IntLike = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, from `start` on, and the element."""
        return Dataset.zip((Dataset.range(start, np.iinfo(np.int64).max), self), name=name)

    def with_options(self, options: object, name: str | None = None) -> Dataset:
        """The same elements, in any order where `options.experimental_deterministic` is False.

        `options.autotune.enabled` False: calls at once and buffers that are left open do not change as the pipeline goes. What else
        tunes TensorFlow's pipelines tells nothing to ours.
        """
        ordered = getattr(options, "deterministic", None)
        ordered = getattr(options, "experimental_deterministic", None) if ordered is None else ordered
        made = self._made("OptimizeDataset", [["make_sloppy"]], name=name) if ordered is False else Dataset._of(
            self._variant, self._element_spec)
        if getattr(options, "tuned", True) is False:
            made = made._made("OptionsDataset", [], {"serialized_options": _UNTUNED})
        made._options = self.options().merge(options)
        return made

    # ---- iterators ----
    def make_one_shot_iterator(self) -> Iterator:
        """An iterator that begins by itself, and goes through once; the dataset must not depend on placeholders or variables."""
        return iterators.one_shot(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that begins whenever its `initializer` is run.

        Parameters
        ----------
        shared_name : str, optional
            Sessions of a server that say the same name share the iterator.

        Returns
        -------
        Iterator
            With an `initializer`; placeholders that the dataset depends on are fed to that.

        Examples
        --------
        >>> n = tw.placeholder(tw.int64, [])
        >>> iterator = tw.data.Dataset.range(n).make_initializable_iterator()
        >>> following = iterator.get_next()
        >>> with tw.Session() as sess:
        ...     sess.run(iterator.initializer, {n: 2})
        ...     print([int(sess.run(following)) for _ in range(2)])
        [0, 1]
        """
        return iterators.initializable(self, shared_name)

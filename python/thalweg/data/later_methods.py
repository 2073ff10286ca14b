# SPDX-License-Identifier: Apache-2.0
"""Methods of datasets that came with TensorFlow 2: what 1.15 has as functions of tw.data.experimental."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.data import iterators, ragged_batches, reducing, saved
from thalweg.data.experimental import choosing, grouping, transformations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, IntLike, Text
    from thalweg.data.dataset import Dataset
    from thalweg.graph.tensor import Operation, Tensor


class LaterMethods:
    """Base of datasets. A `name` is taken as TensorFlow 2 has it; of these methods only get_single_element gives it to an operation.
    ignore_errors() logs nothing, whatever `log_warning` says.
    """

    # ---- sources ----
    @staticmethod
    def counter(start: IntLike = 0, step: IntLike = 1, dtype: dtypes.DType | None = None, name: str | None = None) -> Dataset:
        """start, start + step ... without end; int64s by default."""
        return transformations.Counter(start, step) if dtype is None else transformations.Counter(start, step, dtype)

    @staticmethod
    def random(seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None) -> Dataset:
        """Random int64s without end, the same in each pass."""
        if rerandomize_each_iteration:
            raise NotImplementedError("a dataset of random numbers gives the same ones in each pass here")
        return transformations.RandomDataset(seed)

    @staticmethod
    def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True) -> Dataset:
        """Elements of the datasets that the int64s of `choice_dataset` name, one after the other."""
        return choosing.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)

    @staticmethod
    def sample_from_datasets(datasets: Sequence[Dataset], weights: object = None, seed: int | None = None,
                             stop_on_empty_dataset: bool = False, rerandomize_each_iteration: bool | None = None) -> Dataset:
        """Elements of the datasets, each time of any of them, with the probabilities `weights`."""
        if rerandomize_each_iteration:
            raise NotImplementedError("samples are the same ones in each pass here")
        return choosing.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)

    @staticmethod
    def load(path: Text, element_spec: object = None, compression: Text | None = None,
             reader_func: Callable[[Dataset], Dataset] | None = None, wait: bool = False) -> Dataset:
        """The elements that `save` has left in the folder `path`, of this package or of TensorFlow 2.

        `element_spec`: what the elements are, where the folder does not say. `reader_func` makes one dataset of a dataset of those of
        the shards; else these take turns. `compression` None or "GZIP".
        """
        if wait:
            raise NotImplementedError("load(wait=True): a dataset is loaded once it was saved to its end")
        return saved.load(path, element_spec, compression, reader_func)

    def save(self, path: Text, compression: Text | None = None, shard_func: Callable[..., object] | None = None,
             checkpoint_args: object = None) -> Operation:
        """An operation that writes all elements into the files of the folder `path`, which TensorFlow 2 loads, too. `compression` None or "GZIP".

        The newest whole run counts: one that does not come to its end leaves what was there before. `shard_func`: gives an int64, the
        number of the element's shard.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "squares")
        >>> saving = tw.data.Dataset.range(3).map(lambda x: x * x).save(path)
        >>> with tw.Session() as sess:
        ...     sess.run(saving)
        ...     following = tw.data.Dataset.load(path).make_one_shot_iterator().get_next()
        ...     print([int(sess.run(following)) for _ in range(3)])
        [0, 1, 4]
        """
        if checkpoint_args is not None:
            raise NotImplementedError("save(checkpoint_args=...): a run that was cut short begins anew")
        return saved.save(self, path, compression, shard_func)

    def snapshot(self, path: Text, compression: Text | None = "AUTO", reader_func: Callable[[Dataset], Dataset] | None = None,
                 shard_func: Callable[..., object] | None = None, name: str | None = None) -> Dataset:
        """The same elements, which the first pass that comes to its end writes into files below `path`, and later ones read there.

        Parameters
        ----------
        path : str
            A folder. Another pipeline with the same one has files of its own below it.
        compression : str, optional
            "GZIP"; None, "NONE" and "AUTO": none.
        reader_func : function, optional
            Makes one dataset of a dataset of those of the shards; else these take turns.
        shard_func : function, optional
            Gives an int64, the number of the element's shard; else all are in one.
        name : str, optional
            Of the operation.

        Returns
        -------
        Dataset
            Of the same elements; what depends on chance or time is what it was when they were written.

        Examples
        --------
        >>> import tempfile
        >>> squares = tw.data.Dataset.range(3).map(lambda x: x * x).snapshot(tempfile.mkdtemp()).repeat(2)
        >>> following = squares.make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print([int(sess.run(following)) for _ in range(6)])
        [0, 1, 4, 0, 1, 4]
        """
        return saved.snapshot(self, path, compression, reader_func, shard_func, name)

    # ---- how many ----
    def cardinality(self) -> Tensor:
        """How many elements: INFINITE_CARDINALITY without end, UNKNOWN_CARDINALITY where nobody knows.

        Examples
        --------
        >>> with tw.Session() as sess:
        ...     print(sess.run(tw.data.Dataset.range(10).window(4).cardinality()))
        3
        """
        return transformations.cardinality(self)

    # ---- which elements ----
    def take_while(self, predicate: Callable[..., object], name: str | None = None) -> Dataset:
        """The elements before the first for which `predicate` gives false."""
        return transformations.take_while(predicate)(self)

    def unique(self, name: str | None = None) -> Dataset:
        """The elements that were not there before."""
        return choosing.unique()(self)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements that do not fail."""
        return transformations.ignore_errors()(self)

    def rejection_resample(self, class_func: Callable[..., object], target_dist: object, initial_dist: object = None,
                           seed: int | None = None, name: str | None = None) -> Dataset:
        """Pairs of a class and an element, of which so many are left out that classes come in the proportions `target_dist`."""
        return choosing.rejection_resample(class_func, target_dist, initial_dist, seed, stop_on_empty_dataset=True)(self)

    # ---- what becomes of them ----
    def scan(self, initial_state: object, scan_func: Callable[..., object], name: str | None = None) -> Dataset:
        """What `scan_func(state, element)`, which gives (next state, element), makes of each element."""
        return transformations.scan(initial_state, scan_func)(self)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements with NumPy's values in the place of tensors: where operations run at once.

        Raises
        ------
        RuntimeError
            In a graph. TypeError: elements hold datasets or optionals.

        Examples
        --------
        >>> tw.data.Dataset.range(3).as_numpy_iterator()
        Traceback (most recent call last):
        RuntimeError: `tf.data.Dataset.as_numpy_iterator()` is only supported in eager mode.
        """
        return iterators.of_arrays(self)

    def get_single_element(self, name: str | None = None) -> Any:
        """The one element; InvalidArgumentError when the step runs and there is none, or more."""
        return reducing.single_element(self, name)

    # ---- several as one ----
    def sparse_batch(self, batch_size: IntLike, row_shape: object, name: str | None = None) -> Dataset:
        """`batch_size` tensors as the rows of one SparseTensor."""
        return transformations.dense_to_sparse_batch(batch_size, row_shape)(self)

    def ragged_batch(self, batch_size: IntLike, drop_remainder: bool = False, row_splits_dtype: DTypeLike = dtypes.int64,
                     name: str | None = None) -> Dataset:
        """`batch_size` elements as one: components whose shapes are not wholly known become RaggedTensors.

        Examples
        --------
        >>> rows = tw.data.Dataset.range(4).map(lambda n: tw.range(n)).ragged_batch(2)
        >>> following = rows.make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print([sess.run(following).to_list() for _ in range(2)])
        [[[], [0]], [[0, 1], [0, 1, 2]]]
        """
        return ragged_batches.ragged_batch(self, batch_size, drop_remainder, row_splits_dtype, name)

    def rebatch(self, batch_size: object, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """The rows of the batches as batches of `batch_size` rows, or of several sizes in turn.

        Examples
        --------
        >>> following = tw.data.Dataset.range(5).batch(2).rebatch(3).make_one_shot_iterator().get_next()
        >>> with tw.Session() as sess:
        ...     print(sess.run(following), sess.run(following))
        [0 1 2] [3 4]
        """
        return transformations.rebatch(self, batch_size, drop_remainder, name)

    def group_by_window(self, key_func: Callable[..., object], reduce_func: Callable[[Tensor, Dataset], Dataset],
                        window_size: IntLike | None = None, window_size_func: Callable[[Tensor], object] | None = None,
                        name: str | None = None) -> Dataset:
        """The elements of the datasets that `reduce_func(key, group)` makes of `window_size` elements of one key."""
        return grouping.group_by_window(key_func, reduce_func, window_size, window_size_func)(self)

    def bucket_by_sequence_length(self, element_length_func: Callable[..., object], bucket_boundaries: Sequence[int],
                                  bucket_batch_sizes: Sequence[int], padded_shapes: object = None, padding_values: object = None,
                                  pad_to_bucket_boundary: bool = False, no_padding: bool = False, drop_remainder: bool = False,
                                  name: str | None = None) -> Dataset:
        """Batches of elements of similar length, padded to the longest of each."""
        return grouping.bucket_by_sequence_length(element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes,
                                                  padding_values, pad_to_bucket_boundary, no_padding, drop_remainder)(self)

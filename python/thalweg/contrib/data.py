# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.data: tw.data.experimental under its older names, and what datasets can do by themselves since."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names
from thalweg.data import nest
from thalweg.data.dataset import Dataset
from thalweg.data.experimental import examples, transformations
from thalweg.data.readers import TFRecordDataset
from thalweg.graph.shapes import TensorShape
from thalweg.operations.array_layout import ensure_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import IntLike
    from thalweg.data.experimental.grouping import Reducer
    from thalweg.graph.tensor import Tensor


def batch_and_drop_remainder(batch_size: IntLike) -> Callable[[Dataset], Dataset]:
    """Batches that are all whole."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: IntLike, padded_shapes: object, padding_values: object = None) -> Callable[[Dataset], Dataset]:
    """Padded batches that are all whole."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def sliding_window_batch(window_size: IntLike, stride: IntLike | None = None, window_shift: IntLike | None = None,
                         window_stride: IntLike = 1) -> Callable[[Dataset], Dataset]:
    """Batches of `window_size` elements, each `window_stride` after the one before; a batch begins `window_shift` elements after
    the one before, which is `stride` by its older name, or 1."""
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = next((given for given in (window_shift, stride) if given is not None), 1)

    def slide(dataset: Dataset) -> Dataset:
        windows = dataset.window(window_size, shift, window_stride, drop_remainder=True)
        return windows.flat_map(lambda *parts: _zipped(parts).batch(window_size))
    return slide


def _zipped(parts: tuple[object, ...]) -> Dataset:
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Dataset) else Dataset.zip(parts[0] if len(parts) == 1 else parts)


def sloppy_interleave(map_func: Callable[..., Dataset], cycle_length: IntLike, block_length: IntLike = 1) -> Callable[[Dataset], Dataset]:
    """Elements of several datasets, of whichever has one."""
    return transformations.parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def assert_element_shape(expected_shapes: object) -> Callable[[Dataset], Dataset]:
    """Elements have these shapes, each as far as it is known: a ValueError where they cannot, an error of the step where they do not."""
    def check(dataset: Dataset) -> Dataset:
        found = dataset.output_shapes
        flat = nest.flatten_up_to(found, expected_shapes)
        for shape, expected in zip(nest.flatten(found), flat):
            TensorShape(shape).assert_is_compatible_with(TensorShape(expected))

        def checked(*element: object) -> object:
            whole = element[0] if len(element) == 1 else element
            return nest.pack(whole, [ensure_shape(tensor, shape) for tensor, shape in zip(nest.flatten(whole), flat)])
        return dataset.map(checked)
    return check


def reduce_dataset(dataset: Dataset, reducer: Reducer) -> Any:
    """The state that a reducer reaches after all elements; its last function is not called."""
    return dataset.reduce(reducer.init_func(0), reducer.reduce_func)


def read_batch_features(file_pattern: object, batch_size: IntLike, features: Mapping[str, object],
                        reader: Callable[..., Dataset] = TFRecordDataset, reader_args: Sequence[object] | None = None,
                        randomize_input: bool = True, num_epochs: int | None = None, capacity: int = 10000) -> dict[str, Tensor]:
    """The next batch of the Examples in files, as a dictionary of features."""
    dataset = examples.make_batched_features_dataset(
        file_pattern, batch_size, features, reader=reader, reader_args=reader_args, shuffle=randomize_input, num_epochs=num_epochs,
        shuffle_buffer_size=capacity)
    return dataset.make_one_shot_iterator().get_next()


names.complete(globals(), {
    "data.dataset": "AUTOTUNE",
    "data.structure": "Optional",
    "data.iterators": "get_next_as_optional",
    "data.reducing": "get_single_element=single_element",
    "data.experimental.transformations": "Counter RandomDataset dense_to_sparse_batch enumerate_dataset ignore_errors map_and_batch "
                                         "parallel_interleave prefetch_to_device scan shuffle_and_repeat unbatch",
    "data.experimental.grouping": "Reducer bucket_by_sequence_length group_by_reducer group_by_window",
    "data.experimental.csv_datasets": "CsvDataset make_csv_dataset",
    "data.experimental.examples": "make_batched_features_dataset parse_example_dataset",
    "data.experimental.iterator_states": "CheckpointInputPipelineHook make_saveable_from_iterator",
    "data.experimental.databases": "SqlDataset",
    "data.experimental.choosing": "choose_from_datasets rejection_resample sample_from_datasets unique"})

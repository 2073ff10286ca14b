# SPDX-License-Identifier: Apache-2.0
"""Elements chosen by what they are, by chance, or from several datasets."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data import nest, structure
from thalweg.data.dataset import Dataset
from thalweg.data.experimental.transformations import RandomDataset, scan
from thalweg.data.making import make
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops, random_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.graph.tensor import Tensor

    Transformation = Callable[[Dataset], Dataset]

_UNIQUE = (dtypes.int32, dtypes.int64, dtypes.string)


def unique() -> Transformation:
    """The elements that were not there before."""
    def transform(dataset: Dataset) -> Dataset:
        for dtype in nest.flatten(dataset.output_types):
            if dtype not in _UNIQUE:
                raise TypeError(f"`tf.data.Dataset.unique` does not support type {dtype} -- only `tf.int32`, `tf.int64`, and `tf.string` "
                                "are supported.")
        return dataset._made("UniqueDataset", [])
    return transform


def _directed(selector: Dataset, datasets: Sequence[Dataset], stop_on_empty_dataset: bool) -> Dataset:
    spec = datasets[0].element_spec
    for i, dataset in enumerate(datasets):
        try:
            spec = structure.wider(spec, dataset.element_spec)
        except (TypeError, ValueError) as error:
            raise TypeError("Invalid `datasets`. `datasets` must have compatible element specs. Dataset 0 element_spec="
                            f"{datasets[0].element_spec}. Dataset {i} element_spec={dataset.element_spec}.") from error
    return make("DirectedInterleaveDataset", [selector._variant, [d._variant for d in datasets]], spec,
                {"stop_on_empty_dataset": stop_on_empty_dataset})


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False) -> Dataset:
    """Elements of the datasets that the int64s of `choice_dataset` name, one after the other."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    choice = choice_dataset.element_spec
    if not isinstance(choice, TensorSpec) or choice.dtype != dtypes.int64 or not choice.shape.is_compatible_with([]):
        raise TypeError("Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` tensors but are "
                        f"{choice}.")
    return _directed(choice_dataset, datasets, stop_on_empty_dataset)


def sample_from_datasets(datasets: Sequence[Dataset], weights: object = None, seed: int | None = None,
                         stop_on_empty_dataset: bool = False) -> Dataset:
    """Elements of the datasets, each time of any of them, with the probabilities `weights`: a vector, or a dataset of vectors."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if len(datasets) == 1:
        return datasets[0]
    seeds = RandomDataset(seed).batch(2)
    if isinstance(weights, Dataset):
        chosen = Dataset.zip((weights, seeds)).map(lambda w, s: _one_of(_logits(w), s))
    else:
        if weights is None:
            logits = convert_to_tensor(np.ones([1, len(datasets)], np.float32))
        else:
            logits = _logits(weights)
            if logits.shape.ndims == 2 and logits.shape.as_list()[1] not in (None, len(datasets)):
                raise ValueError("Invalid `weights`. `weights` should have the same length as `datasets` but got `len(weights)="
                                 f"{logits.shape.as_list()[1]}` vs. `len(datasets)={len(datasets)}`.")
        chosen = seeds.map(lambda s: _one_of(logits, s))
    return _directed(chosen, datasets, stop_on_empty_dataset)


def _logits(weights: object) -> Tensor:
    weights = convert_to_tensor(weights)
    if weights.dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(f"Invalid `weights`. `weights` type must be either `tf.float32` or `tf.float64` but is {weights.dtype}.")
    return array_ops.expand_dims(apply("Log", [weights]), 0)


def _one_of(logits: Tensor, seed: Tensor) -> Tensor:
    return array_ops.reshape(apply("StatelessMultinomial", [logits, convert_to_tensor(1), seed], {"output_dtype": dtypes.int64}), [])


def rejection_resample(class_func: Callable[..., object], target_dist: object, initial_dist: object = None,
                       seed: int | None = None) -> Transformation:
    """Pairs of a class and an element, of which so many are left out that the classes come in the proportions `target_dist`.

    Without `initial_dist`, the proportions of the input are estimated as it goes.
    """
    def transform(dataset: Dataset) -> Dataset:
        target = convert_to_tensor(target_dist)
        classed = dataset.map(lambda *element: (convert_to_tensor(class_func(*element)), element[0] if len(element) == 1 else element))
        if initial_dist is None:
            told = _estimated(classed, target)
        else:
            accepted = _acceptance(convert_to_tensor(initial_dist, target.dtype), target)
            told = classed.map(lambda which, element: (which, element, array_ops.gather(accepted, which)))

        def keep(which: Tensor, element: object, accepted: Tensor) -> Tensor:
            return random_ops.random_uniform([], seed=seed, dtype=target.dtype) < accepted
        return told.filter(keep).map(lambda which, element, accepted: (which, element))
    return transform


def _acceptance(initial: Tensor, target: Tensor) -> Tensor:
    """How probably an element of each class is kept: the rarest, by what is wanted, always is."""
    ratios = target / apply("Maximum", [initial, np.finfo(target.dtype.as_numpy_dtype).tiny])
    return ratios / math_ops.reduce_max(ratios)


def _estimated(classed: Dataset, target: Tensor) -> Dataset:
    """Elements with how probably each is kept, by the proportions so far, as if every class had come once before."""
    def count(seen: Tensor, pair: tuple[Tensor, object]) -> tuple[Tensor, object]:
        which, element = pair
        seen = seen + array_ops.one_hot(which, array_ops.size(target), dtype=target.dtype)
        accepted = _acceptance(seen / math_ops.reduce_sum(seen), target)
        return seen, (which, element, array_ops.gather(accepted, which))
    return classed.apply(scan(array_ops.ones_like(target), count))

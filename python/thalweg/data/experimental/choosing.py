# SPDX-License-Identifier: Apache-2.0
"""Elements chosen by what they are, by chance, or from several datasets."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.data import nest, structure
from thalweg.data.experimental.transformations import RandomDataset, scan
from thalweg.data.making import make
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor_util import constant_value
from thalweg.operations import array_ops, math_ops, random_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.data.dataset import Dataset
    from thalweg.data.experimental.transformations import Transformation
    from thalweg.graph.tensor import Tensor

_LEARNED_AT_ONCE = 32
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
    return make("DirectedInterleaveDataset", [selector, list(datasets)], spec,
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
    if isinstance(weights, structure.dataset_class()):
        chosen = structure.dataset_class().zip((weights, seeds)).map(lambda w, s: _one_of(_logits(w), s))
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
                       seed: int | None = None, stop_on_empty_dataset: bool = False) -> Transformation:
    """Pairs of a class and an element, of which so many are left out that the classes come in the proportions `target_dist`.

    Without `initial_dist`, the proportions of the input are estimated as it goes. As in TensorFlow, elements are taken of the input
    itself as often as its proportions allow, else of what is left of another pass over it; the first of both that ends is the end
    only with `stop_on_empty_dataset`, which is how TensorFlow 2 has it.
    """
    def transform(dataset: Dataset) -> Dataset:
        together = structure.dataset_class().zip
        target = convert_to_tensor(target_dist, dtypes.float32)
        classes = dataset.map(class_func)
        classed = together((classes, dataset))
        if initial_dist is None:
            chances = _estimates(classes, target).map(lambda initial: _chances(initial, target))
        else:
            constant = structure.dataset_class().from_tensors(convert_to_tensor(initial_dist, dtypes.float32)).repeat()
            chances = constant.map(lambda initial: _chances(initial, target))

        def keep(pair: tuple[Tensor, object], chance: tuple[Tensor, Tensor]) -> Tensor:
            return random_ops.random_uniform([], seed=seed) < array_ops.gather(chance[0], pair[0])
        left = together((classed, chances)).filter(keep).map(lambda pair, chance: pair).prefetch(3)
        as_it_comes = _known_chance(target_dist, initial_dist)
        if as_it_comes in (0.0, 1.0):
            return classed if as_it_comes else left
        weights = chances.map(lambda accepted, untouched: array_ops.stack([untouched, 1.0 - untouched]))
        return sample_from_datasets([classed, left], weights, seed, stop_on_empty_dataset)
    return transform


def _known_chance(target: object, initial: object) -> float | None:
    """How probably an element is taken as it comes, where the graph knows."""
    known = [None if p is None else constant_value(convert_to_tensor(p, dtypes.float32)) for p in (target, initial)]
    return None if any(k is None for k in known) else float(np.min(known[0] / np.maximum(known[1], np.finfo(np.float32).tiny)))


def _chances(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """How probably an element of each class is kept of what is not taken as it comes, and how probably it is taken so."""
    ratios = target / (initial + np.finfo(np.float32).tiny)
    least = math_ops.reduce_min(ratios)
    return (ratios - least) / (math_ops.reduce_max(ratios) - least), least


def _estimates(classes: Dataset, target: Tensor) -> Dataset:
    """The proportions of the classes so far, for each element; learned by 32 at a time, as if each had come ten times before."""
    def count(seen: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        seen = seen + math_ops.reduce_sum(array_ops.one_hot(which, array_ops.size(target), dtype=dtypes.int64), 0)
        shares = math_ops.cast(apply("RealDiv", [math_ops.cast(seen, dtypes.float64),
                                                 math_ops.cast(math_ops.reduce_sum(seen), dtypes.float64)]), dtypes.float32)
        return seen, array_ops.tile(array_ops.expand_dims(shares, 0), [_LEARNED_AT_ONCE, 1])
    before = array_ops.fill(array_ops.shape(target), np.int64(10))
    return classes.batch(_LEARNED_AT_ONCE).apply(scan(before, count)).unbatch()

# SPDX-License-Identifier: Apache-2.0
"""Ensembles of trees and streams of quantiles, which a Saver saves as TensorFlow 1.15 does."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import GraphKeys, add_to_collection, control_dependencies, name_scope
from thalweg.graph.ops import apply
from thalweg.saving.saveables import SaveableObject, SaveSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import ShapeLike
    from thalweg.graph.tensor import Operation, Tensor


def _made(made):
    """The operation of a node without outputs."""
    return getattr(made, "op", made)


class PruningMode:
    """When splits that gain less than nothing are taken back."""

    NO_PRUNING, PRE_PRUNING, POST_PRUNING = range(3)
    _map = {"none": NO_PRUNING, "pre": PRE_PRUNING, "post": POST_PRUNING}

    @classmethod
    def from_str(cls, mode: str) -> int:
        """The number of a mode's name."""
        if mode not in cls._map:
            raise ValueError("pruning_mode mode must be one of: {}".format(", ".join(sorted(cls._map))))
        return cls._map[mode]


class _EnsembleSaveable(SaveableObject):
    """An ensemble as a Saver sees it: its stamp and its message."""

    def __init__(self, handle: Tensor, create: Operation):
        stamp, serialized = apply("BoostedTreesSerializeEnsemble", [handle])
        super().__init__(handle, [SaveSpec(stamp, "", f"{handle.name}_stamp"), SaveSpec(serialized, "", f"{handle.name}_serialized")],
                         handle.name)
        self._create = create

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[ShapeLike] | None) -> Operation:
        """Fills the ensemble, which is made first where it is not there."""
        with control_dependencies([self._create]):
            return _made(apply("BoostedTreesDeserializeEnsemble", [self.op, restored_tensors[0], restored_tensors[1]]))


class TreeEnsemble:
    """An ensemble of decision trees, a resource that a graph's sessions share by its name.

    Parameters
    ----------
    name : str
        Of the resource, and of its entries in checkpoints.
    stamp_token : int
        The number of its first version.
    is_local : bool
        Whether no Saver saves it.
    serialized_proto : str or bytes
        What it begins from: a serialized TreeEnsemble message.
    """

    def __init__(self, name: str, stamp_token: int = 0, is_local: bool = False, serialized_proto: str | bytes = "") -> None:
        with name_scope(name, "TreeEnsemble") as scope:
            self.resource_handle = apply("BoostedTreesEnsembleResourceHandleOp", [], {"container": "", "shared_name": scope}, name=scope)
            self.initializer = _made(apply("BoostedTreesCreateEnsemble", [self.resource_handle, stamp_token, serialized_proto]))
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, self.initializer)
            if not is_local:
                add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _EnsembleSaveable(self.resource_handle, self.initializer))

    def is_initialized(self) -> Tensor:
        """Whether the ensemble was made."""
        return apply("IsBoostedTreesEnsembleInitialized", [self.resource_handle])

    def get_stamp_token(self) -> Tensor:
        """The number of its version."""
        return self.get_states()[0]

    def get_states(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Stamp, number of trees, of finished trees, of layers tried, and the range of nodes of the last layer."""
        return tuple(apply("BoostedTreesGetEnsembleStates", [self.resource_handle]))

    def serialize(self) -> tuple[Tensor, Tensor]:
        """Stamp and message."""
        return tuple(apply("BoostedTreesSerializeEnsemble", [self.resource_handle]))

    def deserialize(self, stamp_token: Tensor | int, serialized_proto: Tensor | bytes) -> Operation:
        """Replaces the ensemble by a message, and its stamp."""
        return _made(apply("BoostedTreesDeserializeEnsemble", [self.resource_handle, stamp_token, serialized_proto]))


class _StreamsSaveable(SaveableObject):
    """Streams of quantiles as a Saver sees them: the boundaries that were made of each."""

    def __init__(self, handle: Tensor, boundaries: Sequence[Tensor], create: Operation):
        specs = [SaveSpec(tensor, "", f"{handle.name}_bucket_boundaries_{i}") for i, tensor in enumerate(boundaries)]
        super().__init__(handle, specs, handle.name)
        self._create = create

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[ShapeLike] | None) -> Operation:
        """Sets the boundaries of the streams, which are made first where they are not there."""
        with control_dependencies([self._create]):
            return _made(apply("BoostedTreesQuantileStreamResourceDeserialize", [self.op, list(restored_tensors)]))


class QuantileAccumulator:
    """Streams of quantiles of several features, a resource that a graph's sessions share by its name.

    Parameters
    ----------
    epsilon : float
        By how much of the weight a rank may be wrong.
    num_streams : int
        How many features there are.
    num_quantiles : int
        How many buckets a flush makes.
    name : str, optional
        Of the resource, and of its entries in checkpoints.
    max_elements : int, optional
        How many values are expected.
    """

    def __init__(self, epsilon: float, num_streams: int, num_quantiles: int, name: str | None = None,
                 max_elements: int | None = None) -> None:
        self._epsilon, self._streams, self._quantiles = epsilon, num_streams, num_quantiles
        with name_scope(name, "QuantileAccumulator") as scope:
            self.resource_handle = apply("BoostedTreesQuantileStreamResourceHandleOp", [], {"container": "", "shared_name": scope},
                                         name=scope)
            more = {} if max_elements is None else {"max_elements": max_elements}
            self.initializer = _made(apply("BoostedTreesCreateQuantileStreamResource", [self.resource_handle, epsilon, num_streams], more))
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, self.initializer)
            saveable = _StreamsSaveable(self.resource_handle, self.get_bucket_boundaries(), self.initializer)
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable)

    def is_initialized(self) -> Tensor:
        """Whether the streams were made."""
        return apply("IsBoostedTreesQuantileStreamResourceInitialized", [self.resource_handle])

    def add_summaries(self, float_columns: Sequence[Tensor], example_weights: Tensor) -> Operation:
        """Adds weighted values of each feature."""
        summaries = _list(apply("BoostedTreesMakeQuantileSummaries", [list(float_columns), example_weights, self._epsilon]))
        return self.add_prebuilt_summaries(summaries)

    def add_prebuilt_summaries(self, summaries: Sequence[Tensor]) -> Operation:
        """Adds a summary to each stream."""
        return _made(apply("BoostedTreesQuantileStreamResourceAddSummaries", [self.resource_handle, list(summaries)]))

    def flush(self) -> Operation:
        """Makes boundaries of what was added, and empties the streams."""
        return _made(apply("BoostedTreesQuantileStreamResourceFlush", [self.resource_handle, self._quantiles]))

    def get_bucket_boundaries(self) -> list[Tensor]:
        """The boundaries of each feature's buckets: none before a flush."""
        return _list(apply("BoostedTreesQuantileStreamResourceGetBucketBoundaries", [self.resource_handle],
                           {"num_features": self._streams}))


def _list(made):
    return list(made) if isinstance(made, (list, tuple)) else [made]

# SPDX-License-Identifier: Apache-2.0
"""What has a value for each replica: results of replicas, and variables with a part on each device."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.control import replicas
from thalweg.graph import graph, ops
from thalweg.saving.saveables import SaveableObject, SaveSpec
from thalweg.variables import variables
from thalweg.variables.variable_modes import VariableAggregation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import TensorLike
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation, Tensor


class DistributedValues:
    """A value for each replica, in their order."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)

    def get(self) -> Any:
        """The value of the replica that code runs for; the first one's across replicas."""
        context = replicas.of_a_replica()
        return self.values[context._index if context is not None else 0]

    def _fetch_parts(self):
        return list(self.values), type(self)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(repr, self.values))})"


class PerReplica(DistributedValues):
    """Values that differ."""


class Mirrored(DistributedValues):
    """Copies of one value."""

    def _as_tensor(self) -> Tensor:
        return ops.convert_to_tensor(self.get())

    def _fetch_parts(self):
        return list(self.values), lambda values: values[0]


def regroup(results: Sequence[Any]) -> Any:
    """One structure of distributed values of the structures of all replicas; what is the same object for all stays that object."""
    return nest.map_structure(lambda *each: each[0] if all(e is each[0] for e in each) else PerReplica(each), *results)


def select(index: int, structure: Any) -> Any:
    """The structure of one replica."""
    return nest.map_structure(lambda value: value.values[index] if isinstance(value, DistributedValues) else value, structure)


def _of_primary(name):
    return property(lambda self: getattr(self.get(), name))


class DistributedVariable(variables.Variable):
    """A variable with a part on each device of a strategy. For the program it is one: in a replica it is that replica's part."""

    _handle, _initializer, _snapshot, _initial_value = map(_of_primary, ("_handle", "_initializer", "_snapshot", "_initial_value"))

    def __init__(self, strategy: Any, parts: Sequence[variables.Variable], trainable: bool, aggregation: VariableAggregation) -> None:
        self._strategy, self.values, self._aggregation, self._trainable = strategy, tuple(parts), aggregation, trainable
        first = parts[0]
        self._synchronization, self._resource, self._dtype, self.constraint = first._synchronization, first._resource, first._dtype, None
        self._save_slice_info, self._all_initialized = None, None
        self._unique_id = first.graph, first.op.name  # by which optimizers find its slots
        for part in parts:
            part._unique_id, part._whole, part._trainable, part.constraint = self._unique_id, self, trainable, first.constraint

    def get(self) -> variables.Variable:
        """The part of where code runs: of a replica, or of the device that is being updated; the first one elsewhere."""
        found = replicas.here()
        if found is not None and found.replica is not None and found.strategy is self._strategy:
            return self.values[found.replica._index]
        if found is not None and found.device is not None:
            return next((part for part in self.values if part.device == found.device), self.values[0])
        return self.values[0]

    @property
    def primary(self) -> variables.Variable:
        """The part of the first device."""
        return self.values[0]

    @property
    def distribute_strategy(self) -> Any:
        """The strategy that it was made under."""
        return self._strategy

    @property
    def initializer(self) -> Operation:
        """Sets all parts."""
        if self._all_initialized is None:
            with self.graph.control_dependencies(None):
                self._all_initialized = ops.group(*[part.initializer for part in self.values])
        return self._all_initialized

    def load(self, value: TensorLike, session: Session | None = None) -> None:
        """Sets all parts now."""
        for part in self.values:
            part.load(value, session)

    def _saveable(self, name: str) -> SaveableObject:
        return _Saveable(self, name)


class _Saveable(SaveableObject):
    """One tensor in a checkpoint, by which all parts are set."""

    def __init__(self, variable: DistributedVariable, name: str) -> None:
        self._variable, first = variable, variable.primary
        super().__init__(variable, [SaveSpec(variable._saved_value, "", name, first._dtype, first.device)], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: object) -> Operation:
        return self._variable._restored(restored_tensors[0])


class MirroredVariable(DistributedVariable):
    """All parts have the same value: a change in replicas is merged by the variable's aggregation, and made to all parts."""

    def _saved_value(self):
        return self.primary.read_value()

    def _restored(self, value):
        return ops.group(*[part.assign(value, read_value=False) for part in self.values])

    def _changed(self, change: Callable[[variables.Variable, Any], Any], value: TensorLike) -> Any:
        context, found = replicas.of_a_replica(), replicas.here()
        if context is None and found is not None and found.device is not None:
            return change(self.get(), value)
        if context is None:
            return self._strategy.extended.update(self, change, args=(value,))
        if self._aggregation == VariableAggregation.NONE:
            raise ValueError("You must specify an aggregation method to update a MirroredVariable in Replica Context: SUM, MEAN or "
                             "ONLY_FIRST_REPLICA as the argument `aggregation` of the variable.")

        def merged(strategy, given):
            return strategy.extended.update(self, change, args=(strategy.extended._merged(self._aggregation, given, self),))
        return context.merge_call(merged, args=(ops.convert_to_tensor(value, dtype=self._dtype),))

    def assign(self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Sets all parts."""
        return self._changed(lambda part, given: part.assign(given, use_locking, name, read_value), value)

    def assign_add(self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Adds to all parts."""
        return self._changed(lambda part, given: part.assign_add(given, use_locking, name, read_value), delta)

    def assign_sub(self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Takes from all parts."""
        return self._changed(lambda part, given: part.assign_sub(given, use_locking, name, read_value), delta)

    def _changed_part_by_part(self, change: Callable[[variables.Variable], Any]) -> Any:
        """What replicas ask of elements cannot be merged: an optimizer, or code across replicas, changes them."""
        if replicas.of_a_replica() is not None:
            raise NotImplementedError(f"elements of the mirrored variable {self.name} are changed across replicas, in a merge_call")
        found = replicas.here()
        return change(self.get()) if found is not None and found.device is not None else self._strategy.extended.update(self, change)

    def _assign_part(self, places, masks, value, name):
        return self._changed_part_by_part(lambda part: part._assign_part(places, masks, value, name))

    def count_up_to(self, limit: int) -> Tensor:
        """Adds one to all parts; at `limit` a step ends with errors.OutOfRangeError."""
        return self._changed_part_by_part(lambda part: part.count_up_to(limit))


class SyncOnReadVariable(DistributedVariable):
    """Each replica changes its own part; read across replicas it is all parts merged."""

    _fetched = None  # all parts merged, for fetches

    def _is_of_one(self):
        """Whether code runs for one replica, or changes one part."""
        found = replicas.here()
        return found is not None and (found.replica is not None or found.device is not None)

    def _merged(self):
        return self._strategy.extended._merged(self._aggregation, PerReplica([part.read_value() for part in self.values]), None)

    def _as_tensor(self) -> Tensor:
        return self.get()._as_tensor() if self._is_of_one() else self._merged()

    def _as_graph_element(self):
        if self._is_of_one():
            return self.get()._as_tensor()
        if self._fetched is None:
            with self.graph.as_default(), graph.control_dependencies(None):
                self._fetched = self._merged()
        return self._fetched

    def eval(self, session: Session | None = None) -> Any:
        """All parts merged, in `session` or the default one."""
        return self._as_graph_element().eval(session=session)

    def read_value(self) -> Tensor:
        """The own part's value in a replica, all merged elsewhere."""
        return self._as_tensor()

    def assign(self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Sets the own part in a replica, elsewhere all parts so that they are the value when merged."""
        if self._is_of_one():
            return self.get().assign(value, use_locking, name, read_value)
        return self._restored(ops.convert_to_tensor(value, dtype=self._dtype))

    def _saved_value(self):
        return self._merged()

    def _restored(self, value):
        if self._aggregation == VariableAggregation.SUM:
            with graph.device(self.primary.device):
                value = value / ops.convert_to_tensor(self._strategy.num_replicas_in_sync, dtype=value.dtype)
        return ops.group(*[part.assign(value, read_value=False) for part in self.values])

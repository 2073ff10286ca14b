# SPDX-License-Identifier: Apache-2.0
"""Strategy: over which replicas a program runs, what their variables are, how their values become one."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.control import replicas
from thalweg.distribute import inputs, reductions, running
from thalweg.distribute.reductions import ReduceOp
from thalweg.distribute.values import (
    DistributedValues,
    DistributedVariable,
    Mirrored,
    MirroredVariable,
    PerReplica,
    SyncOnReadVariable,
    regroup,
    select,
)
from thalweg.graph import graph, ops
from thalweg.operations import array_ops, math_ops
from thalweg.variables import variable_scopes, variables
from thalweg.variables.variable_modes import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from thalweg.data.dataset import Dataset
    from thalweg.graph.tensor import Tensor
    from thalweg.messages import ConfigProto
    from thalweg.variables.variables import Variable


class StrategyExtended:
    """What a strategy can do, for those who write optimizers and loops of training.

    Parameters
    ----------
    container_strategy : Strategy
    devices : sequence of str
        Of the replicas in this process.
    central : str, optional
        The device of all variables, of which there is one part each; by default each replica has its own part.
    """

    def __init__(self, container_strategy: Strategy, devices: Sequence[str] = ("",), central: str | None = None) -> None:
        self._strategy, self._devices, self._central = container_strategy, tuple(devices), central
        self._made = {}  # in a call for each replica: the variables that the first one has made, by name

    # ---- what it is ----
    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of the replicas."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of variables."""
        return self._devices if self._central is None else (self._central,)

    def _variable_devices(self):
        """Where the parts of the next variable are."""
        return self.parameter_devices

    @property
    def _num_replicas_in_sync(self):
        return len(self._devices)

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process saves checkpoints."""
        return True

    should_save_summary = should_checkpoint
    experimental_require_static_shapes = False
    experimental_between_graph = False
    experimental_should_init = True
    _is_default = False
    _keras_refusal = ""  # why models of tf.keras do not train under it

    def value_container(self, value: Any) -> Any:
        """The variable or value that something is a part of."""
        return getattr(value, "_whole", value)

    def non_slot_devices(self, var_list: Sequence[Variable]) -> Any:
        """Where variables of an optimizer are that belong to no other."""
        del var_list
        return self.parameter_devices

    # ---- variables ----
    @contextlib.contextmanager
    def _scope(self) -> Iterator[Strategy]:
        if replicas.is_entered(self._strategy):  # a variable is made by one creator, however often its scope is named
            yield self._strategy
            return

        def whole(getter, *args, **kwargs):
            kwargs["partitioner"] = None
            return getter(*args, **kwargs)

        with replicas.under(replicas.Replication(self._strategy)), variables.variable_creator_scope(self._create), \
                variable_scopes.variable_scope(variable_scopes.get_variable_scope(), custom_getter=whole, auxiliary_name_scope=False):
            yield self._strategy

    def _create(self, next_creator, **kwargs):
        """A variable under the strategy: a part on each of the devices of variables, as resources."""
        context, kwargs = replicas.of_a_replica(), dict(kwargs, use_resource=True)
        if context is None:
            return self._create_parts(next_creator, kwargs)
        seen = context._names_seen = getattr(context, "_names_seen", {})
        place = kwargs.get("name") or "Variable", seen.get(kwargs.get("name"), 0)
        seen[kwargs.get("name")] = place[1] + 1
        if context._index == 0:
            with replicas.under(replicas.Replication(self._strategy)):
                self._made[place] = self._create_parts(next_creator, kwargs)
        elif place not in self._made:
            raise RuntimeError(f"variable {place[0]!r} is made by replica {context._index}, but not by the first one")
        return self._made[place]

    def _create_parts(self, next_creator, kwargs):
        if graph.get_default_graph()._executes:
            raise NotImplementedError(f"variable {kwargs.get('name') or 'Variable'!r} of a distribution strategy where operations run at once is "
                                      "not implemented in Thalweg: strategies are of graphs")
        colocated = kwargs.pop("colocate_with", None)
        devices = self._variable_devices() if colocated is None else self._places(colocated)
        collections = kwargs.get("collections")
        collections = [graph.GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        on_read = kwargs.get("synchronization") == VariableSynchronization.ON_READ
        trainable = not on_read if kwargs.get("trainable") is None else bool(kwargs["trainable"])
        given = dict(kwargs, collections=[], trainable=False)
        # Variables wait for nothing that a replica waits for.
        with graph.device(devices[0]), graph.control_dependencies(None):
            parts = [next_creator(**given)]
        first = parts[0]
        for i, device in enumerate(devices[1:], 1):
            copied = dict(given, name=f"{first.op.name}/replica_{i}", initial_value=lambda: array_ops.identity(first.initial_value), dtype=None)
            with graph.get_default_graph().name_scope(None), graph.device(device), graph.control_dependencies(None):
                parts.append(next_creator(**copied))
        if len(parts) == 1 and self._central is not None:
            first._trainable, made = trainable, first
        else:
            kind = SyncOnReadVariable if on_read else MirroredVariable
            aggregation = kwargs.get("aggregation") or VariableAggregation.NONE
            made = kind(self._strategy, parts, trainable, aggregation)
        if trainable and graph.GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections.append(graph.GraphKeys.TRAINABLE_VARIABLES)
        graph.get_default_graph().add_to_collections(collections, made)
        return made

    def variable_created_in_scope(self, v: Variable) -> bool:
        """Whether a variable was made under this strategy."""
        return getattr(v, "distribute_strategy", None) is self._strategy or (self._central is not None and v.device in self.parameter_devices)

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Variable) -> Iterator[None]:
        """Variables made meanwhile are where another one is."""
        def creator(next_creator, **kwargs):
            if self.variable_created_in_scope(colocate_with_variable):
                return next_creator(colocate_with=colocate_with_variable, **kwargs)
            with graph.colocate_with(colocate_with_variable.op):
                return next_creator(**kwargs)
        with variables.variable_creator_scope(creator):
            yield

    def read_var(self, v: Variable) -> Tensor:
        """The value of a variable."""
        return v.read_value()

    # ---- replicas ----
    def call_for_each_replica(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """fn for each replica, on its device; the results as values of each."""
        self._made = {}
        with contextlib.ExitStack() as scopes:
            if replicas.here() is None or replicas.here().strategy is not self._strategy:
                scopes.enter_context(self._scope())
            return running.call_for_each(self._strategy, self._devices, fn, args, kwargs or {})

    def _merge_call(self, context, merge_fn, args, kwargs):
        return context._thread.wait_for(merge_fn, args, kwargs)

    # ---- input ----
    def _input_context(self):
        """What a function of input may ask in this process."""
        return inputs.InputContext(1, 0, self._num_replicas_in_sync)

    def _distributed(self, dataset):
        """A dataset whose batches are cut among all replicas: the parts of those of this process."""
        return inputs.DistributedDataset(dataset, len(self._devices))

    def _own_rows(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """In a replica: its rows of a batch that all replicas are given whole, as tensors of equal length."""
        count = self._num_replicas_in_sync
        if count == 1 or not tensors:
            return list(tensors)
        number = self._input_context().input_pipeline_id * len(self._devices) + replicas.of_a_replica()._index
        rows = inputs.rows_of_part(tensors[0], count, number)
        return [tensor[rows] for tensor in tensors]

    def _check_alike(self, numbers: Sequence[tuple[str, int]]) -> None:
        """Raises in each of several workers where a number, of what it counts, is another in one of them; 0 goes with any."""

    def _session_target(self) -> str:
        """The server at which sessions run that are of no program's making; this process itself unless the strategy is of a cluster."""
        return ""

    # ---- values ----
    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any) -> Any:
        """The sum or mean of the values of all replicas, where `destinations` is."""
        if not isinstance(value, PerReplica):
            return self._alike(ReduceOp.of(reduce_op), value)
        total = reductions.merged(reduce_op, value.values, self._first(destinations))
        devices = self._places(destinations)
        return total if len(devices) == 1 else Mirrored([_on(total, device) for device in devices])

    def _alike(self, op, value):
        """What all replicas have alike is its own mean; a sum of it is asked by mistake, unless it is of one, or zero."""
        if op is ReduceOp.MEAN or self._num_replicas_in_sync == 1:
            return value
        if isinstance(value, (int, float)) and value == 0:
            return 0
        if isinstance(value, Mirrored):
            return Mirrored([v * self._num_replicas_in_sync for v in value.values])
        raise ValueError(f"A non-DistributedValues value {value} cannot be reduced with the given reduce op {op}.")

    def batch_reduce_to(self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """reduce_to() of each pair."""
        return [self.reduce_to(reduce_op, value, destination) for value, destination in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any = None) -> Any:
        """A copy of a tensor for each of the places."""
        devices = self._places(destinations)
        copies = [_on(ops.convert_to_tensor(tensor), device) for device in devices]
        return copies[0] if len(copies) == 1 else Mirrored(copies)

    def _places(self, destinations):
        if isinstance(destinations, DistributedVariable):
            return [part.device for part in destinations.values]
        if isinstance(destinations, str):
            return [destinations]
        if isinstance(destinations, (list, tuple)) and destinations and all(isinstance(d, str) for d in destinations):
            return list(destinations)
        if isinstance(destinations, variables.Variable):
            return [destinations.device]
        return list(self._devices)

    def _first(self, destinations):
        return self._places(destinations)[0]

    def _merged(self, aggregation, value, destination):
        """What replicas give for a variable, by its aggregation."""
        if aggregation in (VariableAggregation.ONLY_FIRST_REPLICA, VariableAggregation.NONE):
            return value.values[0] if isinstance(value, DistributedValues) else value
        destination = self._devices[0] if destination is None else destination
        return self.reduce_to("SUM" if aggregation == VariableAggregation.SUM else "MEAN", value, destination)

    def update(self, var: Variable, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
               group: bool = True) -> Any:
        """fn(part, ...) for each part of a variable, where it is."""
        parts = var.values if isinstance(var, DistributedVariable) else (var,)
        results = []
        for i, part in enumerate(parts):
            with replicas.under(replicas.Replication(self._strategy, None, part.device)), graph.device(part.device), \
                    graph.get_default_graph().name_scope(f"update_{i}"):
                results.append(fn(part, *select(i, tuple(args)), **select(i, dict(kwargs or {}))))
        return self._grouped(results, group)

    def update_non_slot(self, colocate_with: Any, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
                        group: bool = True) -> Any:
        """fn on each of the devices that non_slot_devices() gave."""
        results = []
        for i, device in enumerate(colocate_with):
            with replicas.under(replicas.Replication(self._strategy, None, device)), graph.device(device):
                results.append(fn(*select(i, tuple(args)), **select(i, dict(kwargs or {}))))
        return self._grouped(results, group)

    def _grouped(self, results, group):
        if not group:
            return results[0] if len(results) == 1 else regroup(results)
        if len(results) == 1 or any(r is None for r in results):
            return results[0]
        if not all(isinstance(r, graph.Tensor) for r in results):
            return ops.group(*results)
        with graph.control_dependencies(results):
            return _on(results[0], results[0].device)


def _on(tensor, device):
    if not isinstance(tensor, graph.Tensor):
        return tensor
    with graph.device(device):
        return array_ops.identity(tensor)


class Strategy:
    """Over which replicas a program runs: code below `with strategy.scope():` makes variables of the strategy, and
    experimental_run_v2() runs a function for each replica.

    Parameters
    ----------
    extended : StrategyExtended

    Examples
    --------
    >>> strategy = tw.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    >>> with strategy.scope():
    ...     w = tw.get_variable("w", initializer=2.0)
    >>> def loss():
    ...     number = tw.distribute.get_replica_context().replica_id_in_sync_group
    ...     return w * tw.cast(number + 1, tw.float32)
    >>> with strategy.scope():
    ...     total = strategy.reduce(tw.distribute.ReduceOp.SUM, strategy.experimental_run_v2(loss))
    >>> with tw.Session(config=tw.ConfigProto(device_count={"CPU": 2})) as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     print(sess.run(total))
    6.0
    """

    _scales_losses = False  # whether gradients are those of the mean of the replicas' losses: in an Estimator

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended

    @property
    def extended(self) -> StrategyExtended:
        """What it can do beyond this."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """Over how many replicas gradients are summed."""
        return self._extended._num_replicas_in_sync

    def scope(self) -> AbstractContextManager[Strategy]:
        """with strategy.scope(): variables made there are of the strategy."""
        return self._extended._scope()

    @contextlib.contextmanager
    def _scaling_losses(self) -> Iterator[None]:
        self._scales_losses = True
        try:
            yield
        finally:
            self._scales_losses = False

    def experimental_run_v2(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """fn for each replica, on its device; the results as values of each."""
        return self._extended.call_for_each_replica(fn, args, kwargs)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: inputs.DistributedIterator | None = None) -> Any:
        """fn for each replica, of the next element where there is input."""
        return self.experimental_run_v2(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: int | None = None) -> Any:
        """The sum or mean of the values of all replicas, along an axis of them too where one is given."""
        op = ReduceOp.of(reduce_op)
        if axis is not None:
            return self._along(op, value, axis)
        return nest.map_structure(lambda v: self._extended.reduce_to(op, v, self._extended._devices[0]), value)

    def _along(self, op, value, axis):
        each = self.experimental_local_results(value)
        totals = self._extended.reduce_to(ReduceOp.SUM, PerReplica([math_ops.reduce_sum(v, axis=axis) for v in each]), self._extended._devices[0])
        if op is ReduceOp.SUM:
            return totals
        counts = self._extended.reduce_to(ReduceOp.SUM, PerReplica([array_ops.shape(v)[axis] for v in each]), self._extended._devices[0])
        return totals / math_ops.cast(counts, totals.dtype)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas of this process."""
        return value.values if isinstance(value, (DistributedValues, DistributedVariable)) else (value,)

    unwrap = experimental_local_results

    def experimental_distribute_dataset(self, dataset: Dataset) -> inputs.DistributedDataset:
        """A dataset whose batches are cut among the replicas."""
        return self._extended._distributed(dataset)

    def make_dataset_iterator(self, dataset: Dataset) -> inputs.DistributedIterator:
        """A pass over a dataset whose batches are cut among the replicas."""
        return self.experimental_distribute_dataset(dataset).make_initializable_iterator()

    def make_input_fn_iterator(self, input_fn: Callable[[inputs.InputContext], Any], replication_mode: object = None) -> inputs.DistributedIterator:
        """A pass over what input_fn(InputContext) gives: a dataset of batches for one replica each."""
        del replication_mode
        return inputs.of_function(input_fn, self._extended._input_context(), self._extended._devices)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: object = None) -> Dataset:
        """A dataset of the rows of arrays."""
        from thalweg.data.dataset import Dataset
        del session
        return Dataset.from_tensor_slices(numpy_input)

    def update_config_proto(self, config_proto: ConfigProto) -> ConfigProto:
        """The configuration that sessions need."""
        return config_proto

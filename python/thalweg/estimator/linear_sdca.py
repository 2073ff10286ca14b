# SPDX-License-Identifier: Apache-2.0
"""LinearSDCA: linear models trained by stochastic dual coordinate ascent (Shalev-Shwartz and Zhang, 2013; Ma et al., 2015)."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, lookup, summary
from thalweg.estimator.class_heads import BinaryClassHead, MultiClassHead
from thalweg.estimator.regression_heads import RegressionHead
from thalweg.feature_column.column import CATEGORICAL, _LazyBuilder
from thalweg.feature_column.layer_of_columns import ordered_columns
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys, colocate_with, control_dependencies, name_scope
from thalweg.graph.ops import apply
from thalweg.operations import array_ops, math_ops
from thalweg.operations.sparse_ops import sparse_reshape
from thalweg.saving.saveables import SaveableObject, SaveSpec
from thalweg.training.global_steps import get_global_step
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.estimator.heads import Head
    from thalweg.graph.tensor import Operation, Tensor

_BUCKETS = 1 << 17  # of a table of states at first, as in TensorFlow's checkpoints


class LinearSDCA:
    """Stochastic dual coordinate ascent: the `optimizer` of a LinearClassifier of two classes or of a LinearRegressor of one number.

    It has no learning rate, and converges to the optimum of a convex loss with L1 and L2 regularization. The state of each example lies in
    a table, so each needs a name that stays the same in every epoch.

    Parameters
    ----------
    example_id_column : str
        The feature of shape [batch] or [batch, 1] and type string that names examples.
    num_loss_partitions : int
        How many workers train at once: the more, the smaller the steps.
    num_table_shards : int, optional
        How many tables hold the states of the examples: one by default.
    symmetric_l1_regularization : float
        Weight of the sum of absolute weights, at least 0.
    symmetric_l2_regularization : float
        Weight of half the sum of squared weights, above 0.
    adaptive : bool
        Whether examples are drawn the more often the farther they are from their optimum.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> sdca = tw.estimator.experimental.LinearSDCA("name")
    >>> model = tw.estimator.LinearClassifier([tw.feature_column.numeric_column("age")], optimizer=sdca)
    >>> people = {"age": np.array([-1.0, 1.0]), "name": np.array(["a", "b"])}
    >>> trained = model.train(tw.estimator.inputs.numpy_input_fn(people, np.array([0, 1]), num_epochs=None, shuffle=False), steps=20)
    >>> asked = tw.estimator.inputs.numpy_input_fn({"age": np.array([-2.0, 3.0])}, shuffle=False)
    >>> [int(row["class_ids"][0]) for row in model.predict(asked)]
    [0, 1]
    """

    def __init__(self, example_id_column: str, num_loss_partitions: int = 1, num_table_shards: int | None = None,
                 symmetric_l1_regularization: float = 0.0, symmetric_l2_regularization: float = 1.0, adaptive: bool = False) -> None:
        for name, value, fits, wanted in (
                ("num_loss_partitions", num_loss_partitions, num_loss_partitions >= 1, "at least 1"),
                ("num_table_shards", num_table_shards, num_table_shards is None or num_table_shards >= 1, "at least 1"),
                ("symmetric_l1_regularization", symmetric_l1_regularization, symmetric_l1_regularization >= 0, "at least 0"),
                ("symmetric_l2_regularization", symmetric_l2_regularization, symmetric_l2_regularization > 0, "above 0")):
            if not fits:
                raise ValueError(f"{name} must be {wanted}. Given: {value}")
        self._names, self._partitions, self._adaptive = example_id_column, num_loss_partitions, adaptive
        self._shards = num_table_shards or 1
        self._l1, self._l2 = float(symmetric_l1_regularization), float(symmetric_l2_regularization)

    def _training_step(self, loss_type: str, features: Mapping[str, Any], targets: Tensor, weights: Tensor,
                       variables: Mapping[Any, Sequence[Variable]], numbers: Mapping[Any, Tensor]) -> Operation:
        """A step of training; targets and weights of shape [batch] and type float32."""
        if self._names not in features:
            raise ValueError(f"LinearSDCA: no feature '{self._names}', which names examples. Given features: {sorted(features)}")
        groups = self._groups(features, variables, numbers, array_ops.size(targets))
        states = _States(self._shards)
        with name_scope("sdca"):
            with name_scope("approximate_duality_gap"):
                gap = self._duality_gap(states, [v for group in groups for v in group.variables])
            with name_scope("minimize"):
                names = apply("SdcaFprint", [array_ops.reshape(features[self._names], [-1])])
                step = self._ascent(loss_type, groups, states, names, targets, weights)
        summary.scalar("approximate_duality_gap", gap)
        summary.scalar("examples_seen", states.size())
        with control_dependencies(step):
            shrunk = [self._shrink(variable, unshrunk) for group in groups
                      for variable, unshrunk in zip(group.variables, group.unshrunk, strict=True)]
        with control_dependencies(shrunk):
            return get_global_step().assign_add(1).op

    @staticmethod
    def _groups(features, variables, numbers, rows):
        builder = _LazyBuilder(features)
        columns = ordered_columns([c for c in variables if c != "bias"])
        sparse = [_Categories(c, builder, variables[c]) for c in columns if isinstance(c, CATEGORICAL)]
        dense = [_Numbers(numbers[c], variables[c]) for c in columns if c in numbers]
        return [*sparse, *dense, _Numbers(array_ops.ones(array_ops.stack([rows, 1])), variables["bias"])]

    def _ascent(self, loss_type, groups, states, names, targets, weights):
        """What has to be done for a step of the unshrunk weights and the states of the examples."""
        sparse = [g for g in groups if isinstance(g, _Categories)]
        dense = [g for g in groups if not isinstance(g, _Categories)]
        found = apply("SdcaOptimizerV2", [
            [g.rows for g in sparse], [g.ids for g in sparse], [g.values for g in sparse], [g.values for g in dense], weights, targets,
            [g.touched for g in sparse], [g.weights() for g in sparse], [g.weights() for g in dense], states.lookup(names)],
            {"loss_type": loss_type, "adaptive": self._adaptive, "num_sparse_features": len(sparse),
             "num_sparse_features_with_values": len(sparse), "num_dense_features": len(dense), "l1": self._l1, "l2": self._l2,
             "num_loss_partitions": self._partitions, "num_inner_iterations": 1})
        state, of_sparse, of_dense = found
        with control_dependencies([state]):  # all weights are read before one of them changes
            return [*states.insert(names, state), *(op for g, change in zip([*sparse, *dense], [*of_sparse, *of_dense], strict=True)
                                                    for op in g.add(change))]

    def _shrink(self, variable, unshrunk):
        with colocate_with(variable):
            value = unshrunk.read_value()
            size = apply("Maximum", [math_ops.abs_(value) - self._l1 / self._l2, 0.0])
            return variable.assign(apply("Sign", [value]) * size).op

    def _duality_gap(self, states, variables):
        """The mean over the examples seen of what their loss is above the dual bound."""
        state = math_ops.reduce_sum(math_ops.cast(states.values(), dtypes.float64), 0)
        weights = [math_ops.cast(v, dtypes.float64) for v in variables]
        absolute = math_ops.add_n([math_ops.reduce_sum(math_ops.abs_(w)) for w in weights])
        squared = math_ops.add_n([math_ops.reduce_sum(w * w) for w in weights])
        return (state[1] + state[2] + self._l1 * absolute + self._l2 * squared) / state[3]


def _stitched(places, parts):
    """The rows of parts at their places; a part alone is whole."""
    return parts[0] if len(parts) == 1 else apply("DynamicStitch", [places, parts])


class _Weights:
    """The variables of a column, parts of one by rows, and for each what it is before L1 shrinks it."""

    def __init__(self, variables):
        self.variables = list(variables)
        self.unshrunk = []
        for variable in self.variables:
            with colocate_with(variable):
                self.unshrunk.append(Variable(variable.initialized_value(), name=variable.op.name + "_unshrunk", use_resource=True))


class _Categories(_Weights):
    """Categories of the rows of a batch: rows, ids and values, a pair of row and id once; `touched`: the ids, each once."""

    def __init__(self, column, builder, variables):
        super().__init__(variables)
        found = column._get_sparse_tensors(builder)
        ids = sparse_reshape(found.id_tensor, array_ops.stack([found.id_tensor.dense_shape[0], -1]))
        values = array_ops.ones_like(ids.values, dtypes.float32) if found.weight_tensor is None else found.weight_tensor.values
        known = ids.values >= 0
        rows, ids, values = (array_ops.boolean_mask(t, known) for t in (ids.indices[:, 0], math_ops.cast(ids.values, dtypes.int64), values))
        pairs = array_ops.unique(rows * column._num_buckets + ids)
        self.rows, self.ids = pairs.y // column._num_buckets, pairs.y % column._num_buckets
        self.values = math_ops.unsorted_segment_sum(values, pairs.idx, array_ops.size(pairs.y))
        self.touched = array_ops.unique(self.ids).y
        self._parts = self._touched_by_part()

    def _touched_by_part(self):
        """For each variable where its ids stand among `touched`, and which of its rows they are."""
        if len(self.unshrunk) == 1:
            return [(math_ops.range_(array_ops.size(self.touched)), self.touched)]
        parts, first = [], 0
        for variable in self.unshrunk:
            rows = self.touched - first
            count = variable.shape[0].value
            where = array_ops.where((rows >= 0) & (rows < count))[:, 0]
            parts.append((math_ops.cast(where, dtypes.int32), array_ops.gather(rows, where)))
            first += count
        return parts

    def weights(self):
        found = [array_ops.reshape(v.sparse_read(rows), [-1]) for v, (_, rows) in zip(self.unshrunk, self._parts, strict=True)]
        return _stitched([where for where, _ in self._parts], found)

    def add(self, change):
        return [apply("ResourceScatterAdd", [v.handle, rows, array_ops.reshape(array_ops.gather(change, where), [-1, 1])])
                for v, (where, rows) in zip(self.unshrunk, self._parts, strict=True)]


class _Numbers(_Weights):
    """Numbers of the rows of a batch: values of shape [batch, width]."""

    def __init__(self, values, variables):
        super().__init__(variables)
        self.values = values

    def weights(self):
        return array_ops.reshape(array_ops.concat([v.read_value() for v in self.unshrunk], 0), [-1])

    def add(self, change):
        changes = array_ops.split(change, [v.shape.num_elements() for v in self.unshrunk])
        return [v.assign_add(array_ops.reshape(part, v.shape)).op for v, part in zip(self.unshrunk, changes, strict=True)]


class _TableSaveable(SaveableObject):
    """A table as a Saver sees it, under its name without scopes, as in TensorFlow's checkpoints."""

    def __init__(self, table):
        handle = table.resource_handle
        specs = [SaveSpec(t, "", f"{table.name}-{part}") for t, part in zip(table.export(), ("keys", "values"), strict=True)]
        super().__init__(handle, specs, handle.name)

    def restore(self, restored_tensors, restored_shapes):
        return apply("LookupTableImportV2", [self.op, *restored_tensors])


class _States:
    """Four numbers of each example, by the fingerprint of its name, in tables: its dual variable, primal and dual loss, and weight."""

    def __init__(self, shards):
        with name_scope("ShardedMutableHashTable"):
            self._tables = [lookup.MutableDenseHashTable(
                dtypes.int64, dtypes.float32, [0.0] * 4, [0, 0], [1, 1], _BUCKETS, f"ShardedMutableHashTable-{k + 1}-of-{shards}",
                checkpoint=False) for k in range(shards)]
        for table in self._tables:
            graph.add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _TableSaveable(table))

    def _shares(self, *tensors):
        """For each table its share of the tensors, the first of which has the fingerprints."""
        if len(self._tables) == 1:
            return [tensors]
        which = math_ops.cast(math_ops.abs_(tensors[0][:, 0]) % len(self._tables), dtypes.int32)  # as 1.15 deals them
        return list(zip(*(apply("DynamicPartition", [t, which], {"num_partitions": len(self._tables)}) for t in tensors), strict=True))

    def lookup(self, names):
        shares = self._shares(names, math_ops.range_(array_ops.shape(names)[0]))
        return _stitched([where for _, where in shares], [t.lookup(share) for t, (share, _) in zip(self._tables, shares, strict=True)])

    def insert(self, names, state):
        return [table.insert(*share) for table, share in zip(self._tables, self._shares(names, state), strict=True)]

    def values(self):
        return array_ops.concat([table.export()[1] for table in self._tables], 0)

    def size(self):
        return math_ops.add_n([table.size() for table in self._tables])


def loss_of(head: Head, sparse_combiner: str) -> str:
    """The name of the loss that SDCA minimizes for a head of one logit."""
    if sparse_combiner != "sum":
        raise ValueError('sparse_combiner must be "sum" when optimizer is a LinearSDCA object.')
    if isinstance(head, BinaryClassHead):
        return "logistic_loss"
    if isinstance(head, MultiClassHead):
        raise ValueError("LinearSDCA cannot be used in a multi-class setting.")
    if not isinstance(head, RegressionHead):
        raise ValueError(f"Unsupported head type: {head}. LinearSDCA trains with a BinaryClassHead or a RegressionHead.")
    if head.logits_dimension != 1:
        raise ValueError("LinearSDCA can only be used with one-dimensional label.")
    return "squared_loss"


def sdca_train_op(optimizer: LinearSDCA, loss_type: str, head: Head, features: Mapping[str, Any], labels: Any, logits: Tensor,
                  variables: Mapping[Any, Sequence[Variable]], numbers: Mapping[Any, Tensor]) -> Operation:
    """The step of training of a linear model with such a head; `variables` and `numbers` as sums_of fills cols_to_vars and cols_to_numbers."""
    targets = array_ops.reshape(math_ops.cast(head._labels(labels, logits), dtypes.float32), [-1])
    weights = head._weights(features)
    weights = array_ops.ones_like(targets) if weights is None else array_ops.reshape(math_ops.cast(weights, dtypes.float32), [-1])
    return optimizer._training_step(loss_type, features, targets, weights, variables, numbers)

# SPDX-License-Identifier: Apache-2.0
"""Dense values of categories: rows of a table that is trained, or a number for each category."""
from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING

from thalweg.feature_column.column import (
    CATEGORICAL,
    DenseColumn,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
    _DenseColumn,
    _SequenceDenseColumn,
    pair_of,
)
from thalweg.feature_column.sequences import SequenceCategoricalColumn, sequence_lengths
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.graph.ops import apply
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.nn.embeddings import safe_embedding_lookup_sparse
from thalweg.operations import array_ops, math_ops
from thalweg.operations.sparse_ops import sparse_retain, sparse_tensor_to_dense
from thalweg.saving.checkpoint_utils import init_from_checkpoint
from thalweg.variables.init_ops import truncated_normal_initializer
from thalweg.variables.variable_scopes import get_variable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import Initializer
    from thalweg.graph.tensor import Tensor


def _in_collections(weight_collections):
    """Where a variable is kept: None is the default."""
    found = list(weight_collections or [])
    if found and GraphKeys.GLOBAL_VARIABLES not in found:
        found.append(GraphKeys.GLOBAL_VARIABLES)
    return found or None


class _Embedded(DenseColumn, SequenceDenseColumn, _DenseColumn, _SequenceDenseColumn):
    """What embeddings of their own and shared ones have in common."""

    __slots__ = ()

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """{key: how tf.parse_example reads it}."""
        return self.categorical_column._parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The column of categories."""
        return [self.categorical_column]

    @property
    def variable_shape(self) -> TensorShape:
        """Shape of the values of one row."""
        return TensorShape([self.dimension])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """What the column of categories makes."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def _new_table(self, weight_collections, trainable):
        return get_variable("embedding_weights", [self.categorical_column._num_buckets, self.dimension],
                            initializer=self.initializer, trainable=self.trainable and trainable is not False,
                            collections=_in_collections(weight_collections))

    def _rows(self, cache, state_manager, table):
        """The combined rows of the table of what a feature names."""
        pair = pair_of(self.categorical_column, cache, state_manager)
        if self.ckpt_to_load_from is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        return safe_embedding_lookup_sparse(table, pair.id_tensor, pair.weight_tensor, self.combiner,
                                            name=f"{self.name}_weights", max_norm=self.max_norm)

    def _check_no_sequence(self):
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(f"In embedding_column: {self.name}. categorical_column must not be of type SequenceCategoricalColumn: "
                             f"that is for sequence_input_layer. Given (type {type(self.categorical_column)}): "
                             f"{self.categorical_column}")

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Of shape [batch, dimension]."""
        self._check_no_sequence()
        return self._rows(transformation_cache, state_manager, self._table(state_manager))

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        self._check_no_sequence()
        return self._rows(inputs, None, self._table(None, weight_collections, trainable))

    def _sequence(self, cache, state_manager, table):
        if not isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(f"In embedding_column: {self.name}. categorical_column must be of type SequenceCategoricalColumn to use "
                             f"sequence_input_layer. Given (type {type(self.categorical_column)}): {self.categorical_column}")
        values = self._rows(cache, state_manager, table)
        ids = pair_of(self.categorical_column, cache, state_manager).id_tensor
        return TensorSequenceLengthPair(values, sequence_lengths(ids))

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> TensorSequenceLengthPair:
        """Values of shape [batch, steps, dimension], and lengths."""
        return self._sequence(transformation_cache, state_manager, self._table(state_manager))

    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return self._sequence(inputs, None, self._table(None, weight_collections, trainable))


class EmbeddingColumn(_Embedded, collections.namedtuple("EmbeddingColumn", (
        "categorical_column", "dimension", "combiner", "initializer", "ckpt_to_load_from", "tensor_name_in_ckpt", "max_norm",
        "trainable"))):
    """embedding_column() gives it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the column of categories with "_embedding"."""
        return f"{self.categorical_column.name}_embedding"

    def create_state(self, state_manager: Any) -> None:
        """Makes the table."""
        state_manager.create_variable(self, "embedding_weights", (self.categorical_column.num_buckets, self.dimension),
                                      trainable=self.trainable, use_resource=True, initializer=self.initializer)

    def _table(self, state_manager, weight_collections=None, trainable=None):
        if state_manager is not None:
            return state_manager.get_variable(self, "embedding_weights")
        return self._new_table(weight_collections, trainable)


class _SharedEmbeddingColumn(_Embedded, collections.namedtuple("_SharedEmbeddingColumn", (
        "categorical_column", "dimension", "combiner", "initializer", "shared_embedding_collection_name", "ckpt_to_load_from",
        "tensor_name_in_ckpt", "max_norm", "trainable"))):
    """One of what shared_embedding_columns() gives."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the column of categories with "_shared_embedding"."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _var_scope_name(self):
        return self.shared_embedding_collection_name

    def _table(self, state_manager, weight_collections=None, trainable=None):
        """The table, which the first of these columns that is asked makes."""
        known = graph.get_collection(self.shared_embedding_collection_name)
        if len(known) > 1:
            raise ValueError(f"Collection {known} can only contain one variable.")
        if known:
            if known[0].shape.as_list() != [self.categorical_column._num_buckets, self.dimension]:
                raise ValueError(f"Shared embedding collection {self.shared_embedding_collection_name} contains variable "
                                 f"{known[0].name} of unexpected shape {known[0].shape}. Expected shape is "
                                 f"{(self.categorical_column._num_buckets, self.dimension)}.")
            return known[0]
        made = self._new_table(weight_collections, trainable)
        graph.add_to_collection(self.shared_embedding_collection_name, made)
        return made


class IndicatorColumn(DenseColumn, SequenceDenseColumn, _DenseColumn, _SequenceDenseColumn,
                      collections.namedtuple("IndicatorColumn", ("categorical_column",))):
    """indicator_column() gives it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the column of categories with "_indicator"."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """{key: how tf.parse_example reads it}."""
        return self.categorical_column._parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The column of categories."""
        return [self.categorical_column]

    @property
    def variable_shape(self) -> TensorShape:
        """Shape of the values of one row: a number for each category."""
        return TensorShape([1, self.categorical_column._num_buckets])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """How often, or with which weight, a row has each category."""
        pair = pair_of(self.categorical_column, transformation_cache, state_manager)
        ids, count = pair.id_tensor, self.categorical_column._num_buckets
        if pair.weight_tensor is None:
            places = sparse_tensor_to_dense(ids, default_value=-1)
            return math_ops.reduce_sum(array_ops.one_hot(places, count, 1.0, 0.0), axis=[-2])
        known = apply("GreaterEqual", [ids.values, 0])
        weights = sparse_retain(SparseTensor(ids.indices, pair.weight_tensor.values, ids.dense_shape), known)
        ids = sparse_retain(ids, known)
        indices = array_ops.concat([ids.indices[:, :-1], array_ops.expand_dims(ids.values, 1)], 1)
        made = apply("ScatterNd", [indices, weights.values, array_ops.concat([ids.dense_shape[:-1], [count]], 0)])
        made.set_shape([None] * (ids.shape.ndims - 1) + [count] if ids.shape.ndims is not None else None)
        return made

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Of shape [batch, categories]."""
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(f"In indicator_column: {self.name}. categorical_column must not be of type SequenceCategoricalColumn: "
                             f"that is for sequence_input_layer. Given (type {type(self.categorical_column)}): "
                             f"{self.categorical_column}")
        return transformation_cache.get(self, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> TensorSequenceLengthPair:
        """Values of shape [batch, steps, categories], and lengths."""
        if not isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(f"In indicator_column: {self.name}. categorical_column must be of type SequenceCategoricalColumn to use "
                             f"sequence_input_layer. Given (type {type(self.categorical_column)}): {self.categorical_column}")
        values = transformation_cache.get(self, state_manager)
        ids = pair_of(self.categorical_column, transformation_cache, state_manager).id_tensor
        return TensorSequenceLengthPair(values, sequence_lengths(ids))


# ---- what makes them ----
def _check(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer):
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")


def embedding_column(categorical_column: Any, dimension: int, combiner: str = "mean", initializer: Initializer | None = None,
                     ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None, max_norm: float | None = None,
                     trainable: bool = True) -> EmbeddingColumn:
    """Rows of a table for the categories of a column, combined to one of each row of a batch.

    Parameters
    ----------
    categorical_column : CategoricalColumn
        What names the rows.
    dimension : int
        The width of the table.
    combiner : str
        "mean", "sqrtn" or "sum" of the rows.
    initializer : callable, optional
        Of the table: a truncated normal distribution of deviation 1 / sqrt(dimension) by default.
    ckpt_to_load_from, tensor_name_in_ckpt : str, optional
        A checkpoint that has the first values of the table, and their name there.
    max_norm : float, optional
        Rows that are longer are scaled down to it.
    trainable : bool
        Whether the table is trained.

    Returns
    -------
    EmbeddingColumn
        For input_layer and the models of tw.estimator.

    Raises
    ------
    ValueError
        If the dimension is not positive, one of a checkpoint and its tensor is missing, or the initializer cannot be called.

    Examples
    --------
    >>> fc = tw.feature_column
    >>> words = fc.embedding_column(fc.categorical_column_with_identity("word", 3), 2, initializer=tw.ones_initializer())
    >>> layer = fc.input_layer({"word": tw.constant([[0], [2]], tw.int64)}, [words])
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(layer)
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    _check(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer)
    initializer = initializer or truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(dimension))
    return EmbeddingColumn(categorical_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
                           trainable)


def shared_embedding_columns(categorical_columns: Sequence[Any], dimension: int, combiner: str = "mean",
                             initializer: Initializer | None = None, shared_embedding_collection_name: str | None = None,
                             ckpt_to_load_from: str | None = None, tensor_name_in_ckpt: str | None = None,
                             max_norm: float | None = None, trainable: bool = True) -> list[_SharedEmbeddingColumn]:
    """embedding_column() of several columns of categories of the same kind and number, which have one table."""
    _check(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer)
    initializer = initializer or truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(dimension))
    ordered = sorted(categorical_columns, key=lambda c: c.name)
    count, kind = ordered[0]._num_buckets, type(ordered[0])
    for column in ordered:
        if not isinstance(column, CATEGORICAL):
            raise ValueError(f"All categorical_columns must be of type _CategoricalColumn. Given: {column}")
        if column._num_buckets != count:
            raise ValueError(f"To use shared_embedding_column, all categorical_columns must have as many categories: {ordered[0]} has "
                             f"{count}, {column} has {column._num_buckets}")
        if not isinstance(column, kind):
            raise ValueError(f"To use shared_embedding_column, all categorical_columns must be of one kind: {ordered[0]} and {column} "
                             "are not")
    name = shared_embedding_collection_name or "_".join(c.name for c in ordered) + "_shared_embedding"
    return [_SharedEmbeddingColumn(column, dimension, combiner, initializer, name, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
                                   trainable) for column in categorical_columns]


def indicator_column(categorical_column: Any) -> IndicatorColumn:
    """For each row of a batch how often it has each category, or with which weight."""
    return IndicatorColumn(categorical_column)

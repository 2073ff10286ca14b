# SPDX-License-Identifier: Apache-2.0
"""input_layer: the dense values of columns side by side."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.feature_column.column import COLUMNS, DENSE, _LazyBuilder
from thalweg.feature_column.embedding import _SharedEmbeddingColumn
from thalweg.graph.graph import GraphKeys
from thalweg.operations import array_ops
from thalweg.variables.variable_scopes import get_variable_scope, variable_scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from thalweg.graph.tensor import Tensor


def ordered_columns(feature_columns: Any, kinds: tuple[type, ...] = COLUMNS) -> list[Any]:
    """Columns by name; what is no column of these kinds is refused, and so are two of one name."""
    if isinstance(feature_columns, COLUMNS):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = list(feature_columns)
    for column in columns:
        if not isinstance(column, COLUMNS):
            raise ValueError(f"Items of feature_columns must be a _FeatureColumn. Given (type {type(column)}): {column}.")
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    seen = {}
    for column in columns:
        if column.name in seen:
            raise ValueError(f"Duplicate feature column name found for columns: {seen[column.name]} and {column}")
        seen[column.name] = column
    return sorted(columns, key=lambda c: c.name)


def check_batches(features: Mapping[str, Any]) -> None:
    """Features have the same number of rows, as far as it is known."""
    first = None
    for key in sorted(features, key=str):
        shape = getattr(features[key], "shape", None)
        rows = getattr(shape, "ndims", None) and shape.as_list()[0]
        if rows is None:
            continue
        if first is None:
            first = key, rows
        elif first[1] != rows:
            raise ValueError(f"Batch size (first dimension) of each feature must be same. Batch size of columns ({first[0]}, {key}): "
                             f"({first[1]}, {rows})")


def collections_of(weight_collections: Iterable[str] | None) -> list[str]:
    """Where the variables of columns are kept."""
    found = list(weight_collections or [])
    return found + [key for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES) if key not in found]


def variables_of(variable: Any) -> list[Any]:
    """A variable, or the parts of one."""
    return variable._get_variable_list() if hasattr(variable, "_get_variable_list") else [variable]


def _values(column, builder, weight_collections, trainable, cols_to_vars, cols_to_output_tensors):
    """[batch, width] of one column, under a scope of its own."""
    with variable_scope(None, default_name=column._var_scope_name):
        dense = column._get_dense_tensor(builder, weight_collections=weight_collections, trainable=trainable)
        width = column._variable_shape.num_elements()
        flat = array_ops.reshape(dense, [array_ops.shape(dense)[0], width])
        if cols_to_vars is not None:
            cols_to_vars[column] = _known_variables(column)
        if cols_to_output_tensors is not None:
            cols_to_output_tensors[column] = flat
    return flat


def _known_variables(column):
    if isinstance(column, _SharedEmbeddingColumn):
        return variables_of(column._table(None))
    return get_variable_scope().global_variables()


def layer_of(features: Mapping[str, Any], feature_columns: Any, weight_collections: Iterable[str] | None = None,
             trainable: bool = True, cols_to_vars: dict[Any, Any] | None = None, cols_to_output_tensors: dict[Any, Any] | None = None,
             scope: str | None = None) -> Tensor:
    """input_layer under a scope that is given."""
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DENSE):
            raise ValueError("Items of feature_columns must be a _DenseColumn: categories go into embedding_column or "
                             f"indicator_column. Given: {column}")
    check_batches(features)
    kept, builder = collections_of(weight_collections), _LazyBuilder(features)
    with variable_scope(scope, default_name="input_layer", values=list(features.values())):
        values = [_values(column, builder, kept, trainable, cols_to_vars, cols_to_output_tensors) for column in columns]
        return array_ops.concat(values, 1)


def input_layer(features: Mapping[str, Any], feature_columns: Any, weight_collections: Iterable[str] | None = None,
                trainable: bool = True, cols_to_vars: dict[Any, Any] | None = None,
                cols_to_output_tensors: dict[Any, Any] | None = None) -> Tensor:
    """The dense values of columns side by side, sorted by their names: what a network begins with.

    Parameters
    ----------
    features : dict
        {key: Tensor or SparseTensor}; of one dimension, [batch], is taken for [batch, 1].
    feature_columns : sequence of DenseColumn
        What to take of the features. Columns of categories go into embedding_column or indicator_column.
    weight_collections : sequence of str, optional
        More collections for the variables.
    trainable : bool
        Whether the variables are trained.
    cols_to_vars, cols_to_output_tensors : dict, optional
        Gets {column: its variables}, {column: its values}.

    Returns
    -------
    Tensor
        Of shape [batch, width] and type float32.

    Raises
    ------
    ValueError
        If there are no columns, two of one name, columns of categories, or a feature is missing.

    Examples
    --------
    >>> fc = tw.feature_column
    >>> age = fc.numeric_column("age")
    >>> layer = fc.input_layer({"age": tw.constant([[20.0], [44.0]])}, [age, fc.bucketized_column(age, [30.0])])
    >>> with tw.Session() as sess:
    ...     sess.run(layer)
    array([[20.,  1.,  0.],
           [44.,  0.,  1.]], dtype=float32)
    """
    return layer_of(features, feature_columns, weight_collections, trainable, cols_to_vars, cols_to_output_tensors)


class InputLayer:
    """input_layer as an object, whose variables are the same each time it is called."""

    def __init__(self, feature_columns: Any, weight_collections: Iterable[str] | None = None, trainable: bool = True,
                 cols_to_vars: dict[Any, Any] | None = None, name: str = "feature_column_input_layer",
                 create_scope_now: bool = True) -> None:
        self._columns, self._collections, self._trainable, self._to_vars = feature_columns, weight_collections, trainable, cols_to_vars
        self.name, self._scope = name, None

    def __call__(self, features: Mapping[str, Any]) -> Tensor:
        """The layer of these features."""
        with variable_scope(self._scope or self.name, reuse=self._scope is not None or None) as scope:
            self._scope = scope
            return layer_of(features, self._columns, self._collections, self._trainable, self._to_vars, scope="input_layer")

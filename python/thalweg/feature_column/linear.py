# SPDX-License-Identifier: Apache-2.0
"""linear_model: a weight for each number and each category, and a bias."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.feature_column.column import CATEGORICAL, DENSE, _LazyBuilder
from thalweg.feature_column.layer_of_columns import check_batches, collections_of, ordered_columns, variables_of
from thalweg.graph.graph import name_scope
from thalweg.nn.activations import bias_add
from thalweg.nn.embeddings import safe_embedding_lookup_sparse
from thalweg.operations import array_ops, math_ops
from thalweg.operations.sparse_ops import sparse_reshape
from thalweg.variables.init_ops import zeros_initializer
from thalweg.variables.variable_scopes import get_variable, variable_scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from thalweg.graph.tensor import Tensor


def _weights(name, shape, trainable, kept):
    return get_variable(name, shape, initializer=zeros_initializer(), trainable=trainable, collections=kept)


def _sum_of_categories(column, builder, units, combiner, trainable, kept):
    """The weights of the categories of each row, combined."""
    pair = column._get_sparse_tensors(builder, weight_collections=kept, trainable=trainable)

    def flat(tensor):
        return None if tensor is None else sparse_reshape(tensor, array_ops.stack([tensor.dense_shape[0], -1]))
    weights = _weights("weights", [column._num_buckets, units], trainable, kept)
    return safe_embedding_lookup_sparse(weights, flat(pair.id_tensor), flat(pair.weight_tensor), combiner, name="weighted_sum"), weights


def _sum_of_numbers(column, builder, units, trainable, kept):
    values = column._get_dense_tensor(builder, weight_collections=kept, trainable=trainable)
    width = column._variable_shape.num_elements()
    flat = array_ops.reshape(values, [array_ops.shape(values)[0], width])
    weights = _weights("weights", [width, units], trainable, kept)
    return math_ops.matmul(flat, weights, name="weighted_sum"), weights, flat


def sums_of(features: Mapping[str, Any], feature_columns: Any, units: int = 1, sparse_combiner: str = "sum",
            weight_collections: Iterable[str] | None = None, trainable: bool = True, cols_to_vars: dict[Any, Any] | None = None,
            scope: str | None = None, cols_to_numbers: dict[Any, Tensor] | None = None) -> Tensor:
    """linear_model under a scope that is given; cols_to_numbers gets {dense column: its numbers, of shape [batch, width]}."""
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, (*DENSE, *CATEGORICAL)):
            raise ValueError("Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. Given: "
                             f"{column}")
    check_batches(features)
    kept, builder, sums = collections_of(weight_collections), _LazyBuilder(features), []
    with variable_scope(scope, default_name="linear_model", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name):
                if isinstance(column, CATEGORICAL):
                    found, weights = _sum_of_categories(column, builder, units, sparse_combiner, trainable, kept)
                else:
                    found, weights, numbers = _sum_of_numbers(column, builder, units, trainable, kept)
                    if cols_to_numbers is not None:
                        cols_to_numbers[column] = numbers
            sums.append(found)
            if cols_to_vars is not None:
                cols_to_vars[column] = variables_of(weights)
        bias = _weights("bias_weights", [units], trainable, kept)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = variables_of(bias)
        with name_scope("weighted_sum"):
            return bias_add(math_ops.add_n(sums, name="weighted_sum_no_bias"), bias, name="weighted_sum")


def linear_model(features: Mapping[str, Any], feature_columns: Any, units: int = 1, sparse_combiner: str = "sum",
                 weight_collections: Iterable[str] | None = None, trainable: bool = True,
                 cols_to_vars: dict[Any, Any] | None = None) -> Tensor:
    """The weighted sum of all numbers and categories of a row, and a bias; weights begin as zeros.

    Parameters
    ----------
    features : dict
        {key: Tensor or SparseTensor}; of one dimension, [batch], is taken for [batch, 1].
    feature_columns : sequence of FeatureColumn
        What to take of the features, dense or of categories.
    units : int
        How many sums there are.
    sparse_combiner : str
        "sum", "mean" or "sqrtn" of the weights where a row has several categories of a column.
    weight_collections : sequence of str, optional
        More collections for the variables.
    trainable : bool
        Whether the variables are trained.
    cols_to_vars : dict, optional
        Gets {column: its variables, "bias": those of the bias}.

    Returns
    -------
    Tensor
        Of shape [batch, units] and type float32.

    Raises
    ------
    ValueError
        If there are no columns, two of one name, or a feature is missing.

    Examples
    --------
    >>> fc = tw.feature_column
    >>> sums = fc.linear_model({"age": tw.constant([[20.0], [44.0]])}, [fc.numeric_column("age")])
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     sess.run(sums)
    array([[0.],
           [0.]], dtype=float32)
    """
    return sums_of(features, feature_columns, units, sparse_combiner, weight_collections, trainable, cols_to_vars)

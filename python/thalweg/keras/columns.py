# SPDX-License-Identifier: Apache-2.0
"""DenseFeatures: the layer of feature columns; and configurations of columns, as 1.15 writes them."""
from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

import thalweg
from thalweg import dtypes
from thalweg.control.type_specs import TensorSpec
from thalweg.feature_column import categorical, crossed, embedding, numeric, sequences
from thalweg.feature_column.column import DenseColumn, FeatureColumn, FeatureTransformationCache, StateManager
from thalweg.feature_column.layer_of_columns import check_batches, ordered_columns
from thalweg.graph.graph import name_scope
from thalweg.keras import initializers, utils

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_CLASSES = {cls.__name__: cls for cls in (
    numeric.BucketizedColumn, numeric.NumericColumn, categorical.HashedCategoricalColumn, categorical.IdentityCategoricalColumn,
    categorical.VocabularyFileCategoricalColumn, categorical.VocabularyListCategoricalColumn, categorical.WeightedCategoricalColumn,
    crossed.CrossedColumn, embedding.EmbeddingColumn, embedding.IndicatorColumn, sequences.SequenceCategoricalColumn,
    sequences.SequenceNumericColumn)}


# ---- configurations ----
def serialize(column: FeatureColumn | str) -> dict[str, Any] | str:
    """The class of a column and its fields; a key is itself.

    Raises
    ------
    ValueError
        If the column is of none of the classes of tf.feature_column, and has no fields.
    """
    if isinstance(column, str):
        return column
    if not isinstance(column, FeatureColumn) or not hasattr(column, "_fields"):
        raise ValueError(f"Instance: {column} is not a FeatureColumn")
    return {"class_name": type(column).__name__, "config": {name: _plain(name, value) for name, value in zip(column._fields, column)}}


def _plain(name, value):
    if isinstance(value, dtypes.DType):
        return value.name
    if isinstance(value, FeatureColumn):
        return serialize(value)
    if name == "keys":
        return [serialize(key) for key in value]
    if name == "initializer":
        return initializers.serialize(value)
    return getattr(value, "__name__", value) if callable(value) else value


def deserialize(config: Mapping[str, Any] | str, custom_objects: Mapping[str, object] | None = None,
                made: dict[tuple[str, str], Any] | None = None) -> Any:
    """A column of its configuration. Equal columns within those of one `made` are one object.

    Raises
    ------
    ValueError
        If its class or a function is not known, or it has other fields than its class.
    """
    if isinstance(config, str):
        return config
    known, made = {**utils.get_custom_objects(), **(custom_objects or {})}, {} if made is None else made
    cls = known.get(config["class_name"]) or _CLASSES.get(config["class_name"])
    if cls is None:
        raise ValueError(f"Unknown feature column: {config['class_name']}")
    if set(config["config"]) != set(cls._fields):
        raise ValueError(f"Invalid config: {config['config']}, expected keys: {cls._fields}")
    column = cls(**{name: _value(name, value, known, made) for name, value in config["config"].items()})
    return made.setdefault((config["class_name"], column.name), column)


def _value(name, value, known, made):
    """The value of a field."""
    if name == "dtype":
        return dtypes.as_dtype(value)
    if name == "keys":
        return tuple(deserialize(key, known, made) for key in value)
    if name == "initializer":
        return initializers.deserialize(value, known)
    if name == "normalizer_fn" and isinstance(value, str):
        if value not in known:
            raise ValueError(f"Unknown function: {value}, the normalizer_fn of a column; custom_objects give it")
        return known[value]
    if isinstance(value, dict):
        return deserialize(value, known, made)
    return _tuples(value)


def _tuples(value):
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# ---- the layer ----
class _Variables(StateManager):
    """The variables of a layer's columns."""

    def __init__(self, layer: Any) -> None:
        self._layer, self._of = layer, {}

    def create_variable(self, feature_column: FeatureColumn, name: str, shape: Sequence[int], dtype: object = None,
                        trainable: bool = True, use_resource: bool = True, initializer: object = None) -> Any:
        """Makes the variable of this name of a column."""
        if (feature_column, name) in self._of:
            raise ValueError("Variable already exists.")
        names = self._layer.__dict__.get("_weight_names", {})
        if name in names:  # in checkpoints 1.15 has the table of the last column, under this name, and no other
            before = next(column for column, other in self._of if other == name and self._of[column, other] is names[name])
            names[f"{before.name}_{name}"] = names.pop(name)
        made = self._layer.add_weight(name=name, shape=shape, dtype=dtype, initializer=initializer,
                                      trainable=self._layer.trainable and trainable)
        self._of[feature_column, name] = made
        return made

    def get_variable(self, feature_column: FeatureColumn, name: str) -> Any:
        """The variable of this name of a column."""
        if (feature_column, name) not in self._of:
            raise ValueError("Variable does not exist.")
        return self._of[feature_column, name]

    def add_resource(self, feature_column: FeatureColumn, name: str, resource: object) -> None:
        """Keeps what a column has made."""
        self._of[feature_column, name] = resource

    def has_resource(self, feature_column: FeatureColumn, name: str) -> bool:
        """Whether a column has kept something under this name."""
        return (feature_column, name) in self._of

    def get_resource(self, feature_column: FeatureColumn, name: str) -> Any:
        """What a column has kept under this name."""
        if (feature_column, name) not in self._of:
            raise ValueError("Resource does not exist.")
        return self._of[feature_column, name]


def _library(path):
    """A module of the package."""
    return importlib.import_module("thalweg.keras.library." + path)


@functools.cache
def dense_features() -> type:
    """The class tf.keras.layers.DenseFeatures, whose base is in the package."""
    Layer = _library("engine.base_layer").Layer

    class DenseFeatures(Layer):
        """The dense values of columns side by side, sorted by their names: a layer of dictionaries of features.

        Parameters
        ----------
        feature_columns : sequence of DenseColumn
            Columns of categories go into embedding_column or indicator_column.
        trainable : bool
            Whether tables of embeddings are trained.
        """

        def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: object) -> None:
            super().__init__(name=name, trainable=trainable, **kwargs)
            self._feature_columns = ordered_columns(feature_columns)
            for column in self._feature_columns:
                if not isinstance(column, DenseColumn) or isinstance(column, embedding._SharedEmbeddingColumn):
                    raise ValueError(f"Items of feature_columns must be a {DenseColumn}. You can wrap a categorical column with an "
                                     f"embedding_column or indicator_column. Given: {column}")
            self._state_manager = _Variables(self)

        def build(self, input_shape: object) -> None:
            """Makes the variables of the columns."""
            for column in self._feature_columns:
                with name_scope(f"{self.name}/{column.name}/"):  # whatever model it is built in, as variable scopes of 1.15
                    column.create_state(self._state_manager)
            super().build(input_shape)

        def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Any:
            """Of shape [batch, width] and type float32."""
            if not isinstance(features, dict):
                raise ValueError("We expected a dictionary here. Instead we got: ", features)
            check_batches(features)
            cache, values = FeatureTransformationCache(features), []
            for column in self._feature_columns:
                with name_scope(column.name):
                    dense = column.get_dense_tensor(cache, self._state_manager)
                    values.append(thalweg.reshape(dense, [thalweg.shape(dense)[0], column.variable_shape.num_elements()]))
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = values[-1]
            return thalweg.concat(values, -1)

        def compute_output_shape(self, input_shape: Any) -> tuple[int | None, int]:
            """(batch, width)"""
            first = input_shape[0] if isinstance(input_shape, list) else input_shape
            return first[0] if first else None, sum(c.variable_shape.num_elements() for c in self._feature_columns)

        def expected_inputs(self) -> dict[str, TensorSpec]:
            """{key: shape and type} of the features that the columns read; of a column of categories any number a row."""
            found = {}
            for column in self._feature_columns:
                for key, spec in column.parse_example_spec.items():
                    found[key] = TensorSpec([None, *getattr(spec, "shape", [None])], spec.dtype)
            return found

        def get_config(self) -> dict[str, Any]:
            """What makes such a layer again."""
            return {**super().get_config(), "feature_columns": [serialize(column) for column in self._feature_columns]}

        @classmethod
        def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, object] | None = None) -> Any:
            """The layer of a configuration, in which the names of `custom_objects` are known."""
            made: dict[tuple[str, str], Any] = {}
            columns = [deserialize(row, custom_objects, made) for row in config["feature_columns"]]
            return cls(**{**config, "feature_columns": columns})

    DenseFeatures.__module__ = "thalweg.keras.layers"
    DenseFeatures.__qualname__ = "DenseFeatures"
    return DenseFeatures

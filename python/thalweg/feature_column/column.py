# SPDX-License-Identifier: Apache-2.0
"""What all columns are: their bases, of either generation, and the cache of what columns have made of a batch.

TensorFlow has two generations of these bases. Libraries derive columns of their own from both at once; the columns here are of
both too, and have the methods of the older one, `_get_dense_tensor(builder)`, in terms of the newer one.
"""
from __future__ import annotations

import abc
import collections
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control.control_flow import cond
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.graph.shapes import TensorShape
    from thalweg.graph.tensor import Tensor

IdWeightPair = collections.namedtuple("IdWeightPair", ["id_tensor", "weight_tensor"])
TensorSequenceLengthPair = collections.namedtuple("TensorSequenceLengthPair", ["dense_tensor", "sequence_length"])


class _FeatureColumn(abc.ABC):
    """The older base of all columns."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Sorts columns, and names their variables."""

    @property
    def _var_scope_name(self):
        return self.name

    @abc.abstractmethod
    def _transform_feature(self, inputs):
        """What others take of this column, from `inputs.get(key or column)`."""

    @property
    @abc.abstractmethod
    def _parse_example_spec(self):
        """{key: how tf.parse_example reads it}."""



class _DenseColumn(_FeatureColumn):
    """The older base of columns whose values are dense."""

    @property
    @abc.abstractmethod
    def _variable_shape(self):
        """Shape of the values of one row."""

    @abc.abstractmethod
    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        """Of shape [batch] + _variable_shape."""


class _CategoricalColumn(_FeatureColumn):
    """The older base of columns whose values are numbers of categories."""

    IdWeightPair = IdWeightPair

    @property
    @abc.abstractmethod
    def _num_buckets(self):
        """How many categories there are."""

    @abc.abstractmethod
    def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        """An IdWeightPair."""


class _SequenceDenseColumn(_FeatureColumn):
    """The older base of columns of sequences of dense values."""

    TensorSequenceLengthPair = TensorSequenceLengthPair

    @abc.abstractmethod
    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        """A TensorSequenceLengthPair."""


class FeatureColumn(abc.ABC):
    """What a model takes from a feature: the base of all columns."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Sorts columns, and names their variables."""

    @abc.abstractmethod
    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """What others take of this column, from `transformation_cache.get(key or column, state_manager)`."""

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """{key: how tf.parse_example reads it}."""

    @property
    def parents(self) -> list[Any]:
        """The columns and keys that this one takes."""
        return []

    def create_state(self, state_manager: Any) -> None:
        """Makes the variables of this column: most have none."""
        return None

    @property
    def _is_v2_column(self):
        return True

    def __lt__(self, other):
        return str(self) < str(other)

    def __gt__(self, other):
        return str(self) > str(other)

    @property
    def _var_scope_name(self):
        return self.name

    @property
    def _parse_example_spec(self):
        return self.parse_example_spec

    def _transform_feature(self, inputs):
        return self.transform_feature(inputs, None)


class DenseColumn(FeatureColumn):
    """A column whose values are dense."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> TensorShape:
        """Shape of the values of one row."""

    @abc.abstractmethod
    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Of shape [batch] + variable_shape."""

    @property
    def _variable_shape(self):
        return self.variable_shape

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return self.get_dense_tensor(inputs, None)


class CategoricalColumn(FeatureColumn):
    """A column whose values are numbers of categories."""

    IdWeightPair = IdWeightPair

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """How many categories there are."""

    @abc.abstractmethod
    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> IdWeightPair:
        """Numbers of categories, and the weights of them or None."""

    @property
    def _num_buckets(self):
        return self.num_buckets

    def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        return self.get_sparse_tensors(inputs, None)


class SequenceDenseColumn(FeatureColumn):
    """A column of sequences of dense values."""

    TensorSequenceLengthPair = TensorSequenceLengthPair

    @abc.abstractmethod
    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> TensorSequenceLengthPair:
        """Values of shape [batch, steps] + the shape of one step, and the length of each sequence."""

    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return self.get_sequence_dense_tensor(inputs, None)


COLUMNS = (_FeatureColumn, FeatureColumn)
DENSE = (_DenseColumn, DenseColumn)
CATEGORICAL = (_CategoricalColumn, CategoricalColumn)
SEQUENCE = (_SequenceDenseColumn, SequenceDenseColumn)


class StateManager:
    """Has the variables of columns: what layers of columns give as `state_manager`."""

    def create_variable(self, feature_column: FeatureColumn, name: str, shape: Sequence[int], dtype: object = None,
                        trainable: bool = True, use_resource: bool = True, initializer: object = None) -> Any:
        """Makes the variable of this name of a column."""
        raise NotImplementedError("StateManager.create_variable")

    def get_variable(self, feature_column: FeatureColumn, name: str) -> Any:
        """The variable of this name of a column."""
        raise NotImplementedError("StateManager.get_var")

    def add_resource(self, feature_column: FeatureColumn, name: str, resource: object) -> None:
        """Keeps what a column has made, such as a table."""
        raise NotImplementedError("StateManager.add_resource")

    def has_resource(self, feature_column: FeatureColumn, name: str) -> bool:
        """Whether a column has kept something under this name."""
        raise NotImplementedError("StateManager.has_resource")

    def get_resource(self, feature_column: FeatureColumn, name: str) -> Any:
        """What a column has kept under this name."""
        raise NotImplementedError("StateManager.get_resource")


class FeatureTransformationCache:
    """Features, and what columns have made of them, each once."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = dict(features)
        self._made = {}

    def get(self, key: Any, state_manager: Any = None) -> Any:
        """The tensor of a feature by its key, or what a column makes."""
        if key in self._made:
            return self._made[key]
        if isinstance(key, str):
            found = self._raw(key)
        elif key in self._features:
            found = self._features[key]
        elif not isinstance(key, COLUMNS):
            raise TypeError(f"\"key\" must be either a \"str\" or \"_FeatureColumn\". Provided: {key}")
        else:
            new = state_manager is not None or not isinstance(key, _FeatureColumn)
            found = key.transform_feature(self, state_manager) if new else key._transform_feature(self)
            if found is None:
                raise ValueError(f"Column {key.name} is not supported.")
        self._made[key] = found
        return found

    def _raw(self, key):
        """A feature as a tensor of two dimensions and more."""
        if key not in self._features:
            raise ValueError(f"Feature {key} is not in features dictionary.")
        value = self._features[key]
        if isinstance(value, (SparseTensor, SparseTensorValue)):
            return SparseTensor.from_value(value)
        value = convert_to_tensor(value)
        rank = value.shape.ndims
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {value}")
        if rank is None:
            return cond(apply("Equal", [1, array_ops.rank(value)]), lambda: array_ops.expand_dims(value, -1), lambda: value)
        return array_ops.expand_dims(value, -1) if rank == 1 else value


class _LazyBuilder(FeatureTransformationCache):
    """FeatureTransformationCache by its older name."""


# ---- keys and their values ----
def checked_key(key: str) -> str:
    """The key of a feature, which must be a text."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")
    return key


def check_words(dtype: dtypes.DType, prefix: str) -> None:
    """Refuses what is neither text nor integers."""
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def sparse_without(tensor: Any, ignored: object = None) -> SparseTensor:
    """A feature as a SparseTensor, without the values that stand for none: "" and -1."""
    if isinstance(tensor, SparseTensor):
        return tensor
    with name_scope("to_sparse_input"):
        if ignored is None:
            ignored = "" if tensor.dtype == dtypes.string else -1
        places = array_ops.where(apply("NotEqual", [tensor, convert_to_tensor(ignored, tensor.dtype.base_dtype)]), name="indices")
        return SparseTensor(places, array_ops.gather_nd(tensor, places, name="values"),
                            array_ops.shape(tensor, out_type=dtypes.int64, name="dense_shape"))


def pair_of(column: Any, cache: FeatureTransformationCache, state_manager: Any) -> IdWeightPair:
    """Numbers of categories and weights of a column of either generation."""
    if state_manager is None:
        return column._get_sparse_tensors(cache)
    return column.get_sparse_tensors(cache, state_manager)

# SPDX-License-Identifier: Apache-2.0
"""Features out of Example and SequenceExample messages, columns out of comma-separated values."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from thalweg import dtypes
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, constant
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.operations import array_ops
from thalweg.operations.sparse_ops import sparse_merge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import ArrayLike, DTypeLike, ShapeLike, TensorLike
    from thalweg.graph.tensor import Tensor

    Features = Mapping[str, Any]
    Found = dict[str, Tensor | SparseTensor]


class VarLenFeature(NamedTuple):
    """A feature of any length, which becomes a SparseTensor."""

    dtype: DTypeLike


class SparseFeature(NamedTuple):
    """A SparseTensor of two features: indices and values."""

    index_key: str | Sequence[str]
    value_key: str
    dtype: DTypeLike
    size: int | Sequence[int]
    already_sorted: bool = False


class FixedLenFeature(NamedTuple):
    """What parse_single_example and parse_example expect of a feature of fixed shape.

    Parameters
    ----------
    shape : list of int
        Of the feature in one Example.
    dtype : DType
        float32, int64 or string.
    default_value : value of that shape and type, optional
        Stands for a feature that is not there; without it that ends a step with errors.InvalidArgumentError.

    Raises
    ------
    ValueError
        From the parser, where the first dimension of `shape` is None.

    Examples
    --------
    >>> tw.FixedLenFeature([], tw.int64, default_value=0)
    FixedLenFeature(shape=[], dtype=tf.int64, default_value=0)
    """

    shape: ShapeLike
    dtype: DTypeLike
    default_value: ArrayLike | None = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of parts of fixed shape."""

    shape: ShapeLike
    dtype: DTypeLike
    allow_missing: bool = False
    default_value: ArrayLike | None = None


_KINDS = (FixedLenFeature, VarLenFeature, SparseFeature, FixedLenSequenceFeature)


class _Asked:
    """What a program asks of messages, in the order of an operation's arguments."""

    def __init__(self):
        self.sparse, self.dense = {}, {}  # key -> type; key -> (type, shape, default or None)
        self.assumed_empty = []           # lists that may be absent

    def want_sparse(self, key, dtype):
        """The same key may be asked for several times, as one type."""
        before = self.sparse.setdefault(key, dtype)
        if before != dtype:
            raise ValueError(f"Conflicting type {before} vs {dtype} for feature {key}.")

    def check(self):
        both = set(self.sparse) & set(self.dense)
        if both:
            raise ValueError(f"Dense and sparse keys must not intersect; intersection: {both}")

    def shapes(self):
        return [shape for _, shape, _ in self.dense.values()]

    def defaults(self):
        return [_default(key, *what) for key, what in self.dense.items()]


def _asked(features, kinds):
    """Of a dictionary; `kinds` are those that are allowed in it."""
    asked = _Asked()
    for key in sorted(features or {}):
        feature = features[key]
        if not isinstance(feature, _KINDS):
            raise ValueError(f"Invalid feature {key}:{feature}.")
        if not isinstance(feature, kinds):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'.")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if isinstance(feature, VarLenFeature):
            asked.want_sparse(key, feature.dtype)
        elif isinstance(feature, SparseFeature):
            _ask_sparse(asked, key, feature)
        else:
            _ask_dense(asked, key, feature)
    asked.check()
    return asked


def _ask_sparse(asked, key, feature):
    if not feature.index_key:
        raise ValueError(f"Missing index_key for SparseFeature {key}: {feature}")
    if not feature.value_key:
        raise ValueError(f"Missing value_key for SparseFeature {key}: {feature}")
    for index in _list_of(feature.index_key):
        asked.want_sparse(index, dtypes.int64)
    asked.want_sparse(feature.value_key, feature.dtype)


def _ask_dense(asked, key, feature):
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    shape = TensorShape(feature.shape)
    if isinstance(feature, FixedLenFeature):
        if shape.ndims and shape.as_list()[0] is None:
            raise ValueError(f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature.")
        asked.dense[key] = (feature.dtype, shape, feature.default_value)
        return
    if feature.allow_missing:
        asked.assumed_empty.append(key)
    asked.dense[key] = (feature.dtype, shape, feature.default_value)


def _list_of(keys):
    return list(keys) if isinstance(keys, (list, tuple)) else [keys]


def _default(key, dtype, shape, value):
    """As a tensor; an empty one where there is none. Of rows of any number it is one element, which pads."""
    safe = re.sub("[^A-Za-z0-9_.\\-/]", "_", key)
    if shape.ndims and shape.as_list()[0] is None:
        if value is None:
            value = "" if dtype == dtypes.string else 0
        return array_ops.reshape(ops.convert_to_tensor(value, dtype=dtype, name=f"padding_{safe}"), [])
    if value is None:
        return constant([], dtype)
    return array_ops.reshape(ops.convert_to_tensor(value, dtype=dtype, name=f"key_{safe}"), shape)


def _tensors(keys, indices, values, shapes):
    return {key: SparseTensor(*parts) for key, *parts in zip(keys, indices, values, shapes)}


def _with_sparse_features(features, found):
    """What was asked for, with each SparseFeature put together from its parts."""
    made = {}
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            indices = [found[index] for index in _list_of(feature.index_key)]
            several = isinstance(feature.index_key, (list, tuple))
            found_value = found[feature.value_key]
            made[key] = sparse_merge(indices if several else indices[0], found_value, feature.size,
                                     already_sorted=feature.already_sorted)
    return {key: made[key] if key in made else found[key] for key in features}


def _parse_batch(serialized, asked, names, scope):
    parsed = apply("ParseExample", [serialized, constant([], dtypes.string) if names is None else names, list(asked.sparse),
                                    list(asked.dense), asked.defaults()],
                   {"Nsparse": len(asked.sparse), "Ndense": len(asked.dense), "sparse_types": list(asked.sparse.values()),
                    "Tdense": [what[0] for what in asked.dense.values()], "dense_shapes": asked.shapes()}, name=scope)
    indices, values, shapes, dense = parsed
    return {**_tensors(asked.sparse, indices, values, shapes), **dict(zip(asked.dense, dense))}


def _asked_of_examples(features):
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    for _key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
    as_rows = {key: feature._replace(shape=TensorShape([None]).concatenate(feature.shape))
               if isinstance(feature, FixedLenSequenceFeature) and feature.shape is not None else feature
               for key, feature in features.items()}
    return _asked(as_rows, _KINDS)


def parse_example(serialized: TensorLike, features: Features, name: str | None = None,
                  example_names: TensorLike | None = None) -> Found:
    """Tensors and SparseTensors of the features of a batch of Example messages, by key."""
    asked = _asked_of_examples(features)
    with name_scope(name, "ParseExample", [serialized, example_names]) as scope:
        found = _parse_batch(serialized, asked, example_names, scope)
    return _with_sparse_features(features, found)


def parse_single_example(serialized: TensorLike, features: Features, name: str | None = None,
                         example_names: TensorLike | None = None) -> Found:
    """Parses one serialized Example message.

    Parameters
    ----------
    serialized : scalar string tensor
    features : dict
        For each key what is expected: a FixedLenFeature, FixedLenSequenceFeature, VarLenFeature or SparseFeature.
    name : str, optional
        Of the operations.
    example_names : scalar string tensor, optional
        Names the example in errors.

    Returns
    -------
    dict
        For each key a Tensor, or a SparseTensor where a feature may have any number of values.

    Raises
    ------
    ValueError
        A feature has no type. In a step errors.InvalidArgumentError: the message is damaged, or lacks a feature without a default.

    Examples
    --------
    >>> example = tw.train.Example(features=tw.train.Features(feature={
    ...     "x": tw.train.Feature(float_list=tw.train.FloatList(value=[1.0, 2.0]))}))
    >>> x = tw.parse_single_example(example.SerializeToString(), {"x": tw.FixedLenFeature([2], tw.float32)})["x"]
    >>> with tw.Session() as sess:
    ...     print(sess.run(x))
    [1. 2.]
    """
    asked = _asked_of_examples(features)
    with name_scope(name, "ParseSingleExample", [serialized, example_names]) as scope:
        serialized = ops.convert_to_tensor(serialized, dtype=dtypes.string, name="serialized")
        serialized.shape.assert_has_rank(0)
        if example_names is not None:
            found = _parse_named(serialized, asked, example_names)
        else:
            parsed = apply("ParseSingleExample", [serialized, asked.defaults()],
                           {"num_sparse": len(asked.sparse), "sparse_keys": list(asked.sparse), "dense_keys": list(asked.dense),
                            "sparse_types": list(asked.sparse.values()),
                            "Tdense": [what[0] for what in asked.dense.values()], "dense_shapes": asked.shapes()}, name=scope)
            indices, values, shapes, dense = parsed
            found = {**_tensors(asked.sparse, indices, values, shapes), **dict(zip(asked.dense, dense))}
        return _with_sparse_features(features, found)


def _parse_named(serialized, asked, name):
    """A batch of one, since that operation takes names."""
    found = _parse_batch(array_ops.expand_dims(serialized, 0), asked, array_ops.expand_dims(name, 0), "ParseExample")
    return {key: SparseTensor(value.indices[:, 1:], value.values, value.dense_shape[1:])
            if isinstance(value, SparseTensor) else array_ops.squeeze(value, [0]) for key, value in found.items()}


def _asked_of_sequences(context_features, sequence_features):
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    lists = _asked(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    for key, (_, _, value) in lists.dense.items():
        if value is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None")
    return _asked(context_features, (VarLenFeature, FixedLenFeature)), lists


def _sequence_attrs(context, lists):
    return {"context_sparse_types": list(context.sparse.values()), "Tcontext_dense": [what[0] for what in context.dense.values()],
            "context_dense_shapes": context.shapes(), "feature_list_sparse_types": list(lists.sparse.values()),
            "feature_list_dense_types": [what[0] for what in lists.dense.values()],
            "feature_list_dense_shapes": lists.shapes(), "Ncontext_sparse": len(context.sparse),
            "Ncontext_dense": len(context.dense), "Nfeature_list_sparse": len(lists.sparse),
            "Nfeature_list_dense": len(lists.dense)}


def _of_sequences(context, lists, parsed):
    in_context = {**_tensors(context.sparse, *parsed[:3]), **dict(zip(context.dense, parsed[3]))}
    return in_context, {**_tensors(lists.sparse, *parsed[4:7]), **dict(zip(lists.dense, parsed[7]))}


def parse_sequence_example(serialized: TensorLike, context_features: Features | None = None,
                           sequence_features: Features | None = None, example_names: TensorLike | None = None,
                           name: str | None = None) -> tuple[Found, Found, dict[str, Tensor]]:
    """(context, lists, lengths) of a batch of SequenceExample messages: each by key; the lengths are of dense lists."""
    context, lists = _asked_of_sequences(context_features, sequence_features)
    with name_scope(name, "ParseSequenceExample", [serialized, example_names]) as scope:
        parsed = apply("ParseSequenceExample",
                       [serialized, constant([], dtypes.string) if example_names is None else example_names, context.defaults()],
                       {"feature_list_dense_missing_assumed_empty": lists.assumed_empty,
                        "context_sparse_keys": list(context.sparse), "context_dense_keys": list(context.dense),
                        "feature_list_sparse_keys": list(lists.sparse), "feature_list_dense_keys": list(lists.dense),
                        **_sequence_attrs(context, lists)}, name=scope)
        return (*_of_sequences(context, lists, parsed), dict(zip(lists.dense, parsed[8])))


def parse_single_sequence_example(serialized: TensorLike, context_features: Features | None = None,
                                  sequence_features: Features | None = None, example_name: TensorLike | None = None,
                                  name: str | None = None) -> tuple[Found, Found]:
    """(context, lists) of one SequenceExample message, each by key."""
    context, lists = _asked_of_sequences(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]) as scope:
        parsed = apply("ParseSingleSequenceExample",
                       [serialized, ops.convert_to_tensor(lists.assumed_empty, dtypes.string), list(context.sparse),
                        list(context.dense), list(lists.sparse), list(lists.dense), context.defaults(),
                        "" if example_name is None else example_name], _sequence_attrs(context, lists), name=scope)
        return _of_sequences(context, lists, parsed)


def decode_csv(records: TensorLike, record_defaults: Sequence[TensorLike], field_delim: str = ",", use_quote_delim: bool = True,
               name: str | None = None, na_value: str = "", select_cols: Sequence[int] | None = None) -> list[Tensor]:
    """Splits lines of comma-separated values into columns.

    Parameters
    ----------
    records : string tensor of any shape
        Each string is a line.
    record_defaults : list of tensor_like
        For each column a scalar or a list of one value: its type, and what an empty field becomes. An empty list of a type says that the
        field must be there.
    field_delim : str
        One character between fields.
    use_quote_delim : bool
        Whether fields may stand in double quotes.
    name : str, optional
    na_value : str
        A field of this text counts as empty.
    select_cols : list of int, optional
        The columns to take, rising; all unless given.

    Returns
    -------
    list of Tensor
        A tensor for each column, of the type of its default and the shape of `records`.

    Raises
    ------
    ValueError
        `select_cols` and `record_defaults` differ in length, or columns do not rise. In a step errors.InvalidArgumentError: a line
        has another number of fields, or a field is no value of its type.

    Examples
    --------
    >>> name, age = tw.decode_csv(["ann,30", "bob,"], [[""], [18]])
    >>> with tw.Session() as sess:
    ...     print(sess.run([name, age]))
    [array([b'ann', b'bob'], dtype=object), array([30, 18], dtype=int32)]
    """
    return apply("DecodeCSV", [records, record_defaults],
                 {"field_delim": field_delim, "use_quote_delim": use_quote_delim, "na_value": na_value,
                  "select_cols": select_cols}, name=name)

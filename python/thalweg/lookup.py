# SPDX-License-Identifier: Apache-2.0
"""Tables from keys to values: tw.lookup."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.base import names
from thalweg.graph.graph import GraphKeys, add_to_collection, get_collection, name_scope
from thalweg.graph.ops import apply, convert_to_tensor, group, no_op
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor import has_value, op_name_of
from thalweg.operations.array_ops import where
from thalweg.operations.math_ops import cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from thalweg.base.typing import DTypeLike, PathLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.tensor import Operation, Tensor


class TextFileIndex:
    """What a column of a table may be made from, beside a column of the file."""
    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializerBase:
    """Fills a table of given types."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType: return self._key_dtype
    @property
    def value_dtype(self) -> DType: return self._value_dtype

    def initialize(self, table: Any) -> Operation:
        """An operation that fills the table."""
        raise NotImplementedError

    def _check(self, table):
        if (table.key_dtype, table.value_dtype) != (self._key_dtype, self._value_dtype):
            raise TypeError(f"Invalid key or value dtype: the table is {table.key_dtype.name} to {table.value_dtype.name}, the "
                            f"initializer {self._key_dtype.name} to {self._value_dtype.name}.")


class KeyValueTensorInitializer(TableInitializerBase):
    """Keys and values from two tensors."""

    def __init__(self, keys: TensorLike, values: TensorLike, key_dtype: DTypeLike | None = None,
                 value_dtype: DTypeLike | None = None, name: str | None = None) -> None:
        self._name = name or "key_value_init"
        with name_scope(self._name):
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Operation:
        """An operation that fills the table."""
        self._check(table)
        made = apply("InitializeTableV2", [table.resource_handle, self._keys, self._values], name=self._name)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


class TextFileInitializer(TableInitializerBase):
    """Keys and values from the lines of a file."""

    def __init__(self, filename: PathLike | Tensor, key_dtype: DTypeLike, key_index: int | str, value_dtype: DTypeLike,
                 value_index: int | str, vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None) -> None:
        if not isinstance(filename, (str, bytes, os.PathLike)) and not hasattr(filename, "dtype"):
            raise ValueError("Filename required for text file initializer.")
        if filename in ("", b""):
            raise ValueError("Filename required for text file initializer.")
        if key_index < -2 or value_index < -2:
            raise ValueError(f"Invalid key index {key_index} or value index {value_index}.")
        for index, dtype, what in ((key_index, key_dtype, "Key"), (value_index, value_dtype, "Value")):
            if index == TextFileIndex.LINE_NUMBER and dtypes.as_dtype(dtype) is not dtypes.int64:
                raise ValueError(f"Signature mismatch. {what}s must be dtype {dtypes.int64}, got {dtype}.")
            if index == TextFileIndex.WHOLE_LINE and dtypes.as_dtype(dtype) is not dtypes.string:
                raise ValueError(f"Signature mismatch. {what}s must be dtype {dtypes.string}, got {dtype}.")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        super().__init__(key_dtype, value_dtype)
        self._filename = os.fspath(filename) if isinstance(filename, os.PathLike) else filename
        self._attrs = {"key_index": key_index, "value_index": value_index, "delimiter": delimiter,
                       "vocab_size": -1 if vocab_size is None else vocab_size}
        self._name = name or "text_file_init"

    def initialize(self, table: Any) -> Operation:
        """An operation that fills the table."""
        self._check(table)
        filename = convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
        made = apply("InitializeTableFromTextFileV2", [table.resource_handle, filename], self._attrs, name=self._name)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        if not hasattr(self._filename, "dtype"):
            add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return made


class TextFileStringTableInitializer(TextFileInitializer):
    """From line numbers to lines."""

    def __init__(self, filename: PathLike | Tensor, key_column_index: int = TextFileIndex.LINE_NUMBER,
                 value_column_index: int = TextFileIndex.WHOLE_LINE, vocab_size: int | None = None, delimiter: str = "\t",
                 name: str = "text_file_string_table_init") -> None:
        super().__init__(filename, dtypes.int64, key_column_index, dtypes.string, value_column_index, vocab_size, delimiter, name)


class TextFileIdTableInitializer(TextFileInitializer):
    """From lines to line numbers."""

    def __init__(self, filename: PathLike | Tensor, key_column_index: int = TextFileIndex.WHOLE_LINE,
                 value_column_index: int = TextFileIndex.LINE_NUMBER, vocab_size: int | None = None, delimiter: str = "\t",
                 name: str = "text_file_id_table_init", key_dtype: DTypeLike = dtypes.string) -> None:
        super().__init__(filename, key_dtype, key_column_index, dtypes.int64, value_column_index, vocab_size, delimiter, name)


class LookupInterface:
    """A table: what all kinds share."""

    _has_single_values = False  # whether each value is surely a scalar

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType: return self._key_dtype
    @property
    def value_dtype(self) -> DType: return self._value_dtype
    @property
    def name(self) -> str: return self._name
    @property
    def resource_handle(self) -> Tensor: return self._handle
    @property
    def default_value(self) -> Tensor: return self._default_value

    def _make(self, op, inputs, attrs, default_value, shared_name, name):
        self._name = shared_name or name
        attrs = dict(attrs, key_dtype=self._key_dtype, value_dtype=self._value_dtype, shared_name=shared_name or "")
        self._handle = apply(op, inputs, attrs, name=name)
        self._default_value = convert_to_tensor(default_value, self._value_dtype)

    def size(self, name: str | None = None) -> Tensor:
        """How many keys the table has."""
        return apply("LookupTableSizeV2", [self._handle], name=name or f"{op_name_of(self._handle).split('/')[-1]}_Size")

    def lookup(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Any:
        """The values of keys (or of a SparseTensor of keys), the default where the table has none."""
        values = keys.values if isinstance(keys, SparseTensor) else keys
        values = convert_to_tensor(values, None if hasattr(values, "dtype") else self._key_dtype, name="keys")
        if values.dtype.base_dtype is not self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {values.dtype}.")
        found = apply("LookupTableFindV2", [self._handle, values, self._default_value],
                      name=name or f"{op_name_of(self._handle).split('/')[-1]}_Lookup")
        if self._has_single_values:  # which a function that is given the table cannot see
            found.set_shape(values.shape)
        if not isinstance(keys, SparseTensor):
            return found
        return SparseTensor(keys.indices, found, keys.dense_shape)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and values."""
        return apply("LookupTableExportV2", [self._handle], {"Tkeys": self._key_dtype, "Tvalues": self._value_dtype}, name=name)


class StaticHashTable(LookupInterface):
    """A table that its initializer fills, once: StaticHashTable(KeyValueTensorInitializer(keys, values), -1)."""

    _has_single_values = True

    def __init__(self, initializer: TableInitializerBase, default_value: TensorLike, name: str | None = None, *,
                 shared_name: str | None = None) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._initializer = initializer
        self._make("HashTableV2", [], {}, default_value, shared_name, name or "hash_table")
        self._init_op = initializer.initialize(self)

    @property
    def initializer(self) -> Operation: return self._init_op

    @property
    def init(self) -> Operation:
        """The operation that fills the table; the same as `initializer`."""
        return self._init_op


class TableSaveable:
    """A table in the collection of what a Saver saves: NAME-keys and NAME-values of a checkpoint."""

    def __init__(self, table: Any, name: str) -> None:
        self.op, self.name, self.graph = table.resource_handle.op, name, table.resource_handle.graph
        self._ref_tensor = table.resource_handle


class _MutableTable(LookupInterface):
    """What tables share that steps change."""

    def _save(self, checkpoint):
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, None if has_value(self._handle) else TableSaveable(self, self._handle.op.name))

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Gives keys values."""
        keys, values = convert_to_tensor(keys, self._key_dtype), convert_to_tensor(values, self._value_dtype)
        return apply("LookupTableInsertV2", [self._handle, keys, values], name=name)

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Removes keys."""
        return apply("LookupTableRemoveV2", [self._handle, convert_to_tensor(keys, self._key_dtype)], name=name)


class MutableHashTable(_MutableTable):
    """A table that steps change."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: TensorLike, name: str = "MutableHashTable",
                 checkpoint: bool = True, *, shared_name: str | None = None) -> None:
        super().__init__(key_dtype, value_dtype)
        default = convert_to_tensor(default_value, self._value_dtype)
        if default.shape.ndims == 0:
            self._make("MutableHashTableV2", [], {}, default, shared_name, name)
        else:
            self._make("MutableHashTableOfTensorsV2", [], {"value_shape": default.shape}, default, shared_name, name)
        self._save(checkpoint)


class MutableDenseHashTable(_MutableTable):
    """A table that steps change; empty_key and deleted_key are not allowed in it."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: TensorLike, empty_key: TensorLike,
                 deleted_key: TensorLike, initial_num_buckets: int | None = None, name: str = "MutableDenseHashTable",
                 checkpoint: bool = True, *, shared_name: str | None = None) -> None:
        super().__init__(key_dtype, value_dtype)
        default = convert_to_tensor(default_value, self._value_dtype)
        keys = [convert_to_tensor(key, self._key_dtype) for key in (empty_key, deleted_key)]
        attrs = {"value_shape": default.shape}
        if initial_num_buckets is not None:
            attrs["initial_num_buckets"] = initial_num_buckets
        self._make("MutableDenseHashTableV2", keys, attrs, default, shared_name, name)
        self._save(checkpoint)

    def erase(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Operation:
        """Removes keys."""
        return self.remove(keys, name)


class _WithSpareBuckets(LookupInterface):
    """A table to int64, or none, and numbers behind its own for the keys that it has not."""

    def __init__(self, table: Any, num_oov_buckets: int, hash_op: str, hash_attrs: Mapping[str, object], key_dtype: DTypeLike,
                 name: str) -> None:
        super().__init__(key_dtype, dtypes.int64)
        self._table, self._buckets, self._hash = table, num_oov_buckets, (hash_op, hash_attrs)
        self._name = name

    @property
    def initializer(self) -> Operation:
        return self._table.initializer if self._table is not None else no_op()

    init = initializer

    @property
    def resource_handle(self) -> Tensor | None:
        return self._table.resource_handle if self._table is not None else None

    def size(self, name: str | None = None) -> Any:
        """How many values there are, spare ones included."""
        spare = convert_to_tensor(self._buckets, dtypes.int64)
        return spare if self._table is None else self._table.size() + spare

    def lookup(self, keys: TensorLike | SparseTensor, name: str | None = None) -> Any:
        """The number of each key, a spare one where the table has none."""
        values = keys.values if isinstance(keys, SparseTensor) else convert_to_tensor(keys, name="keys")
        if values.dtype.base_dtype is not self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {values.dtype}.")
        if self._table is not None and values.dtype.base_dtype is not self._table.key_dtype:
            values = _cast(values, self._table.key_dtype)
        found = self._numbers(values)
        return SparseTensor(keys.indices, found, keys.dense_shape) if isinstance(keys, SparseTensor) else found

    def _numbers(self, values):
        if self._buckets == 0:
            return self._table.lookup(values)
        text = values if values.dtype.base_dtype is dtypes.string else apply("AsString", [values])
        op, attrs = self._hash
        spare = apply(op, [text], dict(attrs, num_buckets=self._buckets), name="hash_bucket")
        if self._table is None:
            return spare
        known = self._table.lookup(values)
        return where(apply("NotEqual", [known, self._table.default_value]), known, spare + self._table.size())


def _cast(values, dtype):
    return cast(values, dtype)


class StaticVocabularyTable(_WithSpareBuckets):
    """A table to int64 whose unknown keys get one of num_oov_buckets numbers behind its own."""

    def __init__(self, initializer: TableInitializerBase, num_oov_buckets: int, lookup_key_dtype: DTypeLike | None = None,
                 name: str | None = None) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("num_oov_buckets must be > 0")
        table = None
        if initializer is not None:
            if initializer.value_dtype is not dtypes.int64:
                raise TypeError("Invalid value dtype, expected int64.")
            table = StaticHashTable(initializer, default_value=-1)
        key_dtype = dtypes.as_dtype(lookup_key_dtype) if lookup_key_dtype else (table.key_dtype if table else dtypes.string)
        super().__init__(table, num_oov_buckets, "StringToHashBucketFast", {}, key_dtype, name or "string_to_index")


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Makes an operation that fills all tables of the graph.

    Parameters
    ----------
    name : str

    Returns
    -------
    Operation

    Examples
    --------
    >>> table = tw.lookup.StaticHashTable(tw.lookup.KeyValueTensorInitializer(["a"], [1]), default_value=-1)
    >>> with tw.Session() as sess:
    ...     sess.run(tw.tables_initializer())
    ...     print(sess.run(table.lookup(tw.constant(["a", "b"]))))
    [ 1 -1]
    """
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """An old name of tables_initializer."""
    return tables_initializer(name)


class _Experimental:
    DenseHashTable = MutableDenseHashTable


experimental = _Experimental()
names.complete(globals())

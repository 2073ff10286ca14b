# SPDX-License-Identifier: Apache-2.0
"""Tables from words to numbers: of a list or a file, with spare numbers for words that are not there."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.ops import convert_to_tensor
from thalweg.lookup import (
    KeyValueTensorInitializer,
    LookupInterface,
    StaticHashTable,
    TableInitializerBase,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
    _WithSpareBuckets,
)
from thalweg.operations.array_ops import size
from thalweg.operations.math_ops import cast, range_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DTypeLike, PathLike, TensorLike
    from thalweg.graph.tensor import Tensor


class HashTable(StaticHashTable):
    """A table that its initializer fills, once."""

    def __init__(self, initializer: TableInitializerBase, default_value: TensorLike, shared_name: str | None = None,
                 name: str | None = None) -> None:
        super().__init__(initializer, default_value, name=name, shared_name=shared_name)


class HasherSpec:
    """How unknown keys are hashed, and the key of the hash."""

    def __init__(self, hasher: str, key: object) -> None:
        self.hasher, self.key = hasher, key


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """A hash whose collisions nobody can arrange without the key: two numbers."""

    def __init__(self, key: Sequence[int]) -> None:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        super().__init__("stronghash", list(key))


class IdTableWithHashBuckets(_WithSpareBuckets):
    """A table to int64 whose unknown keys get one of num_oov_buckets numbers behind its own."""

    def __init__(self, table: LookupInterface, num_oov_buckets: int, hasher_spec: HasherSpec = FastHashSpec,
                 name: str | None = None, key_dtype: DTypeLike | None = None) -> None:
        if table is None and num_oov_buckets <= 0:
            raise ValueError(f"oov_buckets must be > 0 if no table is supplied, but num_oov_buckets={num_oov_buckets}")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        strong = hasher_spec.hasher == "stronghash"
        key_dtype = dtypes.as_dtype(key_dtype) if key_dtype else (table.key_dtype if table else dtypes.string)
        super().__init__(table, num_oov_buckets, "StringToHashBucketStrong" if strong else "StringToHashBucketFast",
                         {"key": hasher_spec.key} if strong else {}, key_dtype, name or "string_to_index")


def _with_buckets(initializer, num_oov_buckets, default_value, hasher_spec, name, key_dtype=None):
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    table = HashTable(initializer, default_value, name=name or "string_to_index")
    if num_oov_buckets == 0 and key_dtype is None:
        return table
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, name, key_dtype)


def index_table_from_tensor(mapping: TensorLike, num_oov_buckets: int = 0, default_value: TensorLike = -1,
                            hasher_spec: HasherSpec = FastHashSpec, dtype: DTypeLike = dtypes.string,
                            name: str | None = None) -> LookupInterface:
    """From the elements of a vector to their places."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    keys = convert_to_tensor(mapping)
    if keys.dtype.base_dtype is not dtypes.as_dtype(dtype) and not (keys.dtype.is_integer and dtypes.as_dtype(dtype).is_integer):
        raise ValueError(f"Expected {dtypes.as_dtype(dtype).name}, got {keys.dtype.name}.")
    places, key_dtype = _places(keys), None
    if keys.dtype.is_integer:
        keys = cast(keys, dtypes.int64)
        key_dtype = None if dtypes.as_dtype(dtype) is dtypes.int64 else dtype
    return _with_buckets(KeyValueTensorInitializer(keys, places, name="table_init"), num_oov_buckets, default_value, hasher_spec,
                         name, key_dtype)


def _places(keys):
    return cast(range_(size(keys)), dtypes.int64)


def index_table_from_file(vocabulary_file: PathLike | Tensor | None = None, num_oov_buckets: int = 0,
                          vocab_size: int | None = None, default_value: TensorLike = -1, hasher_spec: HasherSpec = FastHashSpec,
                          key_dtype: DTypeLike = dtypes.string, name: str | None = None,
                          key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
                          delimiter: str = "\t") -> LookupInterface:
    """From the lines of a file to their numbers."""
    if vocabulary_file is None or vocabulary_file == "":
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    key_dtype = dtypes.as_dtype(key_dtype)
    initializer = TextFileIdTableInitializer(vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter,
                                             "table_init", dtypes.int64 if key_dtype.is_integer else key_dtype)
    other = key_dtype if key_dtype.is_integer and key_dtype is not dtypes.int64 else None
    return _with_buckets(initializer, num_oov_buckets, default_value, hasher_spec, name, other)


def index_to_string_table_from_tensor(mapping: TensorLike, default_value: TensorLike = "UNK",
                                      name: str | None = None) -> LookupInterface:
    """From places to the elements of a vector of strings."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    values = convert_to_tensor(mapping, dtypes.string)
    return HashTable(KeyValueTensorInitializer(_places(values), values, name="table_init"), default_value,
                     name=name or "index_to_string")


def index_to_string_table_from_file(vocabulary_file: PathLike | Tensor, vocab_size: int | None = None,
                                    default_value: TensorLike = "UNK", name: str | None = None,
                                    key_column_index: int = TextFileIndex.LINE_NUMBER,
                                    value_column_index: int = TextFileIndex.WHOLE_LINE, delimiter: str = "\t") -> LookupInterface:
    """From line numbers to the lines of a file."""
    if vocabulary_file is None or vocabulary_file == "":
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    initializer = TextFileStringTableInitializer(vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter,
                                                 "table_init")
    return HashTable(initializer, default_value, name=name or "index_to_string")

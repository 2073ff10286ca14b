# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.lookup: tables under their older names, and vocabularies."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.base import names
from thalweg.feature_column.vocabularies import (  # noqa: F401
    FastHashSpec,
    HasherSpec,
    HashTable,
    IdTableWithHashBuckets,
    StrongHashSpec,
    index_table_from_file,
    index_table_from_tensor,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
)
from thalweg.lookup import (  # noqa: F401
    KeyValueTensorInitializer,
    LookupInterface,
    MutableDenseHashTable,
    MutableHashTable,
    StaticHashTable,
    TableInitializerBase,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
)

if TYPE_CHECKING:
    from thalweg.base.typing import PathLike, TensorLike
    from thalweg.graph.tensor import Tensor


def string_to_index_table_from_tensor(mapping: TensorLike, num_oov_buckets: int = 0, default_value: TensorLike = -1,
                                      hasher_spec: HasherSpec = FastHashSpec, name: str | None = None) -> LookupInterface:
    """An old name of index_table_from_tensor."""
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, dtypes.string, name)


def string_to_index_table_from_file(vocabulary_file: PathLike | Tensor | None = None, num_oov_buckets: int = 0,
                                    vocab_size: int | None = None, default_value: TensorLike = -1,
                                    hasher_spec: HasherSpec = FastHashSpec, name: str | None = None) -> LookupInterface:
    """An old name of index_table_from_file."""
    return index_table_from_file(vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, dtypes.string, name)


names.complete(globals())

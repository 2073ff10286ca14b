# SPDX-License-Identifier: Apache-2.0
"""What a program says of the features in an Example."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import ArrayLike, DTypeLike, ShapeLike


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

# SPDX-License-Identifier: Apache-2.0
"""RaggedTensor: a tensor whose rows have different lengths: values, and where in them each row begins."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.graph.default_session import session_of
from thalweg.graph.graph import name_scope
from thalweg.graph.operators import add_operators
from thalweg.graph.ops import apply, convert_to_tensor, register_composite
from thalweg.graph.shapes import TensorShape
from thalweg.graph.sparse_tensor import SparseTensor
from thalweg.graph.tensor import Tensor, has_value
from thalweg.graph.tensor_util import constant_value
from thalweg.operations import array_ops, checks, math_ops
from thalweg.ragged import indexing, partitions
from thalweg.ragged.ragged_tensor_value import RaggedTensorValue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, FeedDict, IntLike, ShapeLike, SparseLike, TensorLike
    from thalweg.dtypes import DType
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation


def ragged_or_tensor(value: TensorLike | RaggedTensor | RaggedTensorValue, dtype: DTypeLike | None = None,
                     name: str | None = None) -> Tensor | RaggedTensor:
    """What is ragged as a RaggedTensor, anything else as a Tensor, of `dtype` where that is given."""
    if isinstance(value, (RaggedTensor, RaggedTensorValue)):
        return RaggedTensor.from_value(value)
    return convert_to_tensor(value, dtype, name=name)


def _values_and_partition(values: TensorLike | RaggedTensor, partition: TensorLike,
                          name: str) -> tuple[Tensor | RaggedTensor, Tensor]:
    """Both as tensors; ValueError where their row splits differ in type."""
    values = ragged_or_tensor(values, name="values")
    own = values.row_splits.dtype if isinstance(values, RaggedTensor) else None
    rows = partitions.as_partition(partition, name, None if own is None else own.base_dtype)
    if own is not None and own != rows.dtype:
        raise ValueError(f"values and the row partition must have the same dtype of row splits, got {own!r} and {rows.dtype!r}: "
                         "use with_row_splits_dtype or tf.cast")
    return values, rows


class RaggedTensor:
    """Rows of different lengths. Row i holds `values[row_splits[i]:row_splits[i + 1]]`; the values may be ragged themselves.

    Made by `tw.ragged.constant` and by the class methods; fetched, it is a `RaggedTensorValue`.

    Examples
    --------
    >>> rows = tw.RaggedTensor.from_row_lengths([3, 1, 4, 1, 5], [2, 0, 3])
    >>> with tw.Session() as sess:
    ...     print(sess.run(rows).to_list(), sess.run(rows[0]), sess.run(rows.to_tensor()).tolist())
    [[3, 1], [], [4, 1, 5]] [3 1] [[3, 1, 0], [0, 0, 0], [4, 1, 5]]
    """

    def __init__(self, values: Tensor | RaggedTensor, row_splits: Tensor, *, internal: bool = False,
                 row_length: int | None = None) -> None:
        if not internal:
            raise ValueError("RaggedTensor constructor is private; please use one of the factory methods instead "
                             "(e.g., RaggedTensor.from_row_lengths())")
        row_splits.shape.assert_has_rank(1)
        self._values, self._row_splits, self._row_length = values, row_splits, row_length

    @classmethod
    def from_value(cls, value: RaggedTensor | RaggedTensorValue) -> RaggedTensor:
        """The RaggedTensor of a RaggedTensorValue; a RaggedTensor itself."""
        if isinstance(value, RaggedTensor):
            return value
        return cls.from_row_splits(value.values, convert_to_tensor(value.row_splits), validate=False)

    @classmethod
    def from_row_splits(cls, values: TensorLike | RaggedTensor, row_splits: TensorLike, name: str | None = None,
                        validate: bool = True) -> RaggedTensor:
        """Rows that begin at `row_splits`, whose last number is that of the values.

        Parameters
        ----------
        values : Tensor or RaggedTensor
        row_splits : int vector
            One longer than there are rows.
        name : str, optional
        validate : bool
            Whether the step fails where the splits do not begin with 0, go down, or do not end with the values.

        Returns
        -------
        RaggedTensor

        Examples
        --------
        >>> with tw.Session() as sess:
        ...     print(sess.run(tw.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3])).to_list())
        [[1, 2], [], [3]]
        """
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = _values_and_partition(values, row_splits, "row_splits")
            if splits.shape._size(0) == 0:
                raise ValueError("row_splits tensor may not be empty.")
            conditions = partitions.conditions_of_splits(splits, _nrows(values, splits.dtype), "from_row_splits") if validate else []
            return cls._of(values, partitions.checked(splits, conditions, validate))

    @classmethod
    def from_value_rowids(cls, values: TensorLike | RaggedTensor, value_rowids: TensorLike, nrows: IntLike | None = None,
                          name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows from the row of each value; the ids must not go down. `nrows`: up to the last row with a value without it."""
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values, rowids = _values_and_partition(values, value_rowids, "value_rowids")
            if nrows is None:
                number = partitions.next_row(rowids)
            else:
                known = constant_value(convert_to_tensor(nrows))
                if known is not None and known < 0:
                    raise ValueError(f"Expected nrows >= 0; got {known}")
                last = constant_value(rowids)
                if known is not None and last is not None and len(last) and known < last[-1] + 1:
                    raise ValueError(f"Expected nrows >= value_rowids[-1] + 1; got nrows={known}, value_rowids[-1]={last[-1]}")
                number = math_ops.cast(nrows, rowids.dtype.base_dtype)
            conditions = partitions.conditions_of_rowids(rowids, number, _nrows(values, rowids.dtype),
                                                         "from_value_rowids") if validate else []
            made = cls._of(values, partitions.splits_from_rowids(partitions.checked(rowids, conditions, validate), number))
            if nrows is not None and known is not None:
                made.row_splits.set_shape([int(known) + 1])
            return made

    @classmethod
    def from_row_lengths(cls, values: TensorLike | RaggedTensor, row_lengths: TensorLike, name: str | None = None,
                         validate: bool = True) -> RaggedTensor:
        """Rows of these lengths."""
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = _values_and_partition(values, row_lengths, "row_lengths")
            message = "Arguments to from_row_lengths do not form a valid RaggedTensor"
            conditions = [
                checks.assert_non_negative(lengths, message=message),
                checks.assert_equal(math_ops.reduce_sum(lengths), _nrows(values, lengths.dtype), message=message),
            ] if validate else []
            return cls._of(values, partitions.splits_from_lengths(partitions.checked(lengths, conditions, validate)))

    @classmethod
    def from_row_starts(cls, values: TensorLike | RaggedTensor, row_starts: TensorLike, name: str | None = None,
                        validate: bool = True) -> RaggedTensor:
        """Rows that begin there; each goes on up to the next."""
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = _values_and_partition(values, row_starts, "row_starts")
            splits = array_ops.concat([starts, array_ops.reshape(_nrows(values, starts.dtype), [1])], axis=0)
            return cls._checked(values, splits, "from_row_starts", validate)

    @classmethod
    def from_row_limits(cls, values: TensorLike | RaggedTensor, row_limits: TensorLike, name: str | None = None,
                        validate: bool = True) -> RaggedTensor:
        """Rows that end there; each begins where the one before ended."""
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = _values_and_partition(values, row_limits, "row_limits")
            splits = array_ops.concat([array_ops.zeros([1], limits.dtype.base_dtype), limits], axis=0)
            return cls._checked(values, splits, "from_row_limits", validate)

    @classmethod
    def from_nested_row_splits(cls, flat_values: TensorLike, nested_row_splits: Sequence[TensorLike], name: str | None = None,
                               validate: bool = True) -> RaggedTensor:
        """Row splits of several ragged dimensions, the outermost first."""
        return cls._nested(cls.from_row_splits, flat_values, nested_row_splits, "nested_row_splits", name, validate)

    @classmethod
    def from_nested_row_lengths(cls, flat_values: TensorLike, nested_row_lengths: Sequence[TensorLike],
                                name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Row lengths of several ragged dimensions, the outermost first."""
        return cls._nested(cls.from_row_lengths, flat_values, nested_row_lengths, "nested_row_lengths", name, validate)

    @classmethod
    def from_nested_value_rowids(cls, flat_values: TensorLike, nested_value_rowids: Sequence[TensorLike],
                                 nested_nrows: Sequence[IntLike] | None = None, name: str | None = None,
                                 validate: bool = True) -> RaggedTensor:
        """The rows of values of several ragged dimensions, the outermost first."""
        if isinstance(nested_value_rowids, Tensor):
            raise TypeError("nested_value_rowids must be a list of Tensors")
        numbers = [None] * len(nested_value_rowids) if nested_nrows is None else list(nested_nrows)
        if len(numbers) != len(nested_value_rowids):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        with name_scope(name, "RaggedFromNestedValueRowIds", [flat_values, *nested_value_rowids]):
            made = flat_values
            for rowids, number in zip(reversed(nested_value_rowids), reversed(numbers)):
                made = cls.from_value_rowids(made, rowids, number, validate=validate)
            return made

    @classmethod
    def from_tensor(cls, tensor: TensorLike, lengths: TensorLike | Sequence[TensorLike] | None = None,
                    padding: TensorLike | None = None, ragged_rank: int = 1, name: str | None = None,
                    row_splits_dtype: DTypeLike = dtypes.int64) -> RaggedTensor:
        """The rows of a tensor.

        Parameters
        ----------
        tensor : Tensor
            Of rank above `ragged_rank`.
        lengths : int vector, or a tuple of such, optional
            How much of each row counts; of a tuple, the outermost ragged dimension first.
        padding : scalar, optional
            What stands behind the end of a row and does not count.
        ragged_rank : int
            How many dimensions of the result are ragged.
        name : str, optional
        row_splits_dtype : DType

        Returns
        -------
        RaggedTensor

        Examples
        --------
        >>> with tw.Session() as sess:
        ...     print(sess.run(tw.RaggedTensor.from_tensor([[5, 7, 0], [0, 3, 0], [0, 0, 0]], padding=0)).to_list())
        [[5, 7], [0, 3], []]
        """
        from_dense = indexing.Rows(partitions.splits_dtype(row_splits_dtype))
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
        if ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
        with name_scope(name, "RaggedFromTensor", [tensor, padding]):
            tensor = convert_to_tensor(tensor, name="tensor")
            if isinstance(lengths, (list, tuple)) and lengths and isinstance(lengths[0], (list, tuple, np.ndarray, Tensor)):
                if ragged_rank not in (1, len(lengths)):
                    raise ValueError("If lengths is a tuple of row lengths, then ragged_rank must be their number")
                return cls.from_nested_row_lengths(from_dense.kept(tensor, lengths), lengths, validate=False)
            if tensor.shape.ndims is not None and tensor.shape.ndims <= ragged_rank:
                raise ValueError(f"Shape {tensor.shape} must have rank at least {ragged_rank + 1}")
            if ragged_rank > 1:
                return cls._nested_from_tensor(from_dense, tensor, lengths, padding, ragged_rank)
            flat, splits = from_dense.rows(tensor, lengths, padding)
            return cls._of(flat, splits)

    @classmethod
    def _nested_from_tensor(cls, from_dense, tensor, lengths, padding, ragged_rank):
        """The inner dimensions as rows of their own, first; then the outer ones, all of whose rows are as long."""
        sizes = array_ops.shape(tensor, out_type=from_dense.dtype)
        joined = array_ops.reshape(tensor, array_ops.concat([[-1], sizes[ragged_rank:]], axis=0))
        static = tensor.shape[ragged_rank:] if tensor.shape.ndims is not None else TensorShape(None)
        joined.set_shape(TensorShape([None]).concatenate(static))
        made = cls._of(*from_dense.rows(joined, lengths, padding))
        for axis in range(ragged_rank - 1, 0, -1):
            rows = math_ops.reduce_prod(sizes[:axis])
            made = cls._of(made, math_ops.range_(rows + 1) * sizes[axis])
        return made

    @classmethod
    def from_sparse(cls, st_input: SparseLike, name: str | None = None, row_splits_dtype: DTypeLike = dtypes.int64) -> RaggedTensor:
        """The rows of a SparseTensor of rank 2 whose values stand side by side from the left."""
        dtype = partitions.splits_dtype(row_splits_dtype)
        if not hasattr(st_input, "dense_shape"):
            raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
        with name_scope(name, "RaggedFromSparse"):
            st = SparseTensor.from_value(st_input)
            rank = st.dense_shape.shape._size(0) if st.dense_shape.shape.ndims == 1 else None
            known = st.indices.shape._size(1) if st.indices.shape.ndims == 2 else None
            rank = rank if rank is not None else known
            if rank is None:
                raise ValueError("rank(st_input) must be 2")
            if rank != 2:
                raise ValueError(f"rank(st_input) must be 2, got {rank}")
            rowids, columns = st.indices[:, 0], st.indices[:, 1]
            splits = partitions.splits_from_rowids(rowids, st.dense_shape[0])
            begins = array_ops.gather(splits, rowids)
            wanted = math_ops.range_(partitions.length_of(st.values, dtypes.int64)) - begins
            right = checks.assert_equal(columns, wanted, message="SparseTensor is not right-ragged")
            made = cls._of(st.values, math_ops.cast(checks.with_dependencies([right], splits), dtype))
            rows = constant_value(st.dense_shape)
            if rows is not None:
                made.row_splits.set_shape([int(rows[0]) + 1])
            return made

    @classmethod
    def _of(cls, values, row_splits, row_length=None):
        """`row_length`: how long all rows are, where that is so by the way they were made."""
        return cls(values, row_splits, internal=True, row_length=row_length)

    @classmethod
    def _checked(cls, values, splits, what, validate):
        conditions = partitions.conditions_of_splits(splits, _nrows(values, splits.dtype), what) if validate else []
        return cls._of(values, partitions.checked(splits, conditions, validate))

    @classmethod
    def _nested(cls, factory, flat_values, nested, what, name, validate):
        if isinstance(nested, Tensor):
            raise TypeError(f"{what} must be a list of Tensors")
        with name_scope(name, "RaggedFromNested", [flat_values, *nested]):
            made = flat_values
            for partition in reversed(nested):
                made = factory(made, partition, validate=validate)
            return made

    # ---- what it is made of ----

    @property
    def values(self) -> Tensor | RaggedTensor:
        """The rows after each other."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """Where rows begin in the values, and the last one ends."""
        return self._row_splits

    @property
    def flat_values(self) -> Tensor:
        """The innermost values."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def uniform_row_length(self) -> int | None:
        """How long all rows are, where that is known before a step; None of ragged ones."""
        return self._row_length

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self._row_splits, *inner)

    @property
    def dtype(self) -> DType: return self._values.dtype
    @property
    def ragged_rank(self) -> int: return len(self.nested_row_splits)
    @property
    def op(self) -> Operation: return self.flat_values.op
    @property
    def graph(self) -> Graph: return self.flat_values.graph
    @property
    def name(self) -> str: return self.flat_values.name

    @property
    def shape(self) -> TensorShape:
        """What is known of it before a step; None for ragged dimensions."""
        splits = self._row_splits.shape._size(0)
        inner = self._values.shape
        rest = inner[1:] if inner.ndims is not None else TensorShape(None)
        return TensorShape([None if splits is None else splits - 1, self._row_length]).concatenate(rest)

    def get_shape(self) -> TensorShape:
        """What `shape` is."""
        return self.shape

    def consumers(self) -> list[Operation]:
        """The operations that read a part of it."""
        parts = [self.flat_values, *self.nested_row_splits]
        return [op for part in parts for op in part.consumers()]

    # ---- its rows ----

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row of each value."""
        with name_scope(name, "RaggedValueRowIds"):
            return partitions.rowids_from_splits(self._row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row of each value, of all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedValueRowIds"):
            return tuple(partitions.rowids_from_splits(splits) for splits in self.nested_row_splits)

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """How many rows there are."""
        with name_scope(name, "RaggedNRows"):
            return _nrows(self, partitions.splits_dtype(out_type or self._row_splits.dtype.base_dtype))

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where in the values each row begins."""
        with name_scope(name, "RaggedRowStarts"):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where in the values each row ends."""
        with name_scope(name, "RaggedRowLimits"):
            return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor | RaggedTensor:
        """How long the rows of a dimension are: of the first ragged one, a vector; of inner ones, a RaggedTensor; -1 is the last."""
        with name_scope(name, "RaggedRowLengths"):
            rank = self.shape.ndims
            if rank is not None and not -rank <= axis < rank:
                raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
            if axis < 0:
                if rank is None:
                    raise ValueError("axis may only be negative if rank is statically known.")
                axis += rank
            if axis == 0:
                return self.nrows()
            lengths = partitions.lengths_from_splits(self._row_splits)
            if axis == 1:
                return lengths
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            shape = array_ops.shape(self._values, out_type=self._row_splits.dtype.base_dtype)
            return self.with_values(array_ops.fill(shape[:1], shape[axis - 1]))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The lengths of the rows of all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedRowLengths"):
            return tuple(partitions.lengths_from_splits(splits) for splits in self.nested_row_splits)

    def bounding_shape(self, axis: IntLike | None = None, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
        """The shape of the smallest tensor that has room for all rows; with `axis`, its size there."""
        dtype = partitions.splits_dtype(out_type or self._row_splits.dtype.base_dtype)
        with name_scope(name, "RaggedBoundingBox"):
            longest = [array_ops.reshape(math_ops.reduce_max(array_ops.concat([[0], lengths], axis=0)), [1])
                       for lengths in self.nested_row_lengths()]
            inner = array_ops.shape(self.flat_values, out_type=self._row_splits.dtype.base_dtype)[1:]
            box = array_ops.concat([array_ops.reshape(self.nrows(), [1]), *longest, inner], axis=0)
            box = math_ops.cast(box, dtype)
            return box if axis is None else array_ops.gather(box, axis)

    # ---- others of the same rows ----

    def with_values(self, new_values: TensorLike | RaggedTensor) -> RaggedTensor:
        """The same rows of other values, as many."""
        new_values = ragged_or_tensor(new_values, name="values")
        old, new = self._values.shape, new_values.shape
        new.with_rank_at_least(1)
        old[:1].assert_is_compatible_with(new[:1])
        if isinstance(new_values, RaggedTensor) and new_values.row_splits.dtype != self._row_splits.dtype:
            raise ValueError("self and new_values have mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to "
                             "convert them to compatible dtypes.")
        return RaggedTensor._of(new_values, self._row_splits, self._row_length)

    def with_flat_values(self, new_values: TensorLike | RaggedTensor) -> RaggedTensor:
        """The same rows of other innermost values, as many."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """The same rows, with row splits of another type."""
        dtype = partitions.splits_dtype(dtype)
        if self._row_splits.dtype.base_dtype == dtype:
            return self
        values = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor._of(values, math_ops.cast(self._row_splits, dtype), self._row_length)

    # ---- other tensors of it ----

    def to_tensor(self, default_value: TensorLike | None = None, name: str | None = None, shape: ShapeLike = None) -> Tensor:
        """A tensor whose rows are filled up.

        Parameters
        ----------
        default_value : scalar, or of the shape of one inner value, optional
            What stands behind the end of a row; zero or "" without it.
        name : str, optional
        shape : TensorShape, optional
            What is longer is cut, what is shorter filled up; None for as it is.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> with tw.Session() as sess:
        ...     print(sess.run(tw.ragged.constant([[1, 2], [], [3]]).to_tensor(-1)).tolist())
        [[1, 2], [-1, -1], [3, -1]]
        """
        with name_scope(name, "RaggedToTensor"):
            if default_value is None:
                default_value = "" if self.dtype.base_dtype is dtypes.string else np.zeros([], self.dtype.as_numpy_dtype)
            default_value = convert_to_tensor(default_value, self.dtype.base_dtype, name="default_value")
            wanted = TensorShape(shape)
            sizes = -1 if wanted.ndims is None else [-1 if d is None else d for d in wanted.as_list()]
            made = apply("RaggedTensorToTensor", [
                convert_to_tensor(sizes, dtypes.int64), self.flat_values, default_value, list(self.nested_row_splits),
            ], {"row_partition_types": ["ROW_SPLITS"] * self.ragged_rank})
            made.set_shape(self.shape if wanted.ndims is None else wanted)
            return made

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """A SparseTensor that holds the values at their places."""
        with name_scope(name, "RaggedToSparse"):
            return SparseTensor(*apply("RaggedTensorToSparse", [list(self.nested_row_splits), self.flat_values]))

    def _to_variant(self, batched_input: bool = False) -> Tensor:
        """It as one variant; `batched_input`: a variant for each row."""
        return apply("RaggedTensorToVariant", [list(self.nested_row_splits), self.flat_values], {"batched_input": batched_input})

    @classmethod
    def _dense_to_variant(cls, value, dtype, row_splits_dtype, batched):
        """A tensor as one variant, or as one for each row."""
        return apply("RaggedTensorToVariant", [[], convert_to_tensor(value, dtype)],
                     {"batched_input": batched, "Tsplits": row_splits_dtype, "RAGGED_RANK": 0})

    @classmethod
    def _from_variant(cls, variant: Tensor, dtype: DType, output_ragged_rank: int, input_ragged_rank: int | None = None,
                      row_splits_dtype: DType = dtypes.int64) -> Tensor | RaggedTensor:
        """What `_to_variant` made. A tensor of variants is one more ragged dimension for each of its own."""
        if input_ragged_rank is None:
            input_ragged_rank = -1
        made = apply("RaggedTensorFromVariant", [variant],
                     {"input_ragged_rank": input_ragged_rank, "output_ragged_rank": output_ragged_rank, "Tvalues": dtype,
                      "Tsplits": row_splits_dtype})
        splits, flat = partitions.splits_and_values(made)
        return cls.from_nested_row_splits(flat, splits, validate=False) if splits else flat

    # ---- Python ----

    def __getitem__(self, key: object) -> Tensor | RaggedTensor:
        return indexing.getitem(self, key)

    def _as_tensor(self):
        return self

    def _map_values(self, function):
        return self.with_flat_values(function(self.flat_values))

    def _fetch_parts(self):
        def value(parts):
            flat, *splits = parts
            for one in reversed(splits):
                flat = RaggedTensorValue(flat, one)
            return flat
        return [self.flat_values, *self.nested_row_splits], value

    def _feed_parts(self, value):
        return dict(zip((self.flat_values, *self.nested_row_splits), (value.flat_values, *value.nested_row_splits)))

    def eval(self, feed_dict: FeedDict | None = None, session: Session | None = None) -> Any:
        """The value in `session`, or the default one, as a RaggedTensorValue."""
        return session_of(session, self.flat_values, "evaluate tensor").run(self, feed_dict)

    def _at_once(self) -> RaggedTensorValue:
        """The value, where operations run at once."""
        values = self._values._at_once() if isinstance(self._values, RaggedTensor) else self._values.numpy()
        return RaggedTensorValue(values, self._row_splits.numpy())

    def to_list(self) -> list[Any]:
        """The rows as lists of Python's, where operations run at once."""
        if not has_value(self._row_splits):
            raise ValueError("RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the RaggedTensor first and then "
                             "use RaggedTensorValue.to_list().")
        return self._at_once().to_list()

    def __repr__(self):
        if has_value(self._row_splits):
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    __str__ = __repr__


add_operators(RaggedTensor)
RaggedTensorValue._as_tensor = lambda self: RaggedTensor.from_value(self)
for _class in (RaggedTensor, RaggedTensorValue):
    register_composite(_class, "thalweg.ragged.dispatch")


def _nrows(values: Tensor | RaggedTensor, dtype: DType) -> Tensor:
    if isinstance(values, RaggedTensor):
        return partitions.length_of(values.row_splits, dtype) - 1
    return partitions.length_of(values, dtype)

# SPDX-License-Identifier: Apache-2.0
"""TensorShape and Dimension: shapes with unknown parts."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from thalweg.base.typing import ShapeLike, T
    from thalweg.messages import TensorShapeProto


_plain_sizes = False


def enable_v2_tensorshape() -> None:
    """The sizes in shapes are numbers, or None, from now on."""
    global _plain_sizes
    _plain_sizes = True


def disable_v2_tensorshape() -> None:
    """The sizes in shapes are Dimension objects, as they are from the start."""
    global _plain_sizes
    _plain_sizes = False


class Dimension:
    """A size, or None when it is not known."""

    __slots__ = ("_value",)

    def __init__(self, value: int | Dimension | None) -> None:
        if isinstance(value, Dimension):
            value = value._value
        if value is not None:
            given, value = value, int(value)
            if value != given and not isinstance(given, (str, bytes)):
                raise ValueError(f"Ambiguous dimension: {given}")
            if value < 0:
                raise ValueError(f"Dimension {value} must be >= 0")
        self._value = value

    @property
    def value(self) -> int | None:
        """The size as a number, or None."""
        return self._value

    def is_compatible_with(self, other: int | Dimension | None) -> bool:
        """Whether both may be the same size."""
        other = Dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: int | Dimension | None) -> None:
        """A ValueError where both cannot be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {Dimension(other)} are not compatible")

    def merge_with(self, other: int | Dimension | None) -> Dimension:
        """The size that one of them knows; a ValueError where they differ."""
        other = Dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else self

    def __eq__(self, other: object) -> bool | None:  # type: ignore[override]
        try:
            other = Dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if self._value is None or other._value is None else self._value == other._value

    def __ne__(self, other: object) -> bool | None:  # type: ignore[override]
        equal = self == other
        return equal if equal in (None, NotImplemented) else not equal

    def __hash__(self):
        return hash(self._value)

    def __int__(self) -> int:
        return self._value

    def __index__(self) -> int:
        return self._value

    def __repr__(self):
        return f"Dimension({self._value})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def _with(self, other, compute):
        try:
            other = Dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return Dimension(None if self._value is None or other._value is None else compute(self._value, other._value))

    def _compare(self, other, compute):
        other = Dimension(other)
        return None if self._value is None or other._value is None else compute(self._value, other._value)
    def __add__(self, other: int | Dimension | None): return self._with(other, lambda a, b: a + b)
    def __radd__(self, other: int | Dimension | None): return self._with(other, lambda a, b: b + a)
    def __sub__(self, other: int | Dimension | None): return self._with(other, lambda a, b: a - b)
    def __rsub__(self, other: int | Dimension | None): return self._with(other, lambda a, b: b - a)
    def __mul__(self, other: int | Dimension | None): return self._with(other, lambda a, b: a * b)
    def __rmul__(self, other: int | Dimension | None): return self._with(other, lambda a, b: b * a)
    def __floordiv__(self, other: int | Dimension | None): return self._with(other, lambda a, b: a // b)
    def __rfloordiv__(self, other: int | Dimension | None): return self._with(other, lambda a, b: b // a)
    __div__, __truediv__ = __floordiv__, __floordiv__
    def __mod__(self, other: int | Dimension | None): return self._with(other, lambda a, b: a % b)
    def __rmod__(self, other: int | Dimension | None): return self._with(other, lambda a, b: b % a)
    def __lt__(self, other: int | Dimension | None): return self._compare(other, lambda a, b: a < b)
    def __le__(self, other: int | Dimension | None): return self._compare(other, lambda a, b: a <= b)
    def __gt__(self, other: int | Dimension | None): return self._compare(other, lambda a, b: a > b)
    def __ge__(self, other: int | Dimension | None): return self._compare(other, lambda a, b: a >= b)


def dimension_value(dimension: T | Dimension) -> T | int | None:
    """The number of a Dimension; anything else itself."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


class TensorShape:
    """What is known of a tensor's shape before a step: its sizes, some of which may be unknown, or not even its rank.

    Parameters
    ----------
    dims : list of int or None, TensorShape, or None
        None in the list: that size is unknown; None alone: the rank is unknown.

    Raises
    ------
    ValueError
        A size is negative.

    Examples
    --------
    >>> shape = tw.TensorShape([None, 3])
    >>> shape.as_list(), shape.ndims, shape.is_fully_defined()
    ([None, 3], 2, False)
    >>> shape.merge_with([2, None]).as_list()
    [2, 3]
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: ShapeLike) -> None:
        if isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif dims is None:
            self._dims = None
        elif isinstance(dims, (str, bytes)):
            raise TypeError(f"A string has ambiguous TensorShape, please wrap in a list or convert to an int: {dims}")
        elif hasattr(dims, "dim") and hasattr(dims, "unknown_rank"):  # a TensorShapeProto
            self._dims = None if dims.unknown_rank else tuple(None if d.size < 0 else d.size for d in dims.dim)
        elif isinstance(dims, (int, Dimension)):
            self._dims = (Dimension(dims).value,)
        else:
            self._dims = tuple(None if d is None or d == -1 else Dimension(d).value for d in dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions, or None where not even the rank is known."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def ndims(self) -> int | None:
        """The rank, or None."""
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """The sizes.

        Returns
        -------
        list of int or None
            None for a size that is not known.

        Raises
        ------
        ValueError
            Not even the rank is known.

        Examples
        --------
        >>> tw.placeholder(tw.float32, [None, 3]).shape.as_list()
        [None, 3]
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """How many elements there are, or None where a size is not known."""
        if not self.is_fully_defined():
            return None
        total = 1
        for d in self._dims:
            total *= d
        return total

    def is_fully_defined(self) -> bool:
        """Whether all sizes are known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """A ValueError where a size is not known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether both may be the same shape."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims))

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """A ValueError where both cannot be the same shape."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """What both know together; a ValueError where they cannot be the same."""
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        return TensorShape(b if a is None else a for a, b in zip(self._dims, other._dims))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """The dimensions of both, one after the other."""
        other = as_shape(other)
        return TensorShape(None if self._dims is None or other._dims is None else self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """The shape, known to be of this rank; a ValueError where it is not."""
        self.assert_has_rank(rank)
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """The shape; a ValueError where its rank is known to be less."""
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """The shape; a ValueError where its rank is known to be more."""
        if self.ndims is not None and self.ndims > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """A ValueError where the rank is known to be another one."""
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """A ValueError where the ranks are known to differ."""
        other = as_shape(other)
        if None not in (self.ndims, other.ndims) and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def as_proto(self) -> TensorShapeProto:
        """The shape as a message."""
        from thalweg import messages
        proto = messages.TensorShapeProto()
        if self._dims is None:
            proto.unknown_rank = True
        else:
            for d in self._dims:
                proto.dim.add().size = -1 if d is None else d
        return proto

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of Shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def _size(self, index: int) -> int | None:
        return None if self._dims is None else self._dims[index]

    def __iter__(self) -> Iterator[Any]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims if _plain_sizes else self.dims)

    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            return TensorShape(None if self._dims is None else self._dims[key])
        return self._size(key) if _plain_sizes else Dimension(self._size(key))

    def __eq__(self, other: ShapeLike) -> bool:
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._dims == other._dims

    def __hash__(self):
        return hash(self._dims)

    def __add__(self, other: ShapeLike):
        return self.concatenate(other)

    def __repr__(self):
        return f"TensorShape({None if self._dims is None else list(self)})"

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        parts = [str(d) for d in self]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def as_shape(value: ShapeLike) -> TensorShape:
    """The TensorShape of what describes one."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def dims_of(value: ShapeLike) -> tuple[int | None, ...] | None:
    """A shape as the extension takes it: None or a tuple with None for unknown."""
    return as_shape(value)._dims


def dimension_at_index(shape: ShapeLike, index: int) -> Dimension:
    """The dimension of a shape, unknown when its rank is."""
    shape = as_shape(shape)
    return Dimension(None) if shape.ndims is None else shape.dims[index]

# SPDX-License-Identifier: Apache-2.0
"""Element types: tw.float32, tw.int64_ref ... and as_dtype."""
from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import numpy as np

from thalweg.base import names

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import DTypeLike

_NAMES = ("float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16 qint16 "
          "quint16 uint16 complex128 float16 resource variant uint32 uint64").split()
_REF = 100
# What numpy shows for types that it does not have: quantized ones as their integers.
_SHOWN_AS = {"string": "object", "resource": "object", "variant": "object", "qint8": "int8", "quint8": "uint8",
             "qint32": "int32", "qint16": "int16", "quint16": "uint16"}


class DType:
    """The type of a tensor's elements: tw.float32, tw.int64, tw.string ...

    Parameters
    ----------
    type_enum : int
        Its number in the protocol.

    Raises
    ------
    TypeError
        There is no type of this number.

    Examples
    --------
    >>> tw.float32.name, tw.float32.as_numpy_dtype, tw.float32.size
    ('float32', <class 'numpy.float32'>, 4)
    >>> tw.float32.is_floating, tw.int8.limits
    (True, (-128, 127))
    >>> tw.as_dtype("float32") is tw.float32, tw.float32 == np.float32
    (True, True)
    """

    __slots__ = ("_number", "name", "_numpy")

    def __init__(self, type_enum: int) -> None:
        if type_enum % _REF - 1 not in range(len(_NAMES)):
            raise TypeError(f"type_enum is not a valid types_pb2.DataType: {type_enum}")
        self._number = type_enum
        base = _NAMES[type_enum % _REF - 1]
        self.name = base + "_ref" if type_enum > _REF else base
        self._numpy: type[Any] | None = None

    @property
    def as_datatype_enum(self) -> int:
        """The number in the protocol."""
        return self._number

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The class that numpy has for it; of strings, resources and variants object."""
        if self._numpy is None:
            base = self.base_dtype.name
            if base == "bfloat16":
                import ml_dtypes  # not at the top: it costs a tenth of this package's import
                self._numpy = ml_dtypes.bfloat16
            else:
                self._numpy = np.dtype(_SHOWN_AS.get(base, base)).type
        return self._numpy

    @property
    def base_dtype(self) -> DType:
        """The type without "reference to"."""
        return _BY_NUMBER[self._number % _REF]

    @property
    def real_dtype(self) -> DType:
        """The type of the parts of complex numbers; any other type itself."""
        return {"complex64": _BY_NAME["float32"], "complex128": _BY_NAME["float64"]}.get(self.base_dtype.name, self.base_dtype)

    @property
    def _is_ref_dtype(self):
        return self._number > _REF

    @property
    def _as_ref(self):
        return self if self._is_ref_dtype else _BY_NUMBER[self._number + _REF]

    @property
    def is_floating(self) -> builtins.bool:
        """Whether these are real numbers."""
        return self.base_dtype.name in ("float16", "bfloat16", "float32", "float64")

    @property
    def is_complex(self) -> builtins.bool:
        """Whether these are complex numbers."""
        return self.base_dtype.name in ("complex64", "complex128")

    @property
    def is_integer(self) -> builtins.bool:
        """Whether these are integers, none of them quantized."""
        return self.base_dtype.name.startswith(("int", "uint"))

    @property
    def is_unsigned(self) -> builtins.bool:
        """Whether these are integers without a sign."""
        return self.base_dtype.name.startswith("uint")

    @property
    def is_quantized(self) -> builtins.bool:
        """Whether these are quantized numbers."""
        return self.base_dtype.name.startswith(("qint", "quint"))

    @property
    def is_bool(self) -> builtins.bool:
        """Whether these are true or false."""
        return self.base_dtype.name == "bool"

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Whether numpy can hold them."""
        return self.base_dtype.name not in ("resource", "variant")

    @property
    def size(self) -> int:
        """How many bytes an element takes."""
        fixed = {"string": 8, "resource": 1, "variant": 1}.get(self.base_dtype.name)
        return np.dtype(self.as_numpy_dtype).itemsize if fixed is None else fixed

    def _limit(self, end):
        if self.base_dtype.name == "bfloat16":
            return {"min": -3.3895313892515355e38, "max": 3.3895313892515355e38}[end]
        if self.is_floating:
            return getattr(np.finfo(self.as_numpy_dtype), end)
        if self.is_integer or self.is_quantized:
            return getattr(np.iinfo(self.as_numpy_dtype), end)
        if self.is_bool:
            return end == "max"
        raise TypeError(f"Cannot find {end}imum value of {self}.")

    @property
    def min(self) -> Any:
        """The smallest number; a TypeError for what are no numbers."""
        return self._limit("min")

    @property
    def max(self) -> Any:
        """The largest number; a TypeError for what are no numbers."""
        return self._limit("max")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The smallest and the largest number."""
        return self.min, self.max

    def is_compatible_with(self, other: DTypeLike) -> builtins.bool:
        """Whether the types are the same, references aside."""
        return as_dtype(other)._number in (self._number, self.base_dtype._number)

    def __eq__(self, other: object) -> builtins.bool:
        if other is self:
            return True
        if other is None:
            return False
        try:
            return self._number == as_dtype(other)._number
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self):
        return self._number

    def __repr__(self):
        return f"tf.{self.name}"

    def __str__(self):
        return f"<dtype: {self.name!r}>"

    def __reduce__(self):
        return as_dtype, (self.name,)


_BY_NUMBER = {n: DType(n) for base in range(1, len(_NAMES) + 1) for n in (base, base + _REF)}
_BY_NAME = {t.name: t for t in _BY_NUMBER.values()}
_BY_NAME.update(half=_BY_NAME["float16"], float=_BY_NAME["float32"], double=_BY_NAME["float64"])
_BY_CLASS = {float: _BY_NAME["float32"], int: _BY_NAME["int32"], builtins.bool: _BY_NAME["bool"], str: _BY_NAME["string"],
             bytes: _BY_NAME["string"], object: _BY_NAME["string"]}
globals().update((name, _BY_NAME[name]) for name in _NAMES)
float16: DType
float32: DType
float64: DType
bfloat16: DType
complex64: DType
complex128: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
qint8: DType
qint16: DType
qint32: DType
quint8: DType
quint16: DType
bool: DType
string: DType
resource: DType
variant: DType
half, double = _BY_NAME["float16"], _BY_NAME["float64"]
QUANTIZED_DTYPES: frozenset[DType] = frozenset(t for t in _BY_NUMBER.values() if t.name.startswith(("qint", "quint")))


def as_dtype(type_value: DTypeLike) -> DType:
    """Gives the DType that a value stands for.

    Parameters
    ----------
    type_value : DType, int, str, numpy type or Python class
        A DType itself, its number in TensorFlow's messages, its name, or the type of numpy or Python that it holds.

    Returns
    -------
    DType

    Raises
    ------
    TypeError
        There is no such type.

    Examples
    --------
    >>> tw.as_dtype("float32"), tw.as_dtype(np.int64), tw.as_dtype(bool)
    (tf.float32, tf.int64, tf.bool)
    """
    if type(type_value) is DType:
        return type_value
    found = None
    if isinstance(type_value, type) and type_value in _BY_CLASS:
        return _BY_CLASS[type_value]
    if isinstance(type_value, str):
        found = _BY_NAME.get(type_value)
    elif isinstance(type_value, int):
        found = _BY_NUMBER.get(type_value)
    if found is None and type_value is not None:
        try:
            numpy_type = np.dtype(type_value)
        except TypeError:
            numpy_type = None
        if numpy_type is not None:
            found = _BY_NAME["string"] if numpy_type.kind in "OSU" else _BY_NAME.get(numpy_type.name)
    if found is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return found


names.complete(globals())

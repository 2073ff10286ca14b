# SPDX-License-Identifier: Apache-2.0
"""Complex numbers and their parts."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.ops import apply, convert_to_tensor

if TYPE_CHECKING:
    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor

_PARTS = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}


def complex_(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Complex numbers of real and imaginary parts."""
    real, imag = convert_to_tensor(real, name="real"), convert_to_tensor(imag, name="imag")
    for whole, part in _PARTS.items():
        if real.dtype.base_dtype is part and imag.dtype.base_dtype is part:
            return apply("Complex", [real, imag], {"Tout": whole}, name=name)
    raise TypeError(f"real and imag have incorrect types: {real.dtype.name} {imag.dtype.name}")


def _part(op, input, name):
    x = convert_to_tensor(input, name="input")
    if x.dtype.base_dtype not in _PARTS:
        return None, x
    return apply(op, [x], {"Tout": _PARTS[x.dtype.base_dtype]}, name=name), x


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part; real numbers as they are."""
    made, x = _part("Real", input, name)
    return x if made is None else made


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part; zero of real numbers."""
    made, x = _part("Imag", input, name)
    return apply("ZerosLike", [x], name=name) if made is None else made


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The argument of complex numbers; zero of real ones, whatever their sign, as TensorFlow 1.15 has it."""
    made, x = _part("Angle", input, name)
    return apply("ZerosLike", [x], name=name) if made is None else made

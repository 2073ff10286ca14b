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
    """Makes complex numbers of their real and imaginary parts.

    Parameters
    ----------
    real, imag : tensors of float32 or float64
        Of one type; they are broadcast to each other.
    name : str, optional

    Returns
    -------
    Tensor
        complex64 or complex128.

    Raises
    ------
    TypeError
        The types are others, or differ.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.complex([1.0], [2.0])))
    [1.+2.j]
    """
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
    """Gives the real parts; real numbers stay as they are.

    Parameters
    ----------
    input : numeric tensor
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.real([1 + 2j])))
    [1.]
    """
    made, x = _part("Real", input, name)
    return x if made is None else made


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Gives the imaginary parts; those of real numbers are 0.

    Parameters
    ----------
    input : numeric tensor
    name : str, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.imag([1 + 2j])))
    [2.]
    """
    made, x = _part("Imag", input, name)
    return apply("ZerosLike", [x], name=name) if made is None else made


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The argument of complex numbers; zero of real ones, whatever their sign, as TensorFlow 1.15 has it."""
    made, x = _part("Angle", input, name)
    return apply("ZerosLike", [x], name=name) if made is None else made

# SPDX-License-Identifier: Apache-2.0
"""Linear operators that are made of others, or of few numbers."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.linalg import matrices
from thalweg.linalg.linear_operator import LinearOperator, _batched, _hints, _OfOperators
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import DTypeLike, TensorLike


class LinearOperatorKronecker(_OfOperators):
    """The Kronecker product of operators."""

    _joint = "_x_"

    def _to_dense(self):
        made = self._operators[0]._to_dense()
        for operator in self._operators[1:]:
            other = operator._to_dense()
            product = made[..., :, None, :, None] * other[..., None, :, None, :]
            sizes = array_ops.shape(product)
            made = array_ops.reshape(product, array_ops.concat([sizes[:-4], [sizes[-4] * sizes[-3], sizes[-2] * sizes[-1]]], 0))
            known = [o.value for o in (self._operators[0].range_dimension, operator.range_dimension)]
            if len(self._operators) == 2 and product.shape.is_fully_defined() and None not in known:
                dims = product.shape.as_list()
                made.set_shape(dims[:-4] + [dims[-4] * dims[-3], dims[-2] * dims[-1]])
        return made


class LinearOperatorBlockDiag(_OfOperators):
    """Operators along the diagonal."""

    _joint = "_ds_"

    def __init__(self, operators: Sequence[LinearOperator], is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool = True,
                 name: str | None = None) -> None:
        super().__init__(operators, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def _to_dense(self):
        blocks = [o._to_dense() for o in self._operators]
        total = sum(b.shape._size(-1) for b in blocks)
        rows, before = [], 0
        for block in blocks:
            width = block.shape._size(-1)
            pads = [[0, 0]] * (block.shape.ndims - 1) + [[before, total - before - width]]
            rows.append(array_ops.pad(block, pads))
            before += width
        return array_ops.concat(rows, -2)


class LinearOperatorLowRankUpdate(LinearOperator):
    """base + u diag v*."""

    def __init__(self, base_operator: LinearOperator, u: TensorLike, diag_update: TensorLike | None = None,
                 v: TensorLike | None = None, is_diag_update_positive: bool | None = None, is_non_singular: bool | None = None,
                 is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = None,
                 name: str = "LinearOperatorLowRankUpdate") -> None:
        hints = _hints(locals())
        self.base_operator, self.u = base_operator, convert_to_tensor(u, name="u")
        self.v = self.u if v is None else convert_to_tensor(v, name="v")
        self.diag_update = None if diag_update is None else convert_to_tensor(diag_update, name="diag_update")
        self.is_diag_update_positive = is_diag_update_positive
        super().__init__(base_operator.dtype, name=name, **hints)

    def _to_dense(self):
        left = self.u if self.diag_update is None else self.u * array_ops.expand_dims(self.diag_update, -2)
        return self.base_operator._to_dense() + _batched(math_ops.matmul, left, self.v, adjoint_b=True)


class LinearOperatorToeplitz(LinearOperator):
    """Constant along each diagonal: its first column and its first row."""

    def __init__(self, col: TensorLike, row: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool | None = None,
                 name: str = "LinearOperatorToeplitz") -> None:
        hints = _hints(locals())
        self.col, self.row = convert_to_tensor(col, name="col"), convert_to_tensor(row, name="row")
        super().__init__(self.col.dtype, name=name, **hints)

    def _to_dense(self):
        size = self.col.shape._size(-1)
        values = array_ops.concat([array_ops.reverse(self.row[..., 1:], [-1]), self.col], -1)
        places = [[size - 1 + i - j for j in range(size)] for i in range(size)]
        return array_ops.gather(values, places, axis=-1)


class _Circulant(LinearOperator):
    """Diagonal after a Fourier transform of `rank` dimensions."""

    rank, _forward, _back = 1, "FFT", "IFFT"

    def __init__(self, spectrum: TensorLike, input_output_dtype: DTypeLike = dtypes.complex64,
                 is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool = True, name: str | None = None) -> None:
        hints = _hints(locals())
        self.spectrum = convert_to_tensor(spectrum, name="spectrum")
        if not is_square:
            raise ValueError("A [[nested] block] circulant operator is always square.")
        super().__init__(input_output_dtype, name=name or type(self).__name__, **hints)

    @property
    def block_depth(self) -> int: return self.rank

    def _to_dense(self):
        sizes = self.spectrum.shape.as_list()[-self.rank:]
        total = 1
        for s in sizes:
            total *= s
        spectrum = math_ops.cast(self.spectrum, dtypes.complex64 if self.dtype.size <= 8 else dtypes.complex128)
        basis = array_ops.reshape(matrices.eye(total, dtype=spectrum.dtype), [total, *sizes])
        batch = spectrum.shape.as_list()[:-self.rank]
        flat = array_ops.reshape(spectrum, [-1, 1, *sizes])
        columns = apply(self._back, [apply(self._forward, [basis]) * flat])
        made = array_ops.matrix_transpose(array_ops.reshape(columns, [*batch, total, total]))
        return made if self.dtype.is_complex else math_ops.cast(apply("Real", [made]), self.dtype)


class LinearOperatorCirculant(_Circulant):
    """Each row is the one before, moved by one place."""

    def __init__(self, spectrum: TensorLike, input_output_dtype: DTypeLike = dtypes.complex64,
                 is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool = True, name: str = "LinearOperatorCirculant") -> None:
        super().__init__(spectrum, input_output_dtype, **_hints(locals()), name=name)


class LinearOperatorCirculant2D(_Circulant):
    """Blocks that are circulant, in circulant order."""
    rank, _forward, _back = 2, "FFT2D", "IFFT2D"

    def __init__(self, spectrum: TensorLike, input_output_dtype: DTypeLike = dtypes.complex64,
                 is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool = True,
                 name: str = "LinearOperatorCirculant2D") -> None:
        super().__init__(spectrum, input_output_dtype, **_hints(locals()), name=name)


class LinearOperatorCirculant3D(_Circulant):
    """Circulant in three dimensions."""
    rank, _forward, _back = 3, "FFT3D", "IFFT3D"

    def __init__(self, spectrum: TensorLike, input_output_dtype: DTypeLike = dtypes.complex64,
                 is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
                 is_positive_definite: bool | None = None, is_square: bool = True,
                 name: str = "LinearOperatorCirculant3D") -> None:
        super().__init__(spectrum, input_output_dtype, **_hints(locals()), name=name)

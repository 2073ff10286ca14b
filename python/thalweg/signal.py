# SPDX-License-Identifier: Apache-2.0
"""tw.signal: Fourier and cosine transforms, windows, frames."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes
from thalweg.base import names
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.operations import array_ops, math_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.base.typing import Axis, DTypeLike, IntLike, IntsLike, TensorLike
    from thalweg.graph.tensor import Tensor

_COMPLEX = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}
_REAL = {c: r for r, c in _COMPLEX.items()}


def _lengths(x, rank, fft_length, to_real):
    """The lengths of a transform over the last dimensions: those given, or those of x."""
    if fft_length is not None:
        return convert_to_tensor(fft_length, dtypes.int32)
    dims = [d.value for d in x.shape.dims[-rank:]] if x.shape.ndims is not None else [None]
    if all(d is not None for d in dims):
        if to_real:
            dims[-1] = max(0, 2 * (dims[-1] - 1))
        return convert_to_tensor(np.array(dims, np.int32))
    sizes = array_ops.shape(x)[-rank:]
    if not to_real:
        return sizes
    last = apply("Maximum", [2 * (sizes[-1:] - 1), convert_to_tensor(np.zeros([1], np.int32))])
    return array_ops.concat([sizes[:-1], last], 0)


def _padded(x, lengths, rank, to_real):
    """x with zeros behind it, as far as the transform is longer."""
    needed = array_ops.concat([lengths[:-1], lengths[-1:] // 2 + 1], 0) if to_real else lengths
    short = apply("Maximum", [needed - array_ops.shape(x)[-rank:], convert_to_tensor(np.zeros([rank], np.int32))])
    after = array_ops.concat([array_ops.zeros(array_ops.expand_dims(array_ops.rank(x) - rank, 0), dtypes.int32), short], 0)
    return array_ops.pad(x, array_ops.stack([array_ops.zeros_like(after), after], axis=1))


def _real(op, rank):
    to_real = op.startswith("I")

    def transform(input_tensor: TensorLike, fft_length: IntsLike | None = None, name: str | None = None) -> Tensor:
        with name_scope(name or op.lower()):
            types = _REAL if to_real else _COMPLEX
            x = convert_to_tensor(input_tensor, preferred_dtype=dtypes.complex64 if to_real else dtypes.float32)
            if x.dtype.base_dtype not in types:
                raise ValueError(f"{op} takes {', '.join(t.name for t in types)}, got {x.dtype.name}")
            other = types[x.dtype.base_dtype]
            real, compl = (other, x.dtype.base_dtype) if to_real else (x.dtype.base_dtype, other)
            lengths = _lengths(x, rank, fft_length, to_real)
            if fft_length is not None:
                shape = x.shape
                x = _padded(x, lengths, rank, to_real)
                if shape.ndims is not None:
                    x.set_shape(shape.as_list()[:-rank] + [None] * rank)
            return apply(op, [x, lengths], {"Treal": real, "Tcomplex": compl})
    transform.__name__ = transform.__qualname__ = op.lower()
    transform.__doc__ = ("The real numbers of which this is half of the Fourier transform." if to_real
                         else "The half of the Fourier transform of real numbers that tells the other.")
    return transform


rfft, rfft2d, rfft3d = _real("RFFT", 1), _real("RFFT2D", 2), _real("RFFT3D", 3)
irfft, irfft2d, irfft3d = _real("IRFFT", 1), _real("IRFFT2D", 2), _real("IRFFT3D", 3)


def _shifted(x, axes, inverse):
    x = convert_to_tensor(x)
    axes = range(x.shape.ndims) if axes is None else ([axes] if isinstance(axes, int) else list(axes))
    sizes = array_ops.shape(x)
    shifts = [-(sizes[a] // 2) if inverse else sizes[a] // 2 for a in axes]
    return apply("Roll", [x, array_ops.stack(shifts), np.array(list(axes), np.int32)])


def fftshift(x: TensorLike, axes: Axis | None = None, name: str | None = None) -> Tensor:
    """Frequency zero in the middle."""
    return _shifted(x, axes, False)


def ifftshift(x: TensorLike, axes: Axis | None = None, name: str | None = None) -> Tensor:
    """The inverse of fftshift."""
    return _shifted(x, axes, True)


def _window(name, default, length, periodic, dtype, a, b):
    if not dtypes.as_dtype(dtype).is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with name_scope(name or default):
        length = convert_to_tensor(length, dtypes.int32)
        # A periodic window of even length has one point more, which is left away.
        whole = math_ops.cast(length + (1 - length % 2 if periodic else 0) - 1, dtype)
        count = math_ops.cast(math_ops.range_(length), dtype)
        safe = apply("Maximum", [whole, convert_to_tensor(1, dtype)])
        made = a - b * apply("Cos", [count * (2 * math.pi) / safe])
        return apply("SelectV2", [apply("Equal", [length, 1]), array_ops.ones_like(made), made])


def hann_window(window_length: IntLike, periodic: bool = True, dtype: DTypeLike = dtypes.float32,
                name: str | None = None) -> Tensor:
    """A raised cosine."""
    return _window(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(window_length: IntLike, periodic: bool = True, dtype: DTypeLike = dtypes.float32,
                   name: str | None = None) -> Tensor:
    """A raised cosine that does not reach zero."""
    return _window(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def frame(signal: TensorLike, frame_length: IntLike, frame_step: IntLike, pad_end: bool = False, pad_value: TensorLike = 0,
          axis: int = -1, name: str | None = None) -> Tensor:
    """Windows of a signal, each a row: [..., samples] to [..., frames, frame_length]."""
    with name_scope(name or "frame"):
        signal = convert_to_tensor(signal)
        if signal.shape.ndims is None or axis not in (-1, signal.shape.ndims - 1):
            raise NotImplementedError("tw.signal.frame takes the last axis of a signal of known rank")
        length, step = (convert_to_tensor(x, dtypes.int32) for x in (frame_length, frame_step))
        samples = array_ops.shape(signal)[-1]
        zero = convert_to_tensor(0, dtypes.int32)
        if pad_end:
            count = -(-samples // step)
            short = apply("Maximum", [zero, length + step * (count - 1) - samples])
            before = np.zeros([signal.shape.ndims - 1, 2], np.int32)
            paddings = array_ops.concat([before, array_ops.reshape(array_ops.stack([zero, short]), [1, 2])], 0)
            signal = array_ops.pad(signal, paddings, constant_values=pad_value)
        else:
            count = apply("Maximum", [zero, 1 + (samples - length) // step])
        places = array_ops.expand_dims(math_ops.range_(count) * step, 1) + array_ops.expand_dims(math_ops.range_(length), 0)
        return array_ops.gather(signal, places, axis=signal.shape.ndims - 1)


def overlap_and_add(signal: TensorLike, frame_step: IntLike, name: str | None = None) -> Tensor:
    """The signal whose frames, frame_step apart, these are, added up."""
    with name_scope(name or "overlap_and_add"):
        signal = convert_to_tensor(signal)
        rank = signal.shape.ndims
        if rank is None or rank < 2:
            raise ValueError("signal must have a known rank of at least 2")
        step = convert_to_tensor(frame_step, dtypes.int32)
        sizes = array_ops.shape(signal)
        frames, length = sizes[-2], sizes[-1]
        places = array_ops.expand_dims(math_ops.range_(frames) * step, 1) + array_ops.expand_dims(math_ops.range_(length), 0)
        order = [rank - 2, rank - 1, *range(rank - 2)]
        moved = array_ops.transpose(signal, order)
        total = apply("UnsortedSegmentSum", [moved, places, length + step * (frames - 1)])
        return array_ops.transpose(total, [*range(1, rank - 1), 0])


def stft(signals: TensorLike, frame_length: IntLike, frame_step: IntLike, fft_length: IntLike | None = None,
         window_fn: Callable[..., Tensor] | None = hann_window, pad_end: bool = False, name: str | None = None) -> Tensor:
    """Fourier transforms of windows of real signals."""
    with name_scope(name or "stft"):
        signals = convert_to_tensor(signals)
        if fft_length is None:
            fft_length = 1 << max(int(frame_length) - 1, 0).bit_length()
        framed = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            framed = framed * window_fn(frame_length, dtype=framed.dtype)
        return rfft(framed, [fft_length])


def inverse_stft_window_fn(frame_step: IntLike, forward_window_fn: Callable[..., Tensor] = hann_window,
                           name: str | None = None) -> Callable[..., Tensor]:
    """The window for inverse_stft that undoes forward_window_fn."""
    def window(frame_length, dtype):
        with name_scope(name or "inverse_stft_window_fn"):
            step, length = int(frame_step), int(frame_length)
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = array_ops.pad(forward * forward, [[0, overlaps * step - length]])
            sums = math_ops.reduce_sum(array_ops.reshape(squares, [overlaps, step]), axis=0, keepdims=True)
            return forward / array_ops.reshape(array_ops.tile(sums, [overlaps, 1]), [-1])[:length]
    return window


def inverse_stft(stfts: TensorLike, frame_length: IntLike, frame_step: IntLike, fft_length: IntLike | None = None,
                 window_fn: Callable[..., Tensor] | None = hann_window, name: str | None = None) -> Tensor:
    """The signals of which these are the transforms of windows."""
    with name_scope(name or "inverse_stft"):
        stfts = convert_to_tensor(stfts)
        if fft_length is None:
            fft_length = 1 << max(int(frame_length) - 1, 0).bit_length()
        frames = irfft(stfts, [fft_length])[..., :int(frame_length)]
        short = max(0, int(frame_length) - int(fft_length))
        if short:
            frames = array_ops.pad(frames, [[0, 0]] * (frames.shape.ndims - 1) + [[0, short]])
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


def dct(input: TensorLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
        name: str | None = None) -> Tensor:
    """The cosine transform of the last dimension (types 1, 2 and 3)."""
    if axis != -1 or norm not in (None, "ortho") or type not in (1, 2, 3) or (type == 1 and norm):
        raise NotImplementedError("tw.signal.dct has types 1 (without norm), 2 and 3 of the last axis")
    with name_scope(name or "dct"):
        x = convert_to_tensor(input, preferred_dtype=dtypes.float32)
        if n is not None:
            x = x[..., :n]
            x = array_ops.pad(x, [[0, 0]] * (x.shape.ndims - 1) + [[0, max(0, n - x.shape._size(-1))]])
        size = x.shape._size(-1)
        if size is None:
            raise ValueError("tw.signal.dct needs a known size")
        if type == 1:
            whole = array_ops.concat([x, apply("ReverseV2", [x[..., 1:-1], [x.shape.ndims - 1]])], -1)
            return apply("Real", [rfft(whole)])
        k = np.arange(size)
        matrix = 2 * np.cos(np.pi * np.outer(k + 0.5, k) / size)  # [sample, frequency] of type 2
        if norm == "ortho":
            matrix *= np.where(k == 0, math.sqrt(1 / (4 * size)), math.sqrt(1 / (2 * size)))
        if type == 3:
            matrix = matrix.T.copy()
            if norm is None:
                matrix[0] *= 0.5
        flat = math_ops.matmul(array_ops.reshape(x, [-1, size]), convert_to_tensor(matrix.astype(x.dtype.as_numpy_dtype)))
        return array_ops.reshape(flat, array_ops.shape(x))


def idct(input: TensorLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
         name: str | None = None) -> Tensor:
    """The inverse of dct, but for a factor of twice the size when it is not orthonormal."""
    return dct(input, {1: 1, 2: 3, 3: 2}[type], n, axis, norm, name)


names.complete(globals())

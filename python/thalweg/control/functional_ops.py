# SPDX-License-Identifier: Apache-2.0
"""map_fn, foldl, foldr and scan: a function applied to the rows of tensors, one after the other, in a loop."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nest
from thalweg.control.control_flow import while_loop
from thalweg.control.tensor_array import TensorArray
from thalweg.graph import ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.shapes import Dimension, TensorShape
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _rows(elems):
    """The tensors of a structure, and how many rows they have: a number, or a tensor."""
    flat = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
    for e in flat:
        if e.shape.ndims == 0:
            raise ValueError("elems must be a 1+ dimensional Tensor, not a scalar")
    count = flat[0].shape._size(0) if flat[0].shape.ndims is not None else None
    return flat, array_ops.shape(flat[0])[0] if count is None else count


def _arrays_of(flat, count):
    return [TensorArray(e.dtype, size=count, infer_shape=True).unstack(e) for e in flat]


def _stacked(arrays, flat):
    """The arrays as tensors with as many rows as the arguments have."""
    rows = Dimension(None)
    for e in flat:
        rows = rows.merge_with(e.shape.with_rank_at_least(1)._size(0))
    results = [a.stack() for a in arrays]
    for r in results:
        if r.shape.ndims is not None:
            r.set_shape(TensorShape([rows]).concatenate(r.shape[1:]))
    return results


def _check(fn):
    if not callable(fn):
        raise TypeError("fn must be callable.")


def _pack(structure, flat):
    return nest.pack_sequence_as(structure, flat)


def map_fn(fn: Callable[..., object], elems: object, dtype: object = None, parallel_iterations: int | None = None,
           back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True, name: str | None = None) -> Any:
    """Computes a function of each row of tensors, and stacks what comes out.

    Parameters
    ----------
    fn : callable
        Takes a row: a tensor, or the structure of `elems`.
    elems : tensor_like, or structure of such
        The first dimensions have one size.
    dtype : DType, or structure of such, optional
        The types of what `fn` gives, where they are not those of `elems`.
    parallel_iterations : int, optional
        How many rows may be computed at once; 10 unless given.
    back_prop : bool
        Whether gradients go through it.
    swap_memory : bool
        Of no effect here.
    infer_shape : bool
        Whether results are taken to have one shape.
    name : str, optional

    Returns
    -------
    Tensor, or structure of such

    Raises
    ------
    TypeError
        `fn` cannot be called, or its results differ in structure from `dtype`.

    Examples
    --------
    >>> rows = tw.constant([[1, 2], [3, 4]])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.map_fn(tw.reduce_sum, rows)))
    [3 7]
    """
    _check(fn)
    with name_scope(name, "map", nest.flatten(elems)):
        flat, count = _rows(elems)
        given = elems if dtype is None else dtype
        types = [e.dtype for e in flat] if dtype is None else [dtypes.as_dtype(d) for d in nest.flatten(dtype)]
        sources = _arrays_of(flat, count)
        results = [TensorArray(d, size=count, infer_shape=infer_shape) for d in types]

        def compute(i, arrays):
            values = fn(_pack(elems, [s.read(i) for s in sources]))
            nest.assert_same_structure(given, values)
            return i + 1, [a.write(i, v) for a, v in zip(arrays, nest.flatten(values))]
        _, results = while_loop(lambda i, _: i < count, compute, (ops.constant(0), results),
                                parallel_iterations=parallel_iterations or 10, back_prop=back_prop,
                                swap_memory=swap_memory)
        return _pack(given, _stacked(results, flat))


def _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, default_name, backwards):
    _check(fn)
    with name_scope(name, default_name, nest.flatten(elems)):
        flat, count = _rows(elems)
        sources = _arrays_of(flat, count)
        first = ops.constant(0) if not backwards else convert_to_tensor(count) - 1
        if initializer is None:
            value = _pack(elems, [s.read(first) for s in sources])
            first = first - 1 if backwards else first + 1
        else:
            value = initializer

        def compute(i, a):
            return [i - 1 if backwards else i + 1, fn(a, _pack(elems, [s.read(i) for s in sources]))]
        going_on = (lambda i, a: i >= 0) if backwards else (lambda i, a: i < count)
        return while_loop(going_on, compute, [first, value], parallel_iterations=parallel_iterations, back_prop=back_prop,
                          swap_memory=swap_memory)[1]


def foldl(fn: Callable[..., object], elems: object, initializer: object = None, parallel_iterations: int = 10,
          back_prop: bool = True, swap_memory: bool = False, name: str | None = None) -> Any:
    """fn(... fn(fn(initializer, row 0), row 1) ..., last row); without initializer row 0 is it."""
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, "foldl", False)


def foldr(fn: Callable[..., object], elems: object, initializer: object = None, parallel_iterations: int = 10,
          back_prop: bool = True, swap_memory: bool = False, name: str | None = None) -> Any:
    """As foldl from the last row to the first."""
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, "foldr", True)


def scan(fn: Callable[..., object], elems: object, initializer: object = None, parallel_iterations: int = 10, back_prop: bool = True,
         swap_memory: bool = False, infer_shape: bool = True, reverse: bool = False, name: str | None = None) -> Any:
    """All values that foldl (with `reverse`, foldr) goes through, as rows: a = fn(a, row) again and again."""
    _check(fn)
    with name_scope(name, "scan", nest.flatten(elems)):
        flat, count = _rows(elems)
        sources = _arrays_of(flat, count)
        last = convert_to_tensor(count) - 1
        i = last if reverse else ops.constant(0)
        structure = elems if initializer is None else initializer
        if initializer is None:
            value = [s.read(i) for s in sources]
        else:
            value = [convert_to_tensor(v) for v in nest.flatten(initializer)]
        results = [TensorArray(v.dtype, size=count, element_shape=v.shape if infer_shape else None,
                               infer_shape=infer_shape) for v in value]
        if initializer is None:
            results = [r.write(i, v) for r, v in zip(results, value)]
            i = i - 1 if reverse else i + 1

        def compute(i, value, arrays):
            row = _pack(elems, [s.read(i) for s in sources])
            made = fn(_pack(structure, value), row)
            nest.assert_same_structure(structure, made)
            made = nest.flatten(made)
            return i - 1 if reverse else i + 1, made, [a.write(i, v) for a, v in zip(arrays, made)]
        going_on = (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < count)
        _, _, results = while_loop(going_on, compute, (i, value, results), parallel_iterations=parallel_iterations,
                                   back_prop=back_prop, swap_memory=swap_memory)
        return _pack(structure, _stacked(results, flat))

# SPDX-License-Identifier: Apache-2.0
"""gradients, clipping, and IndexedSlices as dense tensors."""
from __future__ import annotations

import enum
import warnings
from typing import TYPE_CHECKING, overload

from thalweg.graph import graph as graph_module, ops
from thalweg.graph.graph import name_scope, site
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import IndexedSlices, Tensor
from thalweg.operations import array_ops, custom_gradients
from thalweg.operations.math_ops import reduce_sum

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import Axis, Gradient, TensorLike


class AggregationMethod:
    """How gradients of one tensor are added up; here there is one way."""

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class UnconnectedGradients(enum.Enum):
    """What gradients() gives where there is no path: None or zeros."""

    NONE = "none"
    ZERO = "zero"


def _how_unconnected(value):
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {value!r}") from None


def _source(x):
    """What the core differentiates for: of a variable, the variable itself."""
    return x._ref_tensor if hasattr(x, "_ref_tensor") else convert_to_tensor(x)


def _inside(body, x):
    """The same in the body of a function, which reads what is outside by other names: of a reference, its value."""
    source = _source(x)
    return source if source.graph is body else body.inside(convert_to_tensor(x) if source.dtype._is_ref_dtype else source)


def _differentiable(ys, given):
    """Those of the ys, with their incoming gradients, that are real or complex numbers; TF1 warns of the others."""
    kept = [i for i, y in enumerate(ys) if y.dtype.is_floating or y.dtype.is_complex or y.dtype.base_dtype.name == "resource"]
    for i, y in enumerate(ys):
        if i not in kept:
            warnings.warn(f"The dtype of the target tensor must be floating (e.g. tf.float32) when calling gradients, got "
                          f"{y.dtype!r}", stacklevel=3)
        elif y.dtype.is_complex and (not given or given[i] is None):
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})")
    return [ys[i] for i in kept], [given[i] for i in kept] if given else []


def gradients(ys: TensorLike | Sequence[TensorLike], xs: TensorLike | Sequence[TensorLike],
              grad_ys: TensorLike | Sequence[TensorLike | None] | None = None, name: str = "gradients",
              colocate_gradients_with_ops: bool = False, gate_gradients: bool | int = False, aggregation_method: int | None = None,
              stop_gradients: TensorLike | Sequence[TensorLike] | None = None,
              unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE, *, explain_unconnected: bool = False) -> list[Any]:
    """The derivatives of sum(ys) by each of xs.

    Parameters
    ----------
    ys, xs : tensor, variable, or list of them
        Of types with real or complex elements.
    grad_ys : tensor or list of tensors, optional
        What the derivative by each of ys is taken for, of its shape; ones unless given. Entries may be None.
    name : str, optional
        The scope of the new operations.
    colocate_gradients_with_ops : bool, optional
        Whether they are put where the operations are whose gradients they are.
    gate_gradients, aggregation_method : optional
        Have no effect: a step does not run ahead of its inputs, and sums are made as memory allows.
    stop_gradients : tensor or list of tensors, optional
        Taken for constants.
    unconnected_gradients : UnconnectedGradients, optional
        ZERO for zeros where there is no path.
    explain_unconnected : bool, optional
        Whether a missing path is an error, which shows where it breaks.

    Returns
    -------
    list
        For each of xs a Tensor of its type and shape; IndexedSlices where only rows of it are read; None where ys do not depend on it.

    Raises
    ------
    LookupError
        An operation between has no gradient.
    ValueError
        `grad_ys` is of another length, or a path is missing and `explain_unconnected`.

    Examples
    --------
    >>> x = tw.constant([1.0, 2.0, 3.0])
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.gradients(x * x, [x])[0]))
    [2. 4. 6.]
    """
    unconnected_gradients = _how_unconnected(unconnected_gradients)
    ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    ys = [convert_to_tensor(y) for y in ys]
    sources = [_source(x) for x in xs]
    if graph_module.get_default_graph()._executes:
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    stops = [] if stop_gradients is None else stop_gradients if isinstance(stop_gradients, (list, tuple)) else [stop_gradients]
    given = []
    if grad_ys is not None:
        grad_ys = grad_ys if isinstance(grad_ys, (list, tuple)) else [grad_ys]
        if len(grad_ys) != len(ys):
            raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
        given = [None if g is None else convert_to_tensor(g, dtype=y.dtype.base_dtype) for g, y in zip(grad_ys, ys)]
    ys, given = _differentiable(ys, given)
    if not ys:
        return [None if unconnected_gradients == UnconnectedGradients.NONE else apply("ZerosLike", [x]) for x in xs]
    g = ys[0].graph
    g._check_not_finalized()
    if g._captures is not None:
        sources, stops = [_inside(g, x) for x in xs], [_inside(g, s) for s in stops]
    scope = g.unique_name(name)

    steps = [(node.inputs, node.outputs, node.step(g, scope)) for node in custom_gradients.between(g, ys)]
    first = g._num_nodes()
    found = g._gradients(ys, sources, given, [_source(s) for s in stops], not explain_unconnected, bool(colocate_gradients_with_ops),
                         scope, g._site or site(), steps, g._state.gradient_place)
    g._adopt(first, scope + "/")
    made = [IndexedSlices(*f) if isinstance(f, tuple) else f for f in found]
    if UnconnectedGradients.ZERO == unconnected_gradients:
        with name_scope(scope + "/"):
            made = [apply("ZerosLike", [x]) if m is None else m for m, x in zip(made, xs)]
    return made


def _norms(tensors):
    halves = [apply("L2Loss", [t.values if isinstance(t, IndexedSlices) else t]) for t in tensors if t is not None]
    total = reduce_sum(apply("Pack", [halves], {"axis": 0}))
    return apply("Sqrt", [apply("Mul", [total, ops.constant(2.0, total.dtype.base_dtype)])])


def global_norm(t_list: Sequence[Gradient | TensorLike | None], name: str | None = None) -> Tensor:
    """Computes the square root of the sum of squares of all elements of tensors.

    Parameters
    ----------
    t_list : list of tensor_like, IndexedSlices or None
        None counts for nothing.
    name : str, optional

    Returns
    -------
    Tensor
        A scalar.

    Raises
    ------
    TypeError
        `t_list` is no list.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.global_norm([[3.0], [4.0], None])))
    5.0
    """
    with name_scope(name, "global_norm", t_list) as scope:
        return apply("Identity", [_norms(t_list)], name=scope)


def clip_by_global_norm(t_list: Sequence[Gradient | TensorLike | None], clip_norm: TensorLike, use_norm: TensorLike | None = None,
                        name: str | None = None) -> tuple[list[Gradient | None], Tensor]:
    """Tensors scaled so that their common norm is at most a limit.

    Parameters
    ----------
    t_list : list of Tensor, IndexedSlices or None
        Of real numbers; gradients as `gradients` gives them.
    clip_norm : scalar
    use_norm : scalar, optional
        The norm, where it was computed before.
    name : str, optional
        Of the operation.

    Returns
    -------
    list
        What t_list holds, each times clip_norm / max(norm, clip_norm); None stays None. All are NaN when the norm is not finite.
    Tensor
        The norm as it was, a scalar.

    Raises
    ------
    TypeError
        `t_list` is no list.

    Examples
    --------
    >>> clipped, norm = tw.clip_by_global_norm([tw.constant([3.0]), tw.constant([4.0])], 1.0)
    >>> with tw.Session() as sess:
    ...     print(sess.run([norm, clipped[0]]))
    [...5.0..., array([0.6], dtype=float32)]
    """
    if not isinstance(t_list, (list, tuple)) or isinstance(t_list, str):
        raise TypeError("t_list should be a sequence")
    norm = global_norm(t_list) if use_norm is None else use_norm
    with name_scope(name, "clip_by_global_norm", list(t_list) + [clip_norm]):
        one = ops.constant(1.0, norm.dtype.base_dtype)
        limit = convert_to_tensor(clip_norm, dtype=norm.dtype.base_dtype)
        # A norm that is not finite makes every value NaN, so that it is noticed.
        inverse = apply("RealDiv", [one, norm])
        scale = limit * apply("Minimum", [inverse, apply("RealDiv", [one, limit])])
        scale = apply("Select", [apply("IsFinite", [norm]), scale, norm - norm])
        clipped = []
        for t in t_list:
            if t is None:
                clipped.append(None)
            elif isinstance(t, IndexedSlices):
                clipped.append(IndexedSlices(t.values * scale, t.indices, t.dense_shape))
            else:
                clipped.append(apply("Mul", [t, scale]))
        return clipped, norm


@overload
def clip_by_value(t: Tensor, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def clip_by_value(t: IndexedSlices, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None) -> IndexedSlices: ...
@overload
def clip_by_value(t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None) -> Tensor: ...
def clip_by_value(t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None) -> Gradient:
    """Values below a minimum and above a maximum become these.

    Parameters
    ----------
    t : Tensor or IndexedSlices of numbers
    clip_value_min, clip_value_max : tensors
        Of the type of `t`, of shapes that broadcast to its own.
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor or IndexedSlices
        As `t`.

    Raises
    ------
    TypeError
        Where a limit is of another type than `t`.
    ValueError
        Where the shapes do not broadcast.

    Examples
    --------
    >>> with tw.Session() as sess:
    ...     print(sess.run(tw.clip_by_value([-2.0, 0.5, 7.0], -1.0, 1.0)))
    [-1.   0.5  1. ]
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)
        kind = values.dtype.base_dtype
        low = apply("Minimum", [values, _as(clip_value_max, kind)])
        clipped = apply("Maximum", [low, _as(clip_value_min, kind)], name=scope)
        return IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else clipped


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Scaled so that the norm divided by the number of elements is at most clip_norm."""
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = convert_to_tensor(t)
        limit = _as(clip_norm, t.dtype.base_dtype)
        inverse = apply("Rsqrt", [reduce_sum(t * t)])
        share = inverse * apply("Cast", [array_ops.size(t)], {"DstT": t.dtype.base_dtype})
        return apply("Mul", [t * limit, apply("Minimum", [share, apply("RealDiv", [_as(1.0, limit.dtype), limit])])],
                     name=scope)


def _as(value, dtype):
    return value if isinstance(value, Tensor) else convert_to_tensor(value, dtype=dtype)


@overload
def clip_by_norm(t: Tensor, clip_norm: TensorLike, axes: Axis | None = None, name: str | None = None) -> Tensor: ...
@overload
def clip_by_norm(t: IndexedSlices, clip_norm: TensorLike, axes: Axis | None = None, name: str | None = None) -> IndexedSlices: ...
@overload
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: Axis | None = None, name: str | None = None) -> Tensor: ...
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: Axis | None = None, name: str | None = None) -> Gradient:
    """Scaled so that the norm is at most clip_norm."""
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)
        limit = _as(clip_norm, values.dtype.base_dtype)
        squares = reduce_sum(values * values, axes, keepdims=True)
        positive = apply("Greater", [squares, ops.constant(0, values.dtype.base_dtype)])
        safe = apply("Select", [positive, squares, apply("OnesLike", [squares])])
        norm = apply("Select", [positive, apply("Sqrt", [safe]), squares])
        clipped = apply("RealDiv", [values * limit, apply("Maximum", [norm, limit])], name=scope)
        return IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else clipped

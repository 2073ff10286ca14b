# SPDX-License-Identifier: Apache-2.0
"""py_function: a function of Python that is given tensors with values, as an operation."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nest
from thalweg.eager.context import EagerGraph
from thalweg.eager.gradient_tape import EagerTape
from thalweg.eager.plans import is_differentiable
from thalweg.graph import graph as graph_module
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.operations.custom_gradients import custom_gradient
from thalweg.operations.script_ops import py_func

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, TensorLike


def py_function(func: Callable[..., object], inp: Sequence[TensorLike], Tout: DTypeLike | Sequence[DTypeLike],
                name: str | None = None) -> Any:
    """`func` of tensors that have values, as an operation, with gradients through what it does.

    Parameters
    ----------
    func : callable
        Of as many EagerTensors as `inp` has; gives what becomes tensors of the types `Tout`. In a graph it is called again for its
        gradients.
    inp : list of tensors or values
    Tout : DType, or list of them
    name : str, optional
        Of the operation.

    Returns
    -------
    Tensor, or list of them
        One for each type.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32)
    >>> y = tw.py_function(lambda a: a * 2.0 if a > 0.0 else a, [x], tw.float32)
    >>> with tw.Session() as sess:
    ...     print(*sess.run([y, tw.gradients(y, x)[0]], {x: 3.0}))
    6.0 2.0
    """
    types = [dtypes.as_dtype(t) for t in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]

    def given(values: Any) -> list[Any]:
        flat = [] if values is None else nest.flatten(values)
        return [convert_to_tensor(v, dtype=t) for v, t in zip(flat, types, strict=True)]
    if graph_module.get_default_graph()._executes:
        made = given(func(*map(convert_to_tensor, inp)))
    else:
        made = _in_graph(func, given, types, [convert_to_tensor(x) for x in inp], name)
    return made if isinstance(Tout, (list, tuple)) else made[0]


def _in_graph(func, given, types, inputs, name):
    kinds = [t.dtype.base_dtype for t in inputs]

    def at_once(*arrays: Any) -> list[Any]:
        with EagerGraph().as_default():
            return [t.numpy() for t in given(func(*[constant(a, k) for a, k in zip(arrays, kinds)]))]

    def back(*arrays: Any) -> list[Any]:
        with EagerGraph().as_default():
            sources = [constant(a, k) for a, k in zip(arrays, kinds)]
            with EagerTape() as tape:
                tape.watch([s for s in sources if is_differentiable(s.dtype)])
                results = given(func(*sources))
            incoming = [constant(a, t) for a, t in zip(arrays[len(sources):], types)]
            return [(apply("ZerosLike", [s]) if g is None else g).numpy() for s, g in zip(sources, tape.gradient(results, sources, incoming))]

    @custom_gradient
    def whole(*tensors: Any) -> Any:
        def gradients(*incoming: Any) -> list[Any]:
            found = py_func(back, [*tensors, *incoming], kinds)
            return [g if is_differentiable(k) else None for g, k in zip(found, kinds)]
        return py_func(at_once, tensors, types, name=name), gradients
    made = whole(*inputs)
    return list(made) if isinstance(made, (list, tuple)) else [made]

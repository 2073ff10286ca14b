# SPDX-License-Identifier: Apache-2.0
"""More of gradients: second derivatives, functions without one of their own, tapes."""
from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.control import control_flow
from thalweg.control.functional_ops import map_fn
from thalweg.control.tensor_array import TensorArray
from thalweg.graph.graph import get_default_graph, name_scope
from thalweg.graph.ops import apply, constant, convert_to_tensor
from thalweg.graph.tensor import Tensor
from thalweg.operations import array_ops, custom_gradients, gradient_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Self

    from thalweg.base.typing import TensorLike
    from thalweg.operations.gradient_ops import UnconnectedGradients
    from thalweg.variables.variables import Variable


def hessians(ys: TensorLike | Sequence[TensorLike], xs: TensorLike | Sequence[TensorLike], name: str = "hessians",
             colocate_gradients_with_ops: bool = False, gate_gradients: bool | int = False,
             aggregation_method: int | None = None) -> list[Tensor]:
    """For each of xs the matrix of second derivatives of sum(ys): [*shape of x, *shape of x]."""
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    made = []
    for i, (x, first) in enumerate(zip(xs, gradient_ops.gradients(ys, xs, name=name,
                                                                 colocate_gradients_with_ops=colocate_gradients_with_ops))):
        if first is None:
            raise ValueError(f"hessians: the ys do not depend on {x}")
        with name_scope(f"{name}_{i}"):
            flat = array_ops.reshape(first, [-1])
            count = array_ops.size(x)

            def row(j, rows, flat=flat, x=x):
                return j + 1, rows.write(j, gradient_ops.gradients(flat[j], x)[0])
            _, rows = control_flow.while_loop(lambda j, _, count=count: apply("Less", [j, count]), row,
                                              [constant(0), TensorArray(convert_to_tensor(x).dtype.base_dtype, count)])
            sizes = array_ops.shape(x)
            whole = array_ops.reshape(rows.stack(), array_ops.concat([sizes, sizes], 0))
            whole.set_shape(convert_to_tensor(x).shape.concatenate(convert_to_tensor(x).shape))
            made.append(whole)
    return made


def grad_pass_through(f: Callable[..., object]) -> Callable[..., Any]:
    """A function whose gradient is that of the identity."""
    @custom_gradients.custom_gradient
    def whole(*args, **kwargs):
        return f(*args, **kwargs), lambda *gradients: gradients[0] if len(args) == 1 else gradients

    @functools.wraps(f)
    def through(*args, **kwargs):
        return whole(*args, **kwargs)
    return through


def recompute_grad(f: Callable[..., object]) -> Callable[..., Any]:
    """The function: the core keeps or recomputes what gradients need as its memory planner decides."""
    @functools.wraps(f)
    def same(*args, **kwargs):
        return f(*args, **kwargs)
    return same


def _is_value_of_a_variable(tensor):
    """Whether it was made together with a variable, or a whole of its parts, and is what reading it gives."""
    if tensor.op.type == "ConcatV2":
        return any(_is_value_of_a_variable(i) or i.op.type == "ReadVariableOp" for i in tensor.op.inputs)
    return tensor.op.type == "Identity" and tensor.op.inputs[0].dtype._is_ref_dtype


def _is_of_a_variable(tensor):
    return tensor.dtype._is_ref_dtype or tensor.dtype.base_dtype.name == "resource" or _is_value_of_a_variable(tensor)


class GradientTape:
    """with GradientTape() as tape: gradients of what is computed meanwhile, from the variables and tensors that it watches.

    The graph knows already how everything was computed; the tape says what counts: the operations made while it recorded. What was
    computed before is a constant to it, also where it depends on a source.
    """

    def __new__(cls, persistent: bool = False, watch_accessed_variables: bool = True):
        if cls is GradientTape and get_default_graph()._executes:
            from thalweg.eager.gradient_tape import EagerTape  # few programs run operations at once
            return EagerTape(persistent, watch_accessed_variables)
        return super().__new__(cls)

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._variables = persistent, watch_accessed_variables
        self._watched, self._used = [], False
        self._spans, self._begun = [], None  # (graph, its number of operations then): spans of what was recorded, and the one under way

    def __enter__(self) -> Self:
        if self._begun is not None:
            raise ValueError("Tape is already recording.")
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        if self._begun is not None:
            self._end()

    def _begin(self):
        graph = get_default_graph()
        self._begun = graph, graph._num_nodes()

    def _end(self):
        (graph, first), self._begun = self._begun, None
        self._spans.append((graph, first, graph._num_nodes()))

    def watch(self, tensor: Any) -> None:
        """Gradients for these tensors are wanted."""
        for t in nest.flatten(tensor):
            if not (isinstance(t, Tensor) or hasattr(t, "_as_tensor")):
                raise ValueError(f"Passed in object of type {type(t)}, not tf.Tensor")
            self._watched.append(t)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables that are watched."""
        return tuple(w for w in self._watched if hasattr(w, "_ref_tensor"))

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """with tape.stop_recording(): what is computed meanwhile does not count."""
        if self._begun is None:
            raise ValueError("Tape is not recording.")
        self._end()
        try:
            yield
        finally:
            self._begin()

    def reset(self) -> None:
        """Forgets what is watched and what was recorded."""
        self._watched, self._spans = [], []
        if self._begun is not None:
            self._begin()

    def _walk(self, targets):
        """(what was recorded, what was there before) of all that the targets were computed from while the tape recorded."""
        waiting = [t for t in targets if isinstance(t, Tensor)]
        if not waiting:
            return [], []
        graph = waiting[0].graph
        spans = [(first, last) for g, first, last in self._spans if g is graph]
        if self._begun is not None and self._begun[0] is graph:
            spans.append((self._begun[1], graph._num_nodes()))
        if not spans:  # the tape was begun outside of the function that asks: all of the function was recorded
            spans.append((0, graph._num_nodes()))
        recorded, before, seen = [], [], set()
        while waiting:
            tensor = waiting.pop()
            if tensor.name in seen:
                continue
            seen.add(tensor.name)
            if any(first <= tensor.op._id < last for first, last in spans):
                recorded.append(tensor)
                waiting += tensor.op.inputs
            else:
                before.append(tensor)
        return recorded, before

    def _constants(self, targets, sources):
        """What gradients stop at: what was there before the tape recorded what it was used for."""
        kept = {t.name for s in sources for t in [getattr(s, "_ref_tensor", s)] if isinstance(t, Tensor)}
        return [t for t in self._walk(targets)[1] if t.name not in kept and not _is_value_of_a_variable(t)]

    def _counts(self, source):
        """Whether the tape watches it, or recorded that it was computed from what it watches."""
        if any(source is w for w in self._watched):
            return True
        if hasattr(source, "_ref_tensor"):
            return self._variables and source.trainable
        recorded, before = self._walk([source])
        watched = {getattr(w, "_ref_tensor", w).name for w in self._watched}
        return any(t.name in watched or (self._variables and _is_of_a_variable(t)) for t in [*recorded, *before])

    def gradient(self, target: Any, sources: Any, output_gradients: object = None,
                 unconnected_gradients: UnconnectedGradients | str = gradient_ops.UnconnectedGradients.NONE) -> Any:
        """The derivative of the sum of the target for each source, None for those that the tape does not watch."""
        if self._used and not self._persistent:
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        self._used = True
        flat, targets = nest.flatten(sources), nest.flatten(target)
        found = gradient_ops.gradients(targets, flat, None if output_gradients is None else nest.flatten(output_gradients),
                                       stop_gradients=self._constants(targets, flat), unconnected_gradients=unconnected_gradients)
        zeros = gradient_ops.UnconnectedGradients(unconnected_gradients) is gradient_ops.UnconnectedGradients.ZERO
        kept = [g if self._counts(s) else array_ops.zeros_like(s) if zeros else None for g, s in zip(found, flat)]
        return nest.pack_sequence_as(sources, kept)

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: UnconnectedGradients | str = gradient_ops.UnconnectedGradients.NONE,
                 parallel_iterations: int | None = None, experimental_use_pfor: bool = True) -> Any:
        """The derivatives of each element of the target: [*shape of the target, *shape of the source]."""
        if self._used and not self._persistent:
            raise RuntimeError("GradientTape.jacobian can only be called once on non-persistent tapes.")
        self._used = True
        stops = self._constants([target], nest.flatten(sources))
        flat_target = array_ops.reshape(target, [-1])
        made = []
        for source in nest.flatten(sources):
            if not self._counts(source) or gradient_ops.gradients(flat_target, source, stop_gradients=stops)[0] is None:
                made.append(None)
                continue
            value = convert_to_tensor(source)
            rows = map_fn(lambda j, source=source: convert_to_tensor(gradient_ops.gradients(flat_target[j], source, stop_gradients=stops)[0]),
                          apply("Range", [0, array_ops.size(flat_target), 1]), dtype=value.dtype.base_dtype)
            shape = array_ops.concat([array_ops.shape(target), array_ops.shape(value)], 0)
            made.append(array_ops.reshape(rows, shape))
        return nest.pack_sequence_as(sources, made)


def vectorized_map(fn: Callable[..., object], elems: object) -> Any:
    """The function of each row, stacked; all rows may run at once."""
    flat = nest.flatten(elems)
    first = nest.pack_sequence_as(elems, [convert_to_tensor(e)[0] for e in flat])
    dtype = nest.map_structure(lambda t: t.dtype.base_dtype, fn(first))
    return map_fn(fn, elems, dtype=dtype)

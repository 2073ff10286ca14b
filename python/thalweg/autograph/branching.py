# SPDX-License-Identifier: Apache-2.0
"""`if` on tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, nest
from thalweg.autograph import state
from thalweg.control import control_flow
from thalweg.graph import graph as graph_module, ops
from thalweg.graph.graph import name_scope
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import TensorLike
    from thalweg.control.control_flow import CondContext
    from thalweg.graph.tensor import Tensor

_BRANCHES = ("else", "main")


def _check(name, ends):
    """Raises where what a name holds at the end of the branches cannot be one value."""
    for this, other in ((0, 1), (1, 0)):
        value, there = ends[this], ends[other]
        if isinstance(value, state.Undefined) and not isinstance(there, state.Undefined):
            if value.is_end:
                raise ValueError(f"the {_BRANCHES[this]} branch must also have a return statement.")
            raise ValueError(f"The following symbols must also be initialized in the {_BRANCHES[this].replace('main', 'if')} branch: "
                             f"({name!r},). Alternatively, you may initialize them before the if statement.")
        if value is None and there is not None:
            raise ValueError(f"{name!r} is None at the end of the {_BRANCHES[this]} branch.")
    for this in (1, 0):
        if not state.goes_through(ends[this]):
            raise TypeError(f"{name!r} must be Tensor, int, bool, float, numpy type or None, or a structure of them, at the end of the "
                            f"{_BRANCHES[this]} branch; got {type(ends[this])}")
    try:
        nest.assert_same_structure(ends[1], ends[0], expand_composites=True)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name!r} must have the same nested structure in the main and else branches:\n\n{error}") from None


def _check_types(name, values):
    for b, a in zip(*values):
        if a.dtype.base_dtype is not b.dtype.base_dtype:
            raise TypeError(f"{name!r} has dtype {a.dtype.base_dtype.name} in the main branch, but dtype {b.dtype.base_dtype.name} in the "
                            "else branch")


def _is_kept(name, a, b):
    """Whether what a name holds needs no tensor: the same object on both ways, or a flag of ours that is the same."""
    if isinstance(a, state.Undefined) and isinstance(b, state.Undefined):
        return True
    return a is b and (not state.goes_through(a) or name.startswith("ag_") and isinstance(a, bool))


def _filled(ends, leaves):
    """The ends of both branches. Nobody looks at a return value that is not there yet, nor at what a branch has not defined that ends
    with a jump: zeros stand there."""
    for this, other in ((0, 1), (1, 0)):
        value, there = ends[this], ends[other]
        is_unread = isinstance(value, state.Undefined) and (value.is_return or leaves[this]) and not value.is_end
        if is_unread and state.goes_through(there):
            return [(state.zeros_like_it(there) or value) if i == this else ends[i] for i in (0, 1)]
    return ends


class _Branch:
    """One branch: what happens in it, and what names hold at its end."""

    def __init__(self, context: CondContext, run: Callable[[], None], put: Callable[[Sequence[Any]], None],
                 get: Callable[[], Sequence[Any]], before: Sequence[Any]) -> None:
        self._context = context
        self.effects = state.Effects(context.graph)
        put(before)
        with context.inside(), self.effects.inside():
            run()
        self.ends = get()

    def tensors(self, value: Any) -> list[Tensor]:
        """A value as tensors of the branch."""
        with self._context.inside():
            return [state.as_tensor(leaf) for leaf in state.leaves(value() if callable(value) else value)]

    def results(self, flat: Sequence[Tensor]) -> list[Tensor]:
        """What the branch gives: a number that comes when all that happens in it has, and tensors."""
        with self._context.inside():
            after = self.effects.ordered([ops.constant(0), *flat])
        return self._context.results(lambda: after)[1]


def if_statement(test: TensorLike, body: Callable[[], None], orelse: Callable[[], None], get: Callable[[], Sequence[Any]],
                 put: Callable[[Sequence[Any]], None], names: Sequence[str], outputs: int,
                 leaves: tuple[bool, bool] = (False, False)) -> None:
    """Runs both branches; names hold afterwards what the branch that the step takes gives them. `leaves`: which of them end with a jump."""
    before = get()
    with name_scope(None, "cond", [test]):
        earlier = state.Effects(graph_module.get_default_graph()).before
        with graph_module.control_dependencies(earlier):
            test = array_ops.identity(test) if earlier else ops.convert_to_tensor(test)
        if test.dtype.base_dtype is not dtypes.bool:
            raise ValueError(f"condition of if statement expected to be `tf.bool` scalar, got {test}; to use as boolean Tensor, use `tf.cast`; "
                             "to check for None, use `is not None`")
        contexts = control_flow.branches_of(test)
        try:
            branches = [_Branch(context, run, put, get, before) for context, run in zip(contexts, (body, orelse))][::-1]
        finally:
            put(before)
        after, flat, found = list(before), ([], []), []
        for i, name in enumerate(names[:outputs]):
            ends = [branch.ends[i] for branch in branches]
            if _is_kept(name, ends[1], ends[0]):
                after[i] = ends[1]
                continue
            ends = _filled(ends, leaves[::-1])
            if not any(map(callable, ends)):
                _check(name, ends)
            values = [branch.tensors(end) for branch, end in zip(branches, ends)]
            _check_types(name, values)
            found.append((i, ends[0] if callable(ends[1]) else ends[1], len(values[0])))
            for these, those in zip(flat, values):
                these.extend(those)
        given = [branch.results(tensors) for branch, tensors in zip(branches, flat)]
        merged = control_flow.merged(given[1], given[0])
    for branch in [b for b in branches if b.effects.last is not None][:1]:
        branch.effects.happened(merged[0])
    merged = control_flow._arguments([merged[0], *flat[1]], merged)[1:]
    for i, structure, count in found:
        after[i], merged = state.packed(structure, merged[:count]), merged[count:]
    put(after)


def choose(test: TensorLike, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """What one of two expressions gives."""
    held = [None]

    def hold(values):
        held[0] = values[0]
    if_statement(test, lambda: hold([body()]), lambda: hold([orelse()]), lambda: tuple(held), hold, ("the expression",), 1)
    return held[0]

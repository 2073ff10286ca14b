# SPDX-License-Identifier: Apache-2.0
"""`while` and `for` on tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.autograph import branching, state
from thalweg.control import control_flow, functions, tensor_array
from thalweg.graph import graph as graph_module, ops, tensor_util
from thalweg.graph.shapes import as_shape
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import TensorLike
    from thalweg.graph.tensor import Tensor


class Loop:
    """A loop's names and what they hold before it; those of the first `outputs` that can be tensors go round."""

    def __init__(self, get: Callable[[], Sequence[Any]], put: Callable[[Sequence[Any]], None], names: Sequence[str], outputs: int) -> None:
        self.get, self.put, self.names, self.outputs = get, put, names, outputs
        self.before = list(get())
        self.start = list(self.before)
        self._wider = {}  # id of a leaf of `start` -> the shape that it may have later

    def define(self, turn: Callable[[], None]) -> None:
        """Gives names that the loop itself defines a first value, of the types and shapes that they have after one turn."""
        missing = [i for i in range(self.outputs) if self.start[i] is None or isinstance(self.start[i], state.Undefined)]
        if not missing:
            return
        scratch = functions.BodyGraph(graph_module.get_default_graph())
        reason, makers = "", {}
        try:
            with scratch.as_default():
                self.put([state.packed(v, list(map(state.as_tensor, state.leaves(v)))) if state.goes_through(v) else v
                          for v in self.start])
                turn()
                after = self.get()
                makers = {i: state.zeros_like_it(after[i]) for i in missing if state.goes_through(after[i])}
        except (TypeError, ValueError) as error:
            reason, after = f"\nNote: a trial of the loop to find its type failed: {type(error).__name__}: {error}", [None] * len(self.names)
        finally:
            self.put(self.before)
        for i in missing:
            if makers.get(i) is not None:
                self.start[i] = makers[i]()
                is_return = getattr(self.before[i], "is_return", False)
                for leaf, there in zip(state.leaves(self.start[i]), state.leaves(after[i])):
                    shape = ops.convert_to_tensor(there).shape
                    if not shape.is_fully_defined():
                        if not is_return:
                            raise ValueError(self._undefined(self.before[i], after[i]))
                        self._wider[id(leaf)] = shape
            elif isinstance(self.start[i], state.Undefined) and not isinstance(after[i], state.Undefined):
                raise ValueError(self._undefined(self.start[i], after[i]) + reason)

    @staticmethod
    def _undefined(value, after):
        if getattr(value, "is_return", False):
            return ("the return value from a TensorFlow loop may only be a Tensor, int, float, bool or a list, tuple or dict thereof, of a "
                    f"shape that is known; got {after!r}")
        return f"TensorFlow requires that the following symbols must be defined before the loop: ({getattr(value, 'name', value)!r},)"

    def flat(self, invariants: Sequence[tuple[Any, Any]] | None = None) -> list[Any]:
        """The first values of the loop variables. `invariants`: [(what a name holds, shapes that it may have later)]."""
        wanted = dict(self._wider)
        for value, shapes in invariants or ():
            shapes = control_flow.nest_shapes(shapes if nest.is_nested(value) else [as_shape(shapes)])
            wanted.update((id(leaf), shape) for leaf, shape in zip(state.leaves(value), shapes) if not isinstance(leaf, (int, float)))
        self.round = [state.goes_through(v) for v in self.start[:self.outputs]]
        leaves = [leaf for v, goes in zip(self.start, self.round) if goes for leaf in state.leaves(v)]
        self._tensors = list(map(state.as_tensor, leaves))
        self.shapes = [as_shape(wanted.get(id(leaf), [] if state.is_array(t) else t.shape)) for leaf, t in zip(leaves, self._tensors)]
        self.has_wider_shapes = bool(wanted)
        return self._tensors

    def set(self, flat: Sequence[Any]) -> None:
        """Lets names hold the loop variables of a turn."""
        left, values = iter(flat), list(self.before)
        for i, goes in enumerate(self.round):
            values[i] = state.packed(self.start[i], [next(left) for _ in state.leaves(self.start[i])]) if goes else self.start[i]
        self.put(values)

    def after_turn(self) -> list[Any]:
        """The loop variables for the next turn."""
        found = []
        for i, value in enumerate(self.get()[:self.outputs]):
            name, start = self.names[i], self.start[i]
            if self.round[i]:
                found += self._checked(name, start, value, len(found))
            elif value is not start and not (isinstance(value, state.Undefined) and isinstance(start, state.Undefined)):
                raise TypeError(f"{name!r} must be Tensor, int, float, bool, numpy type or a structure of them to change in a loop over "
                                f"tensors; it is {type(start)} before the loop")
        return found

    def _checked(self, name, start, value, position):
        """A value as tensors that may stand in the place of those from `position` on."""
        if value is None:
            raise ValueError(f"{name!r} is None at the end of the iteration.")
        if not state.goes_through(value):
            raise TypeError(f"{name!r} must be Tensor, int, float, bool or numpy type after one iteration; got {type(value)}")
        try:
            nest.assert_same_structure(start, value, expand_composites=True)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name!r} does not have the same nested structure after one iteration.\n\n{error}") from None
        found = list(map(state.as_tensor, state.leaves(value)))
        for first, later, shape in zip(self._tensors[position:], found, self.shapes[position:]):
            if not state.is_array(later):
                self._check_tensor(name, first, later, shape)
        return found

    @staticmethod
    def _check_tensor(name, first, later, allowed):
        if first.dtype.base_dtype is not later.dtype.base_dtype:
            raise TypeError(f"{name!r} has dtype {first.dtype.base_dtype.name} before the loop, but dtype {later.dtype.base_dtype.name} after "
                            "one iteration. TensorFlow control flow requires it stays the same.")
        if control_flow._narrower(allowed, later.shape):
            raise ValueError(f"{name!r} has shape {first.shape} before the loop, but shape {later.shape} after one iteration. Use "
                             "tf.autograph.experimental.set_loop_options to set shape invariants.")


def _run(loop, test, turn, counters, options):
    """while_loop over `counters`, which are the loop's own, and the names' values. test(counters), turn(counters) gives the next ones."""
    graph = graph_module.get_default_graph()
    effects = state.Effects(graph)
    arguments = dict(options()) if options is not None else {}
    flat = loop.flat(arguments.pop("shape_invariants", None))
    counters = [ops.convert_to_tensor(c) for c in counters]
    if loop.has_wider_shapes:
        arguments["shape_invariants"] = [c.shape for c in counters] + loop.shapes
    if effects.before:
        with graph_module.control_dependencies(effects.before):
            counters[0] = array_ops.identity(counters[0])
    count = len(counters)

    def condition(*values):
        loop.set(values[count:])
        inside = state.Effects(graph)
        with inside.inside():
            result = ops.convert_to_tensor(test(values[:count]))
        effects.last = inside.last
        return inside.ordered([result])[0]

    def body(*values):
        loop.set(values[count:])
        inside = state.Effects(graph)
        with inside.inside():
            following = turn(values[:count])
        effects.last = inside.last or effects.last
        return inside.ordered([*map(ops.convert_to_tensor, following), *loop.after_turn()])
    try:
        made = control_flow.while_loop(condition, body, counters + flat, return_same_structure=True, **arguments)
    finally:
        loop.put(loop.before)
    effects.happened(made[0])
    loop.set(made[count:])


def while_statement(test: Callable[[], TensorLike], body: Callable[[], None], get: Callable[[], Sequence[Any]],
                    put: Callable[[Sequence[Any]], None], names: Sequence[str], outputs: int,
                    options: Callable[[], Mapping[str, Any]] | None) -> None:
    """`while` whose condition is a tensor."""
    loop = Loop(get, put, names, outputs)
    loop.define(body)

    def turn(counters):
        body()
        return counters
    _run(loop, lambda counters: test(), turn, [0], options)


def _goes_on(extra, test):
    """Whether a loop goes on: while its own condition holds, and no break or return has come."""
    if extra is None:
        return test()
    going = extra()
    if state.is_tensor(going):
        return branching.choose(going, test, lambda: going)
    return test() if going else False


def _counted(over: Tensor) -> tuple[Callable[[Any], Any], Callable[[Any], Any], list[Any], Callable[[Any], Any]]:
    """(test, item, counters, next counters) for the numbers of a range, or the elements of a tensor."""
    if over.op.type == "Range" and over.dtype.is_integer:
        start, limit, delta = over.op.inputs
        step = tensor_util.constant_value(delta)
        if step is not None:
            test = (lambda c: c[0] < limit) if step > 0 else (lambda c: c[0] > limit)
        else:
            def test(c):
                ways = [ops.apply("LogicalAnd", [delta > 0, c[0] < limit]), ops.apply("LogicalAnd", [delta < 0, c[0] > limit])]
                return ops.apply("LogicalOr", ways)
        return test, lambda c: c[0], [start], lambda c: [c[0] + delta]
    if over.shape.ndims == 0:
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {over.shape}: {over!r}")
    size = over.shape[0].value if over.shape.ndims is not None else None
    size = array_ops.shape(over)[0] if size is None else size
    elements = tensor_array.TensorArray(over.dtype, size, clear_after_read=False,
                                        element_shape=over.shape[1:] if over.shape.ndims is not None else None).unstack(over)
    return lambda c: c[0] < size, lambda c: elements.read(c[0]), [0], lambda c: [c[0] + 1]


def for_statement(over: TensorLike, extra: Callable[[], TensorLike] | None, body: Callable[[Any], None], get: Callable[[], Sequence[Any]],
                  put: Callable[[Sequence[Any]], None], names: Sequence[str], outputs: int,
                  options: Callable[[], Mapping[str, Any]] | None) -> None:
    """`for` over a tensor's elements."""
    test, item, counters, following = _counted(ops.convert_to_tensor(over))
    loop = Loop(get, put, names, outputs)
    loop.define(lambda: body(item([ops.convert_to_tensor(c) for c in counters])))

    def turn(counters):
        body(item(counters))
        return following(counters)
    _run(loop, lambda counters: _goes_on(extra, lambda: test(counters)), turn, counters, options)

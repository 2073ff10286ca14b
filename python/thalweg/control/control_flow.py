# SPDX-License-Identifier: Apache-2.0
"""cond and while_loop, built of Switch, Merge, Enter, Exit and NextIteration.

Code of a branch or a loop runs inside a context. An operation made there that reads a tensor from outside reads it
through a Switch or an Enter that the context adds; one that reads nothing gets a control edge from the context's pivot,
so that it runs only where the branch or the iteration does.
"""
from __future__ import annotations

import contextlib
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING

from thalweg import dtypes, nest
from thalweg.graph import graph as graph_module, ops
from thalweg.graph.graph import name_scope
from thalweg.graph.ops import apply, convert_to_tensor, create_node
from thalweg.graph.shapes import TensorShape
from thalweg.graph.tensor import Operation, Tensor, name_of
from thalweg.operations.checks import Assert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import IntLike, S, T, TensorLike
    from thalweg.graph.graph import Graph


class _Context:
    """What CondContext and WhileContext share. `pivot` is an operation that runs where the context does."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.outer = graph._state.context
        self.pivot = None
        self._brought = {}  # tensor from outside -> what stands for it inside
        self._outer_state = None

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """New operations belong to the context; control dependencies from outside hold through the pivot."""
        state = self.graph._state
        old = state.context, state.controls
        self._outer_state = old
        state.context, state.controls = self, []
        try:
            yield
        finally:
            state.context, state.controls = old

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """Back where the context itself was made."""
        state = self.graph._state
        old = state.context, state.controls
        state.context, state.controls = self._outer_state
        try:
            with self.graph.colocate_with(None):
                yield
        finally:
            state.context, state.controls = old

    def holds(self, op: Any) -> bool:
        """Whether an operation was made in this context or one inside it."""
        context = self.graph._contexts.get(op._id)
        while context is not None and context is not self:
            context = context.outer
        return context is self

    def value(self, tensor: Tensor) -> Tensor:
        """A tensor from anywhere, as operations of this context may read it."""
        if self.holds(tensor.op):
            return tensor
        found = self._brought.get(tensor)
        if found is None:
            found = self._brought[tensor] = self.bring(tensor if self.outer is None else self.outer.value(tensor))
            found.set_shape(tensor.shape)
        return found

    def AddValue(self, val: Tensor) -> Tensor:
        """See value()."""
        return self.value(val)

    def enter(self, op: Any, flat: Any, before: Any) -> tuple[Any, Any]:
        """Inputs and control inputs of an operation about to be made here."""
        flat = [t if t is None else self.value(t) for t in flat]
        before = self.controls_inside(before)
        if not before and not any(t is not None for t in flat) and self.pivot is not None:
            before = [self.pivot]
        return flat, before

    def controls_inside(self, before: Any) -> list[Operation]:
        return [b for b in before if self.holds(b)]

    def made(self, op: Any) -> None:
        """Told of every new operation of this context."""

    def adopt(self, graph: Graph, first: int) -> None:
        """Operations that the core has made since node `first` belong here."""
        for op in graph._nodes(first):
            graph._contexts.setdefault(op._id, self)

    def _own(self, tensor):
        self.graph._contexts[tensor.op._id] = self
        return tensor

    def _outer_owns(self, op):
        if self.outer is not None:
            self.graph._contexts[op._id] = self.outer
        else:
            self.graph._contexts.pop(op._id, None)


class CondContext(_Context):
    """One branch of a cond."""

    def __init__(self, graph: Graph, pred: TensorLike, pivot: Tensor, branch: int) -> None:
        super().__init__(graph)
        self.pred, self.branch = pred, branch
        self.pivot = pivot.op
        self._own(pivot)
        self._brought[pred] = pred

    def bring(self, tensor: Tensor) -> Tensor:
        with self.outside():
            switch = apply(_of_references("Switch", tensor), [tensor, self.pred], name="Switch")
        part = switch[self.branch]
        self.graph._contexts[part.op._id] = self
        return part

    def results(self, function: Callable[..., object]) -> tuple[Any, list[Any]]:
        """The branch's values as tensors of this context, and their structure."""
        with self.inside():
            given = function()
            if given is None:
                raise ValueError(f"{'true' if self.branch else 'false'}_fn must have a return value.")
            return given, [self._result(v) for v in nest.flatten(given)]

    def _result(self, value):
        value = _tensor_of(value)
        if isinstance(value, Operation):
            with self.graph.control_dependencies([value]):
                return apply("Identity", [self.value(self.pivot._output(0))])
        value = convert_to_tensor(value)
        return apply("Identity", [self.value(value)])


def branches_of(pred: TensorLike) -> tuple[CondContext, CondContext]:
    """Where the branch that a step takes when `pred` holds is made, and where the other one."""
    graph = graph_module.get_default_graph()
    pred = convert_to_tensor(pred)
    if pred.dtype.base_dtype is not dtypes.bool:
        raise TypeError(f"Input 'pred' of 'Switch' Op has type {pred.dtype.base_dtype.name} that does not match expected type of bool.")
    switch = apply("Switch", [pred, pred], name="Switch")
    pivots = [apply("Identity", [switch[0]], name="switch_f"), apply("Identity", [switch[1]], name="switch_t")]
    pred = apply("Identity", [pred], name="pred_id")
    return CondContext(graph, pred, pivots[1], 1), CondContext(graph, pred, pivots[0], 0)


def merged(true_values: Sequence[Tensor], false_values: Sequence[Tensor]) -> list[Tensor]:
    """What the two branches give, as tensors of where the conditional stands."""
    return [apply("Merge", [[f, t]], name="Merge")[0] for f, t in zip(false_values, true_values)]


def cond(pred: TensorLike, true_fn: Callable[[], object] | None = None, false_fn: Callable[[], object] | None = None,
         strict: bool = False, name: str | None = None, fn1: Callable[[], object] | None = None,
         fn2: Callable[[], object] | None = None) -> Any:
    """What one of two functions gives, chosen in the step.

    Only the operations that the functions make run in one case alone; what they use from outside runs in both.

    Parameters
    ----------
    pred : bool scalar
    true_fn, false_fn : callable
        Without arguments; both give tensors, or lists, tuples or dictionaries of them, of the same structure and types.
    strict : bool, optional
        Whether a list of one tensor stays a list.
    name : str, optional
        Of the operation.
    fn1, fn2 : callable, optional
        The old names of the functions.

    Returns
    -------
    Tensor, or the structure of what the functions give

    Raises
    ------
    TypeError
        A function is missing, cannot be called, or `pred` is a Python bool; or the types of what they give differ.
    ValueError
        One gives more than the other.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [])
    >>> y = tw.cond(x > 0.0, lambda: x, lambda: -10.0 * x)
    >>> with tw.Session() as sess:
    ...     print(sess.run(y, {x: 2.0}), sess.run(y, {x: -2.0}))
    2.0 20.0
    """
    true_fn, false_fn = fn1 if true_fn is None else true_fn, fn2 if false_fn is None else false_fn
    for function, role in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"{role} must be callable.")
    graph = graph_module.get_default_graph()
    if graph._executes:
        return _unpacked(true_fn() if pred else false_fn(), strict)
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("pred must not be a Python bool")
        then, otherwise = branches_of(pred)
        structure, true_values = then.results(true_fn)
        other_structure, false_values = otherwise.results(false_fn)
        nest.assert_same_structure(structure, other_structure)
        for i, (t, f) in enumerate(zip(true_values, false_values)):
            if t.dtype.base_dtype is not f.dtype.base_dtype:
                raise ValueError(f"Outputs of true_fn and false_fn must have the same type: {t.dtype.name}, {f.dtype.name} "
                                 f"(output {i})")
        merges = merged(true_values, false_values)
        return _unpacked(_arguments(structure, merges), strict)


def _unpacked(result, strict):
    alone = not strict and isinstance(result, (list, tuple)) and len(result) == 1 and not hasattr(result, "_fields")
    return result[0] if alone else result


def smart_cond(pred: TensorLike, true_fn: Callable[[], T], false_fn: Callable[[], S], name: str | None = None) -> Any:
    """cond, or just one of the functions when pred is known."""
    if isinstance(pred, (bool, int)):
        return true_fn() if pred else false_fn()
    return cond(pred, true_fn, false_fn, name=name)


def case(pred_fn_pairs: Mapping[Tensor, Callable[[], object]] | Sequence[tuple[TensorLike, Callable[[], object]]],
         default: Callable[[], object] | None = None, exclusive: bool = False, strict: bool = False, name: str = "case") -> Any:
    """The function of the first condition that holds, or `default`; without it, an error where none holds. `exclusive`
    makes it an error as well when several do."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if isinstance(pred_fn_pairs, dict) and not exclusive and len(pairs) > 1 and not isinstance(pred_fn_pairs, OrderedDict):
        warnings.warn("case: An unordered dictionary of predicate/fn pairs was provided, but exclusive=False. The order of "
                      "conditional tests is that of the dictionary.", stacklevel=2)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not isinstance(pair[0], Tensor) or pair[0].dtype.base_dtype is not dtypes.bool:
            raise TypeError("pred must be Tensor of type bool")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {name_of(pair[0])} must be callable.")
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    if not pairs and default is None:
        raise ValueError("case needs at least one function")
    with name_scope(name, "case", [p for p, _ in pairs]):
        checks = _checks_of_case([p for p, _ in pairs], default is None, exclusive)
        if default is None:
            default = pairs.pop()[1]

        def chain(rest):
            if not rest:
                return default()
            return cond(rest[0][0], rest[0][1], lambda: chain(rest[1:]), strict=strict)
        with graph_module.control_dependencies(checks):
            return chain([(apply("Identity", [p]), f) for p, f in pairs])


def _checks_of_case(predicates, one_must_hold, exclusive):
    checks = []
    if not predicates:
        return checks
    held = apply("Sum", [apply("Cast", [apply("Pack", [predicates])], {"DstT": dtypes.int32}), ops.constant([0])])
    data = [apply("Pack", [predicates])]
    if one_must_hold:
        checks.append(Assert(held > 0, ["None of conditions evaluated as True. Conditions: "] + data, len(predicates)))
    if exclusive:
        names = ", ".join(name_of(p) for p in predicates)
        checks.append(Assert(held < 2, [f"Input error: exclusive=True: more than 1 conditions ({names}) evaluated as True:"] + data,
                             len(predicates)))
    return checks


class WhileContext(_Context):
    """The body and condition of a loop: one frame of the executor."""

    def __init__(self, graph: Graph, parallel_iterations: int, name: str, back_prop: bool = True) -> None:
        super().__init__(graph)
        self.frame = graph.unique_name("while_context") if name is None else name
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop

    def enter(self, op: Any, flat: Any, before: Any) -> tuple[Any, Any]:
        """What reads nothing that the loop makes waits for the pivot: it would run in an iteration that the condition has
        ended, have its effect there, or, where a loop variable comes of it, begin one iteration after the other for ever."""
        flat, before = super().enter(op, flat, before)
        if not before and self.pivot is not None and {t for t in flat if t is not None} <= set(self._brought.values()):
            before = [self.pivot]
        return flat, before

    def bring(self, tensor: Tensor) -> Tensor:
        with self.outside():
            entered = self._enter(_of_references("Enter", tensor), tensor, True)
        return self._own(entered)

    def _enter(self, op, tensor, is_constant):
        attrs = {"frame_name": self.frame, "is_constant": is_constant, "parallel_iterations": self.parallel_iterations}
        if not self.back_prop:
            attrs["_back_prop"] = False
        return apply(op, [tensor], attrs, name=op)

    def build(self, condition: Callable[..., TensorLike], body: Callable[..., object], structure: Any, invariants: object) -> list[Any]:
        graph = self.graph
        with self.inside():
            with self.outside():
                initial = [self._initial(v) for v in nest.flatten(structure)]
                enters = [self._own(self._enter(_of_references("Enter", v), v, False)) for v in initial]
            shapes = [v.shape for v in initial] if invariants is None else nest_shapes(invariants)
            if len(shapes) != len(initial):
                raise ValueError("shape_invariants must have one shape for each loop variable")
            merges = [self._merge(e, v, s) for e, v, s in zip(enters, initial, shapes)]
            self.pivot = merges[0].op
            going_on = convert_to_tensor(condition(*_arguments(list(structure), merges)))
            going_on = apply("LoopCond", [self.value(going_on)], name="LoopCond")
            switches = [apply(_of_references("Switch", m), [m, going_on], name="Switch") for m in merges]
            inputs = [self._of_shape(s[1], shape) for s, shape in zip(switches, shapes)]
            self.pivot = inputs[0].op
            results = self._body(body, structure, inputs, initial, shapes)
            for merge, result in zip(merges, results):
                again = _applied("NextIteration", result)
                graph._set_back_edge(merge.op, 1, again)
            exits = [_applied("Exit", s[0]) for s in switches]
        for e, s in zip(exits, shapes):
            self._outer_owns(e.op)
            e.set_shape(s)
        return exits

    def _initial(self, given):
        """What a loop variable begins with. A reference that is given goes round as a reference, so that the body may assign
        to the variable; a variable goes round as its value."""
        value = convert_to_tensor(_tensor_of(given))
        if value.dtype._is_ref_dtype and not isinstance(given, Tensor):
            value = apply("Identity", [value])
        return value if self.outer is None else self.outer.value(value)

    @staticmethod
    def _of_shape(value, shape):
        """A loop variable for the body. The core does not know the shape of a Merge whose back edge is open, so that of
        anything but a scalar is said, and checked in every iteration."""
        if shape.ndims and not value.dtype._is_ref_dtype:
            return apply("EnsureShape", [value], {"shape": shape}, name="Identity")
        value = _applied("Identity", value)
        value.set_shape(shape)
        return value

    def _merge(self, enter, initial, shape):
        if not shape.is_compatible_with(initial.shape) or _narrower(shape, initial.shape):
            raise ValueError(f"The shape invariant specified for {initial.name} is not compatible with the initial shape of the loop "
                             f"variable. The invariant {shape} does not include the shape {initial.shape}.")
        merged = create_node(_of_references("Merge", enter), "Merge", [enter, None], [])._output(0)
        merged.set_shape(shape)
        return merged

    def _body(self, body, structure, inputs, initial, shapes):
        given = body(*_arguments(list(structure), inputs))
        if not isinstance(given, (list, tuple)) or hasattr(given, "_fields") and len(structure) == 1:
            given = [given]
        given = list(given)
        nest.assert_same_structure(list(structure), given)
        results = []
        for before, start, value, shape in zip(inputs, initial, nest.flatten(given), shapes):
            value = _tensor_of(value)
            value = convert_to_tensor(value, dtype=None if isinstance(value, Tensor) else before.dtype.base_dtype)
            value = self.value(value)
            if value.dtype._is_ref_dtype and not before.dtype._is_ref_dtype:
                value = apply("Identity", [value])
            if before.dtype._is_ref_dtype and not value.dtype._is_ref_dtype:
                raise TypeError(f"A loop variable that is a reference to a variable is the plain value {value.name!r} after one "
                                "iteration.")
            if value.dtype.base_dtype is not before.dtype.base_dtype:
                raise TypeError(f"A loop variable of type {before.dtype.base_dtype.name} is {value.dtype.base_dtype.name} "
                                f"after one iteration.")
            if _narrower(shape, value.shape) and value.shape.ndims is not None:
                raise ValueError(f"Input tensor {start.name!r} enters the loop with shape {shape}, but has shape {value.shape} after one "
                                 "iteration. Provide shape invariants with the `shape_invariants` argument.")
            results.append(value)
        return results


def _of_references(op, tensor):
    """The operation for a value, or its form for a reference to a variable."""
    return "Ref" + op if tensor.dtype._is_ref_dtype else op


def _applied(op, tensor):
    """The operation, or its form for a reference, under its own name."""
    op = _of_references(op, tensor)
    return apply(op, [tensor], name=op)


def _narrower(shape, other):
    """Whether `other` may be something that `shape` does not allow."""
    if shape.ndims is None:
        return False
    if other.ndims is None or other.ndims != shape.ndims:
        return True
    return any(a is not None and a != b for a, b in zip(shape._dims, other._dims))


def nest_shapes(invariants: object) -> list[Any]:
    """The shapes of shape_invariants, which are lists themselves at times."""

    def flat(part):
        if isinstance(part, TensorShape):
            return [part]
        if isinstance(part, dict):
            return [s for key in sorted(part) for s in flat(part[key])]
        return [s for p in part for s in flat(p)]
    return flat(invariants)


def _tensor_of(value):
    """What goes through control flow: of a TensorArray, its flow."""
    return value.flow if getattr(value, "_is_tensor_array", False) else value


def _arguments(structure, flat):
    """The structure, whose leaves may be TensorArrays, with other values."""
    leaves = nest.flatten(structure)
    flat = [leaf._with_flow(f) if getattr(leaf, "_is_tensor_array", False) else f for leaf, f in zip(leaves, flat)]
    return nest.pack_sequence_as(structure, flat)


def while_loop(cond: Callable[..., TensorLike], body: Callable[..., object], loop_vars: object, shape_invariants: object = None,
               parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False, name: str | None = None,
               maximum_iterations: IntLike | None = None, return_same_structure: bool = False) -> Any:
    """body(loop variables) again and again while cond(loop variables) holds; gives their last values.

    Without back_prop gradients take these for constants. swap_memory changes nothing: what a gradient needs of the
    iterations is in the memory of the CPU already.
    """
    for function, role in ((cond, "cond"), (body, "body")):
        if not callable(function):
            raise TypeError(f"{role} must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    loop_vars = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]
    if not loop_vars:
        raise ValueError("No loop variables provided")
    graph = graph_module.get_default_graph()
    if graph._executes:
        return _looped(cond, body, loop_vars, maximum_iterations, return_same_structure)
    condition, step, variables, invariants = cond, body, loop_vars, shape_invariants
    with name_scope(name, "while", loop_vars):
        if maximum_iterations is not None:
            limit = convert_to_tensor(maximum_iterations, dtype=dtypes.int32)
            condition = lambda i, v: apply("LogicalAnd", [i < limit, cond(*v)])

            def step(i, v):
                given = body(*v)
                return i + 1, list(given) if isinstance(given, (list, tuple)) else [given]
            variables = [ops.constant(0), loop_vars]
            if invariants is not None:
                invariants = [TensorShape([]), invariants]
        context = WhileContext(graph, parallel_iterations, None, back_prop)
        exits = context.build(condition, step, variables, invariants)
    if maximum_iterations is not None:
        exits = exits[1:]
    packed = _arguments(loop_vars, exits)
    return packed if return_same_structure or len(packed) > 1 else packed[0]


def _looped(cond, body, loop_vars, maximum_iterations, return_same_structure):
    """The loop of Python's that it is where operations run at once."""
    left = None if maximum_iterations is None else int(maximum_iterations)
    values = loop_vars
    while left != 0 and cond(*values):
        given = body(*values)
        if not isinstance(given, (list, tuple)) or hasattr(given, "_fields") and len(values) == 1:
            given = [given]
        nest.assert_same_structure(loop_vars, list(given))
        values = list(given)
        left = None if left is None else left - 1
    values = nest.map_structure(lambda v: v if getattr(v, "_is_tensor_array", False) else convert_to_tensor(v), values)
    return values if return_same_structure or len(values) > 1 else values[0]

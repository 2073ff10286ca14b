# SPDX-License-Identifier: Apache-2.0
"""compare_runs: one step in two ways, and the first node that gives something else for the same inputs."""
from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from thalweg import dtypes, errors
from thalweg.debugger import steps, variable_nodes
from thalweg.debugger.array_differences import ValueDifference, difference
from thalweg.debugger.expanded_calls import ExpandedCall, ExpandedCalls
from thalweg.debugger.numbers import checked_count, checked_tolerance
from thalweg.debugger.recorder import Recorder
from thalweg.debugger.repeatable import RepeatableStep, created_at, drawn_by
from thalweg.graph.device_specs import DeviceSpec
from thalweg.graph.graph import Graph
from thalweg.graph.graph_import import import_graph_def
from thalweg.graph.session import Session
from thalweg.graph.shapes import TensorShape
from thalweg.graph.tensor import Operation, Tensor
from thalweg.messages import ConfigProto

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.messages import RunOptions

_MOST_TENSORS = 256  # of one run
_MOST_REORDERED = 256  # values of one tensor that are sought among those of other iterations: each is compared with each


@dataclasses.dataclass(frozen=True)
class DifferingNode:
    """A node whose inputs are the same in both ways, and whose value is not.

    `tensor` is its output, or the variable that it writes. In a loop, `loop` names it, and `iteration` counts how often the node had run before in
    it; it is None where iterations may run at once (`parallel_iterations` above 1, as by default). Of a loop in others, `outer` has these, the
    outermost first, each with its iteration. In a branch, `branch` names the one that is taken.

    In a called function, or one that is a loop's body or a branch, `function` names it, `calls` the operations by which the step comes to it, the
    outermost first, and `tensor` is named as there; `op` is then an operation that was added to the graph to look into the call.
    """

    op: Operation
    tensor: str
    difference: ValueDifference
    loop: str = ""
    iteration: int | None = None
    note: str = ""
    branch: str = ""
    outer: tuple[tuple[str, int | None], ...] = ()
    function: str = ""
    calls: tuple[str, ...] = ()

    def __str__(self) -> str:
        called = f" in the function '{self.function}' that {' > '.join(map(repr, self.calls))} calls" if self.function else ""
        loops = [*self.outer, (self.loop, self.iteration)] if self.loop else []
        where = f" in the branch '{self.branch}'" if self.branch else "".join(
            f" in {'some iteration' if iteration is None else f'iteration {iteration}'} of the loop '{name}'" for name, iteration in reversed(loops))
        return f"{self.op.type} '{self.tensor}'{called}{where}{created_at(self.op)}: {self.difference}" + (f"\n  {self.note}" if self.note else "")


@dataclasses.dataclass
class RunComparison:
    """What compare_runs has found.

    `differences` are those of fetches and, after the step, of variables, by name; `first` is the node where they begin, None where it was not found.
    """

    compared: int  # fetches and variables
    differences: dict[str, ValueDifference]
    first: DifferingNode | None = None
    runs: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether both ways gave the same."""
        return not self.differences

    def __str__(self) -> str:
        if self.ok:
            lines = [f"{self.compared} fetches and variables compared: the same"]
        else:
            lines = [f"{len(self.differences)} of {self.compared} fetches and variables differ"]
            lines += [f"  '{name}': {one}" for name, one in self.differences.items()]
            lines.append(f"first difference: {self.first}" if self.first is not None else
                         "no node differs when its value is fetched: what differs is made where nodes run as one, or from run to run")
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def compare_runs(a: Session, b: Session | ConfigProto | str, fetches: Fetches, feed_dict: FeedDict | None = None, *,
                 options: RunOptions | tuple[RunOptions | None, RunOptions | None] | None = None, rtol: float | None = None,
                 atol: float | None = None, share_random: bool = True, most_bytes: int = 64 << 20) -> RunComparison:
    """Runs a step in two ways, and names the first node whose inputs are the same and whose value is not.

    Both begin from the values that `a` has of the variables; afterwards each session has its own again. A variable that had none keeps what it was
    given, and a note says so. Where fetches, or variables after the step, differ, tensors between
    are fetched block by block: a binary search over what the differing one is computed from, back until all inputs are the same. In a loop or branch
    the node is found, too, and its iteration where no two may run at once; where they may, it is the node that is first in the iteration seen first.
    So it is in called functions, and where functions are the body of a loop or a branch.

    Parameters
    ----------
    a : Session
        One way.
    b : Session, ConfigProto or str
        The other: a session, whose graph has nodes of the same names (one of a cluster, say); a configuration of a session of the same graph
        (threads, passes); a device, as "/device:GPU:0", on which all nodes are then placed.
    fetches, feed_dict
        Of the step, in the graph of `a`.
    options : RunOptions or pair of them, optional
        Of both ways, or of each.
    rtol, atol : float, optional
        Floats a and b are the same within atol + rtol * |b|; 0 and 0 ask for the same bits. By default what the type suggests: 1e-4 of float32, 1e-12
        of float64, 1e-2 of float16, of the element, and a hundredth of that of the largest one.
    share_random : bool
        Whether `b` is given what random operations, iterators and queues gave in `a`. Without, each way asks its own, once: two generators without
        a seed are then the first difference.
    most_bytes : int
        About how much of values one run fetches, as far as their shapes tell.

    Returns
    -------
    RunComparison
        Its `ok` says whether both gave the same; its text says where they begin to differ.

    Raises
    ------
    ValueError
        No fetches, a number out of its bounds, a device that is not there, a graph that lacks a node, or a variable of another shape or type.

    Examples
    --------
    >>> x = tw.placeholder(tw.float32, [3], name="x")
    >>> noise = tw.random_normal([3], name="noise")
    >>> y = tw.reduce_sum(tw.square(x) + noise)
    >>> one_thread = tw.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    >>> with tw.Session() as session:
    ...     shared = tw.debugging.compare_runs(session, one_thread, y, {x: [1, 2, 3]})
    ...     unshared = tw.debugging.compare_runs(session, one_thread, y, {x: [1, 2, 3]}, share_random=False)
    >>> shared.ok, unshared.ok, unshared.first.op.type
    (True, False, 'RandomStandardNormal')
    """
    rtol, atol = checked_tolerance("rtol", rtol), checked_tolerance("atol", atol)
    most_bytes = checked_count("most_bytes", most_bytes, 0)
    both = options if isinstance(options, tuple) else (options, options)
    if len(both) != 2:
        raise ValueError(f"options must be RunOptions, or a pair of them, one for each way, got a tuple of {len(both)}")
    for one in both:
        if one is not None and not hasattr(one, "SerializeToString"):
            raise TypeError(f"options must be RunOptions, or a pair of them, one for each way, got {one!r}")
    other, is_ours = _session_of(b, a)
    try:
        return _Comparison(a, other, fetches, feed_dict, both, (rtol, atol), most_bytes).compare(share_random, not is_ours)
    finally:
        if is_ours:
            other.close()


def _session_of(b, a):
    """(a session of the other way, whether it is made for the comparison)"""
    if isinstance(b, Session):
        return b, False
    if isinstance(b, str):
        return _session_on(DeviceSpec.from_string(b), b, a), True
    if isinstance(b, ConfigProto) or hasattr(b, "SerializeToString"):
        return Session(a._target, graph=a.graph, config=b), True
    raise TypeError(f"the other way must be a Session, a ConfigProto or the name of a device, got {b!r}")


def _session_on(spec, name, a):
    there = [d.name for d in a.list_devices()]
    if not any(_is_of(spec, DeviceSpec.from_string(d)) for d in there):
        raise ValueError(f"there is no device '{name}'; the session has {', '.join(there)}")
    graph_def = a.graph.as_graph_def()
    for node in graph_def.node:
        node.device = name
    config = ConfigProto() if a._config is None else ConfigProto.FromString(a._config.SerializeToString())
    config.allow_soft_placement = True  # what has no kernel there stays
    graph = Graph()
    with graph.as_default():
        import_graph_def(graph_def, name="")
    return Session(a._target, graph=graph, config=config)


def _is_of(asked, there):
    return all(getattr(asked, part) in (None, getattr(there, part)) for part in ("job", "replica", "task", "device_type", "device_index"))


@dataclasses.dataclass(frozen=True)
class _Choices:
    """What decided about loops and branches in a step."""
    guards: dict[Operation, frozenset[tuple[Tensor, int]]]  # the branches that have to be taken for an operation to run: predicate, side
    went_on: dict[str, list[bool]]  # of each loop, each time that it was asked whether it goes on
    said: dict[Tensor, list[bool]]  # by predicates, each time that they ran

    def when(self, op: Operation, runs: int, loop: str) -> list[int] | None:
        """At which of the times that its loop was asked an operation ran, which ran so often; None where that cannot be told."""
        asked = self.went_on.get(loop, [])
        # Nodes of the condition run once more than those of the body.
        ran = [i for i, does in enumerate(asked) if does or runs == len(asked)]
        for predicate, side in self.guards.get(op, ()):
            said = self.said.get(predicate, [])
            told = self.when(predicate.op, len(said), loop)
            if told is None:
                return None
            taken = {i for i, value in zip(told, said) if value == side}
            ran = [i for i in ran if i in taken]
        return ran if len(ran) == runs else None


class _Comparison:
    def __init__(self, a: Session, b: Session, fetches: Fetches, feed_dict: FeedDict | None,
                 options: tuple[RunOptions | None, RunOptions | None], tolerances: tuple[float | None, float | None],
                 most_bytes: int) -> None:
        self.tolerances, self.most_bytes, self.runs = tolerances, most_bytes, 0
        self.a = RepeatableStep(a, fetches, feed_dict, options[0])
        if not self.a.fetches:
            raise ValueError("there is nothing to compare: name tensors or operations as fetches")
        self.calls = ExpandedCalls(self.a.graph)
        self.expanded: dict[Operation, tuple[Operation, ...]] = {}  # calls that are looked into, what does their work
        self.passed_over: dict[Operation, str] = {}  # calls that are not, why
        self.there: dict[Operation, Operation] = {}  # of what does that work, the same in the other graph
        there = [self._there(b.graph, one) for one in self.a.fetches]
        self.b = RepeatableStep(b, there, {self._there(b.graph, x): value for x, value in self.a.feeds.items()}, options[1])
        self.own = self.b.values  # what the other session has, before and afterwards
        common = {name: value for name, value in self.a.values.items() if name in self.b.variables}
        for name, value in common.items():
            self._check_fits(name, np.asarray(value))
        self.b.values = {**self.own, **common}
        self._arrange(self.a.ops)

    def _arrange(self, ops: list[Operation]) -> None:
        self.nesting, self.around = steps.nesting(ops), steps.loops(ops)
        self.order = {op: place for place, op in enumerate(ops)}

    def _check_fits(self, name, value):
        """A variable of the other way must be able to have the value, and have one like it, where it has any."""
        op = self.b.variables[name]
        kind = dtypes.as_dtype(op.get_attr("dtype")).base_dtype.name
        shape = list(np.shape(self.own[name])) if name in self.own else TensorShape(op.get_attr("shape"))
        mine = self.a.variables[name]
        mine_kind = dtypes.as_dtype(mine.get_attr("dtype")).base_dtype.name
        fits = shape == list(value.shape) if isinstance(shape, list) else shape.is_compatible_with(value.shape)
        if kind != mine_kind or not fits:
            raise ValueError(f"the variable '{name}' is {mine_kind} {list(value.shape)} in the first session and {kind} {shape} in the other")

    def _there(self, graph, one):
        if graph is self.a.graph:
            return one
        op = one.op if isinstance(one, Tensor) else one
        try:
            if op in self.there:
                return self.there[op].outputs[one.value_index] if isinstance(one, Tensor) else self.there[op]
            if self.calls.around(op) is not None:
                raise KeyError
            return graph.as_graph_element(one.name)
        except (IndexError, KeyError, ValueError) as error:
            raise ValueError(f"the graph of the other way lacks '{one.name}'") from error

    def _draw(self, share_random):
        random = [x for x in self.a.random() if self._is_in_both(x)]
        self.a.draw(random)
        others = [self._there(self.b.graph, x) for x in random]
        if share_random:
            self.b.draws = dict(zip(others, self.a.draws.values()))
        else:
            self.b.draw(others)
        self.unshared = [] if share_random else random

    def _is_in_both(self, x):
        try:
            return self._there(self.b.graph, x).dtype == x.dtype
        except ValueError:
            return False

    def _how_missing(self, x):
        try:
            return f"{x.dtype.name} in the first graph, {self._there(self.b.graph, x).dtype.name} in the other"
        except ValueError:
            return "the graph of the other way has no such node"

    # ---- values ----
    def compare(self, share_random: bool, restores_b: bool) -> RunComparison:
        try:
            self.b.write(self.b.values)
            self._draw(share_random)
            differences = self._outcomes()
            report = RunComparison(self.compared, {name: one for name, (one, _) in differences.items()})
            if differences:
                report.first = self._first(differences)
                if self.a.not_drawn():
                    report.notes.append(f"{self.a.not_drawn_text()}, and cannot be shared")
                report.notes += [f"'{call.name}' is not looked into: {why}" for call, why in self.passed_over.items()]
            report.runs = self.runs
        finally:
            self.a.write(self.a.values)
            if restores_b:
                self.b.write({**self.b.values, **self.own})
        # No operation takes a value away from every kind of variable.
        for step, before, said in ((self.a, self.a.values, "the first"), (self.b, self.own, "the other")):
            made = [name for name in step.read() if name not in before] if step is self.a or restores_b else []
            if made:
                report.notes.append(f"had no value in {said} session and have one now: {', '.join(made)}")
        return report

    def _outcomes(self) -> dict[str, tuple[ValueDifference, Tensor | None]]:
        """Of what the step gives and leaves: {name: (difference, tensor, or None for a variable)}."""
        tensors = [x for x in self.a.fetches if isinstance(x, Tensor)]
        rest = [one for one in self.a.fetches if not isinstance(one, Tensor)]
        found: dict[str, tuple[ValueDifference, Tensor | None]] = {}
        got_a, got_b = self.a.run([tensors, rest])[0], self.b.run([[self._there(self.b.graph, x) for x in tensors],
                                                                  [self._there(self.b.graph, op) for op in rest]])[0]
        self.runs += 1
        for x, p, q in zip(tensors, got_a, got_b):
            one = difference(p, q, *self.tolerances)
            if one is not None:
                found[x.name] = (one, x)
        after_a, after_b = self.a.read(), self.b.read()
        self.compared = len(tensors) + len(after_a)
        for name, value in after_a.items():
            if name in after_b:
                one = difference(value, after_b[name], *self.tolerances)
                if one is not None:
                    found[name] = (one, None)
        return found

    def _differing(self, tensors: Sequence[Tensor]) -> list[tuple[Tensor, ValueDifference]]:
        """Those of the tensors that differ when they are fetched in one run."""
        got_a = self.a.run(list(tensors))
        got_b = self.b.run([self._there(self.b.graph, x) for x in tensors])
        self.runs += 1
        found = ((x, difference(p, q, *self.tolerances)) for x, p, q in zip(tensors, got_a, got_b))
        return [(x, one) for x, one in found if one is not None]

    # ---- the search ----
    def _first(self, differences):
        tensors = [x for one, x in differences.values() if x is not None]
        written = {op: [v.name for v in variable_nodes.written_by(op) if v.name in differences] for op in self.a.ops}
        start = min({x.op for x in tensors} | {op for op, names in written.items() if names}, key=self.order.__getitem__, default=None)
        if start is None:
            return None
        named = next(iter(written[start]), None)
        if named is not None:
            known = (named, differences[named][0])
        else:
            x = next(x for x in tensors if x.op == start)
            known = (x.name, differences[x.name][0])
        while True:
            # A difference may vanish on the way, where a binary search does not see it; inputs that differ are seen in any case.
            earlier = self._earliest(self._before(start)) or self._earliest(self._nearest(start))
            if earlier is None:
                within = self._within(start, *known)
                if within is None:
                    break
                start, known = within
            else:
                start, known = earlier[0].op, (earlier[0].name, earlier[1])
        return self._named(start, *known)

    def _before(self, op: Operation) -> list[Tensor]:
        """What an operation is computed from and can be compared, in order."""
        return self._going_back(op, lambda x: False)

    def _nearest(self, op: Operation) -> list[Tensor]:
        """Of these, the nearest ones."""
        return self._going_back(op, self._can_be_compared)

    def _going_back(self, op: Operation, ends_at: Callable[[Tensor], bool]) -> list[Tensor]:
        found: set[Tensor] = set()
        waiting = list(op.inputs)
        while waiting:
            x = waiting.pop()
            if x not in found and x not in self.a.feeds and x.op in self.order:
                found.add(x)
                if not ends_at(x):
                    waiting.extend(x.op.inputs)
        return sorted(filter(self._can_be_compared, found), key=lambda x: (self.order[x.op], x.value_index))

    def _can_be_compared(self, x):
        shared = x in self.a.draws and x not in self.unshared
        is_one_constant = x.op.type == "Const" and self.a.graph is self.b.graph
        return x not in self.a.feeds and self.nesting[x.op] == 0 and steps.has_value(x) and not is_one_constant and not shared and \
            self._is_in_both(x)

    def _earliest(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ValueDifference] | None:
        """The first of them that differs, as far as a binary search over blocks finds it."""
        blocks = list(self._blocks(tensors))
        low, high, best = 0, len(blocks), None
        while low < high:
            middle = (low + high) // 2
            differing = self._differing(blocks[middle])
            if differing:
                best, high = differing[0], middle
            else:
                low = middle + 1
        return best

    def _blocks(self, tensors):
        block: list[Tensor] = []
        size = 0
        rows = max((np.shape(v)[0] for v in self.a.feeds.values() if np.ndim(v) > 0), default=1)
        for x in tensors:
            dims = x.shape.as_list() if x.shape.ndims is not None else []
            of_this = int(np.prod([rows if d is None else d for d in dims], dtype=np.float64)) * max(x.dtype.base_dtype.size or 8, 1)
            if block and (size + of_this > self.most_bytes or len(block) == _MOST_TENSORS):
                yield block
                block, size = [], 0
            block.append(x)
            size += of_this
        if block:
            yield block

    # ---- calls ----
    def _look_into(self, call: Operation) -> tuple[Tensor, ...] | None:
        """Makes what a call does a part of what is searched, in both ways; gives what stands for its outputs, None for what cannot be looked into."""
        made = None if call in self.expanded or call in self.passed_over else self.calls.expand(call)
        if made is None:
            return None
        theirs = made if self.a.graph is self.b.graph else self._expand_there(call)
        if isinstance(made, str) or not isinstance(theirs, ExpandedCall):
            self.passed_over[call] = made if isinstance(made, str) else theirs or "the other graph has no such call"
            return None
        others = theirs.by_name()
        self.there.update((op, others[name]) for name, op in made.by_name().items() if name in others)
        self.expanded[call] = made.ops
        self._arrange(steps.needed([*self.a.fetches, *(op for ops in self.expanded.values() for op in ops)],
                                   self.a.feeds))
        if self.nesting[call] > 0:
            return made.outputs
        return made.outputs if self._draw_in(made) else None

    def _expand_there(self, call):
        try:
            there = self._there(self.b.graph, call)
        except ValueError:
            return "the graph of the other way lacks it"
        return ExpandedCalls(self.b.graph).expand(there)

    def _draw_in(self, made):
        """What a call outside of loops draws, each way asks for once, as for what the step draws itself: else a queue would run empty."""
        drawn = [x for op in made.ops if self.nesting[op] == 0 for x in drawn_by(op) if self._is_in_both(x)]
        try:
            self.a.draw(drawn)
            self.b.draw([self._there(self.b.graph, x) for x in drawn])
        except errors.OpError as error:
            del self.expanded[made.call]
            self.passed_over[made.call] = f"what it draws cannot be drawn once more: {error.message}"
            return False
        self.unshared += drawn
        return True

    def _within(self, call: Operation, name: str, found: ValueDifference) -> tuple[Operation, tuple[str, ValueDifference]] | None:
        """Where in a call a tensor or variable gets the value that differs; None for what is no call, and where nothing in it differs."""
        outputs = self._look_into(call)
        if outputs is None:
            return None
        for x, inside in zip(call.outputs, outputs):
            if x.name == name:
                differing = self._differing([inside]) if self._can_be_compared(inside) else []
                return (inside.op, (inside.name, differing[0][1])) if differing else None
        writers = (op for op in sorted(self.expanded[call], key=self.order.__getitem__)
                   if any(variable.name == name for variable in variable_nodes.written_by(op)))
        return next(((op, (name, found)) for op in writers), None)

    # ---- the node ----
    def _named(self, op, tensor, found):
        missing = next((x for x in op.inputs if x not in self.a.feeds and not self._is_in_both(x)), None)
        if missing is not None:
            note = f"{op.type} '{tensor}', which reads it: {found}"
            return self._placed(DifferingNode(missing.op, missing.name, ValueDifference(self._how_missing(missing)), note=note))
        inside = self._inside(op)
        if not inside:
            return self._placed(DifferingNode(op, tensor, found, note=self._note_of(op, tensor)))
        body = None if self._comes_back(op, inside) else self._in_body(op, inside)
        around = self._closed_by(op, inside) if body is None else self.around[body[0].op]
        names = [self.calls.name_outside(steps.frame_of(enter), enter) for enter in around]
        branch = "" if names else self.calls.name_outside(op.name.rpartition("/")[0] or op.name, op)
        if body is None:
            return self._placed(DifferingNode(op, tensor, found, names[0] if names else "", branch=branch))
        x, iterations, one = body
        if not names or steps.may_overtake(around):
            iterations = (None,) * len(names)
        *outer, (loop, iteration) = zip(names, iterations) if names else [("", None)]
        return self._placed(DifferingNode(x.op, x.name, one, loop, iteration, branch=branch, outer=tuple(outer)))

    def _placed(self, node: DifferingNode) -> DifferingNode:
        """A node of a called function, as the program knows it."""
        place = self.calls.place_of(node.op)
        if place is None:
            return node
        name, _, output = node.tensor.rpartition(":")
        tensor = f"{place.node}:{output}" if name == node.op.name else node.tensor
        return dataclasses.replace(node, tensor=tensor, function=place.function, calls=place.calls)

    def _note_of(self, op, tensor):
        """Fetching a node's inputs keeps it from being fused with them."""
        if op in self.expanded:
            return "nothing in it differs when its values are fetched: what differs is made where nodes run as one, or from run to run"
        if op in self.passed_over:
            return ""
        outputs = [x for x in op.outputs if x.name == tensor]
        inputs = [x for x in op.inputs if self._can_be_compared(x)]
        if outputs and inputs and not self._differing([*inputs, *outputs]):
            return "it differs only where its inputs are not fetched beside it: it runs as one node with them, or differs from run to run"
        return ""

    def _inside(self, op):
        """The operations of the loop or branch whose value an operation gives, or in which it writes a variable, in order."""
        lies_in_one = self.nesting[op] > 0
        if op.type.removeprefix("Ref") not in ("Exit", "Merge") and not lies_in_one:
            return []
        found: set[Operation] = set()
        waiting = [op] if lies_in_one else [x.op for x in op.inputs]
        while waiting:
            one = waiting.pop()
            # What an operation writes with comes from its own iteration.
            if one not in found and self.nesting.get(one, 0) > 0 and not (lies_in_one and one.type.endswith("NextIteration")):
                found.add(one)
                waiting.extend([*(x.op for x in one.inputs), *one.control_inputs, *self.expanded.get(one, ())])
        return sorted(found, key=self.order.__getitem__)

    def _comes_back(self, op, inside):
        """Whether a loop reads a variable that an operation in it writes, so that what differs in it may do so because of the operation."""
        written = variable_nodes.written_by(op)
        return any(one != op and steps.can_be_looked_at(one) and self.around[one] and not {*written}.isdisjoint(variable_nodes.taken_by(one))
                   for one in inside)

    def _closed_by(self, op, inside):
        """An Enter of the loop that an operation closes or lies in; () where that is a branch."""
        if self.nesting[op] > 0:
            return self.around[op][:1]
        loops = [self.around[one] for one in inside if self.around[one]] if op.type.endswith("Exit") else []
        return loops[0][:1] if loops else ()

    def _in_body(self, op, inside):
        """(tensor, iterations of the loops around it, difference) of what differs first in a loop or branch; None where that cannot be told."""
        place = {one: i for i, one in enumerate(self._body_order(inside))}
        recorders = Recorder(self.a.session), Recorder(self.b.session)
        ops = [one for one in place if steps.can_be_looked_at(one) and one.type != "Const" and one not in self.expanded]
        found, runs, targets = {}, {}, self._targets(op)
        for begin in range(0, len(ops), _MOST_TENSORS):
            some = ops[begin:begin + _MOST_TENSORS]
            told = [self._told(recorder, step, some, targets) for recorder, step in zip(recorders, (self.a, self.b))]
            self.runs += 1
            for name, values in told[0].items():
                x = self.a.graph.as_graph_element(name)
                apart = self._iterations(values, told[1].get(name, []), steps.may_overtake(self.around[x.op]))
                if apart:
                    found[x], runs[x] = apart, len(values)
        if not found:
            return None
        guards = self._guards(place)
        is_counted = {x: bool(self.around[x.op]) and not steps.may_overtake(self.around[x.op]) and (len(self.around[x.op]) > 1 or bool(guards[x.op]))
                      for x in found}
        choices = self._choices(recorders[0], inside, guards, targets) if any(is_counted.values()) else _Choices(guards, {}, {})
        begins = {steps.frame_of(one): place[one] for one in sorted(place, key=place.__getitem__, reverse=True) if one.type.endswith("Enter")}
        moments = {x: self._moment(x, found[x][0][0], runs[x], {x.op: place[x.op], **begins}, choices) if is_counted[x]
                   else (found[x][0][0], place[x.op]) for x in found}
        if None in moments.values():
            return None
        x = min(self._surely_first(found) or found, key=moments.__getitem__)
        if self._look_into(x.op) is not None and self._runs_beside(x.op):
            within = self._in_body(op, self._inside(op))
            if within is not None and any(within[0].op in ops for ops in self.expanded.values()):
                return within
        return (x, moments[x][:-1:2], found[x][0][1])

    def _guards(self, order):
        """{operation: the branches, (predicate, side), that have to be taken for it to run}, each in its own loop; `order` has sources first."""
        guards: dict[Operation, frozenset[tuple[Tensor, int]]] = {}

        def through(x):
            if x.op.type.endswith("Enter"):
                return frozenset()
            is_of_branch = x.op.type.endswith("Switch") and x.op.inputs[1].op.type != "LoopCond"
            return guards.get(x.op, frozenset()) | ({(x.op.inputs[1], x.value_index)} if is_of_branch else set())

        for op in order:
            before = [through(x) for x in op.inputs]
            if op.type.endswith("Merge"):
                loops_back = any(x.op.type.endswith("NextIteration") for x in op.inputs)
                guards[op] = frozenset() if loops_back else frozenset.intersection(*before)
            elif op.type.endswith("Exit"):
                merge = op.inputs[0].op.inputs[0].op
                guards[op] = frozenset().union(*(guards.get(x.op, frozenset()) for x in merge.inputs if x.op.type.endswith("Enter")))
            else:
                guards[op] = frozenset().union(*before, *(guards.get(one, frozenset()) for one in op.control_inputs))
        return guards

    def _choices(self, recorder, inside, guards, targets):
        asked = {steps.frame_of(self.around[one][-1]): one.inputs[0] for one in inside if one.type == "LoopCond" and self.around[one]}
        predicates = {x for all_of_one in guards.values() for x, _ in all_of_one}
        told = self._told(recorder, self.a, {x.op for x in (*asked.values(), *predicates) if steps.can_be_looked_at(x.op)}, targets)
        self.runs += 1
        said = {x: [bool(value) for value in told[x.name]] for x in (*asked.values(), *predicates) if x.name in told}
        return _Choices(guards, {name: said[x] for name, x in asked.items() if x in said}, said)

    def _moment(self, x, index, runs, place, choices):
        """When a node ran for that time of all its runs: (iteration, place) of each loop around it, the outermost first, its own place last. None
        where that cannot be told."""
        moment, op = (place[x.op],), x.op
        for enter in reversed(self.around[x.op]):
            loop = steps.frame_of(enter)
            ran = choices.when(op, runs, loop)
            if ran is None:
                return None
            ends = [i for i, does in enumerate(choices.went_on[loop]) if not does]
            asked = ran[index]
            index, runs, op = sum(end < asked for end in ends), len(ends), enter  # of the loop as a whole, in the one around it
            moment = (place[loop], asked - (ends[index - 1] + 1 if index > 0 else 0), *moment)
        return moment[1:]

    def _surely_first(self, found):
        """Where iterations come in any order: what differs in more of them than all that it reads, and so in one where its inputs are the same."""
        surely = []
        for x in found:
            before, waiting, seen = 0, [y for y in x.op.inputs], set()
            while waiting:
                y = waiting.pop()
                if y not in seen:
                    seen.add(y)
                    before += len(found.get(y, ()))
                    waiting.extend([] if steps.can_be_looked_at(y.op) else y.op.inputs)
            if steps.may_overtake(self.around[x.op]) and len(found[x]) > before:
                surely.append(x)
        return surely

    def _iterations(self, values, others, in_any_order):
        """(place, difference) of the values that differ; where iterations come in any order, of those that have none like them in the other way."""
        told = ((i, difference(p, q, *self.tolerances)) for i, (p, q) in enumerate(zip(values, others)))
        apart = [(i, one) for i, one in told if one is not None]
        if in_any_order and len(apart) <= _MOST_REORDERED:
            left, alone = [i for i, _ in apart], []
            for i, _ in apart:
                like = next((k for k in left if difference(values[i], others[k], *self.tolerances) is None), None)
                if like is None:
                    alone.append(i)
                else:
                    left.remove(like)
            apart = [(i, difference(values[i], others[k], *self.tolerances)) for i, k in zip(alone, left)]
        return apart

    def _body_order(self, inside):
        """Sources first, in one iteration: what leads to the next one comes last in the order of the step, and all that a loop begins with comes
        before it."""
        wanted, done, order = set(inside), set(), []
        begins = collections.defaultdict(list)
        for op in inside:
            if op.type.endswith("Enter"):
                begins[steps.frame_of(op)].extend(op.inputs)
        for root in inside:
            stack = [(root, False)]
            while stack:
                op, is_left = stack.pop()
                if is_left:
                    order.append(op)
                elif op not in done:
                    done.add(op)
                    stack.append((op, True))
                    inputs = begins[steps.frame_of(op)] if op.type.endswith("Enter") else op.inputs
                    before = [*(x.op for x in inputs), *self.expanded.get(op, ())]
                    stack.extend((one, False) for one in before if one in wanted and one not in done and not one.type.endswith("NextIteration"))
        return order

    def _targets(self, op):
        """What has all of a loop or branch run, whose value an operation gives or in which it lies, and the calls in it that are looked into."""
        made = self.calls.around(op)
        if made is not None and self.nesting[made.call] == 0:
            return [made.done]  # and not the call: what it has an effect on would change twice
        return [*self.a.fetches, *(self.calls.expand(call).tap for call in self.expanded if self.nesting[call] > 0 and self._runs_beside(call))]

    def _runs_beside(self, call):
        """Whether what a call does may be done once more in the same step: it changes no state."""
        changes = next((op for op in self.expanded[call] if variable_nodes.changes_state(op)), None)
        if changes is not None:
            place = self.calls.place_of(changes)
            self.passed_over[call] = f"it is in a loop or branch, and {changes.type} '{place.node if place else changes.name}' in it would run twice"
        return changes is None

    def _told(self, recorder, step, ops, targets):
        if step.changes_variables:
            step.write(step.values)
        ops = [self._there(step.graph, op) for op in ops]
        told: dict[str, list[Any]] = collections.defaultdict(list)
        for x, value in recorder.run(ops, [self._there(step.graph, one) for one in targets], {**step.feeds, **step.draws}, step.options)[1]:
            told[x.name].append(value)
        return told

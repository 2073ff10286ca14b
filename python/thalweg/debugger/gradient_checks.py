# SPDX-License-Identifier: Apache-2.0
"""check_gradients: gradients of a whole graph against differences, along directions."""
from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg import errors
from thalweg.debugger import steps
from thalweg.debugger.numbers import checked_count, checked_tolerance
from thalweg.debugger.repeatable import RepeatableStep, created_at
from thalweg.graph.ops import convert_to_tensor
from thalweg.graph.tensor import IndexedSlices, Tensor
from thalweg.operations.gradient_ops import gradients
from thalweg.variables.partitioners import PartitionedVariable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.base.typing import Array, FeedDict, TensorLike
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation
    from thalweg.messages import RunOptions

_FETCHED_AT_ONCE = 64  # tensors, where each is looked at once
_SHRINKS = (1.0, 0.5, 0.25)  # of the first step: the two that agree best count


@dataclasses.dataclass(frozen=True)
class CheckedGradient:
    """A derivative along one direction: of the loss by a variable or a tensor.

    `noise` is how far differences may be off by rounding and curvature; `is_known` is False where that hides any mistake.
    """

    name: str
    symbolic: float
    numeric: float
    noise: float
    tolerance: float
    is_connected: bool = True

    @property
    def difference(self) -> float:
        return abs(self.symbolic - self.numeric)

    @property
    def ok(self) -> bool:
        """Whether the two agree, and differences are fine enough to tell."""
        return not self.is_wrong and self.is_known

    @property
    def is_wrong(self) -> bool:
        """Whether the two disagree. A derivative that is no finite number agrees with nothing."""
        return not self.difference <= self.tolerance * max(abs(self.symbolic), abs(self.numeric)) + self.noise

    @property
    def is_known(self) -> bool:
        size = max(abs(self.symbolic), abs(self.numeric))
        return self.is_wrong or self.noise <= 0.5 * size or size == 0

    def __str__(self) -> str:
        said = "WRONG" if self.is_wrong else "ok" if self.is_known else "not known"
        without = "" if self.is_connected else " (no path to the loss)"
        return f"{said:9}  {self.symbolic: .6g} by the gradient{without}, {self.numeric: .6g} +- {self.noise:.2g} by differences: {self.name}"


@dataclasses.dataclass
class GradientCheck:
    """What check_gradients has found.

    `gradients` has for each variable its worst direction. Where one is wrong, `path` leads from the worst variable towards the loss, as long as
    gradients are wrong, and `operations` are those behind its last step: what they give has the right gradient, what they read has not. A loss that
    is NaN or infinite has no gradients: `not_finite` says where that begins, and there is no path.
    """

    gradients: list[CheckedGradient]
    path: list[Operation] = dataclasses.field(default_factory=list)
    operations: list[Operation] = dataclasses.field(default_factory=list)
    not_finite: str = ""  # where the loss itself is no number

    @property
    def ok(self) -> bool:
        """Whether all gradients are known to be right."""
        return all(one.ok for one in self.gradients)

    @property
    def worst(self) -> CheckedGradient | None:
        """The gradient that is most wrong, or least right."""
        return max(self.gradients, key=_badness, default=None)

    def __str__(self) -> str:
        lines = [str(one) for one in sorted(self.gradients, key=_badness, reverse=True)]
        if self.not_finite:
            lines.append(self.not_finite)
        if self.path:
            lines.append("wrong from the variable on: " + " -> ".join(op.name for op in self.path))
        if any(not one.is_known for one in self.gradients):
            lines.append("not known: rounding of the loss, or its curvature, hides so small a derivative; what would tell is a graph of float64, or "
                         "a loss without large terms that do not depend on the variable; leave one out of xs that must be 0, as of a bias that is "
                         "normalized away")
        lines += [f"the gradient goes wrong in {op.type} '{op.name}'{created_at(op)}" for op in self.operations]
        return "\n".join(lines)


def _badness(one: CheckedGradient) -> float:
    if not math.isfinite(one.difference):
        return math.inf
    return one.difference / (one.tolerance * max(abs(one.symbolic), abs(one.numeric)) + one.noise + 1e-300)


def check_gradients(loss: TensorLike, xs: Sequence[Any] | None = None, session: Session | None = None, feed_dict: FeedDict | None = None, *,
                    directions: int = 2, rtol: float | None = None, seed: int = 0, options: RunOptions | None = None) -> GradientCheck:
    """Compares the gradients of a loss with differences, variable by variable, and finds the operation whose gradient is wrong.

    A variable is moved along few directions, of all its elements at once: the loss is run six times for each, whatever the size of the variable. One
    direction is that of the gradient itself, the others are random. Variables are as before afterwards; random operations, iterators and queues are
    asked once, and all runs are fed what they gave.

    Parameters
    ----------
    loss : tensor
        Of any real type and shape; its elements are added up.
    xs : list of variables and tensors, optional
        By default, the trainable variables that the loss needs. A partitioned variable stands for its parts.
    session : Session, optional
        By default, the default one.
    feed_dict : dict, optional
    directions : int
        How many directions each of xs is moved along; at least 1.
    rtol : float, optional
        How far the two may be apart, beside what rounding and curvature explain. By default ten times the root of what the coarsest type between
        xs and loss resolves: 3.5e-3 of float32, 1.5e-7 of float64.
    seed : int
        Of the directions; at least 0.
    options : RunOptions, optional

    Returns
    -------
    GradientCheck
        Its `ok` says whether all agree, as far as differences can tell: none may be "not known". Its text is a line a variable, the worst first, and
        where the gradient goes wrong.

    Raises
    ------
    ValueError
        A number out of its bounds, no session, nothing to check, a loss or x that is no real floating-point number, or a loss that is random within
        loops or branches.

    Examples
    --------
    >>> w = tw.Variable([0.5, 1.5], name="w")
    >>> @tw.custom_gradient
    ... def cube(x):
    ...     return x ** 3, lambda dy: 2.0 * dy * x ** 2
    >>> with tw.Session() as session:
    ...     session.run(w.initializer)
    ...     right = tw.debugging.check_gradients(tw.reduce_sum(tw.sin(w)), [w], session)
    ...     wrong = tw.debugging.check_gradients(tw.reduce_sum(cube(w)), [w], session)
    >>> right.ok, wrong.ok, wrong.operations[0].type
    (True, False, 'Identity')
    """
    from thalweg.graph.default_session import get_default_session
    directions, seed, rtol = checked_count("directions", directions, 1), checked_count("seed", seed, 0), checked_tolerance("rtol", rtol)
    session = session or get_default_session()
    if session is None:
        raise ValueError("check_gradients needs a session: give one, or make one the default")
    with session.graph.as_default():
        loss = convert_to_tensor(loss)
    sources = _sources(loss, xs, session, feed_dict)
    checker = _Checker(loss, sources, session, feed_dict, directions, rtol, seed, options)
    try:
        return checker.check()
    finally:
        checker.step.write(checker.step.values)


@dataclasses.dataclass
class _Source:
    """What is moved: a variable, by its operation, or a tensor, by feeding it."""

    x: Any
    name: str
    variable: Operation | None
    tensors: list[Tensor]  # what others read


def _sources(loss, xs, session, feed_dict):
    if not loss.dtype.is_floating:
        raise ValueError(f"check_gradients needs a loss of a floating-point type, got {loss.dtype.base_dtype.name} '{loss.name}'")
    needed = steps.needed([loss], steps.flat_feeds(session.graph, feed_dict))
    if xs is None:
        variables = session.graph.get_collection("trainable_variables")
        xs = [v for v in variables if v.op in set(needed) and v.dtype.is_floating]
    found = []
    given = xs if isinstance(xs, (list, tuple)) else [xs]
    for x in itertools.chain.from_iterable(x if isinstance(x, PartitionedVariable) else [x] for x in given):
        op = getattr(x, "op", None)
        if op is not None and op.type in steps.VARIABLES:
            found.append(_Source(x, op.name, op, list(op.outputs)))
        elif isinstance(x, Tensor) and not x.dtype._is_ref_dtype:
            found.append(_Source(x, x.name, None, [x]))
        else:
            raise ValueError(f"check_gradients takes variables and tensors, got {x!r}")
        if not x.dtype.is_floating:
            raise ValueError(f"'{found[-1].name}' is {x.dtype.base_dtype.name}: gradients are checked of floating-point numbers")
    if not found:
        raise ValueError("there is nothing to check: the loss needs no trainable variable; name variables or tensors as xs")
    return found


class _Checker:
    def __init__(self, loss: Tensor, sources: list[_Source], session: Session, feed_dict: FeedDict | None, directions: int, rtol: float | None,
                 seed: int, options: RunOptions | None) -> None:
        self.loss, self.sources, self.directions = loss, sources, directions
        extra = [s.variable for s in sources if s.variable is not None]
        self.step = RepeatableStep(session, [loss], feed_dict, options, extra)
        tensors = [x for s in sources for x in s.tensors]
        self.step.draw(self.step.random(not_behind=tensors))
        self.between = self.step.computed_from(tensors)
        floats = {x.dtype.base_dtype for op in self.between for x in op.outputs if x.dtype.is_floating} | {loss.dtype.base_dtype}
        self.eps = max(_eps(t) for t in floats)
        self.rtol = min(10 * math.sqrt(self.eps), 0.25) if rtol is None else rtol
        self.random = np.random.RandomState(seed)

    def check(self) -> GradientCheck:
        self.step.refuse_unless_repeatable(self.loss, "check_gradients")
        found = self._check_all(self.sources)
        report = GradientCheck(found, not_finite=self._not_finite())
        if not report.not_finite and any(one.is_wrong for one in found):
            worst = self.sources[found.index(report.worst)]
            report.path, report.operations = self._where(worst)
        return report

    def _not_finite(self):
        """Where the loss becomes NaN or infinite, as a sentence; "" where it does not."""
        loss = np.asarray(self.step.run(self.loss), np.float64)
        if np.all(np.isfinite(loss)):
            return ""
        is_bad, said = (np.isnan, "NaN") if np.any(np.isnan(loss)) else (np.isinf, "infinite")
        tensors = [x for op in self.step.ops for x in op.outputs if self._can_be_moved(x)]
        bad = {self.loss}
        for begin in range(0, len(tensors), _FETCHED_AT_ONCE):
            some = tensors[begin:begin + _FETCHED_AT_ONCE]
            bad.update(x for x, value in zip(some, self.step.run(some)) if np.any(is_bad(np.asarray(value, np.float64))))
        here, seen = self.loss.op, set()
        while here not in seen:
            seen.add(here)
            here = next((x.op for x in self._nearest(here) if x in bad), here)
        return f"the loss is {said} at {here.type} '{here.name}'{created_at(here)}"

    def _nearest(self, op):
        """The nearest tensors that an operation is computed from and that can be fetched: before loops and branches."""
        found, waiting, seen = [], list(op.inputs), set()
        while waiting:
            x = waiting.pop(0)
            if x in seen or x.op not in self.step.nesting:
                continue
            seen.add(x)
            if self._can_be_moved(x):
                found.append(x)
            elif self.step.nesting[x.op] > 0 or not steps.has_value(x):
                waiting.extend(x.op.inputs)
        return found

    def _check_all(self, sources: Sequence[_Source]) -> list[CheckedGradient]:
        symbolic = self._gradients([s.x for s in sources])
        return [self._check(s, g, {self.loss: np.ones(())}) for s, g in zip(sources, symbolic)]

    def _gradients(self, xs):
        with steps.adding_to(self.step.graph):
            return gradients(self.loss, xs, name="checked_gradients")

    def _check(self, source: _Source, gradient: Any, weights: Mapping[Tensor, Array]) -> CheckedGradient:
        """The worst direction of a derivative: of the sum of some tensors, each times a constant."""
        value = self._value(source)
        slope = None if gradient is None else self.step.run(gradient)
        try:
            made = [self._along(source, value, slope, direction, weights) for direction in self._directions(value, slope)]
            # By chance a function may be flat along a direction, which says nothing.
            return max(made, key=lambda one: (one.is_wrong, one.is_known, _badness(one)))
        finally:
            if source.variable is not None:
                self.step.write({source.variable.name: value})

    def _value(self, source):
        if source.variable is not None:
            if source.variable.name not in self.step.values:
                raise errors.FailedPreconditionError(None, source.variable, f"variable '{source.variable.name}' has no value: initialize it first")
            return np.asarray(self.step.values[source.variable.name])
        fed = self.step.feeds.get(source.x)
        return np.asarray(self.step.run(source.x) if fed is None else fed, source.x.dtype.base_dtype.as_numpy_dtype)

    def _directions(self, value, slope):
        """Of the size of the value: each moves all elements by about the same."""
        size = float(np.sqrt(np.mean(np.square(value.astype(np.float64))))) if value.size else 0.0
        size = size if size > 0 and math.isfinite(size) else 1.0
        dense = _dense(slope, value.shape)
        length = float(np.sqrt(np.sum(np.square(dense)))) if dense is not None else 0.0
        for number in range(self.directions):
            signs = self.random.choice([-1.0, 1.0], value.shape) * self.random.uniform(0.5, 1.5, value.shape)
            if number == 0 and length > 0 and math.isfinite(length):
                # Random signs beside it, so that elements which it misses count, too.
                yield size * 0.5 * (dense / length * math.sqrt(value.size) + signs)
            else:
                yield size * signs

    def _along(self, source, value, slope, direction, weights):
        exact = value.astype(np.float64)
        # Half a step more than what values of this type resolve, and less than where most functions bend.
        first = max(_eps(source.x.dtype.base_dtype), self.eps) ** (1 / 3)
        estimates = []
        for shrink in _SHRINKS:
            t = first * shrink
            ahead, back = ((exact + s * t * direction).astype(value.dtype) for s in (1, -1))
            up, size_up = self._sum(source, ahead, weights)
            down, size_down = self._sum(source, back, weights)
            moved = (ahead.astype(np.float64) - back.astype(np.float64)) / (2 * t)
            symbolic = _product(slope, moved)
            rounding = 2 * self.eps * max(size_up, size_down) / t
            estimates.append((symbolic, (up - down) / (2 * t), rounding))
        pairs = [(abs(a[1] - b[1]) + b[2], b) for a, b in zip(estimates, estimates[1:])]
        noise, (symbolic, numeric, _) = min(pairs, key=lambda pair: pair[0] if math.isfinite(pair[0]) else math.inf)
        return CheckedGradient(source.name, symbolic, numeric, noise, self.rtol, slope is not None)

    def _sum(self, source, value, weights):
        """The weighted sum of the tensors, and the size of its largest part."""
        tensors = list(weights)
        if source.variable is not None:
            got = self.step.run(tensors, variables={source.variable.name: value})
        else:
            got = self.step.run(tensors, {source.x: value})
        parts = [np.asarray(g, np.float64) * weights[x] for x, g in zip(tensors, got)]
        return float(sum(p.sum() for p in parts)), float(max((np.abs(p).max() * math.sqrt(p.size) for p in parts if p.size), default=0.0))

    # ---- where it goes wrong ----
    def _where(self, source: _Source) -> tuple[list[Operation], list[Operation]]:
        """From a source towards the loss: the operations whose values have wrong gradients, and those behind the last of them that are to blame."""
        tensors = [x for op in self.step.ops if op in self.between for x in op.outputs if self._can_be_moved(x) and x != self.loss]
        gradient_of = dict(zip(tensors, self._gradients(tensors) if tensors else []))
        path: list[Operation] = []
        here = source
        while True:
            ahead = [_Source(x, x.name, None, [x]) for x in self._ahead(here.tensors) if x in gradient_of]
            checked = [(s, self._check(s, gradient_of.pop(s.x), {self.loss: np.ones(())})) for s in ahead]
            wrong = [(s, one) for s, one in checked if one.is_wrong]
            if not wrong:
                return path, self._blamed(here)
            here = max(wrong, key=lambda pair: _badness(pair[1]))[0]
            path.append(here.x.op)

    def _can_be_moved(self, x):
        return self.step.nesting[x.op] == 0 and steps.has_value(x) and x.dtype.is_floating

    def _ahead(self, tensors):
        """The nearest tensors that are computed from these and can be fed: beyond loops and branches."""
        found, waiting, seen = [], list(tensors), set()
        while waiting:
            for op in waiting.pop().consumers():
                if op not in self.between or op in seen:
                    continue
                seen.add(op)
                for x in op.outputs:
                    if self._can_be_moved(x):
                        found.append(x)
                    elif self.step.nesting[op] > 0 or not steps.has_value(x):
                        waiting.append(x)
        return found

    def _blamed(self, here):
        """Of the operations that read a tensor, those whose own gradients are wrong; all, where that is not to be known."""
        readers = [op for x in here.tensors for op in x.consumers() if op in self.between]
        if len(readers) < 2:
            return readers
        blamed = []
        for op in dict.fromkeys(readers):
            outputs = [x for x in op.outputs if x.dtype.is_floating and steps.has_value(x)]
            if not outputs or self.step.nesting[op] > 0:
                blamed.append(op)
                continue
            weights = {x: self.random.choice([-1.0, 1.0], np.shape(value)) for x, value in zip(outputs, self.step.run(outputs))}
            with steps.adding_to(self.step.graph):
                incoming = [convert_to_tensor(w.astype(x.dtype.base_dtype.as_numpy_dtype)) for x, w in weights.items()]
                [gradient] = gradients(outputs, [here.x], incoming, name="checked_gradients")
            if self._check(here, gradient, weights).is_wrong:
                blamed.append(op)
        return blamed or readers


def _eps(dtype):
    return {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}.get(dtype.name, 2.0**-2)


def _is_slices(slope):
    return hasattr(slope, "indices") and hasattr(slope, "values") and not isinstance(slope, (np.ndarray, IndexedSlices))


def _dense(slope, shape):
    if slope is None:
        return None
    if not _is_slices(slope):
        return np.asarray(slope, np.float64)
    dense = np.zeros(shape)
    np.add.at(dense, np.asarray(slope.indices), np.asarray(slope.values, np.float64))
    return dense


def _product(slope, moved):
    """The derivative along a direction, of the gradient."""
    if slope is None:
        return 0.0
    if _is_slices(slope):
        return float(np.sum(np.asarray(slope.values, np.float64) * moved[np.asarray(slope.indices)]))
    return float(np.sum(np.asarray(slope, np.float64) * moved))

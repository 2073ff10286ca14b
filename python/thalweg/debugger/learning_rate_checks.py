# SPDX-License-Identifier: Apache-2.0
"""check_learning_rate_zero: a training step with learning rate 0 must leave what is trained as it is."""
from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

import numpy as np

from thalweg.debugger import steps, variable_nodes
from thalweg.debugger.repeatable import RepeatableStep, created_at
from thalweg.graph import op_definitions
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any

    from thalweg.base.typing import FeedDict
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation
    from thalweg.messages import RunOptions


@dataclasses.dataclass(frozen=True)
class ChangedVariable:
    """A variable that the step has changed.

    `kind` is "trained"; "optimizer", what an optimizer keeps beside it; "statistics", as those of batch normalization; or "counter", of integers.
    `operations` are those that write it; of what an optimizer keeps beside its variable, those alone that write nothing else.
    """

    name: str
    kind: str
    largest: float  # change of an element
    operations: list[Operation]

    def __str__(self) -> str:
        made = "; ".join(f"{op.type} '{op.name}'{created_at(op)}" for op in self.operations)
        return f"'{self.name}' by at most {self.largest:.6g}" + (f", by {made}" if made else "")


@dataclasses.dataclass
class LearningRateCheck:
    """What check_learning_rate_zero has found.

    `changed` are variables that training changes and that must stay, `set_apart` others that the step has changed: what the optimizer keeps,
    statistics, counters. `losses` are the loss before and after, where one was given.
    """

    learning_rates: list[Tensor]
    unchanged: int
    changed: list[ChangedVariable]
    set_apart: list[ChangedVariable]
    losses: tuple[Any, Any] | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing that is trained has changed, and the loss has not."""
        return not self.changed and (self.losses is None or np.array_equal(*self.losses, equal_nan=True))

    def __str__(self) -> str:
        lines = [f"learning rate 0 at {', '.join(repr(x.name) for x in self.learning_rates) or 'a variable'}: {self.unchanged} variables unchanged"]
        lines += [f"CHANGED: {one}" for one in self.changed]
        if self.losses is not None and not self.ok and not self.changed:
            lines.append(f"CHANGED: the loss, from {self.losses[0]} to {self.losses[1]}")
        lines += [f"set apart ({one.kind}): {one}" for one in self.set_apart]
        return "\n".join(lines)


def check_learning_rate_zero(train_op: Any, session: Session, feed_dict: FeedDict | None = None, *, learning_rate: Any = None,
                             loss: Tensor | None = None, options: RunOptions | None = None) -> LearningRateCheck:
    """Runs a training step with learning rate 0 and names the variables that it changes all the same.

    Variables are as before afterwards.

    Parameters
    ----------
    train_op : operation, tensor or list of them
        The step.
    session : Session
        With variables that have values.
    feed_dict : dict, optional
    learning_rate : tensor or variable, optional
        What is set to 0. By default what the optimizers' operations of the step take as such; a step that has none of these needs it.
    loss : tensor, optional
        It must be the same before and after the step.
    options : RunOptions, optional

    Returns
    -------
    LearningRateCheck
        Its `ok` says whether all is well; `changed` names what is not, `set_apart` what the optimizer keeps, statistics and counters that change.

    Raises
    ------
    ValueError
        No operation of the step takes a learning rate, and none was given; one that was given has no effect, lies in a loop, or may not be 0
        (Ftrl's); or the loss is no tensor, or random within loops or branches.

    Examples
    --------
    >>> w = tw.Variable([1.0, 2.0], name="w")
    >>> step = tw.train.MomentumOptimizer(0.1, 0.9).minimize(tw.reduce_sum(w * w))
    >>> decay = tw.group(step, w.assign(w * 0.99))
    >>> with tw.Session() as session:
    ...     session.run(tw.global_variables_initializer())
    ...     good = tw.debugging.check_learning_rate_zero(step, session)
    ...     bad = tw.debugging.check_learning_rate_zero(decay, session)
    >>> good.ok, [one.name for one in good.set_apart], bad.ok, [one.name for one in bad.changed]
    (True, ['w/Momentum'], False, ['w'])
    """
    step = RepeatableStep(session, train_op, feed_dict, options)
    trained, kept = _of_optimizers(step)
    collected = {v.op.name for v in session.graph.get_collection("trainable_variables")}
    feeds, variables = _zero(step, learning_rate, trained)
    _check_effect(step, feeds, variables)
    if loss is not None:
        found = steps.flat_fetches(step.graph, loss)
        if len(found) != 1 or not isinstance(found[0], Tensor):
            raise ValueError(f"the loss must be a tensor of the graph, got {loss!r}")
        loss = found[0]
    outside = [] if loss is None else steps.needed([loss], step.feeds)
    if any(op.type in steps.VARIABLES and op.name not in step.variables for op in outside):
        step = RepeatableStep(session, train_op, feed_dict, options, outside)
    before = {**step.values, **variables}
    try:
        step.draw(step.random(not_behind=feeds))
        if loss is not None:
            step.refuse_unless_repeatable(loss, "check_learning_rate_zero", feeds, variables)
        first = None if loss is None else step.run(loss, feeds, variables)
        step.run(step.fetches, feeds, variables)
        after = step.read()
        losses = None if loss is None else (first, session.run(loss, {**step.feeds, **step.draws, **feeds}, options=options))
    finally:
        step.write(step.values)
    changed, set_apart, unchanged = [], [], 0
    for name, value in after.items():
        if np.array_equal(value, before.get(name), equal_nan=np.asarray(value).dtype.kind in "fc"):
            unchanged += 1
            continue
        kind = _kind(name, value, trained, kept, collected)
        one = ChangedVariable(name, kind, _largest(value, before.get(name)), _writers(step.ops, step.variables[name]))
        (changed if kind == "trained" else set_apart).append(one)
    return LearningRateCheck(list(feeds), unchanged, changed, set_apart, losses)


def _of_optimizers(step):
    """({variable: the tensors that are its learning rates}, {variables that optimizers keep}) by the operations that apply gradients."""
    trained: dict[str, list[Tensor]] = {}
    kept: set[str] = set()
    for op in step.ops:
        variable = variable_nodes.variable_of(op.inputs[0]) if op.inputs else None
        if variable is None:
            continue
        by_name = _named_inputs(op)
        if by_name is None:
            rate, scope = _of_rows(op, variable)
            if rate is None:
                continue
            kept.update(name for name, v in step.variables.items() if any(w.name.startswith(scope) for w in _writers(step.ops, v)))
        else:
            rate = by_name.get("lr", by_name.get("alpha"))
            others = map(variable_nodes.variable_of, op.inputs[1:])
            kept.update(other.name for x, other in zip(op.inputs[1:], others) if other is not None and not (rate is not None and x == rate))
        trained.setdefault(variable.name, []).extend([] if rate is None else [_outside(step, rate)])
    return trained, kept - set(trained)


def _named_inputs(op):
    """Of an operation that applies a gradient: {name of an argument: input}. None of others."""
    definition = op_definitions.definition_of(op.type) if "Apply" in op.type else None
    names = [arg.name for arg in definition.input_arg] if definition is not None else []
    return dict(zip(names, op.inputs)) if names[:1] == ["var"] and len(names) == len(op.inputs) else None


def _of_rows(op, variable):
    """(learning rate, scope) of the update of rows that an optimizer composes of other operations; (None, "") of another operation.

    Plain descent subtracts the gradient times the rate from rows, Adam the rate, corrected, times one average over the root of another.
    """
    scope = re.match(rf"(.*/)update_{re.escape(variable.name)}(_\d+)?/", op.name)
    if scope is None:
        return None, ""
    if op.type.endswith("ScatterSub") and op.inputs[2].op.type == "Mul":
        return op.inputs[2].op.inputs[1], scope[1]
    if op.type in ("AssignSub", "AssignSubVariableOp") and op.inputs[1].op.type == "RealDiv" and op.inputs[1].op.inputs[0].op.type == "Mul":
        rate = op.inputs[1].op.inputs[0]
        while rate.op.type in ("Mul", "RealDiv") and rate.op.name.startswith(scope[0]):  # the correction
            rate = rate.op.inputs[0]
        return rate, scope[1]
    return None, ""


def _outside(step, rate):
    """The learning rate where it can be fed: before it enters loops and branches."""
    while rate.op.type.removeprefix("Ref") in ("Switch", "Enter") or rate.op.type in ("Identity", "Cast") and step.nesting[rate.op]:
        rate = rate.op.inputs[0]
    return rate


def _check_effect(step, feeds, variables):
    """The learning rates must be fed outside of loops, change what writes variables, and be ones that may be 0."""
    loops = steps.inside_loops(step.ops)
    rates = [*feeds, *(x for name in variables for x in step.variables[name].outputs)]
    for rate in rates:
        if rate.op in loops:
            raise ValueError(f"the learning rate '{rate.name}' lies in a loop, where nothing can be fed: make it outside of the loop")
        reached = step.computed_from([rate])
        writers = [op for v in step.variables.values() for op in _writers(step.ops, v)]
        if not any(op in reached for op in writers):
            raise ValueError(f"'{rate.name}' is no learning rate of the step: no operation that changes a variable is computed from it")
        ftrl = next((op for op in writers if "ApplyFtrl" in op.type and op in reached), None)
        if ftrl is not None:
            raise ValueError(f"{ftrl.type} '{ftrl.name}' divides by its learning rate '{rate.name}', so that 0 is no rate there: "
                             "check_learning_rate_zero has nothing to say about Ftrl")


def _zero(step, learning_rate, trained):
    """(feeds, variables) that make the learning rate 0."""
    if learning_rate is None:
        rates = list(dict.fromkeys(x for tensors in trained.values() for x in tensors))
        if not rates:
            raise ValueError("no operation of the step takes a learning rate, as ApplyGradientDescent does: say what it is, as learning_rate=")
    else:
        rates = list(learning_rate) if isinstance(learning_rate, (list, tuple)) else [learning_rate]
    feeds, variables = {}, {}
    for rate in rates:
        op = getattr(rate, "op", None)
        if op is not None and op.type in steps.VARIABLES:
            if op.name not in step.values:
                raise ValueError(f"the learning rate '{op.name}' is a variable that the step does not need, or that has no value")
            variables[op.name] = np.zeros_like(step.values[op.name])
        elif isinstance(rate, Tensor):
            fed = step.feeds.get(rate)
            shape = np.shape(fed) if fed is not None else rate.shape.as_list() if rate.shape.is_fully_defined() else []
            feeds[rate] = np.zeros(shape, rate.dtype.base_dtype.as_numpy_dtype)
        else:
            raise ValueError(f"a learning rate must be a tensor or a variable of the graph, got {rate!r}")
    return feeds, variables


def _kind(name, value, trained, kept, collected):
    if name in trained or name in collected:
        return "trained"
    if np.asarray(value).dtype.kind in "iub":
        return "counter"
    return "optimizer" if name in kept else "statistics"


def _largest(value, before):
    if before is None or np.shape(value) != np.shape(before) or np.asarray(value).dtype.kind not in "fiubc":
        return float("inf")
    kind = np.complex128 if np.asarray(value).dtype.kind == "c" else np.float64
    return float(np.max(np.abs(np.asarray(value, kind) - np.asarray(before, kind)), initial=0.0))


def _writers(ops, variable):
    """Operations that write a variable, and not what an optimizer keeps beside it."""
    return [op for op in ops if variable_nodes.written_by(op)[:1] == [variable]]

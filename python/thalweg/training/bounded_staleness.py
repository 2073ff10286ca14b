# SPDX-License-Identifier: Apache-2.0
"""BoundedStalenessOptimizer: replicas run free, but none more than some steps ahead of the slowest (between papers B4.4 (a) and (b)).

What is known of the replicas is one variable where the global step is: a row a replica with the steps it has made, whether it is
away, present or asleep, and since when. A step changes it under a lock. A replica that is too far ahead sleeps in its train_op,
a dequeue, until another's step lets it go on: nobody looks again and again. A replica that has not ended a step for `lost_after`
seconds while another sleeps because of it counts as away till its next step: the hook of the one that sleeps has a timer.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, logging as tw_logging
from thalweg.control.control_flow import cond, while_loop
from thalweg.control.critical_section import CriticalSection
from thalweg.graph import graph as graph_module, ops
from thalweg.graph.graph import name_scope
from thalweg.operations import array_ops, data_flow_ops, math_ops
from thalweg.training.optimizer import Optimizer
from thalweg.training.step_watch import StepWatchHook
from thalweg.training.wrapped_optimizer import wrapping
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thalweg.base.typing import Gradient
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.training.session_run_hook import SessionRunHook
    from thalweg.variables.variables import Variable

_AWAY, _PRESENT, _ASLEEP = 0, 1, 2
_NOBODY = 2**62  # the slowest's steps where nobody is present


def _micros():
    """The clock where this is computed."""
    return math_ops.cast(ops.apply("Timestamp", []) * 1e6, dtypes.int64)


class _Table:
    """The replicas as vectors: steps, modes, and when (microseconds) each has begun what it does."""

    def __init__(self, state):
        self.steps, self.modes, self.since = array_ops.unstack(state, num=3, axis=1)
        self.now = array_ops.zeros_like(self.steps) + _micros()

    def packed(self):
        return array_ops.stack([self.steps, self.modes, self.since], axis=1)

    def slowest(self, but=None):
        """The steps of the slowest that is present; `but`: of the others."""
        there = self.modes > _AWAY
        if but is not None:
            there = there & ~but
        return math_ops.reduce_min(array_ops.where(there, self.steps, array_ops.zeros_like(self.steps) + _NOBODY))

    def set(self, which, steps=None, modes=None, since=None):
        """Changes rows where `which` is true; None leaves a column."""
        for name, value in (("steps", steps), ("modes", modes), ("since", since)):
            if value is not None:
                old = getattr(self, name)
                value = array_ops.zeros_like(old) + value
                setattr(self, name, array_ops.where(which, value, old))

    def let_in(self, which):
        """Those that are away go on from the slowest of the others, or from where the furthest has been."""
        slowest = self.slowest(but=which)
        start = array_ops.where(slowest < _NOBODY, slowest, math_ops.reduce_max(self.steps))
        self.set(which & math_ops.equal(self.modes, _AWAY), steps=start, modes=_PRESENT)


@wrapping
class BoundedStalenessOptimizer(Optimizer):
    """BoundedStalenessOptimizer(AdamOptimizer(), staleness=3, total_num_replicas=4, replica=task): at most 3 steps ahead.

    `staleness` 0: all make a step before any makes the next; large: asynchronous. Each replica calls it in its own graph, with
    its number, and uses the hook of make_session_run_hook(); in a plain session it runs join_op before its first step, and
    give_up_op where it wants to go on without those that are lost.
    """

    def __init__(self, opt: Optimizer, staleness: int, total_num_replicas: int, replica: int, lost_after: float = 60.0,
                 use_locking: bool = False, name: str = "bounded_staleness") -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        if not 0 <= staleness < 2**31:
            raise ValueError(f"staleness must be a number of steps from 0 to 2^31 - 1, got {staleness}")
        if total_num_replicas < 1 or not 0 <= replica < total_num_replicas:
            raise ValueError(f"replica must be from 0 to total_num_replicas - 1, got replica {replica} of {total_num_replicas}")
        if not 0 < lost_after < 2**31:
            raise ValueError(f"lost_after must be a positive number of seconds, got {lost_after}")
        self._staleness, self._total, self._replica = int(staleness), int(total_num_replicas), int(replica)
        self._lost_after = lost_after
        self._state = self._section = self._queues = self._columns = None
        self.join_op = self.leave_op = self.begin_op = self.give_up_op = None

    @property
    def steps(self) -> Tensor:
        """How many steps each replica has made; one that joins begins with those of the slowest."""
        self._check_applied()
        return self._columns[0]

    @property
    def modes(self) -> Tensor:
        """What each replica does: 0 is away, 1 is present, 2 sleeps."""
        self._check_applied()
        return self._columns[1]

    def _check_applied(self):
        if self._state is None:
            raise ValueError("Should be called after apply_gradients().")

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Gradient | None, Variable]], global_step: Variable | Tensor | None = None,
                        name: str | None = None) -> Operation:
        """A replica's train_op: applies its gradients, counts the step and sleeps while it is too far ahead."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if self._state is not None:
            raise ValueError("apply_gradients() was called before: one optimizer counts the steps of one train_op.")
        update = self._opt.apply_gradients(pairs, global_step)
        where = (global_step if global_step is not None else pairs[0][1]).op.device
        with name_scope(""), graph_module.device(where):
            with graph_module.control_dependencies(None):
                self._make_shared()
                self.begin_op = ops.group(*self._changed(self._begun_again, begun=False))
                self.join_op = ops.group(*self._changed(self._joined, begun=False))
                self.leave_op = ops.group(*self._changed(self._left))
                self.give_up_op = self._changed(self._given_up)
                self._columns = array_ops.unstack(self._state.read_value(), axis=1)
            with graph_module.control_dependencies([update]):
                target, asleep = self._changed(self._counted)
            return ops.group(self._sleep(target, asleep), name=name)

    def _make_shared(self):
        """What all replicas have in common, by name."""
        self._state = variables.Variable(
            array_ops.zeros([self._total, 3], dtypes.int64), trainable=False, collections=[], use_resource=True,
            name=f"{self._name}/state")  # in no collection: a checkpoint has nothing of it, join_op begins it
        self._section = CriticalSection(shared_name=f"{self._name}/lock")
        self._queues = [data_flow_ops.FIFOQueue(-1, dtypes.int64, shapes=[()], shared_name=f"{self._name}/go/{i}")
                        for i in range(self._total)]

    def _mine(self):
        return ops.constant([i == self._replica for i in range(self._total)])

    def _changed(self, change, begun=True):
        """What change(table) gives, after the table that it leaves is stored and those that may go on are told. `begun`: it is an
        error if nobody has joined before."""
        def locked():
            zeros = ops.constant([[0, 0, 0]] * self._total, dtypes.int64)
            table = _Table(self._state.read_value() if begun else cond(
                variables.is_variable_initialized(self._state), self._state.read_value, lambda: array_ops.identity(zeros)))
            slept, steps = math_ops.equal(table.modes, _ASLEEP), table.steps
            result = change(table)
            sleeps = math_ops.equal(table.modes, _ASLEEP) & self._too_far(table)
            goes = slept & ~sleeps
            table.set(goes & math_ops.equal(table.modes, _ASLEEP), modes=_PRESENT, since=table.now)
            with graph_module.control_dependencies([variables.assign(self._state, table.packed())]):
                return [self._tell(goes, steps), *result]
        return self._section.execute(locked)[1:]

    def _too_far(self, table):
        return table.steps - table.slowest() > self._staleness

    def _tell(self, which, steps):
        """Wakes replicas; what they get is the step that they sleep after, so that what is left of a sleep that a deadline has
        ended wakes nobody later."""
        return ops.group(*[queue.enqueue_many((array_ops.boolean_mask(steps[i:i + 1], which[i:i + 1]),))
                           for i, queue in enumerate(self._queues)])

    def _counted(self, table):
        """(the step that this replica has made, whether it sleeps after it)"""
        mine = self._mine()
        table.let_in(mine)
        table.set(mine, steps=table.steps + 1, modes=_PRESENT, since=table.now)
        table.set(mine & self._too_far(table), modes=_ASLEEP)
        return table.steps[self._replica], math_ops.equal(table.modes[self._replica], _ASLEEP)

    def _sleep(self, target, asleep):
        """Ends when this replica is told that it may go on after the step `target`."""
        def next_word(told):
            with graph_module.control_dependencies([told]):
                return self._queues[self._replica].dequeue()
        first = array_ops.where(asleep, -array_ops.ones_like(target), target)
        return while_loop(lambda told: math_ops.not_equal(told, target), next_word, [first], parallel_iterations=1,
                          back_prop=False)

    def _begun_again(self, table):
        """Nobody is there: each is let in by its next step."""
        table.set(ops.constant([True] * self._total), steps=0, modes=_AWAY)
        return [table.now[0]]

    def _joined(self, table):
        mine = self._mine()
        table.set(mine, modes=_AWAY, since=table.now)
        table.let_in(mine)
        return [table.now[0]]

    def _left(self, table):
        table.set(self._mine(), modes=_AWAY)
        return [table.now[0]]

    def _given_up(self, table):
        """(which replicas count as away from now on, in how many seconds to look again): those whose step this replica has slept
        for, if they have not ended one for lost_after."""
        limit = int(self._lost_after * 1e6)
        behind = (table.steps[self._replica] - table.steps > self._staleness) & math_ops.equal(table.modes, _PRESENT)
        asleep = array_ops.fill([self._total], math_ops.equal(table.modes[self._replica], _ASLEEP))
        left = table.since + limit - table.now
        held_by = behind & asleep
        lost = held_by & (left <= 0)
        table.set(lost, modes=_AWAY)
        left = array_ops.where(held_by & ~lost, left, array_ops.zeros_like(left) + limit)
        return lost, math_ops.cast(math_ops.reduce_min(left), dtypes.float64) / 1e6

    def make_session_run_hook(self, is_chief: bool = False) -> SessionRunHook:
        """A hook for MonitoredSession: this replica joins, leaves at its end, and meanwhile gives up those that are lost. The
        chief's lets all in anew when its session begins, since a checkpoint may have undone their steps."""
        return _BoundedStalenessHook(self, is_chief)


class _BoundedStalenessHook(StepWatchHook):
    """Keeps a replica among the others while its session lasts."""

    def __init__(self, optimizer, is_chief):
        super().__init__()
        self._optimizer, self._is_chief = optimizer, is_chief

    def begin(self):
        self._optimizer._check_applied()

    def after_create_session(self, session, coord):
        self._watch_no_more()
        if self._is_chief:
            session.run(self._optimizer.begin_op)
        session.run(self._optimizer.join_op)
        self._watch_steps(session, self._optimizer._lost_after, self._give_up)

    def _give_up(self, session):
        """In how many seconds to look again."""
        lost, again = session.run(self._optimizer.give_up_op)
        for replica in [i for i, is_lost in enumerate(lost) if is_lost]:
            tw_logging.warning("Replica %d has not ended a step for %s s: the others go on without it.", replica,
                               self._optimizer._lost_after)
        return again

    def end(self, session):
        self._watch_no_more()
        session.run(self._optimizer.leave_op)

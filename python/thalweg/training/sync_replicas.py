# SPDX-License-Identifier: Apache-2.0
"""SyncReplicasOptimizer: one update for the gradients of several replicas (papers B4.4b, 1604.00981).

Replicas put their gradients into accumulators beside the variables. The chief, in a thread of a QueueRunner, waits for
`replicas_to_aggregate` of each, applies their means, and puts tokens, the new global step, into a queue; a replica takes one
after each step. A gradient that was computed for another step than the one that is open is dropped: the steps of replicas that
are late (backup workers), and those of a time that a restored checkpoint has undone.
"""
from __future__ import annotations

import time
from typing import TYPE_CHECKING

from thalweg import dtypes, errors, logging as tw_logging
from thalweg.control.control_flow import cond
from thalweg.control.queue_runner import QueueRunner
from thalweg.graph import graph as graph_module, ops
from thalweg.graph.graph import GraphKeys, name_scope
from thalweg.graph.tensor import IndexedSlices
from thalweg.operations import array_ops, data_flow_ops, math_ops
from thalweg.training.optimizer import Optimizer
from thalweg.training.session_manager import _ready
from thalweg.training.step_watch import StepWatchHook
from thalweg.training.wrapped_optimizer import wrapping
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from thalweg.base.typing import Gradient
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.training.moving_averages import ExponentialMovingAverage
    from thalweg.training.session_run_hook import SessionRunHook
    from thalweg.variables.variables import Variable


_LONG = 30.0  # seconds of a step until its replica says what it waits for


class _UpdateRunner(QueueRunner):
    """The chief's thread. It waits for gradients until its session is closed, so nobody waits for it to end before."""

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        threads = super().create_threads(sess, coord, daemon, start)
        if coord:
            coord._forget_threads(threads[:len(self._enqueue_ops)])
        return threads


def _apart():
    """What the chief does has nothing to do with what the replica's gradients wait for."""
    return graph_module.control_dependencies(None)


def _read(variable):
    """The value that a variable has by then, read where the variable is."""
    with graph_module.colocate_with(variable.op):
        return variable.read_value()


def _after(op):
    with graph_module.control_dependencies([op]):
        return ops.constant(0)


def _emptied(accumulator, again):
    """Drops what an accumulator holds, if this begins again; gives how many gradients."""
    held = accumulator.num_accumulated()
    held = array_ops.where(again, held, array_ops.zeros_like(held))

    def drop():
        with graph_module.control_dependencies([accumulator.take_grad(held)[0] if isinstance(
                accumulator, data_flow_ops.SparseConditionalAccumulator) else accumulator.take_grad(held)]):
            return array_ops.identity(held)
    return cond(held > 0, drop, lambda: array_ops.identity(held))


@wrapping
class SyncReplicasOptimizer(Optimizer):
    """SyncReplicasOptimizer(AdamOptimizer(), replicas_to_aggregate=4, total_num_replicas=5): 1 of 5 may be late."""

    def __init__(self, opt: Optimizer, replicas_to_aggregate: int, total_num_replicas: int | None = None,
                 variable_averages: ExponentialMovingAverage | None = None,
                 variables_to_average: Sequence[Variable] | None = None, use_locking: bool = False,
                 name: str = "sync_replicas") -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        if total_num_replicas is None:
            total_num_replicas = replicas_to_aggregate
        tw_logging.info("SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s", replicas_to_aggregate,
                        total_num_replicas)
        self._replicas_to_aggregate, self._total_num_replicas = replicas_to_aggregate, total_num_replicas
        self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._gradients_applied = False
        self._global_step = self._local_step = self._sync_token_queue = self._chief_queue_runner = None
        self._accumulator_list = []  # (accumulator, device)
        self.local_step_init_op = self.chief_init_op = self.ready_for_local_init_op = None

    @property
    def num_dropped(self) -> Tensor:
        """How many steps of this replica came to nothing, as they were late."""
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return _read(self._dropped)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Gradient | None, Variable]], global_step: Variable | Tensor | None = None,
                        name: str | None = None) -> Tensor:
        """A replica's train_op: hands its gradients over and waits for a token, whose value it gives."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        with _apart():
            self._make_local_step()
        handed_over, aggregated = [], []
        with name_scope(None, self._name):
            tag = self._tag([g for g, _ in pairs])
            for grad, var in pairs:
                with graph_module.device(var.op.device):
                    aggregated.append((self._accumulated(grad, var, tag, handed_over), var))
        with graph_module.device(global_step.op.device), name_scope(""):
            with _apart():
                update = self._opt.apply_gradients(aggregated, global_step)
                sync_op = self._make_tokens(update)
                self._chief_queue_runner = _UpdateRunner(self._dummy_queue, [sync_op])
            with graph_module.control_dependencies([*handed_over, self._count_dropped(tag)]):
                train_op = variables.assign(self._local_step, self._sync_token_queue.dequeue())
        with _apart():
            self._make_chief_init()
        self._gradients_applied = True
        return train_op

    def _make_local_step(self):
        """The step that this replica computes for: its own, so on its own device whatever function places variables."""
        with graph_module.colocate_with(ops.no_op()):
            self._local_step = variables.Variable(
                array_ops.zeros([], self._global_step.dtype.base_dtype), trainable=False, name="sync_rep_local_step",
                collections=[GraphKeys.LOCAL_VARIABLES])
            self._dropped = variables.Variable(array_ops.zeros([], dtypes.int64), trainable=False, name="sync_rep_dropped",
                                               collections=[GraphKeys.LOCAL_VARIABLES])
        self.local_step_init_op = variables.assign(self._local_step, self._now())
        self.chief_init_op = self.local_step_init_op
        self.ready_for_local_init_op = variables.report_uninitialized_variables(variables.global_variables())

    def _now(self):
        """The global step as it is when this is computed."""
        return _read(self._global_step)

    def _tag(self, grads):
        """The step that gradients are for; -1, so that they are dropped, when it is not the open one."""
        ready = [g.values if isinstance(g, IndexedSlices) else g for g in grads if g is not None]
        with graph_module.device(self._global_step.op.device), graph_module.control_dependencies(ready):
            now, local = self._now(), _read(self._local_step)
            return array_ops.where(math_ops.equal(now, local), local, array_ops.fill([], ops.constant(-1, local.dtype.base_dtype)))

    def _accumulated(self, grad, var, tag, handed_over):
        """The mean over the replicas of a gradient."""
        if grad is None:
            return None
        shared = var.name + "/grad_accum"
        if isinstance(grad, IndexedSlices):
            with _apart():
                accumulator = data_flow_ops.SparseConditionalAccumulator(
                    grad.values.dtype.base_dtype, shared_name=shared)
                mean = accumulator.take_indexed_slices_grad(self._replicas_to_aggregate)
            handed_over.append(accumulator.apply_indexed_slices_grad(grad, local_step=tag))
        else:
            grad = ops.convert_to_tensor(grad)
            with _apart():
                accumulator = data_flow_ops.ConditionalAccumulator(grad.dtype.base_dtype, shape=var.shape, shared_name=shared)
                mean = accumulator.take_grad(self._replicas_to_aggregate)
            handed_over.append(accumulator.apply_grad(grad, local_step=tag))
        self._accumulator_list.append((accumulator, var.op.device))
        return mean

    def _count_dropped(self, tag):
        with graph_module.colocate_with(self._dropped.op):
            return variables.assign_add(self._dropped, math_ops.cast(tag < 0, dtypes.int64))

    def _make_tokens(self, update):
        """What the chief does after its update."""
        step_type = self._global_step.dtype.base_dtype
        self._sync_token_queue = data_flow_ops.FIFOQueue(-1, step_type, shapes=[()], name="sync_token_q",
                                                         shared_name="sync_token_q")
        self._dummy_queue = data_flow_ops.FIFOQueue(1, dtypes.int32, shapes=[()], name="dummy_queue", shared_name="dummy_queue")
        with graph_module.control_dependencies([update]):
            sync_op = self._sync_token_queue.enqueue_many((array_ops.fill([self._tokens_per_step], self._now()),))
        if self._variable_averages is not None:
            with graph_module.control_dependencies([sync_op]), name_scope(""):
                sync_op = self._variable_averages.apply(self._variables_to_average)
        return sync_op

    def _make_chief_init(self):
        """Accumulators begin at the global step. When they have begun before (what is in the dummy queue tells), it is without
        what is left in them of a time that a restored checkpoint has undone; replicas whose gradients are lost so get a
        token, to compute others."""
        begun, lost = [self.local_step_init_op], []
        with graph_module.device(self._global_step.op.device):
            again = self._dummy_queue.size() > 0
        for accumulator, device in self._accumulator_list:
            with graph_module.device(device):
                lost.append(_emptied(accumulator, again))
                with graph_module.control_dependencies(lost[-1:]):
                    begun.append(accumulator.set_global_step(self._now(), name="SetGlobalStep"))
        with graph_module.device(self._global_step.op.device), graph_module.control_dependencies(begun):
            tokens = array_ops.fill([math_ops.reduce_max(array_ops.stack(lost))], self._now())
            self.chief_init_op = ops.group(self._sync_token_queue.enqueue_many((tokens,)), cond(
                again, lambda: ops.constant(0), lambda: _after(self._dummy_queue.enqueue(0))))

    def get_chief_queue_runner(self) -> QueueRunner:
        """What runs the updates, in the chief."""
        if self._gradients_applied is False:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Puts the first tokens into the queue; without them replicas would wait for each other where fewer than
        replicas_to_aggregate of them are there."""
        if self._gradients_applied is False:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        if num_tokens == 0:
            return ops.no_op(name="no_init_tokens")
        return self._put_tokens(num_tokens)

    def _put_tokens(self, count):
        with graph_module.device(self._global_step.op.device), name_scope(""):
            return self._sync_token_queue.enqueue_many((array_ops.fill([count], self._now()),))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """A hook for MonitoredSession that prepares a replica, and in the chief runs the updates."""
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _SyncReplicasOptimizerHook(StepWatchHook):
    """Begins a session of a SyncReplicasOptimizer, and ends it: a replica that may be waiting for the last token, which another one has
    taken, finds one and sees that the last step is over. Meanwhile it says what a step waits for that lasts: the chief, or another
    replica, may have ended, and nobody else would tell."""

    def __init__(self, sync_optimizer, is_chief, num_tokens):
        super().__init__()
        self._optimizer, self._is_chief, self._num_tokens = sync_optimizer, is_chief, num_tokens
        self._init_tokens_op = self._runner = self._last_tokens_op = None
        self._awaited = self._begun = None

    def begin(self):
        if self._optimizer._gradients_applied is False:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        self._awaited = self._optimizer._now(), [accumulator.num_accumulated() for accumulator, _ in self._optimizer._accumulator_list]
        if self._optimizer._total_num_replicas > 1:
            self._last_tokens_op = self._optimizer._put_tokens(self._optimizer._total_num_replicas - 1)
        if self._is_chief:
            self._init_op, self._runner = self._optimizer.chief_init_op, self._optimizer.get_chief_queue_runner()
            self._init_tokens_op = self._optimizer.get_init_tokens_op(self._num_tokens)
        else:
            self._init_op = self._optimizer.local_step_init_op

    def after_create_session(self, session, coord):
        ready, message = _ready(self._optimizer.ready_for_local_init_op, session,
                                "Model is not ready for SyncReplicasOptimizer local init.")
        if not ready:
            raise RuntimeError("Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                               f"{self._init_op.name}, error: {message}")
        session.run(self._init_op)
        if self._init_tokens_op is not None:
            session.run(self._init_tokens_op)
        if self._runner is not None:
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)
        self._watch_steps(session, _LONG, self._tell)

    def before_run(self, run_context):
        self._begun = time.monotonic()
        super().before_run(run_context)

    def _tell(self, session):
        """In how many seconds to say it again: as many as the step has lasted."""
        lasted = time.monotonic() - self._begun
        step, held = session.run(self._awaited)
        needed = self._optimizer._replicas_to_aggregate
        held = min([*held, needed])
        tw_logging.warning("A step of this replica has lasted for %.0f s: after it the chief must apply the gradients of %d replicas for "
                           "step %d and hand out tokens. %d of %d gradients are there: has %s ended, or not begun?", lasted, needed, step,
                           held, needed, "the chief" if held == needed else "a replica or the chief")
        return lasted

    def end(self, session):
        self._watch_no_more()
        if self._last_tokens_op is None:
            return
        try:
            session.run(self._last_tokens_op)
        except (errors.AbortedError, errors.CancelledError, errors.UnavailableError) as error:
            tw_logging.info("The other replicas were given no last token: %s", error)

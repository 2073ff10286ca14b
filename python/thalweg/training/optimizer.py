# SPDX-License-Identifier: Apache-2.0
"""Optimizer: the base of all optimizers, and the steps of those that are written in Python.

A subclass overrides some of _create_slots, _prepare, _apply_dense, _apply_sparse, _resource_apply_dense,
_resource_apply_sparse and _finish. The optimizers of thalweg.train are the core's; a subclass of one that overrides such a
step is taken through Python as a whole, by the rules of optimizer_rules.py for the steps that it leaves.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control import replicas
from thalweg.control.differentiation import GradientTape
from thalweg.graph import graph, ops
from thalweg.graph.graph import GraphKeys, name_scope, site
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import IndexedSlices
from thalweg.operations import array_ops, math_ops
from thalweg.operations.gradient_ops import gradients
from thalweg.training import optimizer_rules
from thalweg.variables import save_slices, variable_scopes, variables
from thalweg.variables.init_ops import zeros_initializer
from thalweg.variables.variable_scopes import get_variable_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from thalweg.base.typing import Gradient
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.variables.variables import Variable

_STEPS = ("_create_slots", "_prepare", "_apply_dense", "_apply_sparse", "_apply_sparse_duplicate_indices", "_apply_sparse_shared",
          "_resource_apply_dense", "_resource_apply_sparse", "_resource_apply_sparse_duplicate_indices", "_finish",
          "_get_or_make_slot", "_zeros_slot", "_create_non_slot_variable")


def _var_key(var):  # a part of a distributed variable has the key of the whole
    return getattr(var, "_unique_id", None) or (var.graph, var.op.name)


def _deduplicate_indexed_slices(values, indices):
    """(sums of the rows that have the same index, each index once)."""
    unique, place = array_ops.unique(indices)[:2]
    return apply("UnsortedSegmentSum", [values, place, array_ops.shape(unique)[0]]), unique


class Optimizer(optimizer_rules.Rules):
    """Base of the optimizers: compute_gradients, apply_gradients, minimize.

    Parameters
    ----------
    use_locking : bool
        Whether updates of a variable exclude each other.
    name : str
        Begins the names of slots and updates.

    Raises
    ------
    ValueError
        If `name` is empty.

    Examples
    --------
    >>> w = tw.get_variable("w", initializer=3.0)
    >>> step = tw.train.GradientDescentOptimizer(0.5).minimize(tw.square(w))
    >>> with tw.Session() as sess:
    ...     sess.run(w.initializer)
    ...     sess.run(step)
    ...     print(sess.run(w))
    0.0
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2
    _kind = None  # the core's optimizer that a class is

    def __init__(self, use_locking: bool, name: str) -> None:
        self._set_up(use_locking, name)

    def _set_up(self, use_locking, name, use_nesterov=False, **parameters):
        """What the constructors of the optimizers here have in common."""
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name, self._nesterov, self._parameters = use_locking, name, use_nesterov, parameters
        self._in_graph = {}  # graph -> (the core's optimizer, its variables so far)
        self._of_core = {}  # graph -> whether the core takes its steps
        self._slots = {}  # slot -> {key of a variable: the slot's variable}
        self._non_slot_dict = {}
        self._set_rule_parameters()

    def get_name(self) -> str:
        """The name that the constructor was given."""
        return self._name

    def _is_of_core(self, target, constrained):
        """Whether nothing of the update is written by a subclass or constrained, and names are those of the variables."""
        if target not in self._of_core:
            own = target._executes or any(getattr(type(self), step, None) is not getattr(Optimizer, step, None) for step in _STEPS)
            scoped = get_variable_scope().name or graph.get_default_graph().get_name_scope()
            self._of_core[target] = self._kind is not None and not (own or scoped or constrained)
        return self._of_core[target]

    # ---- gradients ----
    def compute_gradients(self, loss: Tensor | Callable[[], Tensor], var_list: Variable | Sequence[Variable] | None = None,
                          gate_gradients: int = GATE_OP, aggregation_method: int | None = None,
                          colocate_gradients_with_ops: bool = False,
                          grad_loss: Gradient | None = None) -> list[tuple[Gradient | None, Variable]]:
        """Gradients of a loss with respect to variables: the first half of minimize().

        Parameters
        ----------
        loss : Tensor or callable
            What is to be small, of a floating type; or a function that gives it.
        var_list : sequence of Variable, optional
            All trainable variables by default.
        gate_gradients : int
            GATE_GRAPH lets nobody see a gradient before all are there; GATE_NONE and GATE_OP are alike here.
        aggregation_method : int, optional
            Of no effect here.
        colocate_gradients_with_ops : bool
            Whether gradients are computed where the operations are.
        grad_loss : Tensor, optional
            Gradient of the loss itself; ones by default.

        Returns
        -------
        list of (Tensor or IndexedSlices or None, Variable)
            None where the loss does not depend on the variable.

        Raises
        ------
        ValueError
            If there are no variables, the loss is of no floating type, or `gate_gradients` is none of the three.

        Examples
        --------
        >>> with tw.Session() as sess:
        ...     w = tw.Variable(3.0)
        ...     (gradient, variable), = tw.train.GradientDescentOptimizer(0.1).compute_gradients(w * w)
        ...     sess.run(w.initializer)
        ...     print(sess.run(gradient), variable is w)
        6.0 True
        """
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(f"gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                             f"Not {gate_gradients}")
        if graph.get_default_graph()._executes:
            return self._gradients_at_once(loss, var_list, grad_loss)
        if callable(loss):
            loss = loss()
        replica = replicas.of_a_replica()
        if replica is not None and replica.num_replicas_in_sync > 1 and not replicas.losses_are_sums():
            loss = loss / replica.num_replicas_in_sync
        if var_list is None:
            var_list = variables.trainable_variables() + graph.get_collection("trainable_resource_variables")
        var_list = list(var_list) if isinstance(var_list, (list, tuple)) else [var_list]
        if not var_list:
            raise ValueError("No variables to optimize.")
        self._assert_valid_dtypes([loss])
        found = gradients(loss, var_list, grad_ys=grad_loss, colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gate_gradients == Optimizer.GATE_GRAPH:
            found = array_ops.tuple_(found)
        return list(zip(found, var_list))

    def _gradients_at_once(self, loss, var_list, grad_loss):
        if not callable(loss):
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled.")
        with GradientTape() as tape:
            if var_list is not None:
                tape.watch(var_list)
            value = loss()
        var_list = list(tape.watched_variables() if var_list is None else var_list if isinstance(var_list, (list, tuple)) else [var_list])
        self._assert_valid_dtypes([value])
        return list(zip(tape.gradient(value, var_list, grad_loss), var_list))

    def minimize(self, loss: Tensor | Callable[[], Tensor], global_step: Variable | Tensor | None = None,
                 var_list: Variable | Sequence[Variable] | None = None, gate_gradients: int = GATE_OP,
                 aggregation_method: int | None = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
                 grad_loss: Gradient | None = None) -> Operation:
        """Adds what makes a loss smaller: compute_gradients() and apply_gradients().

        Parameters
        ----------
        loss : Tensor
            What is to be small, of a floating type.
        global_step : Variable, optional
            Counts the updates.
        var_list : sequence of Variable, optional
            What may change; all trainable variables by default.
        gate_gradients : int
            See compute_gradients().
        aggregation_method : int, optional
            Of no effect here.
        colocate_gradients_with_ops : bool
            Whether gradients are computed where the operations are.
        name : str, optional
            Name of the operation.
        grad_loss : Tensor, optional
            Gradient of the loss itself; ones by default.

        Returns
        -------
        Operation
            It has run when every variable is updated.

        Raises
        ------
        ValueError
            If there are no variables, or the loss depends on none of them.

        Examples
        --------
        >>> with tw.Session() as sess:
        ...     w = tw.Variable(3.0)
        ...     train_op = tw.train.GradientDescentOptimizer(0.1).minimize(tw.square(w - 1.0))
        ...     sess.run(tw.global_variables_initializer())
        ...     for _ in range(50):
        ...         sess.run(train_op)
        ...     print(round(float(sess.run(w)), 3))
        1.0
        """
        pairs = self.compute_gradients(loss, var_list=var_list, gate_gradients=gate_gradients,
                                       aggregation_method=aggregation_method,
                                       colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss)
        if all(g is None for g, _ in pairs):
            raise ValueError("No gradients provided for any variable, check your graph for ops that do not support "
                             f"gradients, between variables {[str(v) for _, v in pairs]} and loss {loss}.")
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def _valid_dtypes(self):
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _assert_valid_dtypes(self, tensors):
        for t in tensors:
            dtype = t.dtype.base_dtype
            if dtype not in self._valid_dtypes():
                raise ValueError(f"Invalid type {dtype!r} for {getattr(t, 'name', t)}, expected: "
                                 f"{[v for v in self._valid_dtypes()]}.")

    def _call_if_callable(self, param):
        return param() if callable(param) else param

    # ---- updates ----
    def apply_gradients(self, grads_and_vars: Iterable[tuple[Gradient | None, Variable]], global_step: Variable | Tensor | None = None,
                        name: str | None = None) -> Operation:
        """Updates variables by their gradients: the second half of minimize().

        Parameters
        ----------
        grads_and_vars : iterable of (Tensor or IndexedSlices or None, Variable)
            What compute_gradients() gave, changed or not; variables with None stay.
        global_step : Variable, optional
            Counts the updates.
        name : str, optional
            Name of the operation.

        Returns
        -------
        Operation
            It has run when every variable is updated and `global_step` is one higher.

        Raises
        ------
        ValueError
            If there are no variables, or there is no gradient for any of them.

        Examples
        --------
        >>> with tw.Session() as sess:
        ...     w = tw.Variable([1.0, 2.0])
        ...     train_op = tw.train.GradientDescentOptimizer(0.5).apply_gradients([(tw.constant([2.0, 4.0]), w)])
        ...     sess.run(w.initializer)
        ...     sess.run(train_op)
        ...     sess.run(w)
        array([0., 0.], dtype=float32)
        """
        pairs = [(g, v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        if all(g is None for g, _ in pairs):
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        pairs = [(g if g is None or isinstance(g, IndexedSlices) else convert_to_tensor(g), v) for g, v in pairs]
        replica = replicas.of_a_replica()
        if replica is not None:
            return replica.merge_call(self._apply_over_replicas, args=(*zip(*pairs), global_step, name))
        if replicas.here() is not None:
            raise RuntimeError("Under a distribution strategy gradients are applied in a replica, in a function of experimental_run_v2, so that "
                               "all parts of a variable change alike")
        if self._is_of_core(pairs[0][1].graph, any(getattr(v, "constraint", None) is not None for _, v in pairs)):
            update = self._apply_in_core(pairs, global_step, name)
        else:
            update = self._apply_in_python([(g, v) for g, v in pairs if g is not None], global_step, name)
        graph.add_to_collection(GraphKeys.TRAIN_OP, update)
        return update

    def _core_of(self, g):
        from thalweg import _core
        made = self._in_graph.get(g)
        if made is None:
            core = _core.Optimizer(self._kind, self._name, bool(self._use_locking), bool(self._nesterov))
            for name, value in self._parameters.items():
                value = self._call_if_callable(value)
                if not isinstance(value, (int, float)):
                    value = math_ops.cast(convert_to_tensor(value), dtypes.float32)
                core.set(name, value)
            made = self._in_graph[g] = (core, [])
        return made

    def _apply_in_core(self, pairs, global_step, name):
        target = pairs[0][1].graph
        with target.control_dependencies(None):
            core, known = self._core_of(target)
        given = [(g.values, g.indices, g.dense_shape) if isinstance(g, IndexedSlices) else g for g, _ in pairs]
        step = None if global_step is None else getattr(global_step, "_ref_tensor", global_step)
        with name_scope(name, self._name) as scope:
            first = target._num_nodes()
            update = core.apply_gradients(target, given, [v._ref_tensor for _, v in pairs], step, scope[:-1], site())
            target._adopt(first, scope)
            update = ops.group(update, name=scope)
        of = {v.op.name: v for _, v in pairs}
        for row in core.created(target)[len(known):]:
            handle, initializer, value, primary, slot = row
            made = variables.Variable._of(handle, initializer, value)
            if primary is not None:
                save_slices.follow(made, of.get(primary.op.name))
            known.append((made, primary, slot))
            target.add_to_collection(GraphKeys.GLOBAL_VARIABLES, made)
        return update

    def _apply_in_python(self, pairs, global_step, name):
        with graph.control_dependencies(None):
            self._create_slots([v for _, v in pairs])
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = []
            for g, v in pairs:
                with name_scope("update_" + v.op.name), graph.colocate_with(v.op):
                    updates.append(self._update(g, v))
            if global_step is None:
                return self._finish(updates, scope)
            with graph.control_dependencies([self._finish(updates, "update")]), graph.colocate_with(global_step.op):
                step = variables.assign_add(global_step, 1, name=scope)
                return step if not hasattr(step, "op") or getattr(global_step, "_resource", False) else step.op

    def _apply_over_replicas(self, strategy, gradients_of_all, var_list, global_step, name):
        """Each part of each variable is updated by the sum of the gradients of all replicas."""
        pairs = [(g, v) for g, v in zip(gradients_of_all, var_list) if g is not None]
        reduced = strategy.extended.batch_reduce_to("SUM", pairs)
        with graph.control_dependencies(None):
            self._create_slots([v for _, v in pairs])
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates = [strategy.extended.update(v, lambda part, g: self._update(g, part), args=(g,)) for g, (_, v) in zip(reduced, pairs)]
            finished = self._finish(updates, scope if global_step is None else "update")
            if global_step is not None:
                with graph.control_dependencies([finished]):
                    finished = ops.group(variables.assign_add(global_step, 1), name=scope)
        graph.add_to_collection(GraphKeys.TRAIN_OP, finished)
        return finished

    def _update(self, g, v):
        """The update of one variable, put back to where its constraint wants it."""
        resource = getattr(v, "_resource", False)
        if isinstance(g, IndexedSlices):
            if getattr(v, "constraint", None) is not None and resource:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            update = self._resource_apply_sparse_duplicate_indices(g.values, v, g.indices) if resource \
                else self._apply_sparse_duplicate_indices(g, v)
        else:
            update = self._resource_apply_dense(g, v) if resource else self._apply_dense(g, v)
        if getattr(v, "constraint", None) is None:
            return update
        with graph.control_dependencies([update]):
            return v.assign(v.constraint(v.read_value()))

    # ---- what subclasses override ----
    def _create_slots(self, var_list):
        """Makes the slots of the variables."""
        self._create_rule_slots(var_list)

    def _prepare(self):
        """Makes tensors of the parameters."""
        self._prepare_rule()

    def _apply_dense(self, grad, var):
        return self._apply_rule(grad, var, "_apply_dense")

    def _resource_apply_dense(self, grad, handle):
        return self._apply_rule(grad, handle, "_resource_apply_dense")

    def _apply_sparse_duplicate_indices(self, grad, var):
        """_apply_sparse of each row once; plain descent needs no such care, and goes past _apply_sparse as in TensorFlow."""
        if self._kind == "GradientDescent":
            return self._apply_sparse_rule(grad.values, var, grad.indices, "_apply_sparse")
        values, indices = _deduplicate_indexed_slices(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        if self._kind == "GradientDescent":
            return self._apply_sparse_rule(grad, handle, indices, "_resource_apply_sparse")
        values, unique = _deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(values, handle, unique)

    def _apply_sparse(self, grad, var):
        return self._apply_sparse_rule(grad.values, var, grad.indices, "_apply_sparse")

    def _resource_apply_sparse(self, grad, handle, indices):
        return self._apply_sparse_rule(grad, handle, indices, "_resource_apply_sparse")

    def _finish(self, update_ops, name_scope):
        """The operation that has run when all updates have."""
        return self._finish_rule(update_ops, name_scope)

    # ---- slots ----
    def _slot_dict(self, slot_name):
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var, val, slot_name, op_name):
        """The slot of this name of a variable, which begins as `val`."""
        named = self._slot_dict(slot_name)
        if _var_key(var) not in named:
            named[_var_key(var)] = _new_slot(var, op_name, initializer=val)
        return named[_var_key(var)]

    def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, op_name):
        named = self._slot_dict(slot_name)
        if _var_key(var) not in named:
            named[_var_key(var)] = _new_slot(var, op_name, initializer=initializer, shape=shape, dtype=dtype)
        return named[_var_key(var)]

    def _zeros_slot(self, var, slot_name, op_name):
        """A slot that begins as zeros."""
        named = self._slot_dict(slot_name)
        if _var_key(var) not in named:
            named[_var_key(var)] = _new_slot(var, op_name, initializer=zeros_initializer(), shape=var.shape,
                                             dtype=var.dtype.base_dtype)
        return named[_var_key(var)]

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        """A variable of the optimizer that belongs to no other."""
        key = name, colocate_with.graph
        if key not in self._non_slot_dict:
            with optimizer_rules.variables_beside(colocate_with):
                self._non_slot_dict[key] = variables.Variable(initial_value, name=name, trainable=False,
                                                              use_resource=getattr(colocate_with, "_resource", False))
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name, graph=None):
        return self._non_slot_dict.get((name, graph))

    def _made(self):
        return [row for _, known in self._in_graph.values() for row in known]

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The slot of this name of a variable, or None."""
        found = self._slots.get(name, {}).get(_var_key(var))
        if found is not None:
            return found
        return next((made for made, primary, slot in self._made() if slot == name and primary == var._ref_tensor), None)

    def get_slot_names(self) -> list[str]:
        """The names of the slots, sorted."""
        return sorted({slot for _, primary, slot in self._made() if primary is not None} | set(self._slots))

    def variables(self) -> list[Variable]:
        """The optimizer's own variables."""
        own = [v for v in self._non_slot_dict.values()] + [s for named in self._slots.values() for s in named.values()]
        return sorted([made for made, _, _ in self._made()] + own, key=lambda v: v.name)


def _new_slot(primary, op_name, initializer, shape=None, dtype=None):
    whole = getattr(primary, "_shared_name", primary.op.name)
    with variable_scopes.variable_scope(None, f"{whole}/{op_name}", auxiliary_name_scope=False) as scope:
        name = scope.name
    with variable_scopes.variable_scope(variable_scopes.VariableScope(False), auxiliary_name_scope=False), \
            optimizer_rules.variables_beside(primary):
        made = variable_scopes.get_variable(name, shape, dtype, initializer, trainable=False,
                                            use_resource=getattr(primary, "_resource", False),
                                            validate_shape=primary.shape.is_fully_defined())
    save_slices.follow(made, primary)
    return made

# SPDX-License-Identifier: Apache-2.0
"""CriticalSection: operations that one step at a time runs."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.graph import graph, ops
from thalweg.graph.graph import add_to_collection, get_collection, name_scope
from thalweg.graph.ops import apply, convert_to_tensor
from thalweg.graph.tensor import Operation, Tensor
from thalweg.operations import array_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_SECTIONS, _EXECUTIONS = "critical_sections", "critical_section_executions"


class _Execution:
    """What one execute() locks and reads."""

    def __init__(self, op: Any, handle: Any, resources: Sequence[Any], exclusive_resource_access: bool) -> None:
        self.op, self.handle, self.resources = op, handle, resources
        self.exclusive_resource_access = exclusive_resource_access


class CriticalSection:
    """cs.execute(fn): the operations that fn makes run while the step holds the section's lock.

        cs = tw.CriticalSection()
        with tw.Session() as sess:  # steps of many threads lose no update
            sess.run(cs.execute(lambda: v.assign(v.read_value() + 1)))
    """

    def __init__(self, name: str | None = None, shared_name: str | None = None, critical_section_def: object = None,
                 import_scope: str | None = None) -> None:
        if critical_section_def is not None:
            raise ValueError("critical_section_def is not supported.")
        if import_scope is not None:
            raise ValueError("import_scope is only for critical_section_def, which is not supported.")
        with graph.get_default_graph().control_dependencies(None), name_scope(name, "CriticalSection") as scope:
            self._handle = apply("MutexV2", [], {"shared_name": shared_name or scope[:-1]}, scope)
        add_to_collection(_SECTIONS, self)

    @property
    def name(self) -> str:
        return self._handle.op.name

    def execute(self, fn: Callable[..., object], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """What fn() gives, a structure of tensors and operations; what fn makes runs under the lock."""
        if not callable(fn):
            raise TypeError(f"fn must be callable, got {type(fn).__name__}")
        with name_scope(name, "critical_section_execute"):
            lock = apply("MutexLock", [self._handle])
            made_before = len(graph.get_default_graph().get_operations())
            with graph.control_dependencies([lock]):
                result = fn()
            if result is None:
                raise ValueError("fn must give tensors or operations that are to run under the lock, got None")
            made = graph.get_default_graph().get_operations()[made_before:]
            resources = self._captured(made)
            self._check(resources, exclusive_resource_access)
            add_to_collection(_EXECUTIONS, _Execution(lock.op, self._handle, resources, exclusive_resource_access))
            return self._held(lock, result)

    def _captured(self, made):
        """Resources from outside that the operations read."""
        inside = set(made)
        found = []
        for op in made:
            for tensor in op.inputs:
                if tensor.dtype.name != "resource" or tensor.op in inside:
                    continue
                if tensor.op == self._handle.op:
                    raise ValueError("The function fn attempts to directly access the CriticalSection in which it would be "
                                     "running.  This is illegal and would cause deadlocks.")
                if all(tensor.name != other.name for other in found):
                    found.append(tensor)
        return found

    def _check(self, resources, exclusive):
        """Two sections must not have one resource, where one of them wants it alone."""
        for other in get_collection(_EXECUTIONS):
            if other.handle.op == self._handle.op or not (exclusive or other.exclusive_resource_access):
                continue
            shared = [r for r in resources if any(r.name == o.name for o in other.resources)]
            if shared:
                raise ValueError(f"This execution would access resources: {shared}.  Either this lock (CriticalSection: "
                                 f"{self._handle}) or lock '{other.op.name}' (CriticalSection: {other.handle}) requested "
                                 "exclusive resource access of this resource.  Did you mean to call execute with keyword "
                                 "argument exclusive_resource_access=False?")

    @staticmethod
    def _held(lock, result):
        """The result, behind an operation that keeps the lock until all of it is there."""
        values = [v if isinstance(v, (Operation, Tensor)) else convert_to_tensor(v) for v in nest.flatten(result)]
        with graph.control_dependencies([lock]):  # a value that fn only passes on waits for the lock too
            inside = [v if isinstance(v, Operation) else array_ops.identity(v) for v in values]
        with graph.control_dependencies(inside):
            release = apply("ConsumeMutexLock", [lock])
        with graph.control_dependencies([release]):
            after = [ops.group(v) if isinstance(v, Operation) else array_ops.identity(v) for v in inside]
        return nest.pack_sequence_as(result, after)

# SPDX-License-Identifier: Apache-2.0
"""One function for several replicas: a thread each, of which one runs at a time, so that all can wait for each other at a merge."""
from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from thalweg.control import replicas
from thalweg.distribute.contexts import ReplicaContext
from thalweg.distribute.values import regroup, select
from thalweg.graph import graph
from thalweg.variables import variable_scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

_SCOPES = ("scope", "device", "device_functions", "controls", "colocate", "context")


class _Ended(BaseException):
    """Ends a replica that waits, when another one has failed."""


class _Replica:
    """A replica that has not ended: it runs while its maker is in resume()."""

    def __init__(self, strategy, index, device, call):
        self.index, self.context, self._device, self._call = index, ReplicaContext(strategy, index, index), device, call
        self.context._thread, self._strategy = self, strategy
        self._target, self._store = graph.get_default_graph(), variable_scopes._store()
        self._state = {name: getattr(self._target._state, name) for name in _SCOPES}
        self._variable_scope, self._counts = self._store.scope, dict(self._store.scope_counts)
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.merge = self.result = self.error = None
        self.done = self._abandoned = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        self._go.acquire()
        try:
            if self._abandoned:
                return
            for name, value in self._state.items():
                setattr(self._target._state, name, value)
            with contextlib.ExitStack() as scopes:
                scopes.enter_context(self._target.as_default())
                scopes.enter_context(replicas.under(replicas.Replication(self._strategy, self.context)))
                if self.index:
                    scopes.enter_context(self._target.name_scope(f"replica_{self.index}"))
                scopes.enter_context(self._target.device(self._device))
                scopes.enter_context(variable_scopes.variable_scope(variable_scopes.get_variable_scope(), auxiliary_name_scope=False,
                                                                    reuse=True if self.index else None))
                self.result = self._call()
        except _Ended:
            pass
        except BaseException as e:
            self.error = e
        finally:
            self.done = True
            self._stopped.release()

    def resume(self):
        """Lets it run up to its next merge or its end; scopes of variables belong to the graph, so each replica brings its own."""
        store = self._store
        before = store.scope, store.scope_counts
        store.scope, store.scope_counts, self.merge = self._variable_scope, self._counts, None
        self._go.release()
        self._stopped.acquire()
        self._variable_scope, self._counts = store.scope, store.scope_counts
        store.scope, store.scope_counts = before
        if self.error is not None:
            raise self.error

    def wait_for(self, merge_fn, args, kwargs):
        """What the merge gives this replica."""
        if self._abandoned:  # it has caught what ended it
            raise _Ended
        self.merge = merge_fn, args, kwargs
        self.scopes = {name: getattr(self._target._state, name) for name in _SCOPES}
        self._stopped.release()
        self._go.acquire()
        if self._abandoned:
            raise _Ended
        return self.merged

    def abandon(self):
        """Ends its thread."""
        if not self.done:
            self._abandoned = True
            self._go.release()
        self._thread.join()


def call_for_each(strategy: Any, devices: Sequence[str], fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """fn of each replica's arguments on its device; a structure of the results of all."""
    made = [_Replica(strategy, i, device, lambda i=i: fn(*select(i, tuple(args)), **select(i, dict(kwargs))))
            for i, device in enumerate(devices)]
    try:
        while True:
            for replica in made:
                replica.resume()
            if all(replica.done for replica in made):
                return regroup([replica.result for replica in made])
            if any(replica.done for replica in made):
                raise RuntimeError("Some replicas made a different number of replica_context().merge_call() calls.")
            _merge(strategy, made)
    finally:
        for replica in made:
            replica.abandon()


def _merge(strategy, made):
    """Calls the merge of all replicas where the first one stands, behind what all wait for."""
    first, state = made[0], graph.get_default_graph()._state
    before = {name: getattr(state, name) for name in _SCOPES}
    for name in _SCOPES:
        setattr(state, name, first.scopes[name])
    state.device, state.device_functions = before["device"], before["device_functions"]
    state.controls = list(dict.fromkeys(control for replica in made for control in replica.scopes["controls"]))
    try:
        args, kwargs = regroup([replica.merge[1] for replica in made]), regroup([replica.merge[2] for replica in made])
        with replicas.under(replicas.Replication(strategy)):
            result = first.merge[0](strategy, *args, **kwargs)
    finally:
        for name, value in before.items():
            setattr(state, name, value)
    for replica in made:
        replica.merged = select(replica.index, result)

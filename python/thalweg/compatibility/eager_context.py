# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.eager.context and .tape, as libraries ask for them."""
from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from thalweg.eager.context import EagerGraph
from thalweg.eager.tapes import tapes
from thalweg.graph import device_lib, graph as graph_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Any

    from thalweg.graph.graph import Graph

GRAPH_MODE, EAGER_MODE = 0, 1
SYNC, ASYNC = 0, 1
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT, DEVICE_PLACEMENT_SILENT_FOR_INT32 = range(4)


def executing_eagerly() -> bool:
    """Whether operations of this thread run when they are made."""
    return graph_module.get_default_graph()._executes


in_eager_mode = executing_eagerly


def in_graph_mode() -> bool:
    """Whether operations of this thread are kept in a graph."""
    return not executing_eagerly()


def eager_mode() -> AbstractContextManager[Graph]:
    """with eager_mode(): operations run when they are made."""
    return EagerGraph().as_default()


def graph_mode() -> AbstractContextManager[Graph]:
    """with graph_mode(): operations go to the graph that is the default one, or to a new one."""
    found = graph_module.get_default_graph()
    return (graph_module.Graph() if found._executes else found).as_default()


def num_gpus() -> int:
    """How many GPUs there are: none."""
    return 0


def list_devices() -> list[str]:
    """The names of the devices."""
    return [d.name for d in device_lib.list_local_devices()]


@contextlib.contextmanager
def execution_mode(mode: int | None) -> Iterator[None]:
    """Every operation has run when it returns, whatever the mode."""
    set_execution_mode(mode)
    yield


def set_execution_mode(mode: int | None) -> None:
    """Every operation has run when it returns, whatever the mode."""
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")


def async_wait() -> None:
    """Nothing is under way."""


def async_clear_error() -> None:
    """There are no errors of what is under way."""


class Context:
    """What `context()` gives: asks and answers as the functions here."""

    executing_eagerly = staticmethod(executing_eagerly)
    num_gpus = staticmethod(num_gpus)

    def ensure_initialized(self) -> None:
        """It is."""

    @property
    def scope_name(self) -> str:
        """The scope of names that is open, with a / at its end."""
        scope = graph_module.get_default_graph().get_name_scope()
        return scope + "/" if scope else ""

    @property
    def device_name(self) -> str | None:
        """The device of the scopes that are open."""
        return graph_module.get_default_graph()._state.device or None


_context = Context()


def context() -> Context:
    """The one of the process."""
    return _context


def global_seed() -> int | None:
    """The seed of operations that have none."""
    return graph_module.get_default_graph().seed


def set_global_seed(seed: int | None) -> None:
    """Sets it."""
    graph_module.set_random_seed(seed)


def device(name: str) -> AbstractContextManager[None]:
    """with device(name): operations run there."""
    return graph_module.device(name)


# ---- tensorflow.python.eager.tape ----
@contextlib.contextmanager
def stop_recording() -> Iterator[None]:
    """with stop_recording(): no tape of the thread records."""
    before, tapes.stack = tapes.stack, []
    try:
        yield
    finally:
        tapes.stack = before


def variable_accessed(variable: Any) -> None:
    """A variable is about to be read."""
    if variable.trainable and tapes.stack:
        tapes.read(variable)


def could_possibly_record() -> bool:
    """Whether a tape of the thread records."""
    return bool(tapes.stack)

# SPDX-License-Identifier: Apache-2.0
"""Tests that run twice: in a graph, and with operations that run at once."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from thalweg.eager.context import EagerGraph
from thalweg.graph import graph as graph_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def run_in_graph_and_eager_modes(func: Callable[..., Any] | None = None, config: object = None, use_gpu: bool = True,
                                 reset_test: bool = True, assert_no_eager_garbage: bool = False) -> Any:
    """A method of a test case that runs in a graph and its session, and once more with operations that run at once."""
    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(method, type):
            raise ValueError("`run_in_graph_and_eager_modes` only supports test methods. Did you mean to use "
                             "`run_all_in_graph_and_eager_modes`?")

        @functools.wraps(method)
        def twice(self, *args, **kwargs):
            with graph_module.Graph().as_default(), self.test_session(use_gpu=use_gpu):
                method(self, *args, **kwargs)
            if reset_test:
                self.tearDown()
                self.setUp()
            with EagerGraph().as_default():
                method(self, *args, **kwargs)
        return twice
    return decorate if func is None else decorate(func)


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """A test case all of whose tests run in both ways."""
    for name in dir(cls):
        value = getattr(cls, name)
        if callable(value) and name.startswith("test") and name not in ("test_session",):
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


run_test_in_graph_and_eager_modes = run_in_graph_and_eager_modes
run_all_tests_in_graph_and_eager_modes = run_all_in_graph_and_eager_modes

# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.training.tracking: attributes that checkpoints are to leave alone."""
from __future__ import annotations

import contextlib
import functools
import sys
from typing import TYPE_CHECKING

from thalweg.keras import loading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@contextlib.contextmanager
def no_automatic_dependency_tracking_scope(obj: object) -> Iterator[None]:
    """with no_automatic_dependency_tracking_scope(layer): layers and variables that become attributes are not parts of it."""
    layers = sys.modules.get(loading.NAME + ".engine.base_layer")
    if layers is None:  # without models nothing is tracked when it becomes an attribute
        yield
        return
    before = getattr(layers._DISABLE_TRACKING, "value", False)
    layers._DISABLE_TRACKING.value = True
    try:
        yield
    finally:
        layers._DISABLE_TRACKING.value = before


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method within which attributes are set as within `no_automatic_dependency_tracking_scope`."""
    @functools.wraps(method)
    def untracked(self, *args, **kwargs):
        with no_automatic_dependency_tracking_scope(self):
            return method(self, *args, **kwargs)
    return untracked


def NoDependency(value: Any) -> Any:
    """A value that is to be an attribute and no part."""
    return value

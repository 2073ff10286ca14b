# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.training.tracking: attributes that checkpoints are to leave alone."""
from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


@contextlib.contextmanager
def no_automatic_dependency_tracking_scope(obj: Any) -> Iterator[None]:
    """with no_automatic_dependency_tracking_scope(layer): layers and variables that become attributes are not parts of it."""
    before = getattr(obj, "_setattr_tracking", True)
    obj._setattr_tracking = False
    try:
        yield
    finally:
        obj._setattr_tracking = before


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method within which attributes are set as within `no_automatic_dependency_tracking_scope`."""
    @functools.wraps(method)
    def untracked(self, *args, **kwargs):
        with no_automatic_dependency_tracking_scope(self):
            return method(self, *args, **kwargs)
    return untracked


def NoDependency(value: Any) -> Any:
    """A value that is to be an attribute as it is, which Thalweg leaves as it is anyhow; a layer is a part all the same."""
    return value

# SPDX-License-Identifier: Apache-2.0
"""Layers of programs that give tuples, named tuples and dictionaries: the package knows lists of tensors, so it gets their tensors."""
from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

from thalweg import nest
from thalweg.graph.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_calls = threading.local()  # .now: [layer that is being called, what it gave]


def flat(layer: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` of a layer, which gives the list of its tensors to `restored`, and to everybody else what it always gives."""
    @functools.wraps(call)
    def flattened(*args, **kwargs):
        now = getattr(_calls, "now", None)
        asked = now is not None and now[0] is layer
        if asked:
            now[0] = None  # calls within are the layer's own
        given = call(*args, **kwargs)
        if not asked or not isinstance(given, (tuple, dict)):
            return given
        tensors = [part for part in nest.flatten(given) if isinstance(part, Tensor)]
        if not tensors:
            raise TypeError(f"The layer {layer.name!r} gave {given!r}, in which there is no tensor")
        now[1] = given
        return tensors
    return flattened


def restored(layer: Any, called: Callable[[], Any]) -> Any:
    """What calling a layer gives, nested as its `call` gave it."""
    before, now = getattr(_calls, "now", None), [layer, None]
    _calls.now = now
    try:
        tensors = called()
    finally:
        _calls.now = before
    if now[1] is None:
        return tensors
    left = iter(tensors if isinstance(tensors, list) else [tensors])
    return nest.pack_sequence_as(now[1], [next(left) if isinstance(part, Tensor) else part for part in nest.flatten(now[1])])

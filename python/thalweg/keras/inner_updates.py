# SPDX-License-Identifier: Apache-2.0
"""Updates and losses of layers within a layer: the package files them under the inputs of the inner one, and would not find them by
those of the outer one, which is what a model knows. So moving averages of a layer of a program's layer would keep their first values."""
from __future__ import annotations

import contextlib
import functools
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_calls = threading.local()  # .open: for each call that is under way, [(kind, layer, what it added for its inputs)]; .every: see all_added
_KINDS = ("updates", "losses")


def _key(inputs):
    return tuple(map(id, inputs)) if isinstance(inputs, list) else (id(inputs),)


def change_layer(Layer: Any) -> None:
    """Makes a layer note what is added, and give what was added within it."""
    for kind, add in zip(_KINDS, ("add_update", "add_loss")):
        setattr(Layer, add, _noting(kind, getattr(Layer, add)))
        setattr(Layer, f"get_{kind}_for", _giving(kind, getattr(Layer, f"get_{kind}_for")))


def _noting(kind, add):
    @functools.wraps(add)
    def noted(self, added, inputs=None):
        add(self, added, inputs)
        every = getattr(_calls, "every", None)
        if every is not None and added is not None:
            every += [(self, kind, each) for each in (added if isinstance(added, (list, tuple)) else [added]) if each is not None]
        if inputs is not None and inputs != []:
            for each in added if isinstance(added, (list, tuple)) else [added]:
                for call in getattr(_calls, "open", ()):
                    call.append((kind, self, each))
    return noted


def _giving(kind, get):
    @functools.wraps(get)
    def got(self, inputs):
        found = get(self, inputs)
        within = [] if inputs is None else self.__dict__.get("_added_within", {}).get(_key(inputs), [])
        if kind == "updates" and not self.trainable and not self.stateful:
            return found
        for what, layer, each in within:
            if what == kind and (kind == "losses" or layer.trainable or layer.stateful) and not any(each is other for other in found):
                found.append(each)
        return found
    return got


@contextlib.contextmanager
def all_added() -> Iterator[list[tuple[Any, str, Any]]]:
    """A list of (layer, "updates" or "losses", what it adds) of all that layers add meanwhile, in this thread."""
    before, _calls.every = getattr(_calls, "every", None), []
    try:
        yield _calls.every
    finally:
        _calls.every = before


def of_layer(layer: Any) -> list[Any]:
    """The updates that a layer has added since all_added() began."""
    return [each for other, kind, each in getattr(_calls, "every", None) or [] if other is layer and kind == "updates"]


def is_within_call() -> bool:
    """Whether a layer is being called."""
    return bool(getattr(_calls, "open", ()))


def noted(layer: Any, inputs: Any, called: Callable[[], Any]) -> Any:
    """What calling a layer gives; what the layers within it add meanwhile is filed under its inputs as well."""
    added: list[Any] = []
    _calls.open = [*getattr(_calls, "open", ()), added]
    try:
        return called()
    finally:
        _calls.open = _calls.open[:-1]
        if any(inner is not layer for _, inner, _ in added):
            layer.__dict__.setdefault("_added_within", {}).setdefault(_key(inputs), []).extend(a for a in added if a[1] is not layer)

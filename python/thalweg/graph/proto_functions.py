# SPDX-License-Identifier: Apache-2.0
"""How the items of collections become messages in a MetaGraph, and items again."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import GraphKeys

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.messages import Message

# Those whose items are variables: one that stands in several of them is one object.
VARIABLES = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES,
             GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES, GraphKeys.GLOBAL_STEP, GraphKeys.METRIC_VARIABLES)


def to_proto(item: Any, export_scope: str | None = None) -> Any:
    """The message of an item that makes its own."""
    return item.to_proto(export_scope)


_registered = {}


def register_proto_function(collection_name: str, proto_type: type[Message] | None = None,
                            to_proto: Callable[..., object] | None = None,
                            from_proto: Callable[..., object] | None = None) -> None:
    """Items of a collection are written as messages of `proto_type`, made by to_proto(item, export_scope=None) and read by
    from_proto(message, import_scope=None)."""
    if to_proto and not callable(to_proto):
        raise TypeError("to_proto must be callable.")
    if from_proto and not callable(from_proto):
        raise TypeError("from_proto must be callable.")
    if collection_name in _registered:
        raise KeyError(f"Registering two proto functions for the collection '{collection_name}'")
    _registered[collection_name] = (proto_type, to_proto, from_proto)


def _function(place):
    return lambda collection_name: _registered.get(collection_name, (None, None, None))[place]


get_collection_proto_type, get_to_proto_function, get_from_proto_function = map(_function, range(3))

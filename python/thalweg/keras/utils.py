# SPDX-License-Identifier: Apache-2.0
"""What of tf.keras.utils needs no model."""
from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING

import numpy as np

from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from thalweg.base.typing import Array, ArrayLike

_custom = {}


def get_custom_objects() -> dict[str, object]:
    """The classes and functions by the names under which they may be asked for; what is put into the dict is known."""
    return _custom


class CustomObjectScope(contextlib.AbstractContextManager):
    """with CustomObjectScope({"Name": class}, ...): these names are known meanwhile."""

    def __init__(self, *args: object) -> None:
        self._more, self._before = args, None

    def __enter__(self) -> Self:
        self._before = dict(_custom)
        for objects in self._more:
            _custom.update(objects)
        return self

    def __exit__(self, *error: object) -> None:
        _custom.clear()
        _custom.update(self._before)


def custom_object_scope(*args: object) -> CustomObjectScope:
    """As CustomObjectScope."""
    return CustomObjectScope(*args)


def made_of_config(cls: Any, config: Mapping[str, Any], custom_objects: Mapping[str, object] | None) -> Any:
    """cls.from_config(config); the names of `custom_objects` are known meanwhile, and given to it where it takes them."""
    with CustomObjectScope(custom_objects or {}):
        if "custom_objects" in inspect.getfullargspec(cls.from_config).args:
            return cls.from_config(config, custom_objects=dict(_custom))
        return cls.from_config(config)


class Sequence:
    """Base of data that is asked for in batches: __len__ says how many, __getitem__ gives one, on_epoch_end comes after all."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """After all batches."""

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def to_categorical(y: ArrayLike, num_classes: int | None = None, dtype: str = "float32") -> Array:
    """Numbers of classes as rows with a one."""
    y = np.array(y, dtype="int")
    shape = y.shape[:-1] if y.shape and y.shape[-1] == 1 and y.ndim > 1 else y.shape
    y = y.ravel()
    rows = np.zeros((len(y), num_classes or y.max() + 1), dtype)
    rows[np.arange(len(y)), y] = 1
    return rows.reshape(*shape, -1)


def normalize(x: ArrayLike, axis: int = -1, order: int = 2) -> Array:
    """An array divided by its norms along an axis."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    return x / np.expand_dims(np.where(norms == 0, 1, norms), axis)


def serialize_keras_object(instance: Any) -> Any:
    """The configuration of an object with its class, or the name of a function."""
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": instance.__class__.__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError("Cannot serialize", instance)


def deserialize_keras_object(identifier: Any, module_objects: Mapping[str, Any] | None = None,
                             custom_objects: Mapping[str, Any] | None = None, printable_module_name: str = "object") -> Any:
    """What serialize_keras_object was given: an object of a configuration, or a function or class by its name; None is itself.

    A name is looked for in `custom_objects`, among those of `get_custom_objects`, and in `module_objects`; a ValueError says where
    none was found."""
    def found(name):
        for known in (custom_objects or {}, _custom, module_objects or {}):
            if known.get(name) is not None:
                return known[name]
        raise ValueError(f"Unknown {printable_module_name}: {name}")
    if identifier is None:
        return None
    if isinstance(identifier, str):
        made = found(identifier)
        return made() if inspect.isclass(made) else made
    if isinstance(identifier, dict):
        if "class_name" not in identifier or "config" not in identifier:
            raise ValueError(f"Improper config format: {identifier}")
        cls = found(identifier["class_name"])
        if hasattr(cls, "from_config"):
            return made_of_config(cls, identifier["config"], custom_objects)
        with CustomObjectScope(custom_objects or {}):
            return cls(**identifier["config"])
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret serialized {printable_module_name}: {identifier}")


names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""tw.keras.initializers: first values of variables, under Keras' names and with its defaults."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.base import names
from thalweg.keras import utils
from thalweg.variables import init_ops
from thalweg.variables.init_ops import (
    Constant,
    Identity,
    Initializer,
    Ones,
    Orthogonal,
    VarianceScaling,  # noqa: F401  (public here as well)
    Zeros,
    glorot_normal_initializer as glorot_normal,
    glorot_uniform_initializer as glorot_uniform,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)
from thalweg.variables.layer import with_defaults

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def _with_defaults(base, name, **defaults):
    """An initializer whose arguments have other defaults."""
    return type(name, (base,), {"__init__": with_defaults(base.__init__, **defaults), "__doc__": base.__doc__})


RandomNormal = normal = random_normal = _with_defaults(init_ops.RandomNormal, "RandomNormal", mean=0.0, stddev=0.05, seed=None,
                                                       dtype=dtypes.float32)
RandomUniform = uniform = random_uniform = _with_defaults(init_ops.RandomUniform, "RandomUniform", minval=-0.05, maxval=0.05,
                                                          seed=None, dtype=dtypes.float32)
TruncatedNormal = truncated_normal = _with_defaults(init_ops.TruncatedNormal, "TruncatedNormal", mean=0.0, stddev=0.05,
                                                    seed=None, dtype=dtypes.float32)
constant, identity, ones, orthogonal, zeros = Constant, Identity, Ones, Orthogonal, Zeros


def serialize(initializer: Initializer | None) -> dict[str, Any] | None:
    """The class and the configuration; None of None."""
    return None if initializer is None else {"class_name": type(initializer).__name__, "config": initializer.get_config()}


def deserialize(config: str | Mapping[str, Any], custom_objects: Mapping[str, object] | None = None) -> Initializer:
    """An initializer of a class and a configuration, or of a name."""
    name, arguments = (config["class_name"], config.get("config", {})) if isinstance(config, dict) else (config, {})
    found = {**utils.get_custom_objects(), **(custom_objects or {})}.get(name) or \
        (None if name.startswith("_") else globals().get(name) or getattr(init_ops, name, None))
    if not callable(found):
        raise ValueError(f"Unknown initializer: {name}")
    return found(**arguments)


def get(identifier: object) -> Initializer | None:
    """An initializer by its name, its configuration, or itself."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, (dict, str)):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")


def made(identifier: object) -> Initializer | None:
    """What `get` gives; of a class an object of it."""
    found = get(identifier)
    return found() if isinstance(found, type) else found


__all__ = ["Initializer", "get", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal",
           "lecun_uniform", "normal", "random_normal", "random_uniform", "truncated_normal", "uniform"]

names.complete(globals())

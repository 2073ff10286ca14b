# SPDX-License-Identifier: Apache-2.0
"""Arguments of layers, which may be names that tw.keras knows."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.keras import activations, constraints, initializers, regularizers

if TYPE_CHECKING:
    from typing import Any

_KNOWN = {"activation": activations, "initializer": initializers, "regularizer": regularizers, "constraint": constraints}


def meant(**arguments: object) -> dict[str, Any]:
    """The arguments, a name or a configuration in the place of which is what it means to tw.keras."""
    def one(name, value):
        module = _KNOWN.get(name.rpartition("_")[2])
        return module.get(value) if module is not None and isinstance(value, (str, dict)) else value
    return {name: one(name, value) for name, value in arguments.items()}

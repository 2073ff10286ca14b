# SPDX-License-Identifier: Apache-2.0
"""Structures of elements: tuples, named tuples and dictionaries. A list is no structure here but a value, as in TensorFlow."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping


def is_nested(value: object) -> bool:
    """Whether it is a structure, and not a component."""
    return isinstance(value, (tuple, Mapping))


def flatten(structure: object) -> list[object]:
    """The components: of a dictionary in the order of its keys."""
    if not is_nested(structure):
        return [structure]
    parts = [structure[key] for key in sorted(structure)] if isinstance(structure, Mapping) else structure
    return [leaf for part in parts for leaf in flatten(part)]


def _pack(structure: object, leaves: Iterable[object]) -> object:
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, Mapping):
        packed = {key: _pack(structure[key], leaves) for key in sorted(structure)}
        return type(structure)((key, packed[key]) for key in structure)
    parts = [_pack(part, leaves) for part in structure]
    return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)


def pack(structure: object, leaves: Iterable[object]) -> object:
    """The leaves in place of the components."""
    return _pack(structure, iter(leaves))


def map_structure(function: Callable[..., object], structure: object, *more: object) -> object:
    """The structure of what `function` makes of each component (and of those of `more`, at the same places)."""
    return pack(structure, [function(*leaves) for leaves in zip(flatten(structure), *map(flatten, more))])


def flatten_up_to(structure: object, value: object) -> list[object]:
    """The parts of `value` that stand where `structure` has components: they may be structures, or lists, themselves."""
    if not is_nested(structure):
        return [value]
    if isinstance(structure, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(structure):
            raise ValueError(f"expected a dictionary of {sorted(structure)}, got {value!r}")
        return [leaf for key in sorted(structure) for leaf in flatten_up_to(structure[key], value[key])]
    if not isinstance(value, (tuple, list)) or len(value) != len(structure):
        raise ValueError(f"expected {len(structure)} parts for {structure!r}, got {value!r}")
    return [leaf for mine, its in zip(structure, value) for leaf in flatten_up_to(mine, its)]

# SPDX-License-Identifier: Apache-2.0
"""Nested lists, tuples and dicts of things."""
from thalweg import names


def _is_named_tuple(structure):
    return isinstance(structure, tuple) and hasattr(structure, "_fields")


def flatten(structure):
    """The leaves in order; of a dict, by sorted keys."""
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flatten(part)]
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    return [structure]


def pack_sequence_as(structure, flat):
    """The structure with other leaves."""
    leaves = iter(flat)

    def pack(part):
        if _is_named_tuple(part):
            return type(part)(*[pack(p) for p in part])
        if isinstance(part, (list, tuple)):
            return type(part)(pack(p) for p in part)
        if isinstance(part, dict):
            packed = {key: pack(part[key]) for key in sorted(part)}
            return type(part)((key, packed[key]) for key in part)
        return next(leaves)
    return pack(structure)


def map_structure(func, *structure, **kwargs):
    """func of the leaves of one structure, or of several alike, in that structure."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    if kwargs.pop("check_types", True) and len(structure) > 1:
        for other in structure[1:]:
            assert_same_structure(structure[0], other)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure))])


def assert_same_structure(a, b):
    if len(flatten(a)) != len(flatten(b)) or isinstance(a, (list, tuple, dict)) != isinstance(b, (list, tuple, dict)):
        raise ValueError(f"The two structures don't have the same nested structure. First structure: {a} Second "
                         f"structure: {b}")


names.complete(globals())

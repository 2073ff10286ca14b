# SPDX-License-Identifier: Apache-2.0
"""Nested lists, tuples and dicts of things."""
from thalweg import names


def _is_named_tuple(structure):
    return isinstance(structure, tuple) and hasattr(structure, "_fields")


def flatten(structure, expand_composites=False):
    """The leaves in order; of a dict, by sorted keys."""
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flatten(part)]
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    return [structure]


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """The structure with other leaves."""
    leaves = iter(flat_sequence)

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


def is_nested(seq):
    """Whether it is a list, tuple or dict."""
    return isinstance(seq, (list, tuple, dict))


is_sequence = is_nested


def map_structure(func, *structure, **kwargs):
    """The structure with func of the leaves that stand at the same places."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure))])


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """Raises unless both are nested in the same way."""
    a, b = nest1, nest2
    if len(flatten(a)) != len(flatten(b)) or isinstance(a, (list, tuple, dict)) != isinstance(b, (list, tuple, dict)):
        raise ValueError(f"The two structures don't have the same nested structure. First structure: {a} Second "
                         f"structure: {b}")


names.complete(globals())

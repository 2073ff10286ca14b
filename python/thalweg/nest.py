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
    flat_sequence = list(flat_sequence)
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
    wanted, given = len(flatten(structure)), len(flat_sequence)
    if wanted != given:
        raise ValueError(f"Could not pack sequence. Structure had {wanted} elements, but flat_sequence had {given} elements. "
                         f"Structure: {structure}, flat_sequence: {flat_sequence}.")
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
    check_types = kwargs.pop("check_types", True)
    kwargs.pop("expand_composites", None)
    if kwargs:
        raise ValueError(f"Only valid keyword arguments are `check_types` and `expand_composites`, not: {sorted(kwargs)}")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types=check_types)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure))])


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """ValueError unless both are nested in the same way; TypeError, where types count, for a list that is a tuple there."""
    words = f"First structure: {nest1} Second structure: {nest2}"
    if is_nested(nest1) != is_nested(nest2) or len(flatten(nest1)) != len(flatten(nest2)):
        raise ValueError(f"The two structures don't have the same nested structure. {words}")
    if not is_nested(nest1):
        return
    if check_types and type(nest1) is not type(nest2) and not (isinstance(nest1, dict) and isinstance(nest2, dict)) and not (
            _is_named_tuple(nest1) and _is_named_tuple(nest2) and type(nest1).__name__ == type(nest2).__name__ and
            nest1._fields == nest2._fields):
        raise TypeError(f"The two structures don't have the same sequence type: {type(nest1)} and {type(nest2)}. {words}")
    if isinstance(nest1, dict) and isinstance(nest2, dict):
        if set(nest1) != set(nest2):
            raise ValueError(f"The two dictionaries don't have the same set of keys. {words}")
        pairs = [(nest1[k], nest2[k]) for k in nest1]
    else:
        parts = [[n[k] for k in sorted(n)] if isinstance(n, dict) else list(n) for n in (nest1, nest2)]
        if len(parts[0]) != len(parts[1]):
            raise ValueError(f"The two structures don't have the same number of elements. {words}")
        pairs = zip(*parts)
    for a, b in pairs:
        assert_same_structure(a, b, check_types)


names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""Nested lists, tuples and dicts of things."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any


def _is_named_tuple(structure):
    return isinstance(structure, tuple) and hasattr(structure, "_fields")


def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """The leaves in order; of a dict, by sorted keys."""
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flatten(part)]
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    return [structure]


def pack_sequence_as(structure: object, flat_sequence: Iterable[Any], expand_composites: bool = False) -> Any:
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


def is_nested(seq: object) -> bool:
    """Says whether something has parts: whether it is a list, tuple or dict.

    Parameters
    ----------
    seq : object

    Returns
    -------
    bool

    Examples
    --------
    >>> tw.contrib.framework.nest.is_sequence([1]), tw.contrib.framework.nest.is_sequence("text")
    (True, False)
    """
    return isinstance(seq, (list, tuple, dict))


is_sequence = is_nested


def map_structure(func: Callable[..., object], *structure: object, **kwargs: object) -> Any:
    """Gives the structure of what a function makes of the leaves that stand at the same places of structures.

    Parameters
    ----------
    func : callable
        Takes a leaf of each structure.
    *structure : lists, tuples, dicts and leaves, in any nesting
        At least one; all nested in the same way.
    **kwargs
        `check_types`, `expand_composites`: see assert_same_structure.

    Returns
    -------
    structure
        Nested as the first one.

    Raises
    ------
    TypeError
        `func` cannot be called.
    ValueError
        There is no structure, or they differ.

    Examples
    --------
    >>> tw.contrib.framework.nest.map_structure(lambda x, y: x + y, [1, {"a": 2}], [10, {"a": 20}])
    [11, {'a': 22}]
    """
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


def assert_same_structure(nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raises an error unless two structures are nested in the same way.

    Parameters
    ----------
    nest1, nest2 : lists, tuples, dicts and leaves, in any nesting
    check_types : bool
        Whether a list and a tuple differ, too.
    expand_composites : bool
        Of no effect here.

    Raises
    ------
    ValueError
        One has parts where the other has a leaf, or another number of parts.
    TypeError
        The types of parts differ, where they count.

    Examples
    --------
    >>> nest = tw.contrib.framework.nest
    >>> nest.assert_same_structure([1, (2, 3)], ["a", ("b", "c")])
    """
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


# ---- structures that are deeper than another, and places in them ----
def _parts(structure):
    """[(key, part)] of a list, tuple or dict: of a dict by sorted keys, of a named tuple by its fields."""
    if isinstance(structure, dict):
        return [(key, structure[key]) for key in sorted(structure)]
    return list(zip(structure._fields, structure) if _is_named_tuple(structure) else enumerate(structure))


def _same_sort(a, b):
    return type(a) is type(b) or isinstance(a, dict) and isinstance(b, dict) or (
        _is_named_tuple(a) and _is_named_tuple(b) and type(a).__name__ == type(b).__name__ and a._fields == b._fields)


def assert_shallow_structure(shallow_tree: object, input_tree: object, check_types: bool = True, expand_composites: bool = False,
                             check_subtrees_length: bool = True) -> None:
    """ValueError or TypeError unless `input_tree` is nested as `shallow_tree` is, or deeper."""
    if not is_nested(shallow_tree):
        return
    if not is_nested(input_tree):
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input has type: {type(input_tree)}.")
    if check_types and not _same_sort(shallow_tree, input_tree):
        raise TypeError("The two structures don't have the same sequence type. Input structure has type "
                        f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}.")
    if check_subtrees_length and len(input_tree) != len(shallow_tree):
        raise ValueError("The two structures don't have the same sequence length. Input structure has length "
                         f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}.")
    for shallow, deep in _pairs(shallow_tree, input_tree):
        assert_shallow_structure(shallow, deep, check_types, expand_composites, check_subtrees_length)


def _pairs(shallow_tree, input_tree):
    """The parts of both that stand at the same places."""
    if not isinstance(shallow_tree, dict) or not isinstance(input_tree, dict):
        return [(shallow, deep) for (_, shallow), (_, deep) in zip(_parts(shallow_tree), _parts(input_tree))]
    unknown = sorted(set(shallow_tree) - set(input_tree))
    if unknown:
        raise ValueError("The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the following "
                         f"keys that are not in the input_tree: {unknown}.")
    return [(shallow_tree[key], input_tree[key]) for key in sorted(shallow_tree)]


def _up_to(shallow_tree, input_tree, path=()):
    """[(place, part of `input_tree`)] of the leaves of `shallow_tree`."""
    if not is_nested(shallow_tree):
        return [(path, input_tree)]
    keys = [key for key, _ in _parts(shallow_tree)]
    return [found for key, (shallow, deep) in zip(keys, _pairs(shallow_tree, input_tree))
            for found in _up_to(shallow, deep, (*path, key))]


def flatten_with_tuple_paths_up_to(shallow_tree: object, input_tree: object, check_types: bool = True,
                                   expand_composites: bool = False,
                                   check_subtrees_length: bool = True) -> list[tuple[tuple[Any, ...], Any]]:
    """As flatten_up_to, each part with its place as a tuple of keys."""
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length)
    return _up_to(shallow_tree, input_tree)


def flatten_up_to(shallow_tree: object, input_tree: object, check_types: bool = True, expand_composites: bool = False,
                  check_subtrees_length: bool = True) -> list[Any]:
    """The parts of `input_tree` at the leaves of `shallow_tree`."""
    return [part for _, part in flatten_with_tuple_paths_up_to(shallow_tree, input_tree, check_types, expand_composites,
                                                              check_subtrees_length)]


def map_structure_with_tuple_paths_up_to(shallow_tree: object, func: Callable[..., object], *inputs: Any, **kwargs: object) -> Any:
    """As map_structure_up_to; func gets the place, a tuple of keys, before the parts."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.pop("check_types", True)
    kwargs.pop("expand_composites", None)
    if kwargs:
        raise ValueError(f"Only valid keyword arguments are `check_types` and `expand_composites`, not: {sorted(kwargs)}")
    found = [flatten_with_tuple_paths_up_to(shallow_tree, tree, check_types) for tree in inputs]
    results = [func(parts[0][0], *[part for _, part in parts]) for parts in zip(*found)]
    return pack_sequence_as(shallow_tree, results)


def map_structure_up_to(shallow_tree: object, func: Callable[..., object], *inputs: Any, **kwargs: object) -> Any:
    """The structure of `shallow_tree` with func of the parts of the inputs that stand at its leaves."""
    return map_structure_with_tuple_paths_up_to(shallow_tree, lambda path, *parts: func(*parts), *inputs, **kwargs)


def get_traverse_shallow_structure(traverse_fn: Callable[[Any], Any], structure: object, expand_composites: bool = False) -> Any:
    """A structure of booleans: False where `traverse_fn` of a part says not to go on, True for leaves. The function gives one
    boolean, or a structure of them for the part's own parts."""
    answer = traverse_fn(structure)
    if not is_nested(structure):
        if not isinstance(answer, bool):
            raise TypeError(f"traverse_fn returned structure: {answer} for non-structure: {structure}")
        return answer
    if isinstance(answer, bool):
        answers = [answer] * len(structure)
        if not answer:
            return False
    elif not is_nested(answer):
        raise TypeError(f"traverse_fn returned a non-bool scalar: {answer} for input: {structure}")
    else:
        assert_shallow_structure(answer, structure)
        answers = [a for _, a in _parts(answer)]
    found = [get_traverse_shallow_structure(traverse_fn, part) if goes_on else False
             for goes_on, (_, part) in zip(answers, _parts(structure))]
    if isinstance(structure, dict):
        return type(structure)(zip(sorted(structure), found))
    return type(structure)(*found) if _is_named_tuple(structure) else type(structure)(found)


def flatten_with_tuple_paths(structure: object, expand_composites: bool = False) -> list[tuple[tuple[Any, ...], Any]]:
    """[(place as a tuple of keys, leaf)]."""
    return _up_to(structure, structure)


def yield_flat_paths(nest: object, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """The places of the leaves as tuples of keys."""
    return iter([path for path, _ in _up_to(nest, nest)])


def flatten_with_joined_string_paths(structure: object, separator: str = "/",
                                     expand_composites: bool = False) -> list[tuple[str, Any]]:
    """[(place as keys joined by `separator`, leaf)]."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in _up_to(structure, structure)]


def map_structure_with_tuple_paths(func: Callable[..., object], *structure: object, **kwargs: object) -> Any:
    """As map_structure; func gets the place, a tuple of keys, before the leaves."""
    if not structure:
        raise ValueError("Must provide at least one structure")
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func: Callable[..., object], *structure: object, **kwargs: object) -> Any:
    """As map_structure; func gets the place, keys joined by /, before the leaves."""
    return map_structure_with_tuple_paths(lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, **kwargs)


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> Any:
    """A dict whose keys and values may be nested alike, as one of leaves to leaves."""
    if not isinstance(dictionary, dict):
        raise TypeError("input must be a dictionary")
    flat = {}
    for key, value in dictionary.items():
        keys, values = (flatten(key), flatten(value)) if is_nested(key) else ([key], [value])
        if len(keys) != len(values):
            raise ValueError(f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} elements. "
                             f"Key: {keys}, value: {values}.")
        for k, v in zip(keys, values):
            if k in flat:
                raise ValueError(f"Could not flatten dictionary: key {k} is not unique.")
            flat[k] = v
    return type(dictionary)(flat) if type(dictionary) is not dict else flat


names.complete(globals())

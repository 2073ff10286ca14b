# SPDX-License-Identifier: Apache-2.0
"""Checkpoints without a session: what is in them, and variables that start from them."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg import _core, dtypes, errors
from thalweg.graph import graph, ops
from thalweg.saving.checkpoint_files import latest_checkpoint
from thalweg.saving.vocabulary_remapping import VocabInfo, start_remapped, start_with
from thalweg.variables import variable_scopes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import PathLike
    from thalweg.variables.partitioners import PartitionedVariable
    from thalweg.variables.variables import Variable


class CheckpointReader:
    """Reads a checkpoint of either format.

    Parameters
    ----------
    filepattern : str or path
        The checkpoint.

    Raises
    ------
    NotFoundError
        If there is no such checkpoint.
    DataLossError
        If it is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     v = tw.Variable([1.0, 2.0], name="v")
    ...     sess.run(v.initializer)
    ...     reader = tw.train.NewCheckpointReader(tw.train.Saver().save(sess, os.path.join(folder, "model")))
    ...     print(reader.get_variable_to_shape_map(), reader.get_tensor("v"))
    {'v': [2]} [1. 2.]
    """

    def __init__(self, filepattern: PathLike) -> None:
        self._core = _core.Checkpoint(os.fsdecode(filepattern))
        self._tensors = self._core.tensors()
        self._index = {row[0]: i for i, row in enumerate(self._tensors)}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether the checkpoint has a tensor of this name."""
        return tensor_str in self._index

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """{name: shape as a list}"""
        return {name: list(shape) for name, _, shape in self._tensors}

    def get_variable_to_dtype_map(self) -> dict[str, dtypes.DType]:
        """{name: DType}"""
        return {name: dtypes.as_dtype(kind) for name, kind, _ in self._tensors}

    def debug_string(self) -> bytes:
        """A line for each tensor, as bytes."""
        lines = [f"{name} (DT_{dtypes.as_dtype(kind).name.upper()}) {shape}\n" for name, kind, shape in self._tensors]
        return "".join(lines).encode(errors="surrogateescape")

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of a variable, put together where it was saved in slices; DataLossError where it is damaged."""
        index = self._index.get(tensor_str)
        if index is None:
            raise errors.NotFoundError(None, None, f"Key {tensor_str} not found in checkpoint")
        return self._core.read(index)


def NewCheckpointReader(filepattern: PathLike) -> CheckpointReader:
    """A reader of a checkpoint.

    Parameters
    ----------
    filepattern : str or path
        The checkpoint.

    Returns
    -------
    CheckpointReader
        With get_tensor(), has_tensor(), get_variable_to_shape_map() and get_variable_to_dtype_map().

    Raises
    ------
    NotFoundError
        If there is no such checkpoint.

    Examples
    --------
    >>> w = tw.get_variable("w", initializer=[1.0, 2.0])
    >>> with tw.Session() as sess:
    ...     sess.run(w.initializer)
    ...     path = tw.train.Saver().save(sess, "model")
    >>> print(tw.train.NewCheckpointReader(path).get_tensor("w"))
    [1. 2.]
    """
    return CheckpointReader(filepattern)


def _found(ckpt_dir_or_file):
    ckpt_dir_or_file = os.fsdecode(ckpt_dir_or_file)
    if os.path.isdir(ckpt_dir_or_file):
        found = latest_checkpoint(ckpt_dir_or_file)
        if found is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}")
        return found
    return ckpt_dir_or_file


def load_checkpoint(ckpt_dir_or_file: PathLike) -> CheckpointReader:
    """A reader of a checkpoint, or of the newest one of a directory.

    Parameters
    ----------
    ckpt_dir_or_file : str or path
        The checkpoint or the directory.

    Returns
    -------
    CheckpointReader
        With get_tensor(), has_tensor(), get_variable_to_shape_map() and get_variable_to_dtype_map().

    Raises
    ------
    ValueError
        If the directory has no checkpoint.
    NotFoundError
        If there is no such checkpoint.
    """
    return CheckpointReader(_found(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: PathLike, name: str) -> Any:
    """The value of a variable in a checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file : str or path
        The checkpoint, or a directory whose newest one is meant.
    name : str
        The variable; it may end with ":0".

    Returns
    -------
    ndarray
        The value.

    Raises
    ------
    NotFoundError
        If the checkpoint has no such variable.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     v = tw.Variable([1.0, 2.0], name="v")
    ...     sess.run(v.initializer)
    ...     path = tw.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     tw.train.load_variable(folder, "v")
    array([1., 2.], dtype=float32)
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: PathLike) -> list[tuple[str, list[int]]]:
    """The variables of a checkpoint.

    Parameters
    ----------
    ckpt_dir_or_file : str or path
        The checkpoint, or a directory whose newest one is meant.

    Returns
    -------
    list of (str, list of int)
        Names and shapes, by names.

    Raises
    ------
    ValueError
        If the directory has no checkpoint.
    NotFoundError
        If there is no such checkpoint.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     v = tw.Variable([[1.0, 2.0]], name="v")
    ...     sess.run(v.initializer)
    ...     path = tw.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     tw.train.list_variables(path)
    [('v', [1, 2])]
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def init_from_checkpoint(ckpt_dir_or_file: PathLike, assignment_map: Mapping[str, str | Variable | Sequence[Variable] | PartitionedVariable]) -> None:
    """Lets variables start with what a checkpoint holds: their initializers read it.

    Parameters
    ----------
    ckpt_dir_or_file : str or path
        The checkpoint, or a directory whose newest one is meant.
    assignment_map : dict
        {name in the checkpoint: variable, its name or its parts}, or {"scope/": "other scope/"} for all variables of a scope.

    Raises
    ------
    ValueError
        If the checkpoint lacks a variable, or has it with another shape.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     v = tw.Variable(5.0, name="v")
    ...     sess.run(v.initializer)
    ...     path = tw.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     w = tw.get_variable("w", [])
    ...     tw.train.init_from_checkpoint(path, {"v": w})
    ...     sess.run(tw.variables_initializer([w]))
    ...     print(sess.run(w))
    5.0
    """
    path = _found(ckpt_dir_or_file)
    reader = CheckpointReader(path)
    known = {name: v for name, v in variable_scopes._store().variables.items() if isinstance(name, str)}
    for theirs, ours in sorted(assignment_map.items(), key=lambda item: item[0]):
        variable = _variable_or_parts(ours, known)
        if variable is not None:
            if not reader.has_tensor(theirs):
                raise ValueError(f"Tensor {theirs} is not found in {path} checkpoint {reader.get_variable_to_shape_map()}")
            _start_from(reader, path, theirs, variable)
            continue
        scope = ours.rpartition("/")[0]
        if not theirs.endswith("/"):
            raise ValueError(f"Assignment map with scope only name {scope} should map to scope only {theirs}. Should be "
                             "'scope/': 'other_scope/'.")
        within = {name.partition("/part_")[0] for name in known if not scope or name.startswith(scope + "/")}
        for name in sorted(within):
            rest = name[len(scope):] if ours == "/" else name[len(scope) + 1:]
            full = (rest if theirs == "/" else theirs + rest).removesuffix("/")
            if not reader.has_tensor(full):
                raise ValueError(f"Tensor {full} ({name[len(scope) + 1:]} in {theirs}) is not found in {ckpt_dir_or_file} checkpoint")
            _start_from(reader, path, full, _variable_or_parts(name, known))


def _variable_or_parts(given, known):
    """The variable, or the list of the parts of one, that is given itself or by its name; None where there is none."""
    if hasattr(given, "_get_variable_list"):
        return given._get_variable_list()
    if not isinstance(given, str):
        return given
    if given in known:
        return known[given]
    parts = []
    while f"{given}/part_{len(parts)}" in known:
        parts.append(known[f"{given}/part_{len(parts)}"])
    return parts or None


def _start_from(reader, path, name, variable):
    """The initializer of a variable, or of each part of one, gives what the checkpoint has under a name."""
    shape = reader.get_variable_to_shape_map()[name]
    if not isinstance(variable, (list, tuple)):
        if not variable.shape.is_compatible_with(shape):
            raise ValueError(f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of tensor {name} "
                             f"({shape}) from checkpoint reader.")
        _start_with(path, name, variable, "", shape)
        return
    for part in variable:
        info, first = part._save_slice_info, variable[0]._save_slice_info
        if info.full_name != first.full_name:
            raise ValueError(f"Slices must all be from the same tensor: {first.full_name} != {info.full_name}")
        _start_with(path, name, part, info.spec, part.shape)


def _start_with(path, name, variable, slice_spec, shape):
    kind = variable.dtype.base_dtype
    with variable.graph.control_dependencies(None), graph.name_scope("checkpoint_initializer"):
        value = ops.apply("RestoreV2", [path, [name], [slice_spec]], {"dtypes": [kind]})[0]
        value.set_shape(shape)
        start_with(variable, value)


def warm_start(ckpt_to_initialize_from: PathLike, vars_to_warm_start: str | Sequence[str] | Sequence[Variable] | None = ".*",
               var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
               var_name_to_prev_var_name: Mapping[str, str] | None = None) -> None:
    """Variables start with what a checkpoint holds under their names, or under those that `var_name_to_prev_var_name` gives.
    `vars_to_warm_start`: a pattern of names of trainable variables, a list of patterns for all, or of variables; None: only those
    with a vocabulary. `var_name_to_vocab_info`: whose rows or columns stand for the lines of a vocabulary, which may be another
    one in the checkpoint: what both have keeps its values, the rest begins with the backup initializer, zeros by default."""
    previous, vocabularies = dict(var_name_to_prev_var_name or {}), dict(var_name_to_vocab_info or {})
    if vars_to_warm_start is None:
        chosen = [v for v in graph.get_collection(graph.GraphKeys.GLOBAL_VARIABLES) if _full_name(v) in vocabularies]
    elif isinstance(vars_to_warm_start, str):
        chosen = graph.get_collection(graph.GraphKeys.TRAINABLE_VARIABLES, vars_to_warm_start)
    elif not isinstance(vars_to_warm_start, list):
        raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(vars_to_warm_start)}")
    elif all(isinstance(v, str) for v in vars_to_warm_start):
        chosen = [v for pattern in vars_to_warm_start for v in graph.get_collection(graph.GraphKeys.GLOBAL_VARIABLES, pattern)]
    else:
        chosen = [part for v in vars_to_warm_start for part in (v if isinstance(v, list) or hasattr(v, "_get_variable_list") else [v])]
        if not all(hasattr(v, "_save_slice_info") for v in chosen):
            raise ValueError("If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are "
                             f"{[type(v) for v in vars_to_warm_start]}")
    grouped = {}
    for v in dict.fromkeys(chosen):
        grouped.setdefault(_full_name(v), []).append(v)
    for given, argument in ((previous, "var_name_to_prev_var_name"), (vocabularies, "var_name_to_vocab_info")):
        unknown = sorted(set(given) - set(grouped))
        if unknown:
            raise ValueError(f"You provided the following variables in {argument} that were not used: {unknown}.  Perhaps you "
                             f"misspelled them?  Here is the list of viable variable names: {sorted(grouped)}")
    path = _found(ckpt_to_initialize_from)  # once: all values are of one checkpoint
    init_from_checkpoint(path, {previous.get(name, name): vs if vs[0]._save_slice_info else vs[0]
                                for name, vs in grouped.items() if name not in vocabularies})
    reader = CheckpointReader(path) if vocabularies else None
    for name, info in vocabularies.items():
        theirs = previous.get(name, name)
        if not reader.has_tensor(theirs):
            raise ValueError(f"Tensor {theirs} is not found in {path} checkpoint {reader.get_variable_to_shape_map()}")
        start_remapped(path, theirs, info, grouped[name])


def _full_name(variable):
    """Of a part, that of the whole variable."""
    info = variable._save_slice_info
    return info.full_name if info else variable.op.name

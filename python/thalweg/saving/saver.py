# SPDX-License-Identifier: Apache-2.0
"""Saver: variables to checkpoint files and back. The files and their retention are the core's work."""
from __future__ import annotations

import atexit
import importlib
import math
import os
import weakref
from typing import TYPE_CHECKING

from thalweg import _core, dtypes, errors, logging as tw_logging, lookup, messages
from thalweg.graph import graph, proto_functions
from thalweg.graph.graph import GraphKeys, control_dependencies, name_scope, site
from thalweg.saving import meta_graph, saveables
from thalweg.saving.checkpoint_differences import CheckpointDifferences
from thalweg.saving.checkpoint_files import checkpoint_exists, get_checkpoint_mtimes
from thalweg.saving.saveables import BaseSaverBuilder, SaveableObject  # noqa: F401  (TensorFlow has them here)
from thalweg.variables import variables
from thalweg.variables.partitioners import PartitionedVariable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import IntLike, PathLike
    from thalweg.graph.session import Session
    from thalweg.messages import MetaGraphDef, SaverDef


_AT_ONCE = "thalweg.saving.eager_saver"
_saving: weakref.WeakSet[Saver] = weakref.WeakSet()  # those that may still write when the program ends


@atexit.register
def _let_writes_end():
    for saver in list(_saving):
        try:
            saver.wait()
        except errors.OpError as e:
            tw_logging.error("At the end of the program: %s", e.message)


def _named(var_list):
    """{name in the checkpoint: variable, or the list of the parts of one} of a list or dict; what is none stands under its own
    name."""
    if var_list is None:
        var_list = list(dict.fromkeys(graph.get_collection(GraphKeys.GLOBAL_VARIABLES) +
                                      graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)))
    if isinstance(var_list, dict):
        return {name: _checked(v, name) for name, v in var_list.items()}
    named = {}
    for v in var_list:
        info = getattr(v, "_save_slice_info", None)
        if info is not None:
            if not isinstance(named.setdefault(info.full_name, []), list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {info.full_name}")
            named[info.full_name].append(v)
            continue
        if not isinstance(v, (variables.Variable, lookup.TableSaveable, SaveableObject, PartitionedVariable)):
            raise TypeError(f"Variable to save is not a Variable: {v}")
        name = v.op.name if hasattr(v, "_ref_tensor") else v.name
        if name in named:
            raise ValueError(f"At least two variables have the same name: {name}")
        named[name] = v
    return {name: _checked(v, name) for name, v in named.items()}


def _checked(v, name):
    """What a name of a checkpoint may stand for: a variable, or the parts of one, as a list; a distributed one says how it is saved."""
    if hasattr(v, "_saveable"):
        return v._saveable(name)
    if not isinstance(v, (list, tuple, PartitionedVariable)):
        if not hasattr(v, "_ref_tensor") and not isinstance(v, SaveableObject):
            raise TypeError(f"Variable to save is not a Variable: {v}")
        return v
    parts = list(v)
    for part in parts:
        if not isinstance(part, variables.Variable):
            raise ValueError(f"Slices must all be Variables: {part}")
        if part._save_slice_info is None:
            raise ValueError(f"Slices must all be slices: {part}")
        first = parts[0]._save_slice_info.full_name
        if part._save_slice_info.full_name != first:
            raise ValueError(f"Slices must all be from the same tensor: {first} != {part._save_slice_info.full_name}")
    return parts


def _rows(named):
    """(names, variables, slices) of a checkpoint, by names."""
    rows = []
    for name in sorted(named):
        if isinstance(named[name], list):
            rows += [(name, part, part._save_slice_info.spec) for part in named[name]]
        elif not isinstance(named[name], SaveableObject):
            rows.append((name, named[name], ""))
    return [list(column) for column in zip(*rows)] or [[], [], []]


def _place(target, first, prefix):
    """Those that write and read files run on the device of the scopes around; those that set a variable, where it is."""
    def is_of_variable(op):
        return op.type not in ("SaveV2", "SaveSlices") and any(i.dtype._is_ref_dtype or i.dtype == dtypes.resource for i in op.inputs)

    if target._state.device or target._state.device_functions:
        for op in target._nodes(first):
            if op.name.startswith(prefix) and not is_of_variable(op):
                target._set_device(op, target._device_of(graph.NodeView(op.type, op.name, {}, op.device)))


class Saver:
    """Writes variables to checkpoint files and reads them back.

    Parameters
    ----------
    var_list : list or dict of Variable or SaveableObject, optional
        What to save, or {name in the checkpoint: variable}; all global variables and saveable objects by default.
    reshape : bool
        Whether saveable objects may get tensors of other shapes.
    sharded : bool
        Of no effect on variables of one task.
    max_to_keep : int or None
        How many checkpoints stay, the oldest are removed; 0 or None: all.
    keep_checkpoint_every_n_hours : float
        One of so many hours stays beside them.
    name : str, optional
        Scope of the nodes; "save" by default.
    restore_sequentially : bool
        Of no effect here.
    saver_def : SaverDef, optional
        Names nodes that the graph has already.
    builder : optional
        Of no effect here.
    defer_build : bool
        Whether nodes are added at build(), or when they are needed.
    allow_empty : bool
        Whether there may be nothing to save.
    write_version : int
        Format of the files: 1 or 2.
    pad_step_number : bool
        Whether the step in names has eight digits.
    save_relative_paths : bool
        Of no effect here.
    filename : str, optional
        Of no effect here.
    keep_best : int
        How many of the best checkpoints stay besides the newest, of those saved with a metric. TensorFlow has none of the
        arguments from here on.
    best_mode : str
        Which metric is the best: "min" or "max".
    async_save : bool
        Whether save() returns as soon as it has the values, all of one moment, and a thread writes them: in this process,
        whatever task the variables are on. What goes wrong there is raised by the next save(), wait() or close() of the session.
        One checkpoint is written at a time; until it is written, a variable that is updated takes its memory twice.
    async_timeout_secs : float
        How long save(), wait() and close() wait for a checkpoint that is being written.

    Raises
    ------
    ValueError
        If there is nothing to save, or two variables have the same name.
    TypeError
        If something to save is no variable.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     v = tw.Variable(1.0)
    ...     saver = tw.train.Saver()
    ...     sess.run(v.initializer)
    ...     path = saver.save(sess, os.path.join(folder, "model"), global_step=10)
    ...     sess.run(v.assign(5.0).op)
    ...     saver.restore(sess, tw.train.latest_checkpoint(folder))
    ...     print(os.path.basename(path), sess.run(v))
    model-10 1.0
    """

    def __new__(cls, *args: object, **kwargs: object):
        if cls is Saver and graph.get_default_graph()._executes:
            cls = importlib.import_module(_AT_ONCE).EagerSaver  # derived from this, and few programs run operations at once
        return super().__new__(cls)

    def __init__(self, var_list: Sequence[object] | Mapping[str, object] | None = None, reshape: bool = False,
                 sharded: bool = False, max_to_keep: int | None = 5, keep_checkpoint_every_n_hours: float = 10000.0,
                 name: str | None = None, restore_sequentially: bool = False, saver_def: SaverDef | None = None,
                 builder: object = None, defer_build: bool = False, allow_empty: bool = False, write_version: int = 2,
                 pad_step_number: bool = False, save_relative_paths: bool = False, filename: PathLike | None = None, *,
                 keep_best: int = 0, best_mode: str = "min", async_save: bool = False, async_timeout_secs: float = 600.0) -> None:
        if best_mode not in ("min", "max"):
            raise ValueError(f"best_mode must be 'min' or 'max', got {best_mode!r}")
        if async_timeout_secs <= 0:
            raise ValueError(f"async_timeout_secs must be positive, got {async_timeout_secs}")
        self._beyond = keep_best, best_mode == "max", async_save, float(async_timeout_secs)
        if defer_build and var_list:
            raise ValueError("If `var_list` is provided then build cannot be deferred. Either set defer_build=False or var_list=None.")
        self._var_list, self._name, self._pad = var_list, name, pad_step_number
        self._max_to_keep, self._hours, self._allow_empty = max_to_keep or 0, keep_checkpoint_every_n_hours, allow_empty
        self._kept, self._core, self._reshape = [], None, reshape
        self.saver_def: SaverDef | None = None
        if write_version not in (1, 2):
            raise RuntimeError(f"Unexpected write_version: {write_version}")
        self._write_version = int(write_version)
        if saver_def is not None:
            self._adopt(saver_def)
        elif not defer_build:
            self.build()

    def _adopt(self, saver_def):
        """Uses the nodes of the default graph that a SaverDef names, below the scope that is the saver's name."""
        if saver_def.version not in (1, 2):
            raise RuntimeError(f"Unexpected write_version: {saver_def.version}")
        target, self.saver_def = graph.get_default_graph(), type(saver_def).FromString(saver_def.SerializeToString())
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(self.saver_def, field, graph.prepend_name_scope(getattr(saver_def, field), self._name))
        self._max_to_keep, self._hours = saver_def.max_to_keep, saver_def.keep_checkpoint_every_n_hours
        self._write_version = saver_def.version
        self._core = _core.Saver.of_nodes(
            target, target.get_tensor_by_name(self.saver_def.filename_tensor_name),
            target.get_tensor_by_name(self.saver_def.save_tensor_name),
            target.get_operation_by_name(self.saver_def.restore_op_name), self._max_to_keep, self._hours, self._write_version,
            *self._beyond)

    def build(self) -> None:
        """Adds the nodes that save and restore."""
        if self._core is not None:
            return
        named = _named(self._var_list)
        if not named:
            if self._allow_empty:
                return
            raise ValueError("No variables to save")
        others = [named[n] for n in sorted(named) if isinstance(named[n], SaveableObject)]
        names, saved, slices = _rows(named)
        target = saved[0].graph if saved else graph.get_default_graph()
        target._check_not_finalized()
        scope = target.unique_name(self._name or "save")
        with target.as_default(), control_dependencies(None), name_scope(scope + "/"):
            entries, first = saveables.entries(others), target._num_nodes()
            self._core = _core.Saver(target, names, [v._ref_tensor for v in saved], self._max_to_keep, self._hours, scope,
                                     site(), *entries, self._write_version, slices, *self._beyond)
            _place(target, first, scope + "/")
            if others:
                restored = target.get_operation_by_name(scope + "/RestoreV2").outputs[-len(entries[0]):]
                done = target.get_operation_by_name(scope + "/restore_all")
                for operation in saveables.restore_operations(others, restored, self._reshape):
                    target._add_control_input(done, operation)
        self.saver_def = messages.SaverDef(filename_tensor_name=f"{scope}/Const:0", save_tensor_name=f"{scope}/control_dependency:0",
                                           restore_op_name=f"{scope}/restore_all", max_to_keep=self._max_to_keep,
                                           keep_checkpoint_every_n_hours=self._hours, version=self._write_version)
        self.set_last_checkpoints_with_time(self._kept)

    # ---- what is kept ----
    def _kept_now(self):
        """[(path, seconds since 1970)], oldest first; the core's once there are nodes."""
        return self._kept if self._core is None else self._core.kept()

    @property
    def last_checkpoints(self) -> list[str]:
        """Those that are kept, oldest first."""
        return [path for path, _ in self._kept_now()]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """The old form of set_last_checkpoints_with_time, for checkpoints of any age."""
        self.set_last_checkpoints_with_time([(path, math.inf) for path in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Says what is kept: [(path, seconds since 1970)], oldest first."""
        if not isinstance(last_checkpoints_with_time, list):
            raise AssertionError(f"expected a list of (path, time), got {last_checkpoints_with_time!r}")
        self._kept = [(os.fspath(path), float(time)) for path, time in last_checkpoints_with_time]
        if self._core is not None:
            self._core.set_kept([path for path, _ in self._kept], [time for _, time in self._kept])

    @property
    def is_saving(self) -> bool:
        """Whether a checkpoint is still being written."""
        return self._core is not None and self._core.is_writing()

    def wait(self, timeout_secs: float | None = None) -> None:
        """Waits until no checkpoint is being written.

        Parameters
        ----------
        timeout_secs : float, optional
            How long at most; the saver's `async_timeout_secs` by default.

        Raises
        ------
        DeadlineExceededError
            If one still is then.
        OpError
            What went wrong with the last one, with file and reason; told once.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
        ...     v = tw.Variable(1.0)
        ...     saver = tw.train.Saver(async_save=True)
        ...     sess.run(v.initializer)
        ...     path = saver.save(sess, os.path.join(folder, "model"))
        ...     saver.wait()
        ...     tw.train.checkpoint_exists(path)
        True
        """
        if self._core is not None:
            self._core.wait(-1.0 if timeout_secs is None else max(0.0, float(timeout_secs)))

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """What is kept after a crash: those of the paths that are there."""
        found = [(path, get_checkpoint_mtimes([path])) for path in checkpoint_paths]
        self.set_last_checkpoints_with_time([(path, times[0]) for path, times in found if times])

    # ---- as a message ----
    def to_proto(self, export_scope: str | None = None) -> SaverDef | None:
        """A SaverDef: the nodes that save and restore, as MetaGraphs name them; None before it is built."""
        if self.saver_def is None or export_scope and not self._name_of_scope(export_scope):
            return None
        made = type(self.saver_def).FromString(self.saver_def.SerializeToString())
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(made, field, graph.strip_name_scope(getattr(made, field), export_scope))
        return made

    def _name_of_scope(self, scope):
        return self.saver_def.restore_op_name.startswith(scope + "/")

    as_saver_def = to_proto

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """The saver that a SaverDef names, of nodes in the default graph."""
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(self, filename: PathLike | None = None, collection_list: Sequence[str] | None = None,
                          as_text: bool = False, export_scope: str | None = None, clear_devices: bool = False,
                          clear_extraneous_savers: bool = False, strip_default_attrs: bool = False,
                          save_debug_info: bool = False) -> MetaGraphDef:
        """The MetaGraphDef of the default graph with this saver, also written to `filename`."""
        return meta_graph.export_meta_graph(filename, collection_list=collection_list, as_text=as_text, export_scope=export_scope,
                                            clear_devices=clear_devices, clear_extraneous_savers=clear_extraneous_savers,
                                            strip_default_attrs=strip_default_attrs, save_debug_info=save_debug_info, saver=self)

    # ---- files ----
    def save(self, sess: Session, save_path: PathLike, global_step: IntLike | None = None, latest_filename: str | None = None,
             meta_graph_suffix: str = "meta", write_meta_graph: bool = True, write_state: bool = True,
             strip_default_attrs: bool = False, save_debug_info: bool = False, *,
             metric: float | None = None) -> str | Any:
        """Writes the variables of a session.

        Parameters
        ----------
        sess : Session
            Whose variables.
        save_path : str or path
            How the names of the files begin; directories are made.
        global_step : int or Tensor or Variable, optional
            Ends the name: "-10".
        latest_filename : str, optional
            Name of the file that says which checkpoint is the newest; "checkpoint" by default.
        meta_graph_suffix : str
            Ends the name of the file of the MetaGraph.
        write_meta_graph : bool
            Whether the graph is written too.
        write_state : bool
            Whether that file is written.
        strip_default_attrs, save_debug_info : bool
            Of no effect here.
        metric : float, optional
            How good the model is, for `keep_best`.

        Returns
        -------
        str or None
            The name of the checkpoint, for restore(); None where there is nothing to save. With `async_save` it is there once
            wait() has returned.

        Raises
        ------
        TypeError
            If `sess` is no session.
        ValueError
            If `latest_filename` has a directory.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
        ...     v = tw.Variable(1.0, name="v")
        ...     sess.run(v.initializer)
        ...     path = tw.train.Saver().save(sess, os.path.join(folder, "model"))
        ...     sorted(os.listdir(folder))
        ['checkpoint', 'model.data-00000-of-00001', 'model.index', 'model.meta']
        """
        self.build()
        if self._core is None:
            return None
        if not hasattr(sess, "graph"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        step = -1
        if global_step is not None:
            step = int(global_step if isinstance(global_step, int) or hasattr(global_step, "__index__") else
                       sess.run(global_step))
        save_path, state_file = os.fsdecode(save_path), latest_filename or "checkpoint"
        if os.path.dirname(state_file):
            raise ValueError(f"'latest_filename' must not contain path components, got {latest_filename!r}")
        if self._pad and step >= 0:
            save_path, step = f"{save_path}-{step:08d}", -1
        folder = os.path.dirname(save_path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        self._core.set_state_file(state_file if write_state else "")
        contents = meta_graph.export_meta_graph(graph=sess.graph, saver=self).SerializeToString() if write_meta_graph else None
        written = self._core.save(sess, save_path, step, metric, meta_graph_suffix if write_meta_graph else None, contents)
        if self._beyond[2]:
            _saving.add(self)
            getattr(sess, "_before_close", {})[id(self)] = self.wait
        return written.decode()

    def restore(self, sess: Session, save_path: PathLike | None, *, partial: bool = False) -> CheckpointDifferences | None:
        """Sets the variables of a session to what a checkpoint holds; they need no initializer.

        Where the checkpoint can be read here, it is compared first: when something is missing, or has another shape or type, the
        error has the whole list, and nothing has been changed.

        Parameters
        ----------
        sess : Session
            Whose variables.
        save_path : str or path
            What save() gave.
        partial : bool
            Whether to restore what fits, and leave the rest as it is. TensorFlow does not have this.

        Returns
        -------
        CheckpointDifferences or None
            With `partial`, all that differs.

        Raises
        ------
        ValueError
            If `save_path` is None or there is no such checkpoint.
        NotFoundError
            If the checkpoint lacks a variable.
        InvalidArgumentError
            If a variable has another shape or type there.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, tw.Graph().as_default():
        ...     v, saver = tw.Variable([1.0, 2.0]), tw.train.Saver()
        ...     with tw.Session() as sess:
        ...         sess.run(v.initializer)
        ...         path = saver.save(sess, os.path.join(folder, "model"))
        ...     with tw.Session() as other:
        ...         saver.restore(other, path)
        ...         other.run(v)
        array([1., 2.], dtype=float32)
        """
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        if self._core is None:
            return CheckpointDifferences([], [], [], []) if partial else None
        save_path = self._existing(save_path)
        if partial:
            return CheckpointDifferences.of_rows(self._core.compare(sess, save_path))
        try:
            self._core.restore(sess, save_path)
        except (errors.InvalidArgumentError, errors.NotFoundError) as error:
            raise type(error)(error.node_def, error.op, f"Restoring from checkpoint failed. {error.message}") from None
        return None

    def compare(self, save_path: PathLike) -> CheckpointDifferences:
        """All in which a checkpoint differs from what restore() takes of it; nothing is restored.

        Parameters
        ----------
        save_path : str or path
            The checkpoint.

        Returns
        -------
        CheckpointDifferences
            What is missing, only there, of another shape, of another type.

        Raises
        ------
        ValueError
            If there is no such checkpoint.

        Examples
        --------
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
        ...     v, w = tw.Variable([1.0, 2.0], name="v"), tw.Variable(1, name="w")
        ...     sess.run(tw.group(v.initializer, w.initializer))
        ...     path = tw.train.Saver([v]).save(sess, os.path.join(folder, "model"))
        ...     tw.train.Saver([v, w]).compare(path).missing
        ['w']
        """
        save_path = self._existing(save_path)
        return CheckpointDifferences.of_rows([] if self._core is None else self._core.compare(None, save_path))

    def _existing(self, save_path):
        save_path = os.fsdecode(save_path)
        if not self.is_saving and not checkpoint_exists(save_path):  # what is being written is waited for
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        return save_path


proto_functions.register_proto_function(graph.GraphKeys.SAVERS, messages.SaverDef, proto_functions.to_proto, Saver.from_proto)

# SPDX-License-Identifier: Apache-2.0
"""Saver: variables to checkpoint files and back. The files and their retention are the core's work."""
import glob
import os
import re

from thalweg import _core, dtypes, errors, graph, lookup, ops, saveables, variables
from thalweg.graph import GraphKeys, control_dependencies, name_scope
from thalweg.saveables import BaseSaverBuilder, SaveableObject  # noqa: F401: TensorFlow has them here


def _named(var_list):
    """{name in the checkpoint: variable} of a list or dict of variables; what is none stands under its own name."""
    if var_list is None:
        var_list = list(dict.fromkeys(graph.get_collection(GraphKeys.GLOBAL_VARIABLES) +
                                      graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)))
    if isinstance(var_list, dict):
        for v in var_list.values():
            if not hasattr(v, "_ref_tensor") and not isinstance(v, SaveableObject):
                raise TypeError(f"Variable to save is not a Variable: {v}")
        return dict(var_list)
    named = {}
    for v in var_list:
        if not isinstance(v, (variables.Variable, lookup.TableSaveable, SaveableObject)):
            raise TypeError(f"Variable to save is not a Variable: {v}")
        name = v.name if isinstance(v, SaveableObject) else v.op.name
        if name in named:
            raise ValueError(f"At least two variables have the same name: {name}")
        named[name] = v
    return named


def _place(target, first, prefix):
    """Those that write and read files run on the device of the scopes around; those that set a variable, where it is."""
    def is_of_variable(op):
        return op.type not in ("SaveV2", "SaveSlices") and any(i.dtype._is_ref_dtype or i.dtype == dtypes.resource for i in op.inputs)

    if target._state.device or target._state.device_functions:
        for op in target._nodes(first):
            if op.name.startswith(prefix) and not is_of_variable(op):
                target._set_device(op, target._device_of(graph.NodeView(op.type, op.name, {}, op.device)))


class Saver:
    """Saver().save(sess, "dir/model", global_step=10); Saver().restore(sess, tw.train.latest_checkpoint("dir"))."""

    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0,
                 name=None, restore_sequentially=False, saver_def=None, builder=None, defer_build=False, allow_empty=False,
                 write_version=2, pad_step_number=False, save_relative_paths=False, filename=None):
        self._var_list, self._name, self._pad = var_list, name, pad_step_number
        self._max_to_keep, self._hours, self._allow_empty = max_to_keep or 0, keep_checkpoint_every_n_hours, allow_empty
        self._last, self._core, self._scope, self._reshape = [], None, None, reshape
        if write_version not in (1, 2):
            raise RuntimeError(f"Unexpected write_version: {write_version}")
        self._write_version = int(write_version)
        if not defer_build:
            self.build()

    def build(self):
        """Adds the nodes that save and restore."""
        if self._core is not None:
            return
        named = _named(self._var_list)
        if not named:
            if self._allow_empty:
                return
            raise ValueError("No variables to save")
        others = [named[n] for n in sorted(named) if isinstance(named[n], SaveableObject)]
        names = sorted(n for n in named if not isinstance(named[n], SaveableObject))
        target = named[names[0]].graph if names else graph.get_default_graph()
        target._check_not_finalized()
        scope = self._scope = target.unique_name(self._name or "save")
        with target.as_default(), control_dependencies(None), name_scope(scope + "/"):
            entries, first = saveables.entries(others), target._num_nodes()
            self._core = _core.Saver(target, names, [named[n]._ref_tensor for n in names], self._max_to_keep, self._hours, scope,
                                     ops.site(), *entries, self._write_version)
            _place(target, first, scope + "/")
            if others:
                restored = target.get_operation_by_name(scope + "/RestoreV2").outputs[-len(entries[0]):]
                done = target.get_operation_by_name(scope + "/restore_all")
                for operation in saveables.restore_operations(others, restored, self._reshape):
                    target._add_control_input(done, operation)

    @property
    def last_checkpoints(self):
        """Those that are kept, oldest first."""
        return list(self._last)

    def to_proto(self, export_scope=None):
        """A SaverDef: the nodes that save and restore, as MetaGraphs name them."""
        from thalweg import messages
        self.build()
        if self._core is None:
            return None
        return messages.SaverDef(filename_tensor_name=f"{self._scope}/Const:0",
                                 save_tensor_name=f"{self._scope}/control_dependency:0",
                                 restore_op_name=f"{self._scope}/restore_all", max_to_keep=self._max_to_keep,
                                 keep_checkpoint_every_n_hours=self._hours, version=self._write_version)

    as_saver_def = to_proto

    def set_last_checkpoints(self, last_checkpoints):
        self._last = list(last_checkpoints)

    def save(self, sess, save_path, global_step=None, latest_filename=None, meta_graph_suffix="meta", write_meta_graph=True,
             write_state=True, strip_default_attrs=False, save_debug_info=False):
        """Writes the variables of the session; gives the name of the checkpoint."""
        self.build()
        if self._core is None:
            return None
        if not hasattr(sess, "graph"):
            raise TypeError("'sess' must be a Session; %s" % sess)
        step = -1
        if global_step is not None:
            step = int(global_step if isinstance(global_step, int) or hasattr(global_step, "__index__") else
                       sess.run(global_step))
        save_path = os.fspath(save_path)
        if self._pad and step >= 0:
            save_path, step = f"{save_path}-{step:08d}", -1
        folder = os.path.dirname(save_path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        written = self._core.save(sess, save_path, step).decode()
        self._last = ([p for p in self._last if p != written] + [written])[-self._max_to_keep or None:]
        if write_meta_graph:
            from thalweg import meta_graph
            meta_graph.write(f"{written}.{meta_graph_suffix}", sess.graph, saver=self)
        return written

    def restore(self, sess, save_path):
        """Sets the variables of the session to what the checkpoint holds."""
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        if self._core is None:
            return
        save_path = os.fspath(save_path)
        if not checkpoint_exists(save_path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        self._core.restore(sess, save_path)


def checkpoint_exists(checkpoint_prefix):
    """Whether there is a checkpoint of this name: an index, or files of format V1 that the name, a pattern, matches."""
    return os.path.exists(checkpoint_prefix + ".index") or bool(glob.glob(checkpoint_prefix))


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The newest checkpoint of a directory, or None."""
    try:
        path = _core.Saver.latest_checkpoint(os.fspath(checkpoint_dir)).decode()
    except errors.NotFoundError:
        return None
    return path if checkpoint_exists(path) else None


class CheckpointState:
    """What the file "checkpoint" says."""

    def __init__(self, model_checkpoint_path, all_model_checkpoint_paths):
        self.model_checkpoint_path, self.all_model_checkpoint_paths = model_checkpoint_path, all_model_checkpoint_paths


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """What the file "checkpoint" of a directory says, or None."""
    path = os.path.join(checkpoint_dir, latest_filename or "checkpoint")
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return None

    def paths(field):
        found = re.findall(rf'^{field}: "(.*)"$', text, re.MULTILINE)
        return [os.path.join(checkpoint_dir, p) for p in found]  # an absolute path stays
    newest = paths("model_checkpoint_path")
    return CheckpointState(newest[0], paths("all_model_checkpoint_paths")) if newest else None

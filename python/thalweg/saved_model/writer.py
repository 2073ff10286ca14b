# SPDX-License-Identifier: Apache-2.0
"""Writing SavedModels."""
from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from thalweg import lookup, messages
from thalweg.graph import graph, ops
from thalweg.graph.tensor import Operation, Tensor
from thalweg.graph.tensor_util import constant_value
from thalweg.saved_model import constants as keys, signatures
from thalweg.saving import meta_graph, saver
from thalweg.saving.wrapped_savers import wait_for
from thalweg.variables import variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.base.typing import PathLike
    from thalweg.graph.session import Session
    from thalweg.messages import SignatureDef
    from thalweg.saving.saver import Saver


class Builder:
    """Builder("dir"): add_meta_graph_and_variables(sess, tags, signatures), then add_meta_graph for more, then save()."""

    def __init__(self, export_dir: PathLike) -> None:
        export_dir = os.fsdecode(export_dir)
        if os.path.isdir(export_dir) and os.listdir(export_dir):
            raise AssertionError("Export directory already exists, and isn't empty. Please choose a different export directory, "
                                 f"or delete all the contents of the specified directory: {export_dir}")
        os.makedirs(export_dir, exist_ok=True)
        self._dir, self._has_variables = export_dir, False
        self._model = messages.SavedModel(saved_model_schema_version=keys.SAVED_MODEL_SCHEMA_VERSION)

    def add_meta_graph_and_variables(self, sess: Session, tags: Sequence[str],
                                     signature_def_map: Mapping[str, SignatureDef] | None = None,
                                     assets_collection: Sequence[object] | None = None, legacy_init_op: Operation | None = None,
                                     clear_devices: bool = False, main_op: Operation | None = None,
                                     strip_default_attrs: bool = False, saver: Saver | None = None) -> None:
        """Adds the graph of a session under the tags, and writes its variables and files."""
        if self._has_variables:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke "
                                 "`add_meta_graph()` instead.")
        with sess.graph.as_default():
            made = self._meta_graph(tags, signature_def_map, assets_collection, main_op or legacy_init_op, clear_devices, saver)
            self._save_variables(sess, made[1])
        self._model.meta_graphs.append(made[0])
        self._has_variables = True

    def add_meta_graph(self, tags: Sequence[str], signature_def_map: Mapping[str, SignatureDef] | None = None,
                       assets_collection: Sequence[object] | None = None, legacy_init_op: Operation | None = None,
                       clear_devices: bool = False, main_op: Operation | None = None, strip_default_attrs: bool = False,
                       saver: Saver | None = None) -> None:
        """Adds the default graph under other tags, for the variables that are written already."""
        if not self._has_variables:
            raise AssertionError("Graph state including variables and assets has not been saved yet. Please invoke "
                                 "`add_meta_graph_and_variables()` first.")
        self._model.meta_graphs.append(
            self._meta_graph(tags, signature_def_map, assets_collection, main_op or legacy_init_op, clear_devices, saver)[0])

    def _meta_graph(self, tags, signature_def_map, assets_collection, main_op, clear_devices, given_saver):
        """(the MetaGraphDef, its saver)"""
        signature_def_map = dict(signature_def_map or {})
        for signature in signature_def_map.values():
            _check(signature)
        target = graph.get_default_graph()
        if main_op is not None:
            main_op = main_op.op if isinstance(main_op, Tensor) else main_op
            if not isinstance(main_op, Operation):
                raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
            target.clear_collection(keys.MAIN_OP_KEY)
            target.add_to_collection(keys.MAIN_OP_KEY, main_op)
        if given_saver is None:
            saved = dict.fromkeys(target.get_collection("variables") + target.get_collection("saveable_objects"))
            given_saver = saver.Saver(list(saved), allow_empty=True)
        made = meta_graph.export_meta_graph(graph=target, clear_devices=clear_devices, saver=given_saver)
        made.meta_info_def.tags.extend([tags] if isinstance(tags, str) else sorted(tags))
        for name, signature in signature_def_map.items():
            made.signature_def[name].CopyFrom(signature)
        self._save_assets(made, assets_collection)
        return made, given_saver

    def _save_assets(self, made, assets_collection):
        """Copies the files that constants of the graph name, each once; files of one name get numbers."""
        taken = {}  # name in the directory -> where it comes from
        for tensor in assets_collection or []:
            path = constant_value(tensor)
            if path is None or not len(path.tobytes() if hasattr(path, "tobytes") else path):
                raise ValueError(f"Invalid asset filepath tensor {tensor}")
            path = path.item() if hasattr(path, "item") else path
            path = path.decode() if isinstance(path, bytes) else str(path)
            name, number = os.path.basename(path), 0
            while taken.get(name, path) != path:
                number += 1
                name = f"{os.path.basename(path)}_{number}"
            if name not in taken:
                folder = os.path.join(self._dir, keys.ASSETS_DIRECTORY)
                os.makedirs(folder, exist_ok=True)
                shutil.copyfile(path, os.path.join(folder, name))
                taken[name] = path
            asset = made.asset_file_def.add(filename=name)
            asset.tensor_info.name = tensor.name

    def _save_variables(self, sess, given_saver):
        folder = os.path.join(self._dir, keys.VARIABLES_DIRECTORY)
        os.makedirs(folder, exist_ok=True)
        given_saver.save(sess, os.path.join(folder, keys.VARIABLES_FILENAME), write_meta_graph=False, write_state=False)
        wait_for(given_saver)
        state = os.path.join(folder, "checkpoint")
        if os.path.exists(state):  # that is for checkpoints of training
            os.remove(state)

    def save(self, as_text: bool = False) -> bytes:
        """Writes the model's file; gives its path."""
        path = os.path.join(self._dir, keys.SAVED_MODEL_FILENAME_PBTXT if as_text else keys.SAVED_MODEL_FILENAME_PB)
        meta_graph.write_bytes(path, str(self._model).encode() if as_text else self._model.SerializeToString())
        return path.encode()


SavedModelBuilder = Builder


def _check(signature):
    """Each argument and result has a tensor and a type."""
    for infos in (signature.inputs, signature.outputs):
        for name, info in infos.items():
            if info.WhichOneof("encoding") is None:
                raise AssertionError(f"All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields "
                                     f"(e.g., name or coo_sparse) set, found none for {name!r}")
            if info.dtype == 0:
                raise AssertionError("All TensorInfo protos used in the SignatureDefs must have the dtype field set, found none "
                                     f"for {name!r}")


def simple_save(session: Session, export_dir: PathLike, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor],
                legacy_init_op: Operation | None = None) -> None:
    """Writes the session's graph and variables with one signature, the default one, for serving."""
    signature = {keys.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures.predict_signature_def(inputs, outputs)}
    builder = Builder(export_dir)
    builder.add_meta_graph_and_variables(session, [keys.SERVING], signature,
                                         graph.get_collection(graph.GraphKeys.ASSET_FILEPATHS), main_op=legacy_init_op,
                                         clear_devices=True)
    builder.save()


def main_op() -> Operation:
    """An operation that initializes variables and tables."""
    return ops.group(variables.global_variables_initializer(), variables.local_variables_initializer(),
                     lookup.tables_initializer())


def main_op_with_restore(restore_op_name: str) -> Operation:
    """main_op, then the operation of this name, which restores the variables."""
    with graph.control_dependencies([main_op()]):
        return ops.group(graph.get_default_graph().get_operation_by_name(restore_op_name)
                         if isinstance(restore_op_name, str) else restore_op_name)

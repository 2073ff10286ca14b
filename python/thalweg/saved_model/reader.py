# SPDX-License-Identifier: Apache-2.0
"""Reading SavedModels, of TensorFlow 1 as well as our own."""
from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.saved_model import constants as keys
from thalweg.saving.meta_graph_import import import_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import PathLike
    from thalweg.graph.session import Session
    from thalweg.messages import MetaGraphDef, SavedModel

_INIT_SIGNATURE = "__saved_model_init_op"


def maybe_saved_model_directory(export_dir: PathLike) -> bool:
    """Whether there is a model's file in the directory."""
    return any(os.path.isfile(os.path.join(os.fsdecode(export_dir), name)) for name in (
        keys.SAVED_MODEL_FILENAME_PB, keys.SAVED_MODEL_FILENAME_PBTXT))


def read(export_dir: PathLike) -> SavedModel:
    """The SavedModel message of a directory."""
    path = os.path.join(export_dir, keys.SAVED_MODEL_FILENAME_PB)
    if os.path.isfile(path):
        with open(path, "rb") as f:
            data = f.read()
        try:
            return messages.SavedModel.FromString(data)
        except ValueError as error:
            raise OSError(f"Cannot parse file {path}: {error}.") from None
    if os.path.isfile(os.path.join(export_dir, keys.SAVED_MODEL_FILENAME_PBTXT)):
        raise NotImplementedError(f"SavedModels as text are written but not read here: {export_dir}")
    raise OSError(f"SavedModel file does not exist at: {export_dir}/{{{keys.SAVED_MODEL_FILENAME_PBTXT}|"
                  f"{keys.SAVED_MODEL_FILENAME_PB}}}")


def _with_tags(model, tags, export_dir):
    wanted = {tags} if isinstance(tags, str) else set(tags)
    for found in model.meta_graphs:
        if set(found.meta_info_def.tags) == wanted:
            return found
    there = [sorted(m.meta_info_def.tags) for m in model.meta_graphs]
    raise RuntimeError(f"MetaGraphDef associated with tags {str(sorted(wanted))[1:-1]} could not be found in SavedModel {export_dir}, which "
                       f"has {there}")


def _asset_feeds(found, export_dir, prefix):
    """{tensor that names a file: where the file is now}"""
    assets = list(found.asset_file_def)
    if not assets and keys.ASSETS_KEY in found.collection_def:
        for item in found.collection_def[keys.ASSETS_KEY].any_list.value:
            assets.append(messages.AssetFileDef.FromString(item.value))
    return {prefix + a.tensor_info.name: os.path.join(export_dir, keys.ASSETS_DIRECTORY, a.filename) for a in assets}


def _init_op(found, prefix):
    """The name of the operation that makes a loaded graph ready, or None."""
    if _INIT_SIGNATURE in found.signature_def:
        outputs = found.signature_def[_INIT_SIGNATURE].outputs
        if _INIT_SIGNATURE in outputs:
            return prefix + outputs[_INIT_SIGNATURE].name
    for key in (keys.MAIN_OP_KEY, keys.LEGACY_INIT_OP_KEY):
        if key in found.collection_def:
            listed = found.collection_def[key].node_list.value
            if len(listed) > 1:
                raise RuntimeError(f"Expected exactly one SavedModel init op. Found: {list(listed)}.")
            if listed:
                return prefix + listed[0]
    return None


def _into_a_session(load):
    """Tells who calls TensorFlow 2's load(export_dir) how it is done here."""
    @functools.wraps(load)
    def checked(*args, **kwargs):
        if len(args) + len(kwargs) == 1 and isinstance((*args, *kwargs.values())[0], (str, bytes, os.PathLike)):
            raise TypeError("tf.saved_model.load(export_dir) is TensorFlow 2's. Here thalweg.load(export_dir) gives a model to call "
                            "with arrays; to train it further, it is loaded into a session: with "
                            "tf.Session() as sess: model = tf.saved_model.load(sess, ['serve'], export_dir); then "
                            "model.signature_def['serving_default'] names the tensors to feed and to fetch with sess.run")
        return load(*args, **kwargs)
    return checked


@_into_a_session
def load(sess: Session, tags: str | Sequence[str], export_dir: PathLike, import_scope: str | None = None,
         **saver_kwargs: object) -> MetaGraphDef:
    """Adds the graph under the tags to the session's, restores its variables, runs its first operation; gives its MetaGraphDef."""
    export_dir = os.fsdecode(export_dir)
    found = _with_tags(read(export_dir), tags, export_dir)
    prefix = import_scope + "/" if import_scope else ""
    with sess.graph.as_default():
        import_parts(found, saver_kwargs.get("clear_devices", False), import_scope)
    variables = os.path.join(export_dir, keys.VARIABLES_DIRECTORY, keys.VARIABLES_FILENAME)
    if found.HasField("saver_def") and found.saver_def.restore_op_name and os.path.exists(variables + ".index"):
        sess.run(sess.graph.get_operation_by_name(prefix + found.saver_def.restore_op_name),
                 {prefix + found.saver_def.filename_tensor_name: variables})
    first = _init_op(found, prefix)
    if first is not None:
        sess.run(sess.graph.as_graph_element(first), _asset_feeds(found, export_dir, prefix))
    return found

# SPDX-License-Identifier: Apache-2.0
"""Reading SavedModels, of TensorFlow 1 as well as our own."""
from __future__ import annotations

import functools
import json
import os
from typing import TYPE_CHECKING, Any

from thalweg import _core, errors, messages
from thalweg.saved_model import constants as keys
from thalweg.saving.meta_graph_import import import_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import PathLike
    from thalweg.graph.session import Session
    from thalweg.messages import MetaGraphDef


def maybe_saved_model_directory(export_dir: PathLike) -> bool:
    """Whether there is a model's file in the directory."""
    return any(os.path.isfile(os.path.join(os.fsdecode(export_dir), name)) for name in (
        keys.SAVED_MODEL_FILENAME_PB, keys.SAVED_MODEL_FILENAME_PBTXT))


def read(export_dir: PathLike, tags: str | Sequence[str]) -> tuple[MetaGraphDef, dict[str, Any]]:
    """The MetaGraphDef with the tags, and whether it has variables, what makes it ready, which files it needs. Where there is none,
    TensorFlow's exceptions with its words, for programs that look for them, and then what the library says."""
    wanted = {tags} if isinstance(tags, str) else set(tags)
    if not maybe_saved_model_directory(export_dir):
        raise OSError(f"SavedModel file does not exist at: {export_dir}/{{{keys.SAVED_MODEL_FILENAME_PBTXT}|"
                      f"{keys.SAVED_MODEL_FILENAME_PB}}}")
    try:
        data, facts = _core.read_saved_model(export_dir, sorted(wanted))
        found = messages.MetaGraphDef.FromString(data)
        if set(found.meta_info_def.tags) == wanted:
            return found, json.loads(facts)
        said = f"there is {sorted(found.meta_info_def.tags)}"
    except errors.NotFoundError as error:
        said = error.message
    except errors.InvalidArgumentError as error:
        if "this is no SavedModel" not in error.message:
            raise
        raise OSError(f"Cannot parse file {error.message}") from None
    raise RuntimeError(f"MetaGraphDef associated with tags {str(sorted(wanted))[1:-1]} could not be found in SavedModel {export_dir}: {said}")


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
    found, facts = read(export_dir, tags)
    prefix = import_scope + "/" if import_scope else ""
    with sess.graph.as_default():
        import_parts(found, saver_kwargs.get("clear_devices", False), import_scope)
    if found.HasField("saver_def") and found.saver_def.restore_op_name and facts["has_variables"]:
        variables = os.path.join(export_dir, keys.VARIABLES_DIRECTORY, keys.VARIABLES_FILENAME)
        sess.run(sess.graph.get_operation_by_name(prefix + found.saver_def.restore_op_name),
                 {prefix + found.saver_def.filename_tensor_name: variables})
    if facts["initializer"]:
        assets = {prefix + tensor: os.path.join(export_dir, file) for tensor, file in facts["assets"].items()}
        sess.run(sess.graph.as_graph_element(prefix + facts["initializer"]), assets)
    return found

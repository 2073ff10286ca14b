# SPDX-License-Identifier: Apache-2.0
"""A SavedModel of a checkpoint and a model function."""
from __future__ import annotations

import os
import re
import shutil
import time
from typing import TYPE_CHECKING

from thalweg.estimator.export_outputs import all_signatures
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.graph.session import Session
from thalweg.saved_model.constants import SERVING
from thalweg.saved_model.reader import maybe_saved_model_directory
from thalweg.saved_model.writer import Builder
from thalweg.saving.saver import Saver
from thalweg.training.global_steps import create_global_step
from thalweg.training.monitored_session import Scaffold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from thalweg.estimator.run_config import RunConfig

ASSETS_EXTRA_DIRECTORY = "assets.extra"


def exports_below(base: str) -> list[str]:
    """The names of the models that write() has written below `base`, the oldest first: nothing else is taken for one."""
    return sorted(entry.name for entry in os.scandir(base) if re.fullmatch("[0-9]{10}", entry.name)
                  and entry.is_dir(follow_symlinks=False) and maybe_saved_model_directory(entry.path))


def _new_directory(base):
    """(path, path of what is not whole yet) of a new model below `base`, of which the second is made. The name is the time in seconds,
    or a later one: models that are written faster than that are in order, too."""
    os.makedirs(base, exist_ok=True)
    stamp = max([int(time.time()), *(int(name) + 1 for name in exports_below(base))])
    while True:
        path, unfinished = os.path.join(base, str(stamp)), os.path.join(base, f"temp-{stamp}")
        stamp += 1
        try:
            os.mkdir(unfinished)
        except FileExistsError:  # another process is writing it, or was killed while it was
            continue
        if not os.path.exists(path):
            return path, unfinished
        os.rmdir(unfinished)


def write(base: str, receiver_fn: Callable[[], Any], model_of: Callable[[Any], Any], checkpoint: str,
          assets_extra: Mapping[str, str] | None, as_text: bool, config: RunConfig) -> bytes:
    """Writes the model that `model_of(features)` makes below `base`, under another name until it is whole; gives its path.
    What cannot be finished is removed."""
    with graph.Graph().as_default() as made:
        create_global_step(made)
        if config.tf_random_seed is not None:
            graph.set_random_seed(config.tf_random_seed)
        receiver = receiver_fn()
        spec = model_of(receiver.features)
        signatures = all_signatures(receiver.receiver_tensors, spec.export_outputs, receiver.receiver_tensors_alternatives)
        with Session(graph=made, config=config.session_config) as session:
            saver = spec.scaffold.saver or Saver(sharded=True, allow_empty=True)
            saver.restore(session, checkpoint)
            path, unfinished = _new_directory(base)
            try:
                builder = Builder(unfinished)
                builder.add_meta_graph_and_variables(
                    session, [SERVING], signatures, graph.get_collection(GraphKeys.ASSET_FILEPATHS), saver=saver,
                    main_op=spec.scaffold.local_init_op or Scaffold.default_local_init_op())
                builder.save(as_text)
                _add_files(os.path.join(unfinished, ASSETS_EXTRA_DIRECTORY), assets_extra or {})
                os.rename(unfinished, path)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
    return path.encode()


def _add_files(directory, files):
    for name, source in files.items():
        place = os.path.join(directory, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copyfile(source, place)

# SPDX-License-Identifier: Apache-2.0
"""A SavedModel of a checkpoint and a model function."""
from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

from thalweg.estimator.export_outputs import all_signatures
from thalweg.graph import graph
from thalweg.graph.graph import GraphKeys
from thalweg.graph.session import Session
from thalweg.saved_model.constants import SERVING
from thalweg.saved_model.writer import Builder
from thalweg.saving.saver import Saver
from thalweg.training.global_steps import create_global_step
from thalweg.training.monitored_session import Scaffold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from thalweg.estimator.run_config import RunConfig

ASSETS_EXTRA_DIRECTORY = "assets.extra"


def new_directory(base: str) -> str:
    """A path below `base` that is not there yet: the time in seconds."""
    stamp = int(time.time())
    while any(os.path.exists(os.path.join(base, name)) for name in (str(stamp), f"temp-{stamp}")):
        stamp += 1
    return os.path.join(base, str(stamp))


def write(base: str, receiver_fn: Callable[[], Any], model_of: Callable[[Any], Any], checkpoint: str,
          assets_extra: Mapping[str, str] | None, as_text: bool, config: RunConfig) -> bytes:
    """Writes the model that `model_of(features)` makes below `base`, under another name until it is whole; gives its path."""
    path = new_directory(base)
    unfinished = os.path.join(base, f"temp-{os.path.basename(path)}")
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
            builder = Builder(unfinished)
            builder.add_meta_graph_and_variables(
                session, [SERVING], signatures, graph.get_collection(GraphKeys.ASSET_FILEPATHS), saver=saver,
                main_op=spec.scaffold.local_init_op or Scaffold.default_local_init_op())
            builder.save(as_text)
    for name, source in (assets_extra or {}).items():
        place = os.path.join(unfinished, ASSETS_EXTRA_DIRECTORY, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copyfile(source, place)
    os.rename(unfinished, path)
    return path.encode()

# SPDX-License-Identifier: Apache-2.0
"""The step at which workers begin that train in step: the same for all, or they would wait for each other without end."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.distribute import agreement
from thalweg.saving.checkpoint_files import latest_checkpoint
from thalweg.saving.checkpoint_utils import load_checkpoint

if TYPE_CHECKING:
    from thalweg.base.typing import PathLike
    from thalweg.distribute.strategy import Strategy
    from thalweg.messages import ConfigProto

_NONE = -1  # where there is no checkpoint
_LOOKS, _LOOKS_EVERY = 20, 0.5  # a folder of several machines may show late what is in it; seconds


def step_in(folder: PathLike) -> int:
    """The global step of the newest checkpoint of a folder; -1 without one."""
    path = latest_checkpoint(folder)
    if path is None:
        return _NONE
    reader = load_checkpoint(path)
    return int(reader.get_tensor("global_step")) if reader.has_tensor("global_step") else _NONE


def check(strategy: Strategy, folder: PathLike, target: str, config: ConfigProto) -> None:
    """Waits for all workers and compares the steps of their newest checkpoints.

    Raises
    ------
    errors.FailedPreconditionError
        They differ, in each of the workers; so the folder is not one that all see.
    """
    if strategy.extended._group.size == 1:
        return
    with agreement.of_all_workers(strategy, target, config, 1) as compared:
        for look in range(_LOOKS):
            if look:
                time.sleep(_LOOKS_EVERY)
            found, = compared([step_in(folder)])
            if len(set(found)) == 1:
                return
    told = ", ".join(f"worker {number} {'has no checkpoint' if step == _NONE else f'begins at step {step}'}" for number, step in enumerate(found))
    raise errors.FailedPreconditionError(None, None, f"workers that train in step begin at one step, but {told} (the chief is worker 0): is {folder} "
                                         "one folder that all of them see? `model_dir` must be, or empty for each of them")

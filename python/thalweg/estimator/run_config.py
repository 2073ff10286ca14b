# SPDX-License-Identifier: Apache-2.0
"""RunConfig: where and how often an Estimator saves, logs and summarizes."""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from thalweg.cluster.cluster_resolver import config_of_environment
from thalweg.estimator import cluster_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from thalweg.base.typing import PathLike
    from thalweg.cluster.server import ClusterSpec
    from thalweg.graph.tensor import Operation
    from thalweg.messages import ConfigProto

_CHANGEABLE = ("model_dir tf_random_seed save_summary_steps save_checkpoints_steps save_checkpoints_secs session_config "
               "keep_checkpoint_max keep_checkpoint_every_n_hours log_step_count_steps train_distribute device_fn protocol "
               "eval_distribute experimental_distribute experimental_max_worker_delay_secs session_creation_timeout_secs").split()
_USE_DEFAULT = object()


class RunConfig:
    """RunConfig(model_dir="here", save_checkpoints_steps=100): how to run; TF_CONFIG says in which task of which cluster."""

    # What replace() may change: properties, made below.
    model_dir: str | None
    tf_random_seed: int | None
    save_summary_steps: int | None
    save_checkpoints_steps: int | None
    save_checkpoints_secs: float | None
    session_config: ConfigProto | None
    keep_checkpoint_max: int | None
    keep_checkpoint_every_n_hours: float
    log_step_count_steps: int | None
    train_distribute: object
    device_fn: Callable[[Operation], str] | None
    protocol: str | None
    eval_distribute: object
    experimental_distribute: object
    experimental_max_worker_delay_secs: float | None
    session_creation_timeout_secs: float

    def __init__(self, model_dir: PathLike | None = None, tf_random_seed: int | None = None, save_summary_steps: int | None = 100,
                 save_checkpoints_steps: object = _USE_DEFAULT, save_checkpoints_secs: object = _USE_DEFAULT,
                 session_config: ConfigProto | None = None, keep_checkpoint_max: int = 5,
                 keep_checkpoint_every_n_hours: float = 10000, log_step_count_steps: int | None = 100, train_distribute: object = None,
                 device_fn: Callable[[Operation], str] | None = None, protocol: str | None = None, eval_distribute: object = None,
                 experimental_distribute: object = None, experimental_max_worker_delay_secs: float | None = None,
                 session_creation_timeout_secs: float = 7200) -> None:
        if save_checkpoints_steps is _USE_DEFAULT and save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_steps, save_checkpoints_secs = None, 600
        elif save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_secs = None
        elif save_checkpoints_steps is _USE_DEFAULT:
            save_checkpoints_steps = None
        if experimental_distribute is not None:
            train_distribute = train_distribute or experimental_distribute.train_distribute
            eval_distribute = eval_distribute or experimental_distribute.eval_distribute
        told = config_of_environment()
        model_dir = _one_folder(model_dir, told.get("model_dir"))
        self._task, self._service = cluster_tasks.of(told, train_distribute), told.get("service")
        if session_config is None:
            session_config = cluster_tasks.session_config(self._task)
        given = dict(locals())
        for name in _CHANGEABLE:
            setattr(self, "_" + name, given[name])
        self._check()

    def _check(self):
        if self._save_checkpoints_steps is not None and self._save_checkpoints_secs is not None:
            raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        for name in ("save_checkpoints_steps", "save_checkpoints_secs", "save_summary_steps", "keep_checkpoint_max"):
            value = getattr(self, "_" + name)
            if value is not None and value < 0:
                raise ValueError(f"{name} should be >= 0")

    def replace(self, **kwargs: object) -> Self:
        """A copy with other values."""
        for name in kwargs:
            if name not in _CHANGEABLE:
                raise ValueError(f"Replacing {name} is not supported. Allowed properties are {_CHANGEABLE}.")
        made = copy.copy(self)
        if "save_checkpoints_steps" in kwargs and "save_checkpoints_secs" not in kwargs:
            kwargs["save_checkpoints_secs"] = None
        elif "save_checkpoints_secs" in kwargs and "save_checkpoints_steps" not in kwargs:
            kwargs["save_checkpoints_steps"] = None
        for name, value in kwargs.items():
            setattr(made, "_" + name, value)
        made._check()
        return made

    # What TF_CONFIG says of the task: properties, made below.
    cluster_spec: ClusterSpec
    task_type: str
    task_id: int
    master: str
    evaluation_master: str
    is_chief: bool
    num_ps_replicas: int
    num_worker_replicas: int
    global_id_in_cluster: int | None

    @property
    def service(self) -> dict[str, Any] | None:
        """What TF_CONFIG says of the platform that runs the task."""
        return self._service


def _one_folder(given, told):
    if given is not None and told is not None and str(given) != told:
        raise ValueError(f"`model_dir` provided in RunConfig construct, if set, must have the same value in TF_CONFIG: {given} and {told}")
    return told if given is None else given


for _name in _CHANGEABLE:
    setattr(RunConfig, _name, property(lambda self, name="_" + _name: getattr(self, name)))
for _name in cluster_tasks.Task._fields:
    setattr(RunConfig, _name, property(lambda self, name=_name: getattr(self._task, name)))

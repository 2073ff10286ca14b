# SPDX-License-Identifier: Apache-2.0
"""RunConfig of tf.contrib.learn: which task of a cluster this process is, as the variable TF_CONFIG says, and how often to save."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.cluster.cluster_resolver import config_of_environment
from thalweg.cluster.server import ClusterSpec
from thalweg.estimator import cluster_tasks, run_config

if TYPE_CHECKING:
    from thalweg.base.typing import PathLike
    from thalweg.messages import ConfigProto

_DEFAULT = object()
LOCAL = "local"


class RunConfig(run_config.RunConfig):
    """RunConfig(master="", save_checkpoints_secs=600, ...). An Estimator takes it for one process; a program that runs its own
    server reads cluster_spec, task_type, task_id, is_chief and master."""

    def __init__(self, master: str | None = None, num_cores: int = 0, log_device_placement: bool = False,
                 gpu_memory_fraction: float = 1, tf_random_seed: int | None = None, save_summary_steps: int = 100,
                 save_checkpoints_secs: object = _DEFAULT, save_checkpoints_steps: int | None = None, keep_checkpoint_max: int = 5,
                 keep_checkpoint_every_n_hours: float = 10000, log_step_count_steps: int = 100, protocol: str | None = None,
                 evaluation_master: str = "", model_dir: PathLike | None = None, session_config: ConfigProto | None = None,
                 session_creation_timeout_secs: float = 7200) -> None:
        if save_checkpoints_secs is _DEFAULT:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        given = dict(locals())
        for name in run_config._CHANGEABLE:
            setattr(self, "_" + name, given.get(name))
        self._check()
        self._read(config_of_environment(), master, evaluation_master)
        self.tf_config = messages.ConfigProto(
            log_device_placement=log_device_placement, inter_op_parallelism_threads=num_cores, intra_op_parallelism_threads=num_cores,
            gpu_options=messages.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction))

    def _read(self, told, master, evaluation_master):
        cluster, task = told.get("cluster") or {}, told.get("task") or {}
        self.environment = told.get("environment", LOCAL)
        kind, number = task.get("type") if task else None, int(task.get("index") or 0)
        chief = "master" if "master" in cluster else "worker"
        workers = len(cluster.get("worker", ())) + len(cluster.get("master", ()))
        if master is None:
            addresses = cluster.get(kind, ())
            alone = sum(map(len, cluster.values())) <= 1
            if not alone and number >= len(addresses):
                raise ValueError(f"task {kind}:{number} of TF_CONFIG is not in its cluster {cluster}")
            master = "" if alone else "grpc://" + addresses[number]
        self._service = None
        self._task = cluster_tasks.Task(ClusterSpec(cluster), kind, number, master, evaluation_master,
                                        number == 0 and kind in (None, chief), len(cluster.get("ps", ())), workers, 0)

    def get_task_id(self) -> int:
        """The number of this task in its job."""
        return self.task_id

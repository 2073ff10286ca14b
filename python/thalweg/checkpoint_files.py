# SPDX-License-Identifier: Apache-2.0
"""The files of checkpoints: which there are, how old, and the file "checkpoint" that tells the newest."""
import os
import time

from thalweg import messages
from thalweg.meta_graph import write_bytes


def generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None,
                                    all_model_checkpoint_timestamps=None, last_preserved_timestamp=None):
    """What the file "checkpoint" of a directory says of these checkpoints, by paths from that directory."""
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    if all_model_checkpoint_timestamps and len(all_model_checkpoint_timestamps) != len(paths):
        raise ValueError("Checkpoint timestamps, if provided, must match the number of checkpoint paths (got "
                         f"{len(paths)} paths and {len(all_model_checkpoint_timestamps)} timestamps)")

    def relative(path):
        return path if os.path.isabs(path) or not os.path.isabs(save_dir) and not path.startswith(save_dir) else \
            os.path.relpath(path, save_dir)
    if not os.path.isabs(save_dir):
        paths = [relative(p) for p in paths]
        model_checkpoint_path = relative(model_checkpoint_path)
    made = messages.CheckpointState(model_checkpoint_path=model_checkpoint_path)
    made.all_model_checkpoint_paths.extend(paths)
    if all_model_checkpoint_timestamps:
        made.all_model_checkpoint_timestamps.extend(all_model_checkpoint_timestamps)
    if last_preserved_timestamp is not None:
        made.last_preserved_timestamp = last_preserved_timestamp
    return made


def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
                            all_model_checkpoint_timestamps=None, last_preserved_timestamp=None):
    """Writes the file "checkpoint" of a directory."""
    if latest_filename and latest_filename == model_checkpoint_path:
        raise RuntimeError(f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.")
    made = generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths,
                                           all_model_checkpoint_timestamps, last_preserved_timestamp)
    path = os.path.join(save_dir, latest_filename or "checkpoint")
    write_bytes(path + ".tmp", str(made).encode())
    os.replace(path + ".tmp", path)


def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix="meta"):
    """Removes the files of a checkpoint."""
    folder = os.path.dirname(checkpoint_prefix) or "."
    base = os.path.basename(checkpoint_prefix)
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if name in (f"{base}.index", f"{base}.{meta_graph_suffix}") or name.startswith(f"{base}.data-") or name == base:
            os.remove(os.path.join(folder, name))


def get_checkpoint_mtimes(checkpoint_prefixes):
    """When each of the checkpoints was written, in seconds; those that are not there are left out."""
    times = []
    for prefix in checkpoint_prefixes:
        for path in (prefix + ".index", prefix):
            if os.path.exists(path):
                times.append(os.stat(path).st_mtime)
                break
    return times


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """Each newest checkpoint of a directory as it comes; ends when there was none for `timeout` seconds and timeout_fn, if
    given, says so too."""
    from thalweg.saver import latest_checkpoint
    last = None
    while True:
        begin, found = time.time(), latest_checkpoint(checkpoint_dir)
        while found is None or found == last:
            if timeout is not None and time.time() - begin > timeout:
                break
            time.sleep(min(1.0, timeout) if timeout is not None else 1.0)
            found = latest_checkpoint(checkpoint_dir)
        if found is None or found == last:
            if timeout_fn is None or timeout_fn():
                return
            continue
        started, last = time.time(), found
        yield found
        time.sleep(max(0.0, min_interval_secs - (time.time() - started)))


# ---- where variables live ----
_PS_OPS = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
           "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "VarHandleOp",
           "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp")


class _ReplicaDevices:
    """The device function of replica_device_setter."""

    def __init__(self, ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy):
        self._tasks, self._ps, self._worker, self._merge = ps_tasks, ps_device, worker_device, merge_devices
        self._ops, self._strategy, self._next = ps_ops, ps_strategy, 0

    def _task(self, op):
        if self._strategy is not None:
            return self._strategy(op)
        self._next += 1
        return (self._next - 1) % self._tasks

    def __call__(self, op):
        from thalweg.device_specs import DeviceSpec
        from thalweg.graph import merge_devices
        if not self._merge and op.device:
            return op.device
        current = DeviceSpec.from_string(op.device or "")
        if self._tasks and self._ps and op.type in self._ops:
            spec = DeviceSpec.from_string(self._ps)
            if current.job in (None, spec.job):
                spec.task = self._task(op)
            return merge_devices(op.device, spec.to_string())
        return merge_devices(op.device, self._worker or "")


def replica_device_setter(ps_tasks=0, ps_device="/job:ps", worker_device="/job:worker", merge_devices=True, cluster=None,
                          ps_ops=None, ps_strategy=None):
    """A device function that puts variables on the tasks of parameter servers, in turn, and all else on the worker."""
    if cluster is not None:
        from thalweg.device_specs import DeviceSpec
        from thalweg.server import ClusterSpec
        jobs = ClusterSpec(cluster).as_dict()
        job = DeviceSpec.from_string(ps_device).job if ps_device else None
        if job not in jobs or not jobs[job]:
            return None
        ps_tasks = len(jobs[job])
    if ps_tasks == 0:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    return _ReplicaDevices(ps_tasks, ps_device, worker_device, merge_devices, _PS_OPS if ps_ops is None else ps_ops, ps_strategy)

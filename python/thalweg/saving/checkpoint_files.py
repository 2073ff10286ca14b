# SPDX-License-Identifier: Apache-2.0
"""The files of checkpoints: which there are, how old, and the file "checkpoint" that tells the newest."""
from __future__ import annotations

import glob
import os
import re
import time
from typing import TYPE_CHECKING

from thalweg import _core, errors, messages
from thalweg.saving.meta_graph import write_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from thalweg.base.typing import PathLike


def generate_checkpoint_state_proto(save_dir: str, model_checkpoint_path: str,
                                    all_model_checkpoint_paths: Sequence[str] | None = None,
                                    all_model_checkpoint_timestamps: Sequence[float] | None = None,
                                    last_preserved_timestamp: float | None = None) -> messages.CheckpointState:
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


def update_checkpoint_state(save_dir: str, model_checkpoint_path: str, all_model_checkpoint_paths: Sequence[str] | None = None,
                            latest_filename: str | None = None, all_model_checkpoint_timestamps: Sequence[float] | None = None,
                            last_preserved_timestamp: float | None = None) -> None:
    """Writes the file "checkpoint" of a directory."""
    if latest_filename and latest_filename == model_checkpoint_path:
        raise RuntimeError(f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.")
    made = generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths,
                                           all_model_checkpoint_timestamps, last_preserved_timestamp)
    path = os.path.join(save_dir, latest_filename or "checkpoint")
    beside = f"{path}.tmp{os.getpid()}"
    write_bytes(beside, str(made).encode())
    os.replace(beside, path)


def remove_checkpoint(checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta") -> None:
    """Removes the files of a checkpoint, the index first: what is left of a removal that was cut short is no checkpoint."""
    _core.Saver.remove_checkpoint(checkpoint_prefix, checkpoint_format_version)
    meta_graph = f"{checkpoint_prefix}.{meta_graph_suffix}"
    if os.path.exists(meta_graph):
        os.remove(meta_graph)


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When each of the checkpoints was written, in seconds; those that are not there are left out."""
    times = []
    for prefix in checkpoint_prefixes:
        for path in (prefix + ".index", prefix):
            if os.path.exists(path):
                times.append(os.stat(path).st_mtime)
                break
    return times


def checkpoints_iterator(checkpoint_dir: PathLike, min_interval_secs: float = 0, timeout: float | None = None,
                         timeout_fn: Callable[[], object] | None = None) -> Iterator[str]:
    """Each newest checkpoint of a directory as it comes; ends when there was none for `timeout` seconds and timeout_fn, if
    given, says so too."""
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


def checkpoint_exists(checkpoint_prefix: PathLike) -> bool:
    """Whether there is a checkpoint of this name: an index, or files of format V1 that the name, a pattern, matches."""
    checkpoint_prefix = os.fsdecode(checkpoint_prefix)
    return os.path.exists(checkpoint_prefix + ".index") or bool(glob.glob(checkpoint_prefix))


def latest_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """The newest checkpoint of a directory, or None.

    Parameters
    ----------
    checkpoint_dir : str or path
        The directory.
    latest_filename : str, optional
        Name of the file that says it; "checkpoint" by default.

    Returns
    -------
    str or None
        What Saver.restore() takes; None where there is no checkpoint.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     print(tw.train.latest_checkpoint(folder))
    ...     v = tw.Variable(1.0)
    ...     sess.run(v.initializer)
    ...     path = tw.train.Saver().save(sess, os.path.join(folder, "model"), global_step=3)
    ...     print(os.path.basename(tw.train.latest_checkpoint(folder)))
    None
    model-3
    """
    if latest_filename and latest_filename != "checkpoint":
        state = get_checkpoint_state(checkpoint_dir, latest_filename)
        return state.model_checkpoint_path if state and checkpoint_exists(state.model_checkpoint_path) else None
    try:
        path = _core.Saver.latest_checkpoint(os.fsdecode(checkpoint_dir)).decode()
    except errors.NotFoundError:
        return None
    return path if checkpoint_exists(path) else None


def best_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """The checkpoint of a directory with the best metric, of those that a Saver wrote with one.

    Parameters
    ----------
    checkpoint_dir : str or path
        The directory.
    latest_filename : str, optional
        What save() got as `latest_filename`; "checkpoint" by default.

    Returns
    -------
    str or None
        What Saver.restore() takes; None where no checkpoint has a metric.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     v = tw.Variable(1.0)
    ...     sess.run(v.initializer)
    ...     saver = tw.train.Saver(max_to_keep=1, keep_best=1)
    ...     for step, loss in enumerate([0.5, 0.25, 0.75, 1.0]):
    ...         path = saver.save(sess, os.path.join(folder, "model"), global_step=step, metric=loss)
    ...     print(os.path.basename(tw.train.best_checkpoint(folder)), [os.path.basename(p) for p in saver.last_checkpoints])
    model-1 ['model-1', 'model-3']
    """
    try:
        return _core.Saver.best_checkpoint(os.fsdecode(checkpoint_dir), latest_filename or "checkpoint").decode()
    except errors.NotFoundError:
        return None


class CheckpointState:
    """What the file "checkpoint" says."""

    def __init__(self, model_checkpoint_path: str, all_model_checkpoint_paths: Sequence[str]) -> None:
        self.model_checkpoint_path, self.all_model_checkpoint_paths = model_checkpoint_path, all_model_checkpoint_paths


def get_checkpoint_state(checkpoint_dir: PathLike, latest_filename: str | None = None) -> CheckpointState | None:
    """What the file "checkpoint" of a directory says.

    Parameters
    ----------
    checkpoint_dir : str or path
        The directory.
    latest_filename : str, optional
        Name of the file; "checkpoint" by default.

    Returns
    -------
    CheckpointState or None
        With `model_checkpoint_path`, the newest one, and `all_model_checkpoint_paths`, oldest first. None where there is no such
        file.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     v = tw.Variable(1.0)
    ...     sess.run(v.initializer)
    ...     path = tw.train.Saver().save(sess, os.path.join(folder, "model"), global_step=7)
    ...     os.path.basename(tw.train.get_checkpoint_state(folder).model_checkpoint_path)
    'model-7'
    """
    checkpoint_dir = os.fsdecode(checkpoint_dir)
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

# SPDX-License-Identifier: Apache-2.0
"""SessionManager: sessions whose variables are restored from a checkpoint or initialized, and checked."""
from __future__ import annotations

import time
from typing import TYPE_CHECKING

from thalweg import errors, logging as tw_logging
from thalweg.graph import graph
from thalweg.graph.device_specs import DeviceSpec
from thalweg.graph.op_definitions import is_registered
from thalweg.graph.session import Session
from thalweg.messages import ConfigProto
from thalweg.saving import checkpoint_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from thalweg.base.typing import FeedDict, PathLike
    from thalweg.graph.graph import Graph
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.messages import RunOptions
    from thalweg.saving.saver import Saver

_CALLS = {"BatchFunction", "Case", "For", "If", "MapDefun", "PartitionedCall", "RemoteCall", "StatefulPartitionedCall", "StatelessCase",
          "StatelessIf", "StatelessWhile", "SymbolicGradient", "While"}


def _only_named_tasks(config, master, graph):
    """The configuration of a session at a cluster that waits for the tasks which a finished graph names, and for no others: a
    worker for the parameter servers and itself. As given, where it has filters, or where the graph may need anybody."""
    if not master or not graph.finalized or config is not None and config.device_filters:
        return config
    operations = graph.get_operations()
    if any(kind in _CALLS or not is_registered(kind) for kind in {op.type for op in operations}):
        return config  # functions name devices too
    tasks = [DeviceSpec.from_string(device) for device in {op.device for op in operations}]
    filters = {DeviceSpec(job=t.job, replica=t.replica, task=t.task).to_string() for t in tasks if t.job is not None}
    if not filters or any(t.job is None and t.task is not None for t in tasks):
        return config
    made = ConfigProto()
    if config is not None:
        made.CopyFrom(config)
    made.device_filters.extend(sorted(filters))
    return made


class SessionManager:
    """SessionManager(ready_op=...).prepare_session("", init_op=init, saver=saver, checkpoint_dir="dir")."""

    def __init__(self, local_init_op: Operation | Tensor | None = None, ready_op: Tensor | None = None,
                 ready_for_local_init_op: Tensor | None = None, graph: Graph | None = None, recovery_wait_secs: float = 30,
                 local_init_run_options: RunOptions | None = None) -> None:
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local_init_op, self._graph = ready_for_local_init_op, graph
        self._wait_secs, self._local_init_options = recovery_wait_secs, local_init_run_options
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError("If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                             f"ready_for_local_init_op [{ready_for_local_init_op}]")

    def _target(self):
        return graph.get_default_graph() if self._graph is None else self._graph

    def _session(self, master, config):
        return Session(master, graph=self._target(), config=_only_named_tasks(config, master, self._target()))

    def _restored(self, master, saver, checkpoint_dir, path, wait_for_checkpoint, max_wait_secs, config):
        """(session, whether its variables come from a checkpoint)."""
        sess = self._session(master, config)
        if checkpoint_dir and path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if not saver or not (checkpoint_dir or path):
            return sess, False
        if path:
            saver.restore(sess, path)
            return sess, True
        until = time.monotonic() + max_wait_secs
        found = checkpoint_files.get_checkpoint_state(checkpoint_dir)
        while not found or not found.model_checkpoint_path:
            if not wait_for_checkpoint or time.monotonic() >= until:
                return sess, False
            tw_logging.info("Waiting for checkpoint to be available.")
            time.sleep(min(self._wait_secs, max(until - time.monotonic(), 0)))
            found = checkpoint_files.get_checkpoint_state(checkpoint_dir)
        saver.restore(sess, found.model_checkpoint_path)
        saver.recover_last_checkpoints(found.all_model_checkpoint_paths)
        return sess, True

    def prepare_session(self, master: str, init_op: Operation | Tensor | Sequence[Operation | Tensor] | None = None,
                        saver: Saver | None = None, checkpoint_dir: PathLike | None = None,
                        checkpoint_filename_with_path: PathLike | None = None, wait_for_checkpoint: bool = False,
                        max_wait_secs: float = 7200, config: ConfigProto | None = None, init_feed_dict: FeedDict | None = None,
                        init_fn: Callable[[Session], object] | None = None) -> Session:
        """A session that is ready: restored, or else initialized."""
        sess, restored = self._restored(master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
                                        max_wait_secs, config)
        if not restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        given = f"Init op: {_name(init_op)}, init fn: {init_fn}, local_init_op: {_name(self._local_init_op)}"
        done, message = self._local_init(sess)
        if not done:
            raise RuntimeError(f"Init operations did not make model ready for local_init.  {given}, error: {message}")
        ready, message = self._model_ready(sess)
        if not ready:
            raise RuntimeError(f"Init operations did not make model ready.  {given}, error: {message}")
        return sess

    def recover_session(self, master: str, saver: Saver | None = None, checkpoint_dir: PathLike | None = None,
                        checkpoint_filename_with_path: PathLike | None = None, wait_for_checkpoint: bool = False,
                        max_wait_secs: float = 7200, config: ConfigProto | None = None) -> tuple[Session, bool]:
        """(session, whether it was restored and is ready)."""
        sess, restored = self._restored(master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
                                        max_wait_secs, config)
        done, message = self._local_init(sess)
        if restored and not done:
            tw_logging.info("Restoring model from %s did not make model ready for local init: %s",
                            checkpoint_dir or checkpoint_filename_with_path, message)
            return sess, False
        ready, message = self._model_ready(sess)
        if not ready:
            tw_logging.info("Restoring model did not make model ready: %s", message)
        return sess, restored and ready

    def wait_for_session(self, master: str, config: ConfigProto | None = None,
                         max_wait_secs: float = float("Inf")) -> Session | None:
        """A session whose variables somebody else has initialized."""
        until = time.monotonic() + (max_wait_secs if max_wait_secs is not None else float("inf"))
        pause = 0.05  # looks often at first, then once in recovery_wait_secs
        while True:
            pause = min(pause * 2, self._wait_secs)
            sess = self._session(master, config)
            done, why = self._local_init(sess)
            ready, message = self._model_ready(sess)
            if done and ready:
                return sess
            sess.close()
            if until - time.monotonic() < pause:
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs} secs. {why or message}")
            tw_logging.info("Waiting for model to be ready: %s", why or message)
            time.sleep(pause)

    def _model_ready(self, sess):
        return _ready(self._ready_op, sess, "Model not ready")

    def _local_init(self, sess):
        if self._local_init_op is None:
            return True, None
        ready, message = _ready(self._ready_for_local_init_op, sess, "Model not ready for local init")
        if not ready:
            return False, message
        sess.run(self._local_init_op, options=self._local_init_options)
        return True, None


def _ready(op, sess, what):
    """(whether a list of what is missing is empty, what is missing)."""
    if op is None:
        return True, None
    try:
        missing = sess.run(op)
    except errors.FailedPreconditionError as error:
        return False, f"{what}: {error}"
    if missing is None or missing.size == 0:
        return True, None
    return False, "Variables not initialized: " + ", ".join(m.decode() for m in missing)


def _name(op):
    return getattr(op, "name", op)

# SPDX-License-Identifier: Apache-2.0
"""Where iterators stand, in checkpoints."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.data.iterators import GLOBAL_ITERATORS
from thalweg.graph import graph as graph_module
from thalweg.graph.ops import apply
from thalweg.saving.checkpoint_files import latest_checkpoint
from thalweg.saving.saveables import SaveableObject, SaveSpec
from thalweg.saving.saver import Saver
from thalweg.training.basic_session_run_hooks import CheckpointSaverHook
from thalweg.training.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import IntLike, PathLike
    from thalweg.control.coordinator import Coordinator
    from thalweg.data.iterators import Iterator
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation, Tensor
    from thalweg.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues


class _IteratorSaveable(SaveableObject):
    """An iterator as a Saver sees it: a variant, which must be restored when the iterator has begun."""

    def __init__(self, iterator_resource: Tensor):
        state = apply("SerializeIterator", [iterator_resource])
        super().__init__(iterator_resource, [SaveSpec(state, "", iterator_resource.name + "-state")], iterator_resource.name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[object] | None) -> Operation:
        """Lets the iterator go on where the state says."""
        return apply("DeserializeIterator", [self.op, restored_tensors[0]])


def make_saveable_from_iterator(iterator: Iterator, external_state_policy: object = None) -> SaveableObject:
    """What a Saver saves and restores of an iterator: where it stands, what its stages keep.

    Parameters
    ----------
    iterator : Iterator
        That has begun whenever it is saved or restored: run its initializer before.
    external_state_policy : optional
        Of no effect: what functions hold outside of the iterator is not saved.

    Returns
    -------
    SaveableObject
        For `tw.train.Saver`, or the collection SAVEABLE_OBJECTS.

    Examples
    --------
    >>> import os, tempfile
    >>> iterator = tw.data.Dataset.range(10).shuffle(5, seed=1).make_initializable_iterator()
    >>> following = iterator.get_next()
    >>> saver = tw.train.Saver([tw.data.experimental.make_saveable_from_iterator(iterator)])
    >>> with tempfile.TemporaryDirectory() as folder, tw.Session() as sess:
    ...     sess.run(iterator.initializer)
    ...     first = [sess.run(following) for _ in range(4)]
    ...     path = saver.save(sess, os.path.join(folder, "input"))
    ...     rest = [sess.run(following) for _ in range(6)]
    ...     saver.restore(sess, path)
    ...     print([sess.run(following) for _ in range(6)] == rest)
    True
    """
    return _IteratorSaveable(iterator._iterator_resource)


class _InputSaver(Saver):
    """Keeps a list of checkpoints of its own, so that those of the model are another's."""

    def __init__(self, saveables: Sequence[SaveableObject], latest_filename: str):
        super().__init__(saveables)
        self._latest_filename = latest_filename

    def save(self, sess: Session, save_path: PathLike, global_step: IntLike | None = None, latest_filename: str | None = None,
             *rest: Any, **named: Any) -> str | None:
        return super().save(sess, save_path, global_step, latest_filename or self._latest_filename, *rest, **named)


class CheckpointInputPipelineHook(SessionRunHook):
    """Saves all iterators of the graph as often as an Estimator saves its variables, into files of their own, and lets them go on
    there when training goes on.

    Parameters
    ----------
    estimator : Estimator
        Says where, and how often: its `model_dir` and `config`.
    external_state_policy : optional
        Of no effect: what functions hold outside of an iterator is not saved.
    """

    def __init__(self, estimator: object, external_state_policy: object = None) -> None:
        config = estimator.config
        prefix = "input"
        if config.num_worker_replicas > 1:
            prefix = f"input_{config.task_type}_{config.task_id}"
        self._latest_filename = "checkpoint_" + prefix
        self._dir = estimator.model_dir
        self._hook = CheckpointSaverHook(estimator.model_dir, save_secs=config.save_checkpoints_secs,
                                         save_steps=config.save_checkpoints_steps, checkpoint_basename=prefix + ".ckpt")
        self._begun = False

    def begin(self) -> None:
        if self._hook._saver is None:
            # One that is found by a name which a step is fed is saved under its own.
            iterators = dict.fromkeys(i for i in graph_module.get_collection(GLOBAL_ITERATORS)
                                      if not i.op.type.startswith("IteratorFromStringHandle"))
            self._hook._saver = _InputSaver([_IteratorSaveable(i) for i in iterators], self._latest_filename)
        self._hook.begin()

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        self._begun = False  # a session that was lost is made anew

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        # Other hooks begin iterators when the session was created; now all have.
        if not self._begun:
            self._begun = True
            self._restore_or_save(run_context.session)
        return self._hook.before_run(run_context)

    def _restore_or_save(self, session: Session) -> None:
        newest = latest_checkpoint(self._dir, latest_filename=self._latest_filename)
        if newest is not None:
            self._hook._saver.restore(session, newest)
            return
        step = session.run(self._hook._step)
        self._hook._save(session, step)
        self._hook._timer.update_last_triggered_step(step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._hook.after_run(run_context, run_values)

    def end(self, session: Session) -> None:
        self._hook.end(session)

# SPDX-License-Identifier: Apache-2.0
"""Savers of variables that have their values: those of a graph, whose variables are copies of them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.graph.graph import Graph
from thalweg.graph.session import Session
from thalweg.operations import array_ops
from thalweg.saving import saver
from thalweg.variables.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from thalweg.base.typing import IntLike, PathLike
    from thalweg.saving.checkpoint_differences import CheckpointDifferences


class EagerSaver(saver.Saver):
    """A Saver whose `sess` is looked at by nobody."""

    def __init__(self, var_list: Sequence[Any] | Mapping[str, Any] | None = None, reshape: bool = False, sharded: bool = False,
                 max_to_keep: int | None = 5, keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None,
                 *args: Any, **kwargs: Any) -> None:
        if var_list is None:
            raise RuntimeError("When eager execution is enabled, `var_list` must specify a list or dict of variables to save")
        self._of_program = saver._named(var_list)
        self._graph = Graph()
        with self._graph.as_default():
            self._copies = {key: Variable(lambda v=v: array_ops.zeros(v.shape, v.dtype.base_dtype), name=key, use_resource=True)
                            for key, v in self._of_program.items()}
            super().__init__(self._copies, reshape, sharded, max_to_keep, keep_checkpoint_every_n_hours, name, *args, **kwargs)
        self._session = Session(graph=self._graph)

    def save(self, sess: object, save_path: PathLike, global_step: IntLike | None = None, latest_filename: str | None = None,
             meta_graph_suffix: str = "meta", write_meta_graph: bool = True, write_state: bool = True,
             strip_default_attrs: bool = False, save_debug_info: bool = False, *, metric: float | None = None) -> str | Any:
        """Writes the variables. There is no MetaGraph beside them."""
        for key, variable in self._of_program.items():
            self._copies[key].load(variable.numpy(), self._session)
        return super().save(self._session, save_path, None if global_step is None else int(global_step), latest_filename,
                            meta_graph_suffix, False, write_state, metric=metric)

    def restore(self, sess: object, save_path: PathLike | None, *, partial: bool = False) -> CheckpointDifferences | None:
        """Sets the variables to what a checkpoint holds."""
        if partial:  # what is not there keeps its value
            for key, variable in self._of_program.items():
                self._copies[key].load(variable.numpy(), self._session)
        found = super().restore(self._session, save_path, partial=partial)
        for key, variable in self._of_program.items():
            variable.assign(self._session.run(self._copies[key]))
        return found

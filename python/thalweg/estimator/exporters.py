# SPDX-License-Identifier: Apache-2.0
"""Exporters: write the model that train_and_evaluate has measured, the last ones or the best ones."""
from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from thalweg.estimator.measurements import measured
from thalweg.estimator.saved_models import exports_below
from thalweg.estimator.training import Exporter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from thalweg.base.typing import PathLike
    from thalweg.estimator.estimator import Estimator


class _Writer(Exporter):
    """What exporters share: how a model is written, and how many are kept."""

    def __init__(self, name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep=None):
        if not name:
            raise ValueError("`name` must be specified.")
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be positive number")
        self._name, self._receiver, self._assets, self._as_text = name, serving_input_receiver_fn, assets_extra, as_text
        self._keep = exports_to_keep

    @property
    def name(self) -> str:
        """The name of the folder below export/."""
        return self._name

    def _write(self, estimator, export_path, checkpoint_path):
        """Writes the model, and removes the oldest ones."""
        path = estimator.export_saved_model(export_path, self._receiver, assets_extra=self._assets, as_text=self._as_text,
                                            checkpoint_path=checkpoint_path)
        if self._keep is not None:
            for name in exports_below(os.fspath(export_path))[:-self._keep]:
                shutil.rmtree(os.path.join(export_path, name))
        return path


class FinalExporter(_Writer):
    """Writes the model once, when training has ended.

    Parameters
    ----------
    name : str
        Of the folder below export/.
    serving_input_receiver_fn : callable
        What export_saved_model() takes.
    assets_extra : dict, optional
        {path below assets.extra: file}.
    as_text : bool
        Whether the graph is written as text.
    """

    def __init__(self, name: str, serving_input_receiver_fn: Callable[[], Any], assets_extra: Mapping[str, str] | None = None,
                 as_text: bool = False) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(self, estimator: Estimator, export_path: PathLike, checkpoint_path: PathLike, eval_result: Mapping[str, Any],
               is_the_final_export: bool) -> bytes | None:
        """Writes the model if this is the last time."""
        return self._write(estimator, export_path, checkpoint_path) if is_the_final_export else None


class LatestExporter(_Writer):
    """Writes the model each time that it was measured, and keeps the last ones.

    Parameters
    ----------
    name : str
        Of the folder below export/.
    serving_input_receiver_fn : callable
        What export_saved_model() takes.
    assets_extra : dict, optional
        {path below assets.extra: file}.
    as_text : bool
        Whether the graph is written as text.
    exports_to_keep : int, optional
        How many; None keeps all.

    Raises
    ------
    ValueError
        If none are to be kept.
    """

    def __init__(self, name: str, serving_input_receiver_fn: Callable[[], Any], assets_extra: Mapping[str, str] | None = None,
                 as_text: bool = False, exports_to_keep: int | None = 5) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)

    def export(self, estimator: Estimator, export_path: PathLike, checkpoint_path: PathLike, eval_result: Mapping[str, Any],
               is_the_final_export: bool) -> bytes | None:
        """Writes the model, and removes the oldest one."""
        return self._write(estimator, export_path, checkpoint_path)


def _loss_smaller(best_eval_result, current_eval_result):
    """Whether the loss is smaller than the best one so far."""
    for what, result in (("best_eval_result", best_eval_result), ("current_eval_result", current_eval_result)):
        if not result or "loss" not in result:
            raise ValueError(f"{what} cannot be empty or no loss is found in it.")
    return best_eval_result["loss"] > current_eval_result["loss"]


class BestExporter(_Writer):
    """Writes the model each time that it is better than all before it.

    Parameters
    ----------
    name : str
        Of the folder below export/.
    serving_input_receiver_fn : callable
        What export_saved_model() takes.
    event_file_pattern : str, optional
        Of event files below the model's directory: what was measured before this program began.
    compare_fn : callable
        compare_fn(best_eval_result=, current_eval_result=) says whether the current one is better: a smaller loss by default.
    assets_extra : dict, optional
        {path below assets.extra: file}.
    as_text : bool
        Whether the graph is written as text.
    exports_to_keep : int, optional
        How many; None keeps all.

    Raises
    ------
    ValueError
        If there is nothing to compare by, or none are to be kept.
    """

    def __init__(self, name: str = "best_exporter", serving_input_receiver_fn: Callable[[], Any] | None = None,
                 event_file_pattern: str | None = "eval/*.tfevents.*", compare_fn: Callable[..., bool] = _loss_smaller,
                 assets_extra: Mapping[str, str] | None = None, as_text: bool = False, exports_to_keep: int | None = 5) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        self._compare, self._pattern = compare_fn, event_file_pattern
        self._best, self._asked_files = None, False

    def export(self, estimator: Estimator, export_path: PathLike, checkpoint_path: PathLike, eval_result: Mapping[str, Any],
               is_the_final_export: bool) -> bytes | None:
        """Writes the model if it is the best one so far."""
        if not self._asked_files and self._pattern:
            self._best = self._best_of_files(estimator.model_dir, eval_result)
        self._asked_files = True
        if self._best is not None and not self._compare(best_eval_result=self._best, current_eval_result=eval_result):
            return None
        path = self._write(estimator, export_path, checkpoint_path)
        self._best = eval_result
        return path

    def _best_of_files(self, directory, current):
        """The best of what event files hold but the last, which is what was measured just now."""
        best = None
        for step, result in measured(directory, self._pattern):
            if step != current.get("global_step") and (best is None or self._compare(best_eval_result=best, current_eval_result=result)):
                best = result
        return best

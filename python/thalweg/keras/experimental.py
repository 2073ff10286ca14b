# SPDX-License-Identifier: Apache-2.0
"""tf.keras.experimental: SavedModels under their older names."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg.base import names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from thalweg.base.typing import PathLike


def export_saved_model(model: Any, saved_model_path: PathLike, custom_objects: Mapping[str, object] | None = None, as_text: bool = False,
                       input_signature: object = None, serving_only: bool = False) -> None:
    """Writes a model as a SavedModel for serving.

    Parameters
    ----------
    model : tf.keras.Model
    saved_model_path : str or path
        A folder, which has no SavedModel yet.
    custom_objects : dict, optional
        Has no effect.
    as_text, input_signature, serving_only
        Only the defaults are taken, and serving_only=True: graphs of training and evaluation are not written.
    """
    from thalweg.keras import saved_models
    if as_text or input_signature is not None:
        raise NotImplementedError("as_text and input_signature of tf.keras.experimental.export_saved_model are not implemented in Thalweg")
    path = os.fsdecode(saved_model_path)
    if os.path.isdir(path) and os.listdir(path):
        raise AssertionError(f"Export directory already exists, and isn't empty. Please choose a different export directory, or delete all the "
                             f"contents of the specified directory: {path}")
    saved_models.save(model, path, with_objects=False)


def load_from_saved_model(saved_model_path: PathLike, custom_objects: Mapping[str, object] | None = None) -> Any:
    """The model that export_saved_model wrote, here or in 1.15; it is not compiled."""
    from thalweg.keras import saved_models
    return saved_models.load(os.fsdecode(saved_model_path), custom_objects, compile=False)


__all__ = ("export_saved_model", "load_from_saved_model")
names.complete(globals())

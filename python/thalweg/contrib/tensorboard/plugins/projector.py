# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.tensorboard.plugins.projector: which variables TensorBoard shows as clouds of points."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.summary.event_files import FileWriter


class SpriteMetadata:
    """One picture of all points' pictures."""

    def __init__(self, image_path: str = "", single_image_dim: Sequence[int] = ()) -> None:
        self.image_path, self.single_image_dim = image_path, list(single_image_dim)

    def _lines(self):
        return _field("image_path", self.image_path) + [f"single_image_dim: {d}" for d in self.single_image_dim]


class EmbeddingInfo:
    """A variable, and where the names of its rows are."""

    def __init__(self, tensor_name: str = "", metadata_path: str = "", bookmarks_path: str = "", tensor_shape: Sequence[int] = (),
                 tensor_path: str = "") -> None:
        self.tensor_name, self.metadata_path, self.bookmarks_path = tensor_name, metadata_path, bookmarks_path
        self.tensor_shape, self.tensor_path, self.sprite = list(tensor_shape), tensor_path, SpriteMetadata()

    def _lines(self):
        lines = _field("tensor_name", self.tensor_name) + _field("metadata_path", self.metadata_path) + \
            _field("bookmarks_path", self.bookmarks_path) + [f"tensor_shape: {d}" for d in self.tensor_shape]
        sprite = self.sprite._lines()
        if sprite:
            lines += ["sprite {"] + ["  " + line for line in sprite] + ["}"]
        return lines + _field("tensor_path", self.tensor_path)


class EmbeddingInfos(list[EmbeddingInfo]):
    """The variables of a ProjectorConfig."""

    def add(self, **fields: Any) -> EmbeddingInfo:
        """Appends a new element, and gives it."""
        self.append(EmbeddingInfo(**fields))
        return self[-1]


class ProjectorConfig:
    """What the projector of TensorBoard shows: config.embeddings.add() makes an entry for a variable.

    Parameters
    ----------
    model_checkpoint_path : str
        The checkpoint with the variables; the newest of the folder unless given.
    model_checkpoint_dir : str
        The folder of checkpoints.

    Examples
    --------
    >>> config = tw.contrib.tensorboard.plugins.projector.ProjectorConfig()
    >>> config.embeddings.add().tensor_name = "words"
    >>> print(str(config).strip())
    embeddings {
      tensor_name: "words"
    }
    """

    def __init__(self, model_checkpoint_path: str = "", model_checkpoint_dir: str = "") -> None:
        self.model_checkpoint_path, self.model_checkpoint_dir = model_checkpoint_path, model_checkpoint_dir
        self.embeddings = EmbeddingInfos()

    def __str__(self):
        lines = _field("model_checkpoint_path", self.model_checkpoint_path)
        for info in self.embeddings:
            lines += ["embeddings {"] + ["  " + line for line in info._lines()] + ["}"]
        return "".join(line + "\n" for line in lines + _field("model_checkpoint_dir", self.model_checkpoint_dir))


def _field(name: str, value: str) -> list[str]:
    return [f"{name}: {json.dumps(value)}"] if value else []


def visualize_embeddings(summary_writer: FileWriter, config: ProjectorConfig) -> None:
    """Writes the settings of TensorBoard's projector, projector_config.pbtxt, beside the events of a writer.

    Parameters
    ----------
    summary_writer : FileWriter
    config : ProjectorConfig

    Raises
    ------
    ValueError
        The writer has no folder.

    Examples
    --------
    >>> projector = tw.contrib.tensorboard.plugins.projector
    >>> with tw.summary.FileWriter("logs") as writer:
    ...     projector.visualize_embeddings(writer, projector.ProjectorConfig())
    >>> tw.gfile.Exists("logs/projector_config.pbtxt")
    True
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "projector_config.pbtxt"), "w", encoding="utf-8") as f:
        f.write(str(config))

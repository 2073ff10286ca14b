# SPDX-License-Identifier: Apache-2.0
"""tw.io.gfile: files under TensorFlow 2's names."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import gfile
from thalweg.gfile import GFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from thalweg.base.typing import PathLike
    from thalweg.gfile import FileStatistics


def exists(path: PathLike) -> bool:
    """Whether there is a file or folder.

    Parameters
    ----------
    path : str, bytes or path

    Returns
    -------
    bool

    Examples
    --------
    >>> tw.io.gfile.exists("/no/such/file")
    False
    """
    return gfile.Exists(path)


def isdir(path: PathLike) -> bool:
    """Whether there is a folder of this path."""
    return gfile.IsDirectory(path)


def listdir(path: PathLike) -> list[str]:
    """The names in a directory."""
    return gfile.ListDirectory(path)


def makedirs(path: PathLike) -> None:
    """Makes a folder, and those above it, where they are not there yet.

    Parameters
    ----------
    path : str, bytes or path

    Raises
    ------
    errors.OpError
        A file is in the way (errors.FailedPreconditionError or AlreadyExistsError), or it is not allowed.

    Examples
    --------
    >>> tw.io.gfile.makedirs("runs/first")
    >>> tw.io.gfile.isdir("runs/first")
    True
    """
    gfile.MakeDirs(path)


def mkdir(path: PathLike) -> None:
    """Makes a directory."""
    gfile.MkDir(path)


def remove(path: PathLike) -> None:
    """Deletes a file."""
    gfile.Remove(path)


def rmtree(path: PathLike) -> None:
    """Removes a folder and all that is in it.

    Parameters
    ----------
    path : str, bytes or path

    Raises
    ------
    errors.NotFoundError
        There is no such folder.

    Examples
    --------
    >>> tw.io.gfile.makedirs("runs/first")
    >>> tw.io.gfile.rmtree("runs")
    >>> tw.io.gfile.exists("runs")
    False
    """
    gfile.DeleteRecursively(path)


def rename(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Gives a file another name."""
    gfile.Rename(src, dst, overwrite)


def copy(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Copies a file."""
    gfile.Copy(src, dst, overwrite)


def stat(path: PathLike) -> FileStatistics:
    """Length and time of a file."""
    return gfile.Stat(path)


def glob(pattern: PathLike | Sequence[PathLike]) -> list[str]:
    """The names that match a pattern, or one of a list of patterns."""
    return gfile.Glob(pattern)


def walk(top: PathLike, topdown: bool = True,
         onerror: Callable[..., object] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """(directory, directories, files) of all below."""
    return gfile.Walk(top, topdown)


def __dir__():
    return sorted(__all__)


__all__ = ["GFile", "copy", "exists", "glob", "isdir", "listdir", "makedirs", "mkdir", "remove", "rename", "rmtree", "stat", "walk"]

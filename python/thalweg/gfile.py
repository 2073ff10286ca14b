# SPDX-License-Identifier: Apache-2.0
"""Files under TF1's names: tw.gfile, and in small letters tw.io.gfile."""
from __future__ import annotations

import glob as _glob
import os
import shutil
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.base import names, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Any, Self

    from thalweg.base.typing import PathLike, Text


def _not_found(function):
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except FileNotFoundError as error:
            raise errors.NotFoundError(None, None, f"{os.fsdecode(error.filename)}; No such file or directory") from None
        except FileExistsError as error:
            raise errors.AlreadyExistsError(None, None, f"{os.fsdecode(error.filename)} is there already") from None
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    call.__wrapped__ = function
    return call


class GFile:
    r"""A file that is opened when it is first read or written; it is closed at the end of a `with` block.

    Parameters
    ----------
    name : str, bytes or path
    mode : str, optional
        "r", "w" or "a", with "b" for bytes and "+" for both.

    Raises
    ------
    errors.NotFoundError
        When it is opened: the file, or the folder to write to, is not there.
    errors.PermissionDeniedError
        It may not be read or written, or was opened for the other.

    Examples
    --------
    >>> with tw.gfile.GFile("words.txt", "w") as f:
    ...     f.write("one\ntwo\n")
    >>> with tw.gfile.GFile("words.txt") as f:
    ...     print([line.strip() for line in f])
    ['one', 'two']
    """

    def __init__(self, name: PathLike, mode: str = "r") -> None:
        self._name, self._mode, self._opened = os.fsdecode(name), mode, None

    @property
    def name(self) -> str: return self._name
    @property
    def mode(self) -> str: return self._mode

    @_not_found
    def _file(self):
        if self._opened is None:
            self._opened = open(self._name, self._mode, encoding=None if "b" in self._mode else "utf-8")
        return self._opened

    def _open_for(self, purpose):
        opened = self._file()
        if not (opened.readable() if purpose == "reading" else opened.writable()):
            raise errors.PermissionDeniedError(None, None, f"File isn't open for {purpose}")
        return opened

    def read(self, n: int = -1) -> Any:
        """The next n bytes or characters, or all that is left."""
        return self._open_for("reading").read(n)

    def readline(self) -> Any:
        """The next line, with its end; empty at the end of the file."""
        return self._open_for("reading").readline()

    def readlines(self) -> list[Any]:
        """All lines that are left."""
        return self._open_for("reading").readlines()

    def write(self, file_content: Text) -> None:
        """Writes text or bytes."""
        opened = self._open_for("writing")
        if "b" in self._mode:
            opened.write(text.as_bytes(file_content))
        elif isinstance(file_content, str):
            opened.write(file_content)
        else:  # a file of TensorFlow's takes bytes in either mode
            opened.flush()
            opened.buffer.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to a place: `offset` from the start, from here or from the end by `whence`."""
        self._file().seek(position if offset is None else offset, whence)

    def tell(self) -> int:
        """The place where it reads or writes next."""
        return self._file().tell()

    def size(self) -> int:
        """How many bytes the file has."""
        return os.stat(self._name).st_size

    def seekable(self) -> bool:
        """Whether seek() works: always."""
        return True

    def flush(self) -> None:
        """Writes what is held back."""
        if self._opened is not None:
            self._opened.flush()

    def close(self) -> None:
        """Closes the file; it may be closed already."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file())

    def __next__(self):
        return next(self._file())

    next = __next__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, unused_type: type[BaseException] | None, unused_value: BaseException | None,
                 unused_traceback: TracebackType | None) -> None:
        self.close()

    def __getattr__(self, name: str):  # what else a file can do: readinto, fileno ...
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._file(), name)


FastGFile = Open = GFile


def Exists(filename: PathLike) -> bool:
    """Whether there is a file or folder.

    Parameters
    ----------
    filename : str, bytes or path

    Returns
    -------
    bool

    Examples
    --------
    >>> tw.gfile.Exists("/no/such/file")
    False
    """
    return os.path.exists(filename)


def IsDirectory(dirname: PathLike) -> bool:
    """Whether there is a folder of this path."""
    return os.path.isdir(dirname)


@_not_found
def ListDirectory(dirname: PathLike) -> list[str]:
    """The names in a directory."""
    return os.listdir(os.fsdecode(dirname))


@_not_found
def Remove(filename: PathLike) -> None:
    """Deletes a file.

    Parameters
    ----------
    filename : str or path

    Raises
    ------
    errors.NotFoundError
        There is no such file.

    Examples
    --------
    >>> with tw.gfile.GFile("a.txt", "w") as f:
    ...     _ = f.write("text")
    >>> tw.gfile.Remove("a.txt")
    >>> tw.gfile.Exists("a.txt")
    False
    """
    os.remove(filename)


def MakeDirs(dirname: PathLike) -> None:
    """Makes a folder, and those above it, where they are not there yet.

    Parameters
    ----------
    dirname : str, bytes or path

    Raises
    ------
    errors.OpError
        A file is in the way, or it is not allowed.

    Examples
    --------
    >>> tw.gfile.MakeDirs("runs/first")
    >>> tw.gfile.IsDirectory("runs/first")
    True
    """
    os.makedirs(dirname, exist_ok=True)


@_not_found
def MkDir(dirname: PathLike) -> None:
    """Makes a directory."""
    os.mkdir(dirname)


@_not_found
def DeleteRecursively(dirname: PathLike) -> None:
    """Deletes a directory and all that is in it.

    Parameters
    ----------
    dirname : str or path

    Raises
    ------
    errors.NotFoundError
        There is no such directory.

    Examples
    --------
    >>> tw.gfile.MakeDirs("a/b")
    >>> tw.gfile.DeleteRecursively("a")
    >>> tw.gfile.Exists("a")
    False
    """
    shutil.rmtree(dirname)


def Glob(filename: PathLike | Sequence[PathLike]) -> list[str]:
    """The files that fit a pattern, in order.

    Parameters
    ----------
    filename : str, bytes or path, or list of them
        With * for any characters but /, ? for one, [abc] for one of these.

    Returns
    -------
    list of str

    Examples
    --------
    >>> for name in ("b.txt", "a.txt", "c.log"):
    ...     with tw.gfile.GFile(name, "w") as f:
    ...         f.write("")
    >>> tw.gfile.Glob("*.txt")
    ['a.txt', 'b.txt']
    """
    patterns = [filename] if isinstance(filename, (str, bytes, os.PathLike)) else filename
    return [name for pattern in patterns for name in sorted(_glob.glob(os.fsdecode(pattern)))]


@_not_found
def Copy(oldpath: PathLike, newpath: PathLike, overwrite: bool = False) -> None:
    """Copies a file."""
    if os.path.exists(newpath) and not overwrite:
        raise FileExistsError(17, "exists", newpath)
    shutil.copyfile(oldpath, newpath)


@_not_found
def Rename(oldname: PathLike, newname: PathLike, overwrite: bool = False) -> None:
    """Gives a file or directory another name.

    Parameters
    ----------
    oldname, newname : str or path
    overwrite : bool
        Whether a file of the new name may be there and is replaced.

    Raises
    ------
    errors.NotFoundError
        There is nothing of the old name.
    errors.AlreadyExistsError
        The new name is taken.

    Examples
    --------
    >>> with tw.gfile.GFile("a.txt", "w") as f:
    ...     _ = f.write("text")
    >>> tw.gfile.Rename("a.txt", "b.txt")
    >>> tw.gfile.Exists("b.txt")
    True
    """
    if os.path.exists(newname) and not overwrite:
        raise FileExistsError(17, "exists", newname)
    os.replace(oldname, newname)


@_not_found
def Stat(filename: PathLike) -> FileStatistics:
    """Length and time of a file."""
    return FileStatistics(os.stat(filename))


class FileStatistics:
    """What Stat tells."""

    def __init__(self, status: os.stat_result) -> None:
        self.length, self.mtime_nsec, self.is_directory = status.st_size, status.st_mtime_ns, bool(status.st_mode & 0o40000)


def Walk(top: PathLike, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """(directory, directories, files) of all below."""
    return os.walk(os.fsdecode(top), topdown=in_order)


names.complete(globals())

# SPDX-License-Identifier: Apache-2.0
"""Files under TF1's names: tw.gfile, and in small letters tw.io.gfile."""
import glob as _glob
import os
import shutil

from thalweg import errors
from thalweg.base import names, text


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
    """open(), with text as UTF-8; the file is opened when it is first used."""

    def __init__(self, name, mode="r"):
        self._name, self._mode, self._opened = os.fsdecode(name), mode, None

    name = property(lambda self: self._name)
    mode = property(lambda self: self._mode)

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

    def read(self, n=-1):
        return self._open_for("reading").read(n)

    def readline(self):
        return self._open_for("reading").readline()

    def readlines(self):
        return self._open_for("reading").readlines()

    def write(self, file_content):
        opened = self._open_for("writing")
        if "b" in self._mode:
            opened.write(text.as_bytes(file_content))
        elif isinstance(file_content, str):
            opened.write(file_content)
        else:  # a file of TensorFlow's takes bytes in either mode
            opened.flush()
            opened.buffer.write(file_content)

    def seek(self, offset=None, whence=0, position=None):
        self._file().seek(position if offset is None else offset, whence)

    def tell(self):
        return self._file().tell()

    def size(self):
        return os.stat(self._name).st_size

    def seekable(self):
        return True

    def flush(self):
        if self._opened is not None:
            self._opened.flush()

    def close(self):
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def __iter__(self):
        return iter(self._file())

    def __next__(self):
        return next(self._file())

    next = __next__

    def __enter__(self):
        return self

    def __exit__(self, unused_type, unused_value, unused_traceback):
        self.close()

    def __getattr__(self, name):  # what else a file can do: readinto, fileno ...
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._file(), name)


FastGFile = Open = GFile


def Exists(filename):  # noqa: N802
    """Whether there is such a file or directory."""
    return os.path.exists(filename)


def IsDirectory(dirname):  # noqa: N802
    return os.path.isdir(dirname)


@_not_found
def ListDirectory(dirname):  # noqa: N802
    """The names in a directory."""
    return os.listdir(os.fsdecode(dirname))


@_not_found
def Remove(filename):  # noqa: N802
    """Deletes a file."""
    os.remove(filename)


def MakeDirs(dirname):  # noqa: N802
    """Makes a directory and those above it."""
    os.makedirs(dirname, exist_ok=True)


@_not_found
def MkDir(dirname):  # noqa: N802
    """Makes a directory."""
    os.mkdir(dirname)


@_not_found
def DeleteRecursively(dirname):  # noqa: N802
    """Deletes a directory and all in it."""
    shutil.rmtree(dirname)


def Glob(filename):  # noqa: N802
    """The names that match a pattern, or one of a list of patterns."""
    patterns = [filename] if isinstance(filename, (str, bytes, os.PathLike)) else filename
    return [name for pattern in patterns for name in sorted(_glob.glob(os.fsdecode(pattern)))]


@_not_found
def Copy(oldpath, newpath, overwrite=False):  # noqa: N802
    """Copies a file."""
    if os.path.exists(newpath) and not overwrite:
        raise FileExistsError(17, "exists", newpath)
    shutil.copyfile(oldpath, newpath)


@_not_found
def Rename(oldname, newname, overwrite=False):  # noqa: N802
    """Gives a file another name."""
    if os.path.exists(newname) and not overwrite:
        raise FileExistsError(17, "exists", newname)
    os.replace(oldname, newname)


@_not_found
def Stat(filename):  # noqa: N802
    """Length and time of a file."""
    return FileStatistics(os.stat(filename))


class FileStatistics:
    """What Stat tells."""

    def __init__(self, status):
        self.length, self.mtime_nsec, self.is_directory = status.st_size, status.st_mtime_ns, bool(status.st_mode & 0o40000)


def Walk(top, in_order=True):  # noqa: N802
    """(directory, directories, files) of all below."""
    return os.walk(os.fsdecode(top), topdown=in_order)


names.complete(globals())

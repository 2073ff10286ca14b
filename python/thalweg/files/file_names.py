# SPDX-License-Identifier: Apache-2.0
"""tw.io.gfile: files under TensorFlow 2's names."""
from thalweg import gfile
from thalweg.gfile import GFile


def exists(path):
    """Whether there is such a file or directory."""
    return gfile.Exists(path)


def isdir(path):
    return gfile.IsDirectory(path)


def listdir(path):
    """The names in a directory."""
    return gfile.ListDirectory(path)


def makedirs(path):
    """Makes a directory and those above it."""
    gfile.MakeDirs(path)


def mkdir(path):
    """Makes a directory."""
    gfile.MkDir(path)


def remove(path):
    """Deletes a file."""
    gfile.Remove(path)


def rmtree(path):
    """Deletes a directory and all in it."""
    gfile.DeleteRecursively(path)


def rename(src, dst, overwrite=False):
    """Gives a file another name."""
    gfile.Rename(src, dst, overwrite)


def copy(src, dst, overwrite=False):
    """Copies a file."""
    gfile.Copy(src, dst, overwrite)


def stat(path):
    """Length and time of a file."""
    return gfile.Stat(path)


def glob(pattern):
    """The names that match a pattern, or one of a list of patterns."""
    return gfile.Glob(pattern)


def walk(top, topdown=True, onerror=None):
    """(directory, directories, files) of all below."""
    return gfile.Walk(top, topdown)


def __dir__():
    return sorted(__all__)


__all__ = ["GFile", "copy", "exists", "glob", "isdir", "listdir", "makedirs", "mkdir", "remove", "rename", "rmtree", "stat", "walk"]

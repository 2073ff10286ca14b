# SPDX-License-Identifier: Apache-2.0
"""Files under TF1's names: tw.gfile."""
import glob
import os
import shutil

from thalweg import names


def GFile(name, mode="r"):  # noqa: N802
    """open(), with text as UTF-8."""
    return open(name, mode) if "b" in mode else open(name, mode, encoding="utf-8")


FastGFile = Open = GFile
Exists, IsDirectory, ListDirectory, Remove = os.path.exists, os.path.isdir, os.listdir, os.remove


def MakeDirs(dirname):  # noqa: N802
    os.makedirs(dirname, exist_ok=True)


MkDir = os.mkdir
DeleteRecursively = shutil.rmtree


def Glob(filename):  # noqa: N802
    return sorted(glob.glob(filename))


def Copy(oldpath, newpath, overwrite=False):  # noqa: N802
    if os.path.exists(newpath) and not overwrite:
        from thalweg import errors
        raise errors.AlreadyExistsError(None, None, f"{newpath} is there already")
    shutil.copyfile(oldpath, newpath)


def Rename(oldname, newname, overwrite=False):  # noqa: N802
    if os.path.exists(newname) and not overwrite:
        from thalweg import errors
        raise errors.AlreadyExistsError(None, None, f"{newname} is there already")
    os.replace(oldname, newname)


names.complete(globals())

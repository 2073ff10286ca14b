# SPDX-License-Identifier: Apache-2.0
"""An event file that grows by whole records or not at all."""
from __future__ import annotations

import errno
import os
import socket
import stat
import time

from thalweg import errors, messages
from thalweg.files import records

_KINDS = {errno.ENOENT: errors.NotFoundError, errno.EACCES: errors.PermissionDeniedError, errno.EPERM: errors.PermissionDeniedError,
          errno.EROFS: errors.PermissionDeniedError, errno.ENOSPC: errors.ResourceExhaustedError, errno.EDQUOT: errors.ResourceExhaustedError,
          errno.EFBIG: errors.ResourceExhaustedError, errno.EMFILE: errors.ResourceExhaustedError, errno.ENFILE: errors.ResourceExhaustedError,
          errno.ENOMEM: errors.ResourceExhaustedError, errno.ENOTDIR: errors.FailedPreconditionError, errno.EISDIR: errors.FailedPreconditionError,
          errno.EEXIST: errors.FailedPreconditionError, errno.EINVAL: errors.InvalidArgumentError, errno.ENAMETOOLONG: errors.InvalidArgumentError}


def _failed(action, path, error):
    """The error of this package for one of the system's."""
    kind = _KINDS.get(error.errno, errors.UnknownError)
    return kind(None, None, f"cannot {action} '{path}': {os.strerror(error.errno) if error.errno else error}")


class GrowingFile:
    """A new event file in a folder, which is made."""

    def __init__(self, folder: str, suffix: str) -> None:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise _failed("make the directory", folder, error) from None
        self.path, self._descriptor = self._create(folder, f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}", suffix)
        try:
            self.append(records.frame(messages.Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString()))
        except errors.OpError:
            self.close()
            raise

    @staticmethod
    def _create(folder, name, suffix):
        number = 0
        while True:  # another writer of this second, also in another process, has its own
            path = os.path.join(folder, name + (f".{number}" if number else "") + suffix)
            try:
                return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
            except FileExistsError:
                number += 1
            except OSError as error:
                raise _failed("make", path, error) from None

    def is_removed(self) -> bool:
        """Whether somebody has removed it."""
        return os.fstat(self._descriptor).st_nlink == 0

    def append(self, data: bytes) -> None:
        """Writes records; where that fails, the file is as it was before."""
        before = os.fstat(self._descriptor)
        if self.is_removed():
            raise errors.NotFoundError(None, None, f"'{self.path}' was removed while it was written")
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left):]
        except OSError as error:
            if stat.S_ISREG(before.st_mode):
                os.ftruncate(self._descriptor, before.st_size)
            raise _failed("write", self.path, error) from None

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)

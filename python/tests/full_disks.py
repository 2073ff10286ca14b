# SPDX-License-Identifier: Apache-2.0
"""For tests: disks that are full."""
import contextlib
import resource
import signal


@contextlib.contextmanager
def full_disk(size):
    """No file grows beyond `size` bytes."""
    handler, before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)

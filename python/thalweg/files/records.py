# SPDX-License-Identifier: Apache-2.0
"""Records of TFRecord and event files: files are read and written here, framing and checksums are the core's."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import _core, errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

frame = _core.record_frame


def read(source: BinaryIO) -> Iterator[bytes]:
    """The records of a file or of anything with read(n); DataLossError where it is damaged. What ends within the bytes before a
    record ends there."""
    at = 0
    while True:
        head = source.read(_core.RECORD_HEADER)
        if len(head) < _core.RECORD_HEADER:
            return
        size = _core.record_length(head, at) + _core.RECORD_FOOTER
        body = source.read(size)
        if len(body) < size:
            raise errors.DataLossError(None, None, f"truncated record at {at}")
        _core.record_check(body, at)
        yield body[:-_core.RECORD_FOOTER]
        at += len(head) + size

# SPDX-License-Identifier: Apache-2.0
"""The framing of TFRecord and event files: length, data, and a masked CRC-32C of each."""
import struct

from thalweg._core import masked_crc


def frame(data):
    """A record as it stands in a file."""
    length = struct.pack("<Q", len(data))
    return b"".join([length, struct.pack("<I", masked_crc(length)), data, struct.pack("<I", masked_crc(data))])


def read(path):
    """The records of a file; DataLossError where it is damaged, a last record that is not whole is left out."""
    from thalweg import errors
    with open(path, "rb") as f:
        while True:
            head = f.read(12)
            if len(head) < 12:
                return
            length, crc = struct.unpack("<QI", head)
            if masked_crc(head[:8]) != crc:
                raise errors.DataLossError(None, None, f"corrupted record at {f.tell() - 12} of {path}")
            data = f.read(length)
            tail = f.read(4)
            if len(data) < length or len(tail) < 4:
                return
            if masked_crc(data) != struct.unpack("<I", tail)[0]:
                raise errors.DataLossError(None, None, f"corrupted record at {f.tell() - 16 - length} of {path}")
            yield data

# SPDX-License-Identifier: Apache-2.0
"""Records between the comparison and the processes that hold an engine: a JSON header and blocks of bytes. Python 3.7 and later.

    write_record(stream, {"id": "Add/0"}, [b"..."])
    for header, blocks in read_records(stream): ...
"""
import json
import struct

import numpy as np

LARGE = 1 << 18  # elements; larger arrays are described by type and shape alone


def write_record(stream, header, blocks):
    text = json.dumps(dict(header, blocks=[len(b) for b in blocks])).encode()
    stream.write(struct.pack("<I", len(text)) + text + b"".join(blocks))
    stream.flush()


def read_records(stream):
    """Until the end of the stream, or the first record that is not whole."""
    while True:
        size = stream.read(4)
        if len(size) < 4:
            return
        text = stream.read(struct.unpack("<I", size)[0])
        try:
            header = json.loads(text.decode())
        except ValueError:
            return
        sizes = header.pop("blocks")
        blocks = [stream.read(n) for n in sizes]
        if [len(b) for b in blocks] != sizes:
            return
        yield header, blocks


def pack_array(array, kind, blocks):
    """The description of an array whose bytes are appended to `blocks`; kind: the name of its element type."""
    array = np.asarray(array)
    made = {"kind": kind, "shape": list(array.shape)}
    if array.size > LARGE:
        return made
    if kind == "string":
        elements = [v if isinstance(v, bytes) else str(v).encode() for v in array.reshape(-1).tolist()]
        made["lengths"] = [len(v) for v in elements]
        data = b"".join(elements)
    else:
        data = np.ascontiguousarray(array).tobytes()
    made["block"] = len(blocks)
    blocks.append(data)
    return made


def unpack_array(made, blocks, dtype):
    """dtype: numpy's, of the element type."""
    data = blocks[made["block"]]
    if made["kind"] == "string":
        array, at = np.empty(len(made["lengths"]), object), 0
        for i, n in enumerate(made["lengths"]):
            array[i] = data[at:at + n]
            at += n
    else:
        array = np.frombuffer(data, dtype)
    return array.reshape(made["shape"])

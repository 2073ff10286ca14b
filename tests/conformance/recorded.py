# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow 1.15 answered, for machines that cannot run it: recorded.py [PATTERN ...] writes it from the files of the last run.

One case of each operation, in its usual types, with its values and derivatives. A case whose request has changed since is not compared.
"""
import collections
import gzip
import io
import json
import os
import sys
import zlib

from engines import FOLDER
from wire import read_records, write_record

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_1.15.gz")
MOST = 1 << 14  # bytes of an answer


def digest(header, blocks):
    """A number of the request: what is fed, fetched and run."""
    text = json.dumps([header["fetches"], header["feeds"], header["graph"]], sort_keys=True).encode()
    return zlib.crc32(b"".join([text, *blocks]))


class Recorded:
    """Stands for the engine: each request that is the recorded one has its answer at once."""

    def __init__(self):
        self.name, self.ids, self.found, self.crashes, self.answers = "1.15", [], {}, {}, {}
        with gzip.open(FILE, "rb") as f:
            for header, blocks in read_records(io.BytesIO(f.read())):
                self.answers[header["id"]] = header, blocks

    def add(self, header, blocks):
        header_, blocks_ = self.answers.get(header["id"], (None, None))
        if header_ and header_["digest"] == digest(header, blocks):
            self.ids.append(header["id"])
            self.found[header["id"]] = header_, blocks_

    def start(self):
        pass

    read = start

    def poll(self):
        return False


def main():
    requests, first, kept = {}, {}, collections.OrderedDict()
    with open(os.path.join(FOLDER, "1.15.requests"), "rb") as f:
        for header, blocks in read_records(f):
            op = header["id"].partition("/")[0]
            if first.setdefault(op, header["id"]) == header["id"]:
                requests[header["id"]] = digest(header, blocks)
    with open(os.path.join(FOLDER, "1.15.answers"), "rb") as f:
        for header, blocks in read_records(f):
            if header["id"] in requests and "crash" not in header and sum(map(len, blocks)) <= MOST:
                header.pop("relaxed", None)
                kept[header["id"]] = dict(header, digest=requests[header["id"]]), blocks
    made = io.BytesIO()
    for header, blocks in kept.values():
        write_record(made, header, blocks)
    with open(FILE, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as packed:
        packed.write(made.getvalue())
    print(f"{len(kept)} answers in {os.path.getsize(FILE)} bytes: {FILE}")


if __name__ == "__main__":
    sys.exit(main())
